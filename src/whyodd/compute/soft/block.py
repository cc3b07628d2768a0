"""Soft min-pooling of a block of rows, fused: each row of distances is read from cache only.

A block enters as matrix products S = X Uᵀ and leaves as whatever the caller needs, in place. Distances from
matrix products carry rounding errors; rows where those could be seen in the result are treated with care:
in float64, with exact distances for the pairs that matter.
"""

from __future__ import annotations

import math

import numpy as np

from whyodd.compute.compiling import compiled
from whyodd.compute.soft.pairs import add_squares
from whyodd.compute.soft.peaked import explain_peaked
from whyodd.compute.soft.rounding import is_steep, largest_norm, needs_care, refine, usual_depth
from whyodd.compute.soft.row import explain_row, explained_part, left_out, normalise_row, pool_row, row_min
from whyodd.compute.vector_math import larger, smaller

# What a block becomes besides the scores of its rows: nothing of use, p, or weights of an explanation.
SCORES, ASSIGNMENTS, WEIGHTS = 0, 1, 2
# Share of o below which what is explained may drown in the rounding of o.
_NEXT_TO_NOTHING = 1e-6


@compiled
def _to_distances(row, norms, x2):
    """Turn products ⟨x, u_j⟩ into d²_j = ‖x‖² + ‖u_j‖² - 2 ⟨x, u_j⟩, in place; returns the smallest."""
    two, zero = row.dtype.type(2.0), row.dtype.type(0.0)
    smallest = row.dtype.type(np.inf)
    for j in range(row.size):
        d2 = larger(x2 + norms[j] - two * row[j], zero)
        row[j] = d2
        smallest = smaller(smallest, d2)
    return smallest


@compiled
def _distances(S, i, out, rows, norms, starts):
    """Turn row i of X Uᵀ into d² in place, infinite for a center left out; returns the smallest."""
    smallest = S.dtype.type(np.inf)
    for g in range(starts.size - 1):
        start, stop = starts[g], starts[g + 1]
        nearest = _to_distances(S[i, start:stop], norms[start:stop], S.dtype.type(rows.norms[i, g]))
        smallest = min(smallest, nearest)
    if out >= 0:
        is_nearest = S[i, out] == smallest
        S[i, out] = np.inf
        smallest = row_min(S[i]) if is_nearest else smallest
    return np.float64(smallest)


@compiled
def _pool_with_care(d2, rows, i, version, pool, explaining, e, p, result, refined):
    """Pool one row in float64 with exact distances where they count; returns log g, o, unexplained, how many.

    Usually pairs with the largest p count. Where those explain next to nothing (a row on top of a heavy
    center) the relevance comes from pairs far below them: then these count as well.
    """
    original = d2.copy()
    depth = usual_depth(pool)
    weights = pool.log_weights[version]
    is_exact = rows.noise == 0.0
    while True:
        count = 0 if is_exact else refine(d2, rows, i, weights, pool, depth, e, p, result, refined)
        log_g, o, total = pool_row(d2, row_min(d2), rows.own[i], version, weights, pool, pool.wide, e, p)
        if not explaining or o == np.inf:
            normalise_row(p, total, result)
            return log_g, o, 0.0, count
        for j in range(d2.size):
            result[j] = d2[j]
        unexplained = explain_row(result, e, p, total, o, pool.wide)
        explained = explained_part(result, d2)
        missing = math.log(o / explained) if 0.0 < explained < np.inf else 0.0
        if is_exact or usual_depth(pool) + missing <= depth + math.log(1e3):
            return log_g, o, unexplained, count
        depth = usual_depth(pool) + missing
        for j in range(d2.size):
            d2[j] = original[j]


@compiled
def _add_directly(weights, d2, o, rows, i, pool, relevance):
    """Where next to nothing of o is explained products would blur it: pairs that count are added one by one.

    They have no weight from then on. For exact distances only: with care such pairs are added anyway.
    """
    explained = explained_part(weights, d2)
    if explained > _NEXT_TO_NOTHING * o:
        return
    least = pool.tolerance * explained / d2.size
    for j in range(d2.size):
        if weights[j] * d2[j] > least:
            add_squares(rows.points, i, pool.points, j, pool.per_scale, np.float64(weights[j]), relevance)
            weights[j] = 0.0


