"""Rows in which rounding of the matrix products could be seen, and the exact distances that cure it."""

from __future__ import annotations

import math

import numpy as np

from whyodd.compute.compiling import compiled
from whyodd.compute.soft.pairs import squared_distance
from whyodd.compute.soft.row import energies, energy, left_out, log_similarities, row_max

# Gap between 1 and the next number of single precision.
_UNIT32 = 2.0**-23


@compiled
def usual_depth(pool):
    """How far below the peak a log-similarity may lie before its pair is of no account.

    All such pairs together hold less than a thousandth of the tolerance.
    """
    return math.log(1e3 * pool.norms.size / pool.tolerance)


@compiled
def reach_of(fall, low, high, radial):
    """Squared distance in [low, high], to a hundredth, beyond which log(k/k(0)) is below ``fall``."""
    # Energies grow, and profiles fall, with the distance: halve the interval of distances.
    near, far = math.sqrt(low), math.sqrt(high)
    while far - near > 0.01 * far:
        middle = 0.5 * (near + far)
        if radial.numbers.log_profile((middle * radial.rate) ** radial.q) < fall:
            far = middle
        else:
            near = middle
    return far * far


@compiled
def _change(d2, noise, radial):
    """What an error ``noise`` of a squared distance changes of log k."""
    return 0.5 * radial.q * radial.numbers.steepness(energy(d2, radial)) * noise / d2


@compiled
def needs_care(smallest, noise, x2, pool):
    """Whether an error ``noise`` of squared distances could be seen in a row with this smallest one.

    The slope of log k is taken at the nearest center, and at the farthest that counts if it is larger there.
    """
    if noise == 0.0:
        return False
    radial = pool.wide
    if noise > pool.tolerance * smallest * min(1.0, 2.0 / radial.q):
        return True
    if _change(smallest, noise, radial) > pool.tolerance:
        return True
    # No center is farther than this.
    farthest = 2.0 * (x2 + pool.norm_limit)
    if _change(farthest, noise, radial) <= pool.tolerance:
        return False
    fall = radial.numbers.log_profile(energy(smallest, radial)) - usual_depth(pool) - pool.spread
    return _change(reach_of(fall, smallest, farthest, radial), noise, radial) > pool.tolerance


@compiled
def is_steep(smallest, pool):
    """Whether float32 rounds log-similarities so coarsely, also those of exact distances, that p shows it."""
    radial = pool.wide
    e = energy(smallest, radial)
    size = max(radial.numbers.steepness(e), -radial.numbers.log_profile(e))
    return max(1.0, 0.5 * radial.q) * _UNIT32 * size > pool.tolerance


@compiled
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
        energies(shifted, pool.wide, e)
        log_similarities(e, log_weights, pool.wide, v)
        out = left_out(rows.own[i], pool)
        if out >= 0:
            v[out] = -np.inf
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


@compiled
def largest_norm(rows, i):
    """Largest squared norm of row i, over the origins."""
    x2 = 0.0
    for g in range(rows.norms.shape[1]):
        x2 = max(x2, rows.norms[i, g])
    return x2
