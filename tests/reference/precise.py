"""Networks with poolings, metrics and maps before them, with 60 digits: the truth where floats are not enough.

Written from the formulas alone (design, section 2), like ``pooled``, but with mpmath numbers throughout and with
``through``, a linear map B that made the rows of other variables. The whole map of a center is M = A B, the metric
after the map: with ζ = A (x - u) a variable has δ_i [Mᵀζ]_i / ‖ζ‖² of a distance, δ = M⁺ζ the shortest difference
that makes ζ. What of ζ no difference makes is unexplained. Of poolings, metrics and maps only parameters are read.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import mpmath
import numpy as np


class Truth(NamedTuple):
    """Rounded to float64: per row log g, o, p_j, R_i and what belongs to no variable."""

    log_g: Any
    outlierness: Any
    assignment: Any
    relevance: Any
    unexplained: Any


class Leg(NamedTuple):
    """From a point to a center: the distance, and the share of each variable in it."""

    distance: Any
    shares: Any
    outside: Any


class Pooled(NamedTuple):
    log_g: Any
    outlierness: Any
    assignment: dict[int, Any]
    explained: list[tuple[Any, Leg]]
    unexplained: Any


@cache
def context(digits: int) -> Any:
    made = mpmath.mp.clone()
    made.dps = digits
    return made


def explain(X: Any, network: Any, own: Any = None, *, through: Any = None, digits: int = 60) -> Truth:
    """All quantities for the rows of ``X``; ``through`` is a LinearMap or None."""
    mp = context(digits)
    centers = exact(dense(network.centers), mp)
    maps = Maps(network.metric, through, centers.shape[1], mp)
    own = [-1] * X.shape[0] if own is None else own
    rows = [
        explain_row(x, centers, [j for j in range(len(centers)) if j != left_out], maps, network, mp)
        for x, left_out in zip(exact(dense(X), mp), own, strict=True)
    ]
    return Truth(*(np.array(part, dtype=np.float64) for part in zip(*rows, strict=True)))


def explain_row(x: Any, centers: Any, kept: list[int], maps: Maps, network: Any, mp: Any) -> tuple[Any, ...]:
    legs = {j: maps.leg(x - centers[j], j) for j in kept}
    if network.pooling is None:
        pooled = soft_min(legs, network, mp)
    else:
        ranked = sorted(kept, key=lambda j: legs[j].distance)[: network.pooling.k]
        pool = POOLINGS[type(network.pooling).__name__]
        pooled = pool(x, centers, ranked, legs, maps, network.pooling, mp)
    relevance = np.full(maps.n_variables, mp.zero)
    unexplained = pooled.unexplained
    for delta, leg in pooled.explained:
        relevance = relevance + delta * leg.shares
        unexplained = unexplained + delta * leg.outside
    p = [pooled.assignment.get(j, mp.zero) for j in range(len(centers))]
    return pooled.log_g, pooled.outlierness, p, relevance, unexplained


class Maps:
    """ζ = A_j (x - u_j) and M_j = A_j B with its pseudo-inverse, for each center."""

    def __init__(self, metric: Any, through: Any, d: int, mp: Any) -> None:
        self.metric, self.d, self.mp = metric, d, mp
        self.before = None if through is None else exact(dense(through.matrix), mp)
        self.n_variables = d if through is None else self.before.shape[1]
        self.whole: dict[int, tuple[Any, Any, Any]] = {}

    def leg(self, difference: Any, j: int) -> Leg:
        mp = self.mp
        A, M, inverse = self._of(j)
        zeta = A.dot(difference)
        d2 = zeta.dot(zeta)
        if d2 == 0:
            return Leg(mp.zero, np.full(self.n_variables, mp.zero), mp.zero)
        shares = inverse.dot(zeta) * M.T.dot(zeta) / d2
        return Leg(mp.sqrt(d2), shares, 1 - shares.sum() if self.before is not None else mp.zero)

    def _of(self, j: int) -> tuple[Any, Any, Any]:
        key = 0 if self.metric is None or hasattr(self.metric, "matrix") else j
        if key not in self.whole:
            A = exact(self._metric_of(j), self.mp)
            M = A if self.before is None else A.dot(self.before)
            self.whole[key] = A, M, pseudo_inverse(M, self.mp)
        return self.whole[key]

    def _metric_of(self, j: int) -> Any:
        if self.metric is None:
            return np.eye(self.d)
        if hasattr(self.metric, "matrix"):
            return self.metric.matrix
        factor = self.metric.factors[j]
        return np.diag(factor) if factor.ndim == 1 else factor


def soft_min(legs: dict[int, Leg], network: Any, mp: Any) -> Pooled:
    """v_j = log α_j + log k(d_j), log g = LSE_j(v_j), p_j = exp(v_j - log g); o and Δ_j as the kernel has them."""
    kernel = network.kernel
    q, sigma, a = mp.mpf(kernel.q), mp.mpf(kernel.sigma), mp.mpf(getattr(kernel, "a", 0.0))
    is_exponential = kernel.family == "exponential"
    weights = {j: mp.exp(mp.mpf(float(network.log_weights[j]))) for j in legs}
    total = sum(weights.values())
    energy = {j: (leg.distance / sigma) ** q for j, leg in legs.items()}
    similarity = {j: mp.exp(-e / q) if is_exponential else 1 / (a + e) for j, e in energy.items()}
    g = sum(weights[j] / total * similarity[j] for j in legs)
    o = -mp.log(g) if is_exponential else len(legs) / g
    p = {j: weights[j] / total * similarity[j] / g for j in legs}
    part = {j: min(o, e / q) if is_exponential else o * e / (a + e) for j, e in energy.items()}
    return Pooled(
        log_g=mp.log(g),
        outlierness=o,
        assignment=p,
        explained=[(p[j] * part[j], leg) for j, leg in legs.items()],
        unexplained=sum(p[j] * (o - part[j]) for j in legs),
    )


def nearest(x, centers, ranked, legs, maps, pooling, mp):
    """o = Σ_r w_r d_(r), the r-th smallest distance; p_j = w_r, Δ_j = p_j d_j."""
    weights = [mp.mpf(w) for w in pooling.rank_weights]
    explained = [(w * legs[j].distance, legs[j]) for w, j in zip(weights, ranked, strict=True)]
    o = sum(delta for delta, _ in explained)
    return Pooled(-o, o, dict(zip(ranked, weights, strict=True)), explained, mp.zero)


def mean_vector(x, centers, ranked, legs, maps, pooling, mp):
    """o = ‖x - ū‖, ū the mean of the k nearest centers; p_j = 1/k."""
    k = mp.mpf(pooling.neighbors)
    leg = maps.leg(x - sum(centers[j] for j in ranked) / k, ranked[0])
    o = leg.distance
    return Pooled(-o, o, dict.fromkeys(ranked, 1 / k), [(o, leg)], mp.zero)


def local_reach(x, centers, ranked, legs, maps, pooling, mp):
    """o = L̄ (mean_j max(κ_j, d_j) + ε); Δ_j = L̄/k (d_j - κ_j)⁺, the rest is unexplained."""
    k, floor = mp.mpf(pooling.neighbors), mp.mpf(pooling.floor)
    reach = {j: mp.mpf(float(pooling.reaches[j])) for j in ranked}
    density = sum(mp.mpf(float(pooling.densities[j])) for j in ranked) / k
    o = density * (sum(max(reach[j], legs[j].distance) for j in ranked) / k + floor)
    beyond = [(density / k * max(legs[j].distance - reach[j], mp.zero), legs[j]) for j in ranked]
    own_reach = density * (sum(reach.values()) / k + floor)
    return Pooled(-o, o, dict.fromkeys(ranked, 1 / k), beyond, own_reach)


POOLINGS = {"LocalReach": local_reach, "MeanVector": mean_vector, "Nearest": nearest}


def pseudo_inverse(M: Any, mp: Any) -> Any:
    """M⁺; the rank is that of the floats, each column in its own unit."""
    floats = M.astype(np.float64)
    sizes = np.abs(floats).max(axis=0)
    rank = np.linalg.matrix_rank(floats / np.where(sizes > 0, sizes, 1.0))
    if rank == M.shape[1]:
        return inverse(M.T.dot(M), mp).dot(M.T)
    if rank == M.shape[0]:
        return M.T.dot(inverse(M.dot(M.T), mp))
    u, values, v = mp.svd_r(mp.matrix(M.tolist()))
    u, v = (np.array(part.tolist(), dtype=object) for part in (u, v))
    kept = np.array([1 / values[i] for i in range(rank)], dtype=object)
    return (v[:rank].T * kept).dot(u[:, :rank].T)


def inverse(square: Any, mp: Any) -> Any:
    return np.array((mp.matrix(square.tolist()) ** -1).tolist(), dtype=object).reshape(square.shape)


def exact(values: Any, mp: Any) -> Any:
    """The same numbers, as they are, in an array of mpmath numbers."""
    values = np.asarray(values)
    out = np.empty(values.shape, dtype=object)
    for place in np.ndindex(values.shape):
        out[place] = mp.mpf(float(values[place]))
    return out


def dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)
