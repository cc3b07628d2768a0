"""Soft min-pooling of one row of squared distances, in loops that vectorise and stay in the nearest cache."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whyodd.compute.compiling import compiled, compiled_as_written
from whyodd.compute.vector_math import added, larger, smaller
from whyodd.kernels.functions import exp

if TYPE_CHECKING:
    from whyodd.compute.compiling import Radial

# Sums run in the dtype of the row within a chunk and in float64 across chunks.
CHUNK = 256
# Energies beyond these count as these in ratios: two of them can still be added.
_LARGEST32, _LARGEST64 = 1.6e38, 8.9e307
# Sums of exponentials below this may lack terms that count: what is 1e-24 of them is 0 in float32.
_LEAST_TOTAL = 1e-12


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
    kept: Any  # (m,) share of α_j that stays if a row leaves it: 0 unless other rows are the same center
    log_rest: Any  # (m,) log of the weight that is left then
    radial: Radial  # in the dtype of blocks
    wide: Radial  # in float64
    per_scale: float  # 1/scale of the scaled units
    tolerance: float  # what may be seen of rounding in p and in shares
    patience: float  # share of pairs to treat exactly before a block is given up, for a wider dtype


class Rows(NamedTuple):
    """Rows of a block as the compiled loops see them."""

    points: Any  # raw rows, dense or CSR
    norms: Any  # (n, groups) squared norms relative to each group's origin
    own: Any  # (n,) center that is the row itself and is to be left, or -1
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


@compiled_as_written
def energies(d2, radial, out):
    """e_j = (d_j/σ)^q."""
    kind = d2.dtype.type
    rate = kind(radial.rate)
    # The rate squared may overflow where d² makes up for it.
    if radial.q == 2.0:
        for j in range(d2.size):
            out[j] = (d2[j] * rate) * rate
    elif radial.q == 1.0:
        for j in range(d2.size):
            out[j] = np.sqrt(d2[j]) * rate
    elif radial.q == 4.0:
        for j in range(d2.size):
            t = (d2[j] * rate) * rate
            out[j] = t * t
    elif radial.q == 6.0:
        for j in range(d2.size):
            t = (d2[j] * rate) * rate
            out[j] = t * t * t
    else:
        q = kind(radial.q)
        for j in range(d2.size):
            out[j] = (np.sqrt(d2[j]) * rate) ** q


@compiled_as_written
def energy(d2, radial):
    """The energy of one squared distance."""
    if radial.q == 2.0:  # a power takes as long as dozens of centers
        return (d2 * radial.rate) * radial.rate
    return (math.sqrt(d2) * radial.rate) ** radial.q


@compiled
def log_similarities(e, log_weights, radial, v):
    """v_j = log α_j + log k_j - log k(0) from energies."""
    for j in range(e.size):
        v[j] = log_weights[j] + radial.numbers.log_profile(e[j])


@compiled
def row_max(row):
    """Largest entry."""
    found = row.dtype.type(-np.inf)
    for j in range(row.size):
        found = larger(found, row[j])
    return found


@compiled
def row_min(row):
    """Smallest entry."""
    found = row.dtype.type(np.inf)
    for j in range(row.size):
        found = smaller(found, row[j])
    return found


@compiled
def row_sum(row):
    """Sum of the entries, in float64 across chunks."""
    total = 0.0
    for start in range(0, row.size, CHUNK):
        total += _chunk_sum(row[start : start + CHUNK])
    return total


@compiled
def _chunk_sum(part):
    """Sum of a few entries, in their own dtype; counted from 0, or numba's checks of signs hinder vectors."""
    total = part.dtype.type(0.0)
    for j in range(part.size):
        total += part[j]
    return total


@compiled
def _exponentials(e, log_weights, peak, radial, p):
    """Fill p with exp(v_j - peak), v_j = log α_j + log k_j - log k(0); returns the sum."""
    total = e.dtype.type(0.0)
    for j in range(e.size):
        value = exp(log_weights[j] + radial.numbers.log_profile(e[j]) - peak)
        p[j] = value
        total += value
    return total


@compiled
def _softmax(d2, own, log_weights, peak, radial, e, p):
    """Fill e and p for all centers but ``own`` (-1: none); the sum is in float64 across chunks."""
    total, size = 0.0, e.size
    first = own if own >= 0 else size
    for low, high in ((0, first), (first + 1, size)):
        for start in range(low, high, CHUNK):
            some = slice(start, min(start + CHUNK, high))
            energies(d2[some], radial, e[some])  # they are still in the nearest cache
            total += _exponentials(e[some], log_weights[some], peak, radial, p[some])
    if own >= 0:
        energies(d2[own : own + 1], radial, e[own : own + 1])
        p[own] = 0.0
    return total


@compiled
def left_out(own, pool):
    """The center that a row leaves out as a whole, or -1: one that other rows are too only loses weight."""
    return own if own >= 0 and pool.kept[own] == 0.0 else np.int64(-1)