@compiled
def pool_block(S, rows, pool, pooled, wanted, direct):
    """From S = X Uᵀ to the scores of each row and, in place, what is ``wanted`` besides.

    ASSIGNMENTS: S becomes p, Σ_j p_j = 1. WEIGHTS: S becomes W with R = Σ_j W_j (x - u_j)²; pairs treated
    exactly are added to ``direct`` at once and get W = 0, if it has room. Rows that are explained by few
    centers are told there, and have nothing of use in S.
    Returns False, with nothing of use in S, if so many pairs need exact treatment that a wider dtype is
    cheaper.
    """
    m, explaining = S.shape[1], wanted == WEIGHTS
    budget = pool.patience * S.size
    is_exact = rows.noise == 0.0 and explaining and direct.relevance.size > 0
    log_weights, norms = pool.log_weights.astype(S.dtype), pool.norms.astype(S.dtype)
    # Separate arrays throughout: a loop over one array under two names does not vectorise.
    e, p, kept = np.empty(m, S.dtype), np.empty(m, S.dtype), np.empty(m, S.dtype)
    d2, wide_e, wide_p, wide_result = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    refined, found = np.empty(m, np.int64), np.empty(m, np.int64)
    direct.is_all[:] = False
    for i in range(S.shape[0]):
        own, out = rows.own[i], left_out(rows.own[i], pool)
        version = 1 if out == pool.heaviest else 0
        smallest = _distances(S, i, out, rows, norms, pool.starts)
        x2 = largest_norm(rows, i)
        noise = rows.noise * (x2 + pool.norm_limit)  # the largest rounding error of a squared distance
        if explaining and direct.tolerance > 0.0:
            log_g, o, unexplained = explain_peaked(
                S[i], smallest, noise, x2, rows, i, version, pool, direct, found
            )
        if direct.is_all[i]:
            pass
        elif needs_care(smallest, noise, x2, pool) or (S.itemsize == 4 and is_steep(smallest, pool)):
            for j in range(m):
                d2[j] = S[i, j]
            log_g, o, unexplained, count = _pool_with_care(
                d2, rows, i, version, pool, explaining, wide_e, wide_p, wide_result, refined
            )
            budget -= count
            if budget < 0.0:
                return False
            if explaining and direct.relevance.size > 0:
                for r in range(count):
                    j, weight = refined[r], wide_result[refined[r]]
                    add_squares(rows.points, i, pool.points, j, pool.per_scale, weight, direct.relevance[i])
                    wide_result[j] = 0.0
            if is_exact and o < np.inf:
                _add_directly(wide_result, d2, o, rows, i, pool, direct.relevance[i])
            if wanted != SCORES:
                for j in range(m):
                    S[i, j] = wide_result[j]
        else:
            log_g, o, total = pool_row(
                S[i], smallest, own, version, log_weights[version], pool, pool.radial, e, p
            )
            if explaining and o < np.inf:
                if is_exact:
                    for j in range(m):
                        kept[j] = S[i, j]
                unexplained = explain_row(S[i], e, p, total, o, pool.radial)
                if is_exact:
                    _add_directly(S[i], kept, o, rows, i, pool, direct.relevance[i])
            else:
                unexplained = 0.0
                if wanted == ASSIGNMENTS:
                    normalise_row(p, total, S[i])
        if o == np.inf:  # not representable: whoever asked reports it, nothing of the row may spoil others
            for j in range(m):
                S[i, j] = 0.0
        pooled.outlierness[i] = o
        pooled.log_inlierness[i] = log_g
        pooled.unexplained[i] = unexplained
        pooled.discarded[i] = direct.tolerance if direct.is_all[i] else 0.0
    return True
