"""Pairwise steps (SMO) on a small problem: min ½ αᵀKα + pᵀα, 0 ≤ α ≤ C, Σα fixed, K_ii = 1.

Working pairs by second-order selection (Fan, Chen and Lin, "Working set selection using second order
information for training support vector machines", JMLR 2005). Only those rows of K that are needed are there.

Loops run over chunks. They find the extreme of each in a way that vectorises; only the chunk that has the
extreme of all is searched for its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from whyodd.compute.vector_math import VECTOR, larger, smaller

Array = npt.NDArray[Any]

# Curvature assumed along a direction of no or negative curvature, as in libsvm.
TAU = 1e-12
_CHUNK = 128


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _extremes(alpha: Array, upper: Array, gradient: Array) -> tuple[float, float]:
    """(min g over α < C, max g over α > 0)."""
    lowest, highest = np.inf, -np.inf
    for t in range(alpha.size):
        lowest = smaller(lowest, gradient[t] if alpha[t] < upper[t] else np.inf)
        highest = larger(highest, gradient[t] if alpha[t] > 0.0 else -np.inf)
    return lowest, highest


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _move(row_i: Array, row_j: Array, move: float, gradient: Array) -> None:
    for t in range(gradient.size):
        gradient[t] += move * (np.float64(row_i[t]) - np.float64(row_j[t]))


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _best_gain(row: Array, alpha: Array, gradient: Array, lowest: float) -> float:
    """What the best partner gains, twice over: (g_t - g_i)² / (K_ii + K_tt - 2 K_it) over α_t > 0."""
    best = 0.0
    for t in range(alpha.size):
        rise = larger(gradient[t] - lowest, 0.0)
        gain = rise * rise / larger(2.0 - 2.0 * np.float64(row[t]), TAU)
        best = larger(best, gain if alpha[t] > 0.0 else 0.0)
    return best


@njit(cache=True, nogil=True)
def _lowest_in(alpha: Array, upper: Array, gradient: Array) -> int:
    found = -1
    for t in range(alpha.size):
        if alpha[t] < upper[t] and (found < 0 or gradient[t] < gradient[found]):
            found = t
    return found


@njit(cache=True, nogil=True)
def _best_partner_in(row: Array, alpha: Array, gradient: Array, lowest: float) -> int:
    found, best = -1, 0.0
    for t in range(alpha.size):
        rise = gradient[t] - lowest
        if rise > 0.0 and alpha[t] > 0.0:
            gain = rise * rise / max(2.0 - 2.0 * np.float64(row[t]), TAU)
            if gain > best:
                found, best = t, gain
    return found


@njit(cache=True, nogil=True)
def descend_by_pairs(
    rows: Array,
    slots: Array,
    alpha: Array,
    upper: Array,
    gradient: Array,
    tolerance: float,
    max_steps: int,
) -> tuple[int, float, int]:
    """Pairwise steps in place until the violation is within ``tolerance``, or a row of K is missing.

    Each step moves weight to i, with the smallest gradient of those that may grow, from that j of those that
    may shrink which lowers the objective most when bounds are ignored.

    Parameters
    ----------
    rows : ndarray (m, n) of float32 or float64
        Rows of K.
    slots : ndarray (n,) of int
        Where in ``rows`` each row of K is, -1 if it is not.
    alpha, upper, gradient : ndarray (n,) of float64
        Feasible point, bounds C and Kα + p; ``alpha`` and ``gradient`` are updated.
    tolerance : float
    max_steps : int
        Bounds the duration of one call, so that Python can show progress and be interrupted.

    Returns
    -------
    steps : int
    violation : float
    missing : int
        The row of K that the next step needs, -1 if there is none.
    """
    n = alpha.size
    n_chunks = (n + _CHUNK - 1) // _CHUNK
    lows, highs = np.empty(n_chunks), np.empty(n_chunks)
    for c in range(n_chunks):
        some = slice(c * _CHUNK, min((c + 1) * _CHUNK, n))
        lows[c], highs[c] = _extremes(alpha[some], upper[some], gradient[some])
    step = 0
    while True:
        at = int(np.argmin(lows))
        lowest = lows[at]
        violation = highs.max() - lowest
        if not (lowest < np.inf and violation > 0.0):
            return step, 0.0, -1
        if violation <= tolerance or step == max_steps:
            return step, violation, -1
        some = slice(at * _CHUNK, min((at + 1) * _CHUNK, n))
        i = at * _CHUNK + _lowest_in(alpha[some], upper[some], gradient[some])
        if slots[i] < 0:
            return step, violation, i
        row_i = rows[slots[i]]
        at, best = 0, 0.0
        for c in range(n_chunks):
            if highs[c] > lowest:
                some = slice(c * _CHUNK, min((c + 1) * _CHUNK, n))
                gain = _best_gain(row_i[some], alpha[some], gradient[some], lowest)
                if gain > best:
                    at, best = c, gain
        some = slice(at * _CHUNK, min((at + 1) * _CHUNK, n))
        j = at * _CHUNK + _best_partner_in(row_i[some], alpha[some], gradient[some], lowest)
        if slots[j] < 0:
            return step, violation, j
        curvature = max(2.0 - 2.0 * np.float64(row_i[j]), TAU)
        move = min((gradient[j] - lowest) / curvature, upper[i] - alpha[i], alpha[j])
        # Assigned, not subtracted to: bounds are compared exactly.
        alpha[i] = upper[i] if move == upper[i] - alpha[i] else alpha[i] + move
        alpha[j] = 0.0 if move == alpha[j] else alpha[j] - move
        row_j = rows[slots[j]]
        for c in range(n_chunks):
            some = slice(c * _CHUNK, min((c + 1) * _CHUNK, n))
            g = gradient[some]
            _move(row_i[some], row_j[some], move, g)
            lows[c], highs[c] = _extremes(alpha[some], upper[some], g)
        step += 1
