"""What compiled loops do, in NumPy: for problems so small that loading compiled code would take longer.

numba takes half a second to import and to load what it has compiled, and 1 to 12 seconds to compile it first.
Which way is taken depends on the size and the values of a problem alone, never on what is compiled or loaded
already: the same input gives the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import is_sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whyodd.compute.points import Points

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Differences, rows times points times variables, that NumPy takes in some two milliseconds.
MOST_DIFFERENCES = 1 << 19
# Differences whose squares neither over- nor underflow, nor do sums of many of them.
_LEAST, _LARGEST = 1e-130, 1e130
# Differences at a time.
_IN_CACHE = 1 << 14


def is_enough(X: Points, points: Points) -> bool:
    """Whether rows X (n, d) and points (m, d) are few and dense."""
    n, d = X.shape
    return n * points.shape[0] * d <= MOST_DIFFERENCES and not is_sparse(X) and not is_sparse(points)


def are_ordinary(X: Wide, points: Wide, unit: float) -> bool:
    """Whether all distances above 0 surely have squares that neither over- nor underflow, also in a unit."""
    sizes = np.abs(np.concatenate([X.ravel(), points.ravel()]))
    # Two different numbers differ by a unit in the last place of the smaller one at least, or by one of them.
    least = sizes.min(where=sizes > 0.0, initial=np.inf) * np.finfo(np.float64).eps / 2.0
    return bool(least > _LEAST * max(unit, 1.0) and sizes.max() < _LARGEST * min(unit, 1.0))


def fill_squares(x: Wide, points: Wide, per_scale: float, out: Wide) -> None:
    """Fill ``out`` (n, m) with squared distances, in units of a scale."""
    zeta = (x[:, None] - points) * per_scale
    np.einsum("ijk,ijk->ij", zeta, zeta, out=out)


def squared_distances(x: Wide, points: Wide, factors: Wide, out: Wide) -> None:
    """Fill ``out`` (n, m) with d² = Σ_i (a_ji (x_i - u_ji))²."""
    for rows in _few_rows(x, points):
        zeta = _scaled_differences(x[rows], points, factors)
        np.einsum("ijk,ijk->ij", zeta, zeta, out=out[rows])


def add_shares(x: Wide, points: Wide, factors: Wide, weights: Wide, out: Wide) -> None:
    """Add Σ_j W_j (a_ji (x_i - u_ji))² to ``out`` (n, d)."""
    for rows in _few_rows(x, points):
        zeta = _scaled_differences(x[rows], points, factors)
        # Weight times ζ first: near a center the weight is huge and ζ² alone would underflow.
        weighted = weights[rows, :, None] * zeta
        weighted *= zeta
        out[rows] += weighted.sum(axis=1)


def _few_rows(x: Wide, points: Wide) -> Iterator[slice]:
    """Rows in parts whose differences to all points stay in the nearest caches."""
    step = max(_IN_CACHE // points.size, 1)
    return (slice(start, start + step) for start in range(0, len(x), step))


def _scaled_differences(x: Wide, points: Wide, factors: Wide) -> Wide:
    zeta = x[:, None] - points
    zeta *= factors
    return np.asarray(zeta)


def count_beside(
    values: Wide, rows: Indices, columns: Indices, nearest: Indices, points: Wide, slack: float
) -> Indices:
    """How many of the nearest points of a row lie clearly below a value, clearly above it, and are known."""
    others, value = points[columns[:, None], nearest[rows]], values[:, None]
    near = slack * np.abs(value)
    counted = value > others + near, value < others - near, ~np.isnan(others)
    return np.stack([each.sum(axis=1) for each in counted], axis=1)
