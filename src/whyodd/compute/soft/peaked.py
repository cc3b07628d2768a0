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
from whyodd.compute.soft.row import energy, explain_row, left_out, outlierness, pool_row, row_min

# From this many centers for each that counts, those are better taken one by one than all in matrix products.
FEW = 6
# Below this -log(g/k(0)) loses digits, and the way around it needs all centers.
_LEAST = 0.05


@compiled
def _log_weight(j, own, version, pool):
    """Log-weight of center j, less what a row that is this center takes with it."""
    taken = math.log(pool.kept[j]) if j == own else 0.0
    return pool.log_weights[version, j] + taken


@compiled
def reach_from(nearest, smallest, noise, x2, own, version, pool, tolerance):
    """Squared distance beyond which all centers together have less than ``tolerance`` of p.

    ``smallest`` is that to the center ``nearest``.
    """
    radial = pool.wide
    # Log-weights are relative to the largest: no v_j is above log f(e_j).
    below = math.log(pool.norms.size / tolerance) - _log_weight(nearest, own, version, pool)
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
    nearest = 0
    while d2[nearest] > smallest:
        nearest += 1
    reach = reach_from(nearest, smallest, noise, x2, rows.own[i], version, pool, direct.tolerance)
    if reach == np.inf:
        return 0.0, 0.0, 0.0
    count = _nearer(d2, reach, d2.size // FEW, found)
    if count * FEW > d2.size:
        return 0.0, 0.0, 0.0
    near, weights = np.empty(count), np.empty(count)
    exactly = needs_care(smallest, noise, x2, pool)
    for c in range(count):
        j = found[c]
        near[c] = squared_distance(rows.points, i, pool.points, j, pool.per_scale) if exactly else d2[j]
        weights[c] = _log_weight(j, rows.own[i], version, pool)
    return explain_few(near, weights, found, rows, i, version, pool, direct)


@compiled
def explain_few(near, weights, found, rows, i, version, pool, direct):
    """Explain one row by centers at squared distances ``near`` alone: log g, o, unexplained.

    Sets ``direct.is_all[i]`` unless o is too near 0 for that. Relevance is added if there is room for it.
    """
    e, p, unexplained = np.empty(near.size), np.empty(near.size), 0.0
    # Not the literal -1: numba would compile all of it once more for that.
    log_g, o, total = pool_row(near, row_min(near), np.int64(-1), version, weights, pool, pool.wide, e, p)
    if rows.own[i] >= 0:  # the others have all the weight
        log_g -= pool.log_rest[rows.own[i]]
        o = outlierness(log_g, left_out(rows.own[i], pool), pool)
    if not (pool.wide.log_height - log_g > _LEAST and o < np.inf):
        return 0.0, 0.0, 0.0
    if direct.relevance.size > 0:
        unexplained = explain_row(near, e, p, total, o, pool.wide)
        for c in range(near.size):
            add_squares(rows.points, i, pool.points, found[c], pool.per_scale, near[c], direct.relevance[i])
    direct.is_all[i] = True
    return log_g, o, unexplained


@compiled
def fill_reach(nearest, smallest, norms, own, pool, tolerance, reach):
    """Fill in the squared distance within which each row's centers count."""
    for i in range(reach.size):
        version = 1 if left_out(own[i], pool) == pool.heaviest else 0
        reach[i] = reach_from(nearest[i], smallest[i], 0.0, norms[i], own[i], version, pool, tolerance)


@compiled
def explain_found(counts, found, near, rows, pool, direct, results):
    """Explain each row by the centers found near it, but for one left out, if they are all that count."""
    for i in range(counts.size):
        if counts[i] > found.shape[1]:
            continue
        out, count = left_out(rows.own[i], pool), 0
        version = 1 if out == pool.heaviest else 0
        weights = np.empty(counts[i])
        for c in range(counts[i]):
            if found[i, c] != out:
                found[i, count], near[i, count] = found[i, c], near[i, c]
                weights[count] = _log_weight(found[i, c], rows.own[i], version, pool)
                count += 1
        if count == 0:
            continue
        log_g, o, unexplained = explain_few(
            near[i, :count], weights[:count], found[i], rows, i, version, pool, direct
        )
        results[i, 0], results[i, 1], results[i, 2] = o, log_g, unexplained
