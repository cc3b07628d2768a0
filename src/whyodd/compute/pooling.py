"""Soft min-pooling over distances, row by row, fused so that a row of distances is read from cache only.

A block enters as matrix products S = X Uᵀ and leaves as whatever the caller needs, in place. Distances from
matrix products carry rounding errors; rows where those could be seen in the result are treated with care:
in float64, with exact distances for the pairs that matter (`_refine`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from whyodd.compute.pairs import add_squares, squared_distance
from whyodd.compute.vector_math import VECTOR, exp, log

COMPILED = {"cache": True, "nogil": True, "fastmath": VECTOR, "error_model": "numpy"}

# Sums run in the dtype of the row within a chunk and in float64 across chunks.
CHUNK = 256


class Radial(NamedTuple):
    """Kernel as numbers (functions passed into compiled code would defeat its cache on disk)."""

    exponential: bool
    q: float
    rate: float  # 1/σ in the scaled units of the block
    a: float


class Pool(NamedTuple):
    """Centers as the compiled loops see them."""

    points: Any  # raw centers, dense or CSR: for exact differences
    norms: Any  # (m,) squared norms, relative to the origin of the center's group
    norm_limit: float  # the largest of them
    starts: Any  # (groups + 1,) where each group of centers begins
    log_weights: Any  # (2, m) log α_j minus its maximum; second row: without the heaviest center
    shifts: Any  # (2,) those maxima
    spread: float  # largest minus smallest log-weight above -infinity
    heaviest: int
    log_rest: Any  # (m,) log(1 - α_j)
    radial: Radial
    per_scale: float  # 1/scale of the scaled units
    noise: float  # rounding error of d² over (‖x‖² + ‖u‖²)
    tolerance: float  # what may be seen of it in p and in shares
    patience: float  # share of pairs to treat exactly before a block is given up, for a wider dtype


class Rows(NamedTuple):
    """Rows of a block as the compiled loops see them."""

    points: Any  # raw rows, dense or CSR
    norms: Any  # (n, groups) squared norms relative to each group's origin
    own: Any  # (n,) center to leave out, or -1


class Pooled(NamedTuple):
    """Per row: the results of pooling."""

    outlierness: Any
    log_inlierness: Any
    unexplained: Any


@njit(**COMPILED)
def _effective(d2, radial, out):
    """Effective distance e_j: (d/σ)^q / q for the exponential family, (d/σ)^q for Student."""
    kind = d2.dtype.type
    factor = kind(1.0 / radial.q if radial.exponential else 1.0)
    rate = kind(radial.rate)
    if radial.q == 2.0:
        factor *= rate * rate
        for j in range(d2.size):
            out[j] = d2[j] * factor
    elif radial.q == 1.0:
        factor *= rate
        for j in range(d2.size):
            out[j] = np.sqrt(d2[j]) * factor
    elif radial.q == 4.0:
        square = rate * rate
        for j in range(d2.size):
            t = d2[j] * square
            out[j] = t * t * factor
    else:
        q = kind(radial.q)
        for j in range(d2.size):
            out[j] = (np.sqrt(d2[j]) * rate) ** q * factor


@njit(**COMPILED)
def _log_similarities(e, log_weights, radial, v):
    """v_j = log α_j + log k_j from effective distances."""
    if radial.exponential:
        for j in range(e.size):
            v[j] = log_weights[j] - e[j]
    else:
        a = e.dtype.type(radial.a)
        for j in range(e.size):
            v[j] = log_weights[j] - log(a + e[j])


# Reductions stand apart from the loops that compute: together neither would vectorise. Four strands hide the
# latency of comparisons, which numba does not vectorise at all.
@njit(**COMPILED)
def _largest(row):
    a = b = c = d = row.dtype.type(-np.inf)
    whole = row.size - row.size % 4
    for j in range(0, whole, 4):
        a, b = max(a, row[j]), max(b, row[j + 1])
        c, d = max(c, row[j + 2]), max(d, row[j + 3])
    for j in range(whole, row.size):
        a = max(a, row[j])
    return max(max(a, b), max(c, d))


@njit(**COMPILED)
def _smallest(row):
    a = b = c = d = row.dtype.type(np.inf)
    whole = row.size - row.size % 4
    for j in range(0, whole, 4):
        a, b = min(a, row[j]), min(b, row[j + 1])
        c, d = min(c, row[j + 2]), min(d, row[j + 3])
    for j in range(whole, row.size):
        a = min(a, row[j])
    return min(min(a, b), min(c, d))


@njit(**COMPILED)
def _sum(row):
    total = 0.0
    for start in range(0, row.size, CHUNK):
        part = row.dtype.type(0.0)
        for j in range(start, min(start + CHUNK, row.size)):
            part += row[j]
        total += part
    return total


@njit(**COMPILED)
def _softmax(v, peak):
    """Turn v into exp(v - peak) in place; returns the sum."""
    for j in range(v.size):
        v[j] = exp(v[j] - peak)
    return _sum(v)


@njit(**COMPILED)
def _near_zero(e, log_weights, log_norm):
    """o = -log(1 + Σ α_j (e^{-e_j} - 1)): all digits of an o close to 0, where -log g has none."""
    total = 0.0
    for j in range(e.size):
        if e[j] < np.inf:  # a center left out has no weight
            total += math.exp(log_weights[j] - log_norm) * math.expm1(-np.float64(e[j]))
    return -math.log1p(total)


@njit(**COMPILED)
def _pool_row(d2, own, version, log_weights, pool, e, p):
    """Pool one row of squared distances: e and p (not yet normalised) are filled; returns log g, o, Σp."""
    radial = pool.radial
    _effective(d2, radial, e)
    _log_similarities(e, log_weights, radial, p)
    peak = _largest(p)
    if peak == -np.inf:  # e overflowed for every center: o is not representable
        return -np.inf, np.inf, 1.0
    total = _softmax(p, peak)
    rest = pool.log_rest[own] if own >= 0 else 0.0
    log_norm = rest - pool.shifts[version]
    log_g = np.float64(peak) + math.log(total) - log_norm
    if not radial.exponential:
        m = e.size - 1 if own >= 0 else e.size
        return log_g, m * math.exp(-log_g), total
    # Below this, rounding of -log g (a few units of |peak| ~ 10) would show in its leading digits.
    if -log_g < 0.05 if e.itemsize == 4 else -log_g < 1e-3:
        log_g = min(-_near_zero(e, log_weights, log_norm), 0.0)
    return log_g, -log_g, total


@njit(**COMPILED)
def _weigh_row(d2, e, p, total, o, radial, out):
    """W_j = Δ_j / d²_j into ``out``; returns the unexplained part Σ_j D_j⁺, summed on its own."""
    kind = d2.dtype.type
    norm, score, zero = kind(1.0 / total), kind(o), kind(0.0)
    unexplained = 0.0
    if radial.exponential:
        for start in range(0, d2.size, CHUNK):
            part = zero
            for j in range(start, min(start + CHUNK, d2.size)):
                share = min(score, e[j])
                part += p[j] * (score - share)
                out[j] = p[j] * norm * share / d2[j] if d2[j] > zero else zero
            unexplained += part
        return unexplained / total
    a, finite = kind(radial.a), kind(1e37)  # a center left out has e = ∞ and p = 0
    for start in range(0, d2.size, CHUNK):
        part = zero
        for j in range(start, min(start + CHUNK, d2.size)):
            similarity = kind(1.0) / (a + min(e[j], finite))
            part += p[j] * similarity
            out[j] = p[j] * norm * score * (min(e[j], finite) * similarity) / d2[j] if d2[j] > zero else zero
        unexplained += part
    return unexplained / total * radial.a * o


@njit(**COMPILED)
def _finish_row(d2, e, p, total, o, radial, explaining, out):
    """Weights of an explanation or normalised assignments into ``out``; returns the unexplained part."""
    if explaining:
        return _weigh_row(d2, e, p, total, o, radial, out)
    norm = p.dtype.type(1.0 / total)
    for j in range(p.size):
        out[j] = p[j] * norm
    return 0.0


@njit(**COMPILED)
def _distances(S, i, rows, norms, starts):
    """Turn row i of X Uᵀ into squared distances in place, infinite for a center left out; returns the smallest."""
    two, zero = S.dtype.type(2.0), S.dtype.type(0.0)
    for g in range(starts.size - 1):
        x2 = S.dtype.type(rows.norms[i, g])
        row, u2 = S[i, starts[g] : starts[g + 1]], norms[starts[g] : starts[g + 1]]
        for j in range(row.size):
            row[j] = max(x2 + u2[j] - two * row[j], zero)
    if rows.own[i] >= 0:
        S[i, rows.own[i]] = np.inf
    return np.float64(_smallest(S[i]))


@njit(**COMPILED)
def _effective_one(d2, radial):
    factor = 1.0 / radial.q if radial.exponential else 1.0
    return (math.sqrt(d2) * radial.rate) ** radial.q * factor


@njit(**COMPILED)
def _cutoff(pool):
    """How far below the peak a log-similarity may lie before its pair is of no account."""
    return math.log(pool.norms.size / pool.tolerance)


@njit(**COMPILED)
def _needs_care(smallest, noise, pool):
    """Whether an error ``noise`` of squared distances could be seen in a row whose smallest is ``smallest``."""
    radial = pool.radial
    if noise > pool.tolerance * smallest * min(1.0, 2.0 / radial.q):
        return True
    if not radial.exponential:
        return False  # |d log k| ≤ q/2 · noise/d², which the line above bounds
    e = _effective_one(smallest, radial)
    change = 0.5 * radial.q * e * noise / smallest
    if radial.q > 2.0:  # the slope grows with d: take it at the farthest pair that counts
        farthest = e + _cutoff(pool) + pool.spread
        d2 = (radial.q * farthest) ** (2.0 / radial.q) / (radial.rate * radial.rate)
        change = max(change, 0.5 * radial.q * farthest * noise / d2)
    return change > pool.tolerance


@njit(**COMPILED)
def _refine(d2, rows, i, log_weights, pool, lower, upper, shifted, refined):
    """Replace by exact values the distances that count and that rounding blurs; returns how many."""
    e = np.empty_like(d2)
    for side, v in ((1.0, lower), (-1.0, upper)):
        for g in range(pool.starts.size - 1):
            x2 = rows.norms[i, g]
            for j in range(pool.starts[g], pool.starts[g + 1]):
                shifted[j] = max(d2[j] + side * pool.noise * (x2 + pool.norms[j]), 0.0)
        _effective(shifted, pool.radial, e)
        _log_similarities(e, log_weights, pool.radial, v)
    threshold = _largest(lower) - _cutoff(pool)
    count = 0
    for g in range(pool.starts.size - 1):
        x2 = rows.norms[i, g]
        for j in range(pool.starts[g], pool.starts[g + 1]):
            if upper[j] >= threshold and (
                upper[j] - lower[j] > pool.tolerance
                or pool.noise * (x2 + pool.norms[j]) > pool.tolerance * d2[j]
            ):
                refined[count] = j
                count += 1
    for r in range(count):
        d2[refined[r]] = squared_distance(rows.points, i, pool.points, refined[r], pool.per_scale)
    return count


@njit(**COMPILED)
def _row_noise(rows, i, pool):
    """Largest rounding error of a squared distance in row i."""
    x2 = 0.0
    for g in range(rows.norms.shape[1]):
        x2 = max(x2, rows.norms[i, g])
    return pool.noise * (x2 + pool.norm_limit)


@njit(**COMPILED)
def pool_block(S, rows, pool, pooled, explaining, direct):
    """From S = X Uᵀ to the scores of each row and, in place, soft assignments p or weights of an explanation.

    ``explaining``: S becomes W with R = Σ_j W_j (x - u_j)²; pairs treated exactly are added to ``direct``
    (n, d) at once and get W = 0. Otherwise S becomes p, Σ_j p_j = 1, and ``direct`` is left alone.
    Returns False, with nothing of use in S, if so many pairs need exact treatment that a wider dtype is cheaper.
    """
    m = S.shape[1]
    budget = pool.patience * S.size
    log_weights, norms = pool.log_weights.astype(S.dtype), pool.norms.astype(S.dtype)
    # Separate arrays throughout: a loop that reads and writes the same one under two names does not vectorise.
    e, p, result = np.empty(m, S.dtype), np.empty(m, S.dtype), np.empty(m, S.dtype)
    wide, wide_e, wide_p, wide_result = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    refined = np.empty(m, np.int64)
    for i in range(S.shape[0]):
        own = rows.own[i]
        version = 1 if own == pool.heaviest else 0
        smallest = _distances(S, i, rows, norms, pool.starts)
        if _needs_care(smallest, _row_noise(rows, i, pool), pool):
            for j in range(m):
                wide[j] = S[i, j]
            weights = pool.log_weights[version]
            count = _refine(wide, rows, i, weights, pool, wide_e, wide_p, wide_result, refined)
            budget -= count
            if budget < 0.0:
                return False
            log_g, o, total = _pool_row(wide, own, version, weights, pool, wide_e, wide_p)
            unexplained = _finish_row(wide, wide_e, wide_p, total, o, pool.radial, explaining, wide_result)
            if explaining:
                for r in range(count):
                    j = refined[r]
                    add_squares(rows.points, i, pool.points, j, pool.per_scale, wide_result[j], direct[i])
                    wide_result[j] = 0.0
            for j in range(m):
                S[i, j] = wide_result[j]
        else:
            log_g, o, total = _pool_row(S[i], own, version, log_weights[version], pool, e, p)
            unexplained = _finish_row(S[i], e, p, total, o, pool.radial, explaining, result)
            for j in range(m):
                S[i, j] = result[j]
        pooled.outlierness[i] = o
        pooled.log_inlierness[i] = log_g
        pooled.unexplained[i] = unexplained
    return True


@njit(**COMPILED)
def add_contraction(W, start, stop, x, products, relevance, bound):
    """Add R = x² Σ_j W_j - 2 x (W U) + W U² of one group of centers, and the size of its terms to ``bound``."""
    n, d = x.shape
    for i in range(n):
        weight = _sum(W[i, start:stop])
        for k in range(d):
            a = np.float64(x[i, k])
            b = a * a * weight + np.float64(products[i, d + k])
            relevance[i, k] += b - 2.0 * a * np.float64(products[i, k])
            bound[i, k] += b


@njit(**COMPILED)
def finish_block(W, rows, pool, pooled, direct, contracted, bound, noise, out):
    """Sum both parts and clip rounding below 0; rows whose rounding could be seen are contracted exactly."""
    n, d = contracted.shape
    for i in range(n):
        largest, blur = 0.0, 0.0
        for k in range(d):
            largest = max(largest, direct[i, k] + contracted[i, k])
            blur = max(blur, bound[i, k])
        if noise * blur > pool.tolerance * largest:
            _contract_exactly(W, rows, i, pool, pooled, contracted[i])
        for k in range(d):
            out[i, k] = max(direct[i, k] + contracted[i, k], 0.0)


@njit(**COMPILED)
def _contract_exactly(W, rows, i, pool, pooled, out):
    """R = Σ_j W_j (x_i - u_j)² pair by pair, without the pairs that cannot be seen."""
    explained = pooled.outlierness[i] - pooled.unexplained[i]
    least = pool.tolerance * explained / (W.shape[1] * out.size)
    for k in range(out.size):
        out[k] = 0.0
    for g in range(pool.starts.size - 1):
        for j in range(pool.starts[g], pool.starts[g + 1]):
            # d² ≤ 2 (‖x‖² + ‖u‖²), so this bounds what the pair explains.
            if 2.0 * W[i, j] * (rows.norms[i, g] + pool.norms[j]) > least:
                add_squares(rows.points, i, pool.points, j, pool.per_scale, np.float64(W[i, j]), out)
