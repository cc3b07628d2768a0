"""Pairwise steps (SMO) on a small dense problem: min ½ αᵀKα + pᵀα, 0 ≤ α ≤ C, Σα fixed.

Working pairs by second-order selection (Fan, Chen and Lin, "Working set selection using second order
information for training support vector machines", JMLR 2005). Everything fits in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

# Curvature assumed along a direction of no or negative curvature, as in libsvm.
TAU = 1e-12


@njit(cache=True, nogil=True)
def _select_pair(K: Array, alpha: Array, upper: Array, gradient: Array) -> tuple[int, int, float]:
    """Choose the pair (i, j) to move weight from j to i, with the violation; i = -1 if there is none.

    Here i has the smallest gradient of those that may grow; j, of those that may shrink and have a larger
    gradient, is the one that lowers the objective most when bounds are ignored.
    """
    i, lowest, highest = -1, np.inf, -np.inf
    for t in range(alpha.size):
        g = gradient[t]
        if g < lowest and alpha[t] < upper[t]:
            i, lowest = t, g
        if g > highest and alpha[t] > 0.0:
            highest = g
    if i < 0 or highest <= lowest:
        return -1, -1, 0.0
    j, best = -1, 0.0
    row, k_ii = K[i], np.float64(K[i, i])
    for t in range(alpha.size):
        rise = gradient[t] - lowest
        if rise > 0.0 and alpha[t] > 0.0:
            curvature = max(k_ii + np.float64(K[t, t]) - 2.0 * np.float64(row[t]), TAU)
            gain = rise * rise / curvature
            if gain > best:
                j, best = t, gain
    return i, j, highest - lowest


@njit(cache=True, nogil=True)
def descend_by_pairs(
    K: Array, alpha: Array, upper: Array, gradient: Array, tolerance: float, max_steps: int
) -> tuple[int, float]:
    """Pairwise steps in place until the violation is within ``tolerance``: their number, and the violation.

    Parameters
    ----------
    K : ndarray (n, n) of float32
    alpha, upper, gradient : ndarray (n,) of float64
        Feasible point, bounds C and Kα + p; ``alpha`` and ``gradient`` are updated.
    tolerance : float
    max_steps : int
        Bounds the duration of one call, so that Python can show progress and be interrupted.
    """
    for step in range(max_steps):
        i, j, violation = _select_pair(K, alpha, upper, gradient)
        if violation <= tolerance:
            return step, violation
        curvature = max(np.float64(K[i, i]) + np.float64(K[j, j]) - 2.0 * np.float64(K[i, j]), TAU)
        move = min((gradient[j] - gradient[i]) / curvature, upper[i] - alpha[i], alpha[j])
        # Assigned, not subtracted to: bounds are compared exactly.
        alpha[i] = upper[i] if move == upper[i] - alpha[i] else alpha[i] + move
        alpha[j] = 0.0 if move == alpha[j] else alpha[j] - move
        row_i, row_j = K[i], K[j]
        for t in range(alpha.size):
            gradient[t] += move * (np.float64(row_i[t]) - np.float64(row_j[t]))
    return max_steps, _select_pair(K, alpha, upper, gradient)[2]
