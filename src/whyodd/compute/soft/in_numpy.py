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
    d2: Wide, own: Indices, log_weights: Wide, log_rest: Wide, kernel: Kernel
) -> tuple[Wide, Wide, Wide]:
    """From squared distances (n, m) to log g (n,), o (n,) and p (n, m).

    A center left out, ``own`` (n,) or -1, has weight 0, and distance 1 from here on.
    """
    left_out = np.flatnonzero(own >= 0)
    d2[left_out, own[left_out]] = 1.0
    falls = kernel.log_profile(kernel.energy(d2))
    v = log_weights + falls
    v[left_out, own[left_out]] = -np.inf
    rest = np.zeros(len(own))
    rest[left_out] = log_rest[own[left_out]]
    peak = v.max(axis=1)
    is_lost = np.isneginf(peak)  # beyond the largest float: reported by whoever asked
    p = np.exp(v - np.where(is_lost, 0.0, peak)[:, None])
    total = np.where(is_lost, 1.0, p.sum(axis=1))
    log_g = peak + np.log(total) - rest
    small = np.flatnonzero(log_g > -_NEAR_ZERO)
    alpha = np.exp(log_weights - rest[small, None])
    alpha[own[small, None] == np.arange(len(log_weights))] = 0.0
    # All digits of an o close to 0, where -log g has none.
    log_g[small] = np.minimum(np.log1p(np.sum(alpha * np.expm1(falls[small]), axis=1)), 0.0)
    log_g += kernel.log_height
    counted = d2.shape[1] - (own >= 0).astype(np.float64)
    o = np.where(is_lost, np.inf, kernel.outlierness(log_g, counted))
    return log_g, o, np.asarray(p / total[:, None])