@compiled
def _near_zero(e, own, kept, log_weights, log_norm, radial):
    """log(g/k(0)) = log(1 + Σ_j α_j (f(e_j) - 1)): all digits of one near 0; a log of sums has none."""
    total = 0.0
    for j in range(e.size):
        fall = math.expm1(radial.numbers.log_profile(np.float64(e[j])))
        total += (kept if j == own else 1.0) * math.exp(log_weights[j] - log_norm) * fall
    return math.log1p(total)


@compiled
def _softmax_by_peak(d2, own, log_weights, radial, e, p):
    """Fill e, and p with exp(v_j - peak) where nothing is known of the peak; returns it and the sum."""
    energies(d2, radial, e)
    log_similarities(e, log_weights, radial, p)
    if own >= 0:
        p[own] = -np.inf
    peak = row_max(p)
    if peak > -np.inf:
        for j in range(p.size):
            p[j] = exp(p[j] - peak)
    return peak, row_sum(p)


@compiled
def pool_row(d2, smallest, own, version, log_weights, pool, radial, e, p):
    """Pool one row of squared distances: e and p (not yet normalised) are filled; returns log g, o, Σp.

    ``smallest`` is that of all centers but the one left out.
    """
    out = left_out(own, pool)
    if out >= 0:
        # A center left out is one with no weight at some distance: nothing infinite remains.
        d2[out] = 1.0
    # Log-weights are at most 0: no v_j is above the profile of the nearest center.
    peak = e.dtype.type(radial.numbers.log_profile(e.dtype.type(energy(np.float64(smallest), radial))))
    total = _softmax(d2, out, log_weights, peak, radial, e, p) if peak > -np.inf else 0.0
    # Out of bounds if the nearest centers have next to no weight, or v is too large to be told from the peak.
    if not _LEAST_TOTAL < total < 2.0 * e.size:
        peak, total = _softmax_by_peak(d2, out, log_weights, radial, e, p)
        if peak == -np.inf:  # e overflowed for every center: o is not representable
            return -np.inf, np.inf, 1.0
    kept, rest = 1.0, 0.0
    if own >= 0:
        kept, rest = pool.kept[own], pool.log_rest[own]
    if own >= 0 and out < 0:  # at least half stays: nothing cancels
        total -= (1.0 - kept) * p[own]
        p[own] *= p.dtype.type(kept)
    log_norm = rest - pool.shifts[version]
    log_g = np.float64(peak) + math.log(total) - log_norm
    # Near k(0), rounding of log g (a few units of |peak| ~ 10) would show in the leading digits of -log g.
    if -log_g < (0.05 if e.itemsize == 4 else 1e-3):
        log_g = min(_near_zero(e, own, kept, log_weights, log_norm, pool.wide), 0.0)
    log_g += radial.log_height
    return log_g, outlierness(log_g, out, pool), total


@compiled
def outlierness(log_g, out, pool):
    """Outlierness o of log g over all centers, but for one left out."""
    counted = np.float64(pool.norms.size - 1 if out >= 0 else pool.norms.size)
    return pool.wide.numbers.outlierness(log_g, counted)


@compiled_as_written
def _weigh(d2, e, p, norm, o, radial):
    """Turn d² into weights W_j = Δ_j / d²_j in place; returns Σ_j D_j⁺, what distances do not explain."""
    kind = d2.dtype.type
    zero, one = kind(0.0), kind(1.0)
    largest = kind(_LARGEST32 if e.itemsize == 4 else _LARGEST64)
    unexplained = zero
    for j in range(d2.size):
        share = radial.numbers.explained_part(smaller(e[j], largest), o)
        assigned = p[j] * norm
        # Nothing is explained where d² is 0. A choice of divisors vectorises, one of results does not.
        d2[j] = assigned * share / (d2[j] if d2[j] > zero else one)
        unexplained = added(unexplained, assigned * (o - share))
    return unexplained


@compiled
def explain_row(d2, e, p, total, o, radial):
    """Turn d² into weights W_j = Δ_j / d²_j of an explanation, in place; returns the unexplained Σ_j D_j⁺.

    D_j⁺ is the part of a center's relevance that its distance does not explain; it is summed on its own.
    """
    norm, score = d2.dtype.type(1.0 / total), d2.dtype.type(o)
    unexplained = 0.0
    for start in range(0, d2.size, CHUNK):
        some = slice(start, min(start + CHUNK, d2.size))
        unexplained += _weigh(d2[some], e[some], p[some], norm, score, radial)
    return unexplained


@compiled
def explained_part(weights, d2):
    """Σ_j Δ_j = Σ_j W_j d²_j."""
    part = 0.0
    for j in range(d2.size):
        part += weights[j] * d2[j]
    return part


@compiled
def normalise_row(p, total, out):
    """Soft assignments p_j / Σp."""
    norm = p.dtype.type(1.0 / total)
    for j in range(p.size):
        out[j] = p[j] * norm
