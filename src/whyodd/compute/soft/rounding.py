"""Rows in which rounding of the matrix products could be seen, and the exact distances that cure it."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from whyodd.compute.soft.pairs import squared_distance
from whyodd.compute.soft.row import COMPILED, effective_distances, log_similarities, row_max


@njit(**COMPILED)
def _effective_one(d2, radial):
    factor = 1.0 / radial.q if radial.exponential else 1.0
    return (math.sqrt(d2) * radial.rate) ** radial.q * factor


@njit(**COMPILED)
def usual_depth(pool):
    """How far below the peak a log-similarity may lie before its pair is of no account.

    All such pairs together hold less than a thousandth of the tolerance.
    """
    return math.log(1e3 * pool.norms.size / pool.tolerance)


@njit(**COMPILED)
def needs_care(smallest, noise, pool):
    """Whether an error ``noise`` of squared distances could be seen in a row with this smallest one."""
    if noise == 0.0:
        return False
    radial = pool.radial
    if noise > pool.tolerance * smallest * min(1.0, 2.0 / radial.q):
        return True
    if not radial.exponential:
        return False  # |d log k| ≤ q/2 · noise/d², which the line above bounds
    e = _effective_one(smallest, radial)
    change = 0.5 * radial.q * e * noise / smallest
    if radial.q > 2.0:  # the slope grows with d: take it at the farthest pair that counts
        farthest = e + usual_depth(pool) + pool.spread
        d2 = (radial.q * farthest) ** (2.0 / radial.q) / (radial.rate * radial.rate)
        change = max(change, 0.5 * radial.q * farthest * noise / d2)
    return change > pool.tolerance


@njit(**COMPILED)
def refine(d2, rows, i, log_weights, pool, depth, lower, upper, shifted, refined):
    """Replace by exact values the distances that count and that rounding blurs; returns how many.

    A pair counts if its log-similarity, at its best, is at most ``depth`` below the peak, at its worst.
    """
    e = np.empty_like(d2)
    for side, v in ((1.0, lower), (-1.0, upper)):
        for g in range(pool.starts.size - 1):
            x2 = rows.norms[i, g]
            for j in range(pool.starts[g], pool.starts[g + 1]):
                shifted[j] = max(d2[j] + side * rows.noise * (x2 + pool.norms[j]), 0.0)
        effective_distances(shifted, pool.radial, e)
        log_similarities(e, log_weights, pool.radial, v)
    threshold = row_max(lower) - depth
    count = 0
    for g in range(pool.starts.size - 1):
        x2 = rows.norms[i, g]
        for j in range(pool.starts[g], pool.starts[g + 1]):
            if upper[j] >= threshold and (
                upper[j] - lower[j] > pool.tolerance
                or rows.noise * (x2 + pool.norms[j]) > pool.tolerance * d2[j]
            ):
                refined[count] = j
                count += 1
    for r in range(count):
        d2[refined[r]] = squared_distance(rows.points, i, pool.points, refined[r], pool.per_scale)
    return count


@njit(**COMPILED)
def row_noise(rows, i, pool):
    """Largest rounding error of a squared distance in row i."""
    x2 = 0.0
    for g in range(rows.norms.shape[1]):
        x2 = max(x2, rows.norms[i, g])
    return rows.noise * (x2 + pool.norm_limit)
