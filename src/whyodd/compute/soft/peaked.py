"""Rows with a peaked soft-min: only the few centers count that are nearly as near as the nearest.

Where a kernel falls fast, all centers beyond some distance together have less of p than the tolerance. Those
nearer are found in one pass over the distances, without a single exponential; if they are few everything else
is done for them alone, pair by pair, with exact distances where rounding of the matrix product could be seen.
"""

from __future__ import annotations

import math

import numpy as np

from whyodd.compute.compiling import compiled
from whyodd.compute.soft.pairs import add_squares, squared_distance
from whyodd.compute.soft.rounding import needs_care, reach_of
from whyodd.compute.soft.row import energy, explain_row, outlierness, pool_row

# From this many centers for each that counts, those are better taken one by one than all in matrix products.
_FEW = 6
# Below this -log(g/k(0)) loses digits, and the way around it needs all centers.
_LEAST = 0.05


@compiled
def _reach(d2, smallest, noise, x2, version, pool, tolerance):
    """Squared distance beyond which all centers together have less than ``tolerance`` of p."""
    radial = pool.wide
    nearest = 0
    while d2[nearest] > smallest:
        nearest += 1
    # Log-weights are relative to the largest: no v_j is above log f(e_j).
    below = math.log(pool.norms.size / tolerance) - pool.log_weights[version, nearest]
    fall = radial.numbers.log_profile(energy(smallest + noise, radial)) - below
    farthest = 2.0 * (x2 + pool.norm_limit)
    if radial.numbers.log_profile(energy(farthest, radial)) >= fall:
        return np.inf
    return reach_of(fall, smallest, farthest, radial) + noise


@compiled
def _nearer(d2, reach, most, found):
    """Fill ``found`` with the positions of d² up to ``reach``; returns how many, ``most`` + 1 if more."""
    limit = d2.dtype.type(reach)
    count = 0
    for j in range(d2.size):
        if d2[j] <= limit:
            if count == most:
                return most + 1
            found[count] = j
            count += 1
    return count


@compiled
def explain_peaked(d2, smallest, noise, x2, rows, i, version, pool, direct, found):
    """Explain one row by the centers that count, if they are few: log g, o, unexplained.

    Sets ``direct.is_all[i]`` if it does so; the share of p discarded is below ``direct.tolerance`` then.
    """
    direct.is_all[i] = False
    if smallest == np.inf:
        return 0.0, 0.0, 0.0
    reach = _reach(d2, smallest, noise, x2, version, pool, direct.tolerance)
    if reach == np.inf:
        return 0.0, 0.0, 0.0
    count = _nearer(d2, reach, d2.size // _FEW, found)
    if count * _FEW > d2.size:
        return 0.0, 0.0, 0.0
    near, weights = np.empty(count), np.empty(count)
    exactly = needs_care(smallest, noise, x2, pool)
    for c in range(count):
        j = found[c]
        near[c] = squared_distance(rows.points, i, pool.points, j, pool.per_scale) if exactly else d2[j]
        weights[c] = pool.log_weights[version, j]
    e, p, rest = np.empty(count), np.empty(count), np.empty(count)
    log_g, o, total = pool_row(near, -1, version, weights, pool, pool.wide, e, p)
    if rows.own[i] >= 0:  # the others have all the weight
        log_g -= pool.log_rest[rows.own[i]]
        o = outlierness(log_g, rows.own[i], pool)
    if not (pool.wide.log_height - log_g > _LEAST and o < np.inf):
        return 0.0, 0.0, 0.0
    unexplained = explain_row(near, e, p, total, o, pool.wide, weights, rest)
    for c in range(count):
        add_squares(rows.points, i, pool.points, found[c], pool.per_scale, weights[c], direct.relevance[i])
    direct.is_all[i] = True
    return log_g, o, unexplained
