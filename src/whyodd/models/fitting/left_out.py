"""Scores of training rows without themselves, since a row that is a center would look normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


def some_rows(n: int, most: int) -> Indices:
    """All of n rows, or ``most`` of them at random (fixed seed), ascending."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def log_inlierness_without(
    rows: Points, alpha: Floats, shares: Floats, kernel: Kernel, chosen: Indices
) -> Floats:
    """Log-inlierness of rows, each without its own share of the weights, computed without subtraction.

    With the weight α_i of the center that a row is, its own share s_i of it (less than α_i where copies of
    the row, or other rows, have a part in it) and g' of the other centers alone, weights normalised: g = ((1
    - α_i) g' + (α_i - s_i) k(0)) / (1 - s_i).

    Parameters
    ----------
    rows : ndarray or CSR array of shape (n, d)
        Distinct rows.
    alpha, shares : ndarray of shape (n,)
        α_i (0: no center) and s_i ≤ α_i.
    kernel : Kernel
    chosen : ndarray of int of shape (k,)
        Which rows are scored.

    Returns
    -------
    ndarray of shape (k,)
    """
    centers = np.flatnonzero(alpha)
    own = np.full(len(alpha), -1, dtype=np.intp)
    own[centers] = np.arange(len(centers))
    # A center with all of the weight cannot be left out, since nothing else could be compared with.
    own[alpha >= 1.0 - 1e-12] = -1
    network = DistanceNetwork(rows[centers], kernel=kernel, log_weights=np.log(alpha[centers]))
    others = network.assign(rows[chosen], own=own[chosen]).log_inlierness
    weight, share = (np.where(own < 0, 0.0, values)[chosen] for values in (alpha, shares))
    with np.errstate(divide="ignore"):  # most centers have nothing left
        rest = np.log(np.maximum(weight - share, 0.0)) + kernel.log_height
    return np.asarray(np.logaddexp(others + np.log1p(-weight), rest) - np.log1p(-share))
