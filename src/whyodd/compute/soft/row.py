"""Soft min-pooling of one row of squared distances, in loops that vectorise and stay in the nearest cache."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from whyodd.compute.vector_math import VECTOR, exp, log

COMPILED: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": VECTOR, "error_model": "numpy"}
# For products whose order keeps them from over- or underflowing on the way.
COMPILED_AS_WRITTEN = {**COMPILED, "fastmath": {"contract"}}

# Sums run in the dtype of the row within a chunk and in float64 across chunks.
CHUNK = 256


class Radial(NamedTuple):
    """Kernel as numbers (functions passed into compiled code would defeat its cache on disk).

    Student's constant a is moved into the other two: k = 1/(a + (d/σ)^q) = 1/a · 1/(1 + (d/ℓ)^q) with
    ℓ = σ a^(1/q).
    """

    exponential: bool
    q: float
    rate: float  # 1/σ or 1/ℓ in the scaled units of the block
    log_height: float  # log k(0)


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
    tolerance: float  # what may be seen of rounding in p and in shares
    patience: float  # share of pairs to treat exactly before a block is given up, for a wider dtype


class Rows(NamedTuple):
    """Rows of a block as the compiled loops see them."""

    points: Any  # raw rows, dense or CSR
    norms: Any  # (n, groups) squared norms relative to each group's origin
    own: Any  # (n,) center to leave out, or -1
    noise: float  # rounding error of d² over (‖x‖² + ‖u‖²)


class Direct(NamedTuple):
    """Relevance of pairs that are treated one by one."""

    relevance: Any  # (n, d), added to; empty if no pair may be
    is_all: Any  # (n,) whether that is all of a row's relevance
    tolerance: float  # share of p that may be discarded where few centers count


class Pooled(NamedTuple):
    """Per row: the results of pooling."""

    outlierness: Any
    log_inlierness: Any
    unexplained: Any
    discarded: Any


@njit(**COMPILED_AS_WRITTEN)
def effective_distances(d2, radial, out):
    """Effective distance e_j: (d/σ)^q / q for the exponential family, (d/ℓ)^q for Student."""
    kind = d2.dtype.type
    factor = kind(1.0 / radial.q if radial.exponential else 1.0)
    rate = kind(radial.rate)
    if radial.q == 2.0:
        factor *= rate  # the rate squared may overflow where d² makes up for it
        for j in range(d2.size):
            out[j] = (d2[j] * rate) * factor
    elif radial.q == 1.0:
        factor *= rate
        for j in range(d2.size):
            out[j] = np.sqrt(d2[j]) * factor
    elif radial.q == 4.0:
        for j in range(d2.size):
            t = (d2[j] * rate) * rate
            out[j] = t * t * factor
    elif radial.q == 6.0:
        for j in range(d2.size):
            t = (d2[j] * rate) * rate
            out[j] = t * t * t * factor
    else:
        q = kind(radial.q)
        for j in range(d2.size):
            out[j] = (np.sqrt(d2[j]) * rate) ** q * factor


@njit(**COMPILED)
def log_similarities(e, log_weights, radial, v):
    """v_j = log α_j + log k_j - log k(0) from effective distances."""
    if radial.exponential:
        for j in range(e.size):
            v[j] = log_weights[j] - e[j]
    else:
        for j in range(e.size):
            v[j] = log_weights[j] - log(e.dtype.type(1.0) + e[j])


# Reductions stand apart from the loops that compute: together neither would vectorise. Four strands hide the
# latency of comparisons, which numba does not vectorise at all.
@njit(**COMPILED)
def row_max(row):
    """Largest entry."""
    a = b = c = d = row.dtype.type(-np.inf)
    whole = row.size - row.size % 4
    for j in range(0, whole, 4):
        a, b = max(a, row[j]), max(b, row[j + 1])
        c, d = max(c, row[j + 2]), max(d, row[j + 3])
    for j in range(whole, row.size):
        a = max(a, row[j])
    return max(max(a, b), max(c, d))


@njit(**COMPILED)
def row_min(row):
    """Smallest entry."""
    a = b = c = d = row.dtype.type(np.inf)
    whole = row.size - row.size % 4
    for j in range(0, whole, 4):
        a, b = min(a, row[j]), min(b, row[j + 1])
        c, d = min(c, row[j + 2]), min(d, row[j + 3])
    for j in range(whole, row.size):
        a = min(a, row[j])
    return min(min(a, b), min(c, d))


@njit(**COMPILED)
def row_sum(row):
    """Sum of the entries, in float64 across chunks."""
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
    return row_sum(v)


@njit(**COMPILED)
def _near_zero(e, own, log_weights, log_norm):
    """O = -log(1 + Σ α_j (e^{-e_j} - 1)): all digits of an o close to 0, where -log g has none."""
    total = 0.0
    for j in range(e.size):
        if j != own:
            total += math.exp(log_weights[j] - log_norm) * math.expm1(-np.float64(e[j]))
    return -math.log1p(total)


@njit(**COMPILED)
def pool_row(d2, own, version, log_weights, pool, e, p):
    """Pool one row of squared distances: e and p (not yet normalised) are filled; returns log g, o, Σp."""
    radial = pool.radial
    effective_distances(d2, radial, e)
    log_similarities(e, log_weights, radial, p)
    peak = row_max(p)
    if peak == -np.inf:  # e overflowed for every center: o is not representable
        return -np.inf, np.inf, 1.0
    total = _softmax(p, peak)
    rest = pool.log_rest[own] if own >= 0 else 0.0
    log_norm = rest - pool.shifts[version]
    log_g = np.float64(peak) + math.log(total) - log_norm + radial.log_height
    # Below this, rounding of -log g (a few units of |peak| ~ 10) would show in its leading digits.
    if radial.exponential and -log_g < (0.05 if e.itemsize == 4 else 1e-3):
        log_g = min(-_near_zero(e, own, log_weights, log_norm), 0.0)
    if own >= 0:
        # From here on a center left out is one with no weight at some distance: nothing infinite remains.
        d2[own], e[own] = 1.0, 0.0
    if radial.exponential:
        return log_g, -log_g, total
    return log_g, (e.size - 1 if own >= 0 else e.size) * math.exp(-log_g), total


@njit(**COMPILED_AS_WRITTEN)
def _weigh(d2, e, p, total, o, radial, weights, remainders):
    """W_j = Δ_j / d²_j, and D_j⁺, the part of a center's relevance that its distance does not explain."""
    kind = d2.dtype.type
    norm, score, zero, one, finite = kind(1.0 / total), kind(o), kind(0.0), kind(1.0), kind(1e36)
    if radial.exponential:
        for j in range(d2.size):
            share = min(score, e[j])
            weights[j] = p[j] * norm * share / d2[j] if d2[j] > zero else zero
            remainders[j] = p[j] * norm * (score - share)
    else:
        for j in range(d2.size):
            far = min(e[j], finite)
            near = one / (one + far)
            weights[j] = p[j] * norm * (far * near) * (score / d2[j]) if d2[j] > zero else zero
            remainders[j] = p[j] * norm * near * score


@njit(**COMPILED)
def explain_row(d2, e, p, total, o, radial, weights, remainders):
    """Weights W_j = Δ_j / d²_j of an explanation; returns the unexplained Σ_j D_j⁺, summed on its own."""
    _weigh(d2, e, p, total, o, radial, weights, remainders)
    return row_sum(remainders)


@njit(**COMPILED)
def explained_part(weights, d2):
    """Σ_j Δ_j = Σ_j W_j d²_j."""
    part = 0.0
    for j in range(d2.size):
        part += weights[j] * d2[j]
    return part


@njit(**COMPILED)
def normalise_row(p, total, out):
    """Soft assignments p_j / Σp."""
    norm = p.dtype.type(1.0 / total)
    for j in range(p.size):
        out[j] = p[j] * norm
