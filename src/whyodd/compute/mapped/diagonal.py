"""Distances and shares under a diagonal metric per center: each pair from its differences, in compiled loops.

There are few centers, so rows stay in the nearest cache while all pairs of them are done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import njit

from whyodd.compute.vector_math import VECTOR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Wide = NDArray[np.float64]


@njit(cache=True, nogil=True, fastmath=VECTOR)
def squared_distances(x: Wide, points: Wide, factors: Wide, out: Wide) -> None:
    """Fill ``out`` (n, m) with d² = Σ_i (a_ji (x_i - u_ji))²."""
    for i in range(x.shape[0]):
        for j in range(points.shape[0]):
            total = 0.0
            for k in range(x.shape[1]):
                zeta = (x[i, k] - points[j, k]) * factors[j, k]
                total += zeta * zeta
            out[i, j] = total


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_shares(x: Wide, points: Wide, factors: Wide, weights: Wide, out: Wide) -> None:
    """Add Σ_j W_j (a_ji (x_i - u_ji))² to ``out`` (n, d)."""
    for i in range(x.shape[0]):
        for j in range(points.shape[0]):
            weight = weights[i, j]
            for k in range(x.shape[1]):
                zeta = (x[i, k] - points[j, k]) * factors[j, k]
                # Weight times ζ first: near a center the weight is huge and ζ² alone would underflow.
                out[i, k] += (weight * zeta) * zeta
