"""Soft min-pooling in NumPy: for few centers, or few rows, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.kernels import Kernel

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Where -log(g/k(0)) is below this, rounding of a logarithm of sums would show in its leading digits.
_NEAR_ZERO = 1e-3


def pool(
    d2: Wide, own: Indices, log_weights: Wide, kept: Wide, log_rest: Wide, kernel: Kernel
) -> tuple[Wide, Wide, Wide]:
    """From squared distances (n, m) to log g (n,), o (n,) and p (n, m).

    A row leaves its center, ``own`` (n,) or -1, with a share of its weight, ``kept`` (m,). One that keeps
    nothing is left out, and has distance 1 from here on.
    """
    left = np.flatnonzero(own >= 0)
    is_out = (own >= 0) & (kept[own] == 0.0)
    d2[is_out, own[is_out]] = 1.0
    falls = kernel.log_profile(kernel.energy(d2))
    v = log_weights + falls
    with np.errstate(divide="ignore"):
        v[left, own[left]] += np.log(kept[own[left]])
    rest = np.zeros(len(own))
    rest[left] = log_rest[own[left]]
    peak = v.max(axis=1)
    is_lost = np.isneginf(peak)  # beyond the largest float: reported by whoever asked
    p = np.exp(v - np.where(is_lost, 0.0, peak)[:, None])
    total = np.where(is_lost, 1.0, p.sum(axis=1))
    log_g = peak + np.log(total) - rest
    small = np.flatnonzero(log_g > -_NEAR_ZERO)
    alpha = np.exp(log_weights - rest[small, None])
    is_own = own[small, None] == np.arange(len(log_weights))
    alpha *= np.where(is_own, kept, 1.0)
    # All digits of an o close to 0, where -log g has none.
    log_g[small] = np.minimum(np.log1p(np.sum(alpha * np.expm1(falls[small]), axis=1)), 0.0)
    log_g += kernel.log_height
    counted = d2.shape[1] - is_out.astype(np.float64)
    o = np.where(is_lost, np.inf, kernel.outlierness(log_g, counted))
    return log_g, o, np.asarray(p / total[:, None])
