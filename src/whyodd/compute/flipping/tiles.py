"""Feature flipping for soft min-pooling under the plain distance, compiled: o(Ψ) as variables are taken away.

The work goes backwards: from nothing left, where all distances are 0, variables come back in reverse order
and their squares are added to d². Nothing cancels on the way, and log g is taken where something has changed.
Centers come in tiles whose coordinates stay in the second and whose distances stay in the nearest cache.
"""

from __future__ import annotations

import math

import numpy as np

from whyodd.compute.compiling import compiled
from whyodd.compute.soft.row import energies, log_similarities, row_max, row_min, row_sum
from whyodd.kernels.functions import exp


@compiled
def _sort_by_stage(stages, order, ends):
    """Fill ``order`` with columns by ascending stage; ``ends[s]``: how many have a stage of at most s."""
    ends[:] = 0
    for stage in stages:
        ends[stage] += 1
    for s in range(1, ends.size):
        ends[s] += ends[s - 1]
    for i in range(stages.size - 1, -1, -1):
        ends[stages[i]] -= 1
        order[ends[stages[i]]] = i
    # Now ends[s] is where stage s begins, which is where stage s - 1 ends.
    for s in range(ends.size - 1):
        ends[s] = ends[s + 1]
    ends[ends.size - 1] = stages.size


@compiled
def _add_squares(x, tile, columns, gains, chosen, d2):
    """Add g_i (x_i - u_i)² of the ``chosen`` columns to d² of a tile (d, w); four at a time load d² less."""
    whole = chosen.size - chosen.size % 4
    for at in range(0, whole, 4):
        i0, i1, i2, i3 = chosen[at], chosen[at + 1], chosen[at + 2], chosen[at + 3]
        u0, u1, u2, u3 = tile[columns[i0]], tile[columns[i1]], tile[columns[i2]], tile[columns[i3]]
        x0, x1, x2, x3 = x[columns[i0]], x[columns[i1]], x[columns[i2]], x[columns[i3]]
        g0, g1, g2, g3 = gains[i0], gains[i1], gains[i2], gains[i3]
        for j in range(d2.size):
            t0, t1, t2, t3 = x0 - u0[j], x1 - u1[j], x2 - u2[j], x3 - u3[j]
            d2[j] += (g0 * t0 * t0 + g1 * t1 * t1) + (g2 * t2 * t2 + g3 * t3 * t3)
    for at in range(whole, chosen.size):
        i = chosen[at]
        u, value, gain = tile[columns[i]], x[columns[i]], gains[i]
        for j in range(d2.size):
            t = value - u[j]
            d2[j] += gain * t * t


@compiled
def _exponentials(e, log_weights, radial, shift, out):
    for j in range(e.size):
        out[j] = exp(log_weights[j] + radial.numbers.log_profile(e[j]) - shift)


@compiled
def _log_sum(e, own, kept, log_weights, radial, bound, p, least):
    """Log Σ_j exp(v_j) of a tile, v = log α + log f(e), with ``bound`` at least as large as every v_j.

    The bound is the result of the step before: distances have only grown since. The largest v itself is
    looked for where that one is so high that the sum underflows. The row's ``own`` center counts as ``kept``.
    """
    shift = p.dtype.type(bound)
    _exponentials(e, log_weights, radial, shift, p)
    if own >= 0:
        p[own] = p[own] * kept if kept > 0.0 else 0.0
    total = row_sum(p)
    if total < least:
        log_similarities(e, log_weights, radial, p)
        if own >= 0:
            p[own] += math.log(kept) if kept > 0.0 else -np.inf
        shift = row_max(p)
        if shift == -np.inf:
            return -np.inf
        for j in range(e.size):
            p[j] = exp(p[j] - shift)
        total = row_sum(p)
    return np.float64(shift) + math.log(total)


@compiled
def _sum(e, own, kept, weights, radial, p):
    """Σ_j α_j f(e_j) of a tile, where f is nowhere so small that it needs logarithms."""
    for j in range(e.size):
        p[j] = weights[j] * radial.numbers.profile(e[j])
    if own >= 0:
        p[own] *= kept
    return row_sum(p)


@compiled
def _log_add(a, b):
    """Logarithm of e^a + e^b."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@compiled
def add_tiles(
    x, tiles, weights, own, kept, versions, columns, gains, stages, radial, by_logs, least, sums, nearest
):
    """Add what tiles (t, d, w) of centers have of g/k(0), or its logarithm, to ``sums`` (n, S + 1).

    ``by_logs``: weights and sums are logarithms. ``kept`` (n,) is the share of its weight that a row's own
    center keeps. Only where a stage takes something away; ``nearest`` (n,) becomes the smallest d² with all
    variables.
    """
    n, width, last = x.shape[0], tiles.shape[2], sums.shape[1] - 1
    order, ends = np.empty(stages.shape, np.int64), np.empty((n, last + 1), np.int64)
    for i in range(n):
        _sort_by_stage(stages[i], order[i], ends[i])
    d2, e, p = np.empty(width, x.dtype), np.empty(width, x.dtype), np.empty(width, x.dtype)
    for t in range(tiles.shape[0]):
        for i in range(n):
            tile_own = own[i] - t * width if t * width <= own[i] < (t + 1) * width else -1
            tile_weights = weights[versions[i], t]
            bound = np.float64(row_max(tile_weights))
            g = gains[min(i, gains.shape[0] - 1)]
            d2[:] = 0.0
            for s in range(last, 0, -1):
                chosen = order[i, ends[i, s - 1] : ends[i, s]]
                if chosen.size == 0:
                    continue
                _add_squares(x[i], tiles[t], columns, g, chosen, d2)
                energies(d2, radial, e)
                if by_logs:
                    total = _log_sum(e, tile_own, kept[i], tile_weights, radial, bound, p, least)
                    if total > -np.inf:
                        bound = total
                        sums[i, s - 1] = _log_add(sums[i, s - 1], total)
                else:
                    sums[i, s - 1] += _sum(e, tile_own, kept[i], tile_weights, radial, p)
            for j in range(width):  # centers that count
                if tile_weights[j] == (-np.inf if by_logs else 0.0) or (j == tile_own and kept[i] == 0.0):
                    d2[j] = np.inf
            nearest[i] = min(nearest[i], np.float64(row_min(d2)))
