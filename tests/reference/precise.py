"""Networks with poolings, metrics and maps, with 60 digits: the truth where floats are not enough.

Written from the formulas alone (design, section 2), like ``pooled``, but with mpmath numbers and with
``through``, a linear map B that made the rows of other variables. The whole map of a center is M = A B, the
metric after the map: with ζ = A (x - u) a variable has δ_i [Mᵀζ]_i / ‖ζ‖² of a distance, δ = M⁺ζ the shortest
difference that makes ζ. What of ζ no difference makes is unexplained. Of networks only parameters are read.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import mpmath
import numpy as np

from reference.kernels import Arithmetic, formulas_of


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


class Legs:
    """From every row of X to every center, under a metric and through a map: once for all poolings.

    Parameters
    ----------
    X, centers : arrays (n, d) and (m, d), dense or CSR
    metric : LinearMetric, ComponentMetric or None
    through : LinearMap or None
    digits : int
    """

    def __init__(
        self, X: Any, centers: Any, metric: Any = None, through: Any = None, digits: int = 60
    ) -> None:
        self.mp = context(digits)
        self.X, self.centers = exact(dense(X), self.mp), exact(dense(centers), self.mp)
        self.maps = Maps(metric, through, self.centers.shape[1], digits)
        self.legs = [[self.maps.leg(x - u, j) for j, u in enumerate(self.centers)] for x in self.X]

    def explain(self, network: Any, own: Any = None) -> Truth:
        """All quantities of a network over these centers; ``own`` as for the network."""
        own = [-1] * len(self.X) if own is None else own
        rows = [self._explain_row(i, int(left_out), network) for i, left_out in enumerate(own)]
        return Truth(*(np.array(part, dtype=np.float64) for part in zip(*rows, strict=True)))

    def _explain_row(self, i: int, left_out: int, network: Any) -> tuple[Any, ...]:
        mp = self.mp
        legs = {j: leg for j, leg in enumerate(self.legs[i]) if j != left_out}
        if network.pooling is None:
            pooled = soft_min(legs, network, mp)
        else:
            ranked = sorted(legs, key=lambda j: legs[j].distance)[: network.pooling.k]
            pool = POOLINGS[type(network.pooling).__name__]
            pooled = pool(self, i, ranked, network.pooling)
        relevance = np.full(self.maps.n_variables, mp.zero)
        unexplained = pooled.unexplained
        for delta, leg in pooled.explained:
            relevance = relevance + delta * leg.shares
            unexplained = unexplained + delta * leg.outside
        p = [pooled.assignment.get(j, mp.zero) for j in range(len(self.centers))]
        return pooled.log_g, pooled.outlierness, p, relevance, unexplained


def explain(X: Any, network: Any, own: Any = None, *, through: Any = None, digits: int = 60) -> Truth:
    """All quantities for the rows of ``X``."""
    return Legs(X, network.centers, network.metric, through, digits).explain(network, own)


class Maps:
    """ζ = A_j (x - u_j) and M_j = A_j B with its pseudo-inverse, for each center."""

    def __init__(self, metric: Any, through: Any, d: int, digits: int) -> None:
        self.metric, self.through, self.d, self.digits = metric, through, d, digits
        self.n_variables = d if through is None else through.matrix.shape[1]

    def leg(self, difference: Any, j: int) -> Leg:
        mp = context(self.digits)
        each = j if hasattr(self.metric, "factors") else 0
        A, gradient, shortest = whole_map(self.metric, self.through, each, self.d, self.digits)
        zeta = times(A, difference, mp)
        d2 = mp.fdot(zeta, zeta)
        if d2 == 0:
            return Leg(mp.zero, np.full(self.n_variables, mp.zero), mp.zero)
        shares = times(shortest, zeta, mp) * times(gradient, zeta, mp) / d2
        return Leg(mp.sqrt(d2), shares, 1 - mp.fsum(shares) if self.through is not None else mp.zero)


@cache
def whole_map(metric: Any, through: Any, j: int, d: int, digits: int) -> tuple[Any, Any, Any]:
    """A_j, M_jᵀ and M_j⁺."""
    mp = context(digits)
    A = exact(metric_of(metric, j, d), mp)
    M = A if through is None else A.dot(exact(dense(through.matrix), mp))
    return A, M.T, pseudo_inverse(M, mp)


def metric_of(metric: Any, j: int, d: int) -> Any:
    if metric is None:
        return np.eye(d)
    if hasattr(metric, "matrix"):
        return metric.matrix
    return np.diag(metric.factors[j]) if metric.factors.ndim == 2 else metric.factors[j]


def times(matrix: Any, vector: Any, mp: Any) -> Any:
    """Product of a matrix and a vector; zeros of the matrix are passed over."""
    out = np.empty(len(matrix), dtype=object)
    for i, row in enumerate(matrix):
        out[i] = mp.fdot((a, b) for a, b in zip(row, vector, strict=True) if a)
    return out


def soft_min(legs: dict[int, Leg], network: Any, mp: Any) -> Pooled:
    """p_j = α_j k(d_j) / g, g = Σ_j α_j k(d_j); o and Δ_j as the kernel has them."""
    kernel, formulas = network.kernel, formulas_of(network.kernel)
    numbers = Arithmetic(lambda value: mp.mpf(float(value)), mp.exp, mp.log, mp.sqrt)
    weights = {j: mp.exp(mp.mpf(float(network.log_weights[j]))) for j in legs}
    total = sum(weights.values())
    similarity = {
        j: mp.exp(formulas.log_similarity(leg.distance, kernel, numbers)) for j, leg in legs.items()
    }
    g = sum(weights[j] / total * similarity[j] for j in legs)
    o = formulas.outlierness(mp.log(g), len(legs), kernel, numbers)
    p = {j: weights[j] / total * similarity[j] / g for j in legs}
    part = {j: formulas.explained(leg.distance, o, kernel, numbers) for j, leg in legs.items()}
    return Pooled(
        log_g=mp.log(g),
        outlierness=o,
        assignment=p,
        explained=[(p[j] * part[j], leg) for j, leg in legs.items()],
        unexplained=sum(p[j] * (o - part[j]) for j in legs),
    )


def nearest(all_legs: Legs, i: int, ranked: list[int], pooling: Any) -> Pooled:
    """o = Σ_r w_r d_(r), the r-th smallest distance; p_j = w_r, Δ_j = p_j d_j."""
    mp, legs = all_legs.mp, all_legs.legs[i]
    weights = [mp.mpf(w) for w in pooling.rank_weights]
    explained = [(w * legs[j].distance, legs[j]) for w, j in zip(weights, ranked, strict=True)]
    o = sum(delta for delta, _ in explained)
    return Pooled(-o, o, dict(zip(ranked, weights, strict=True)), explained, mp.zero)


def mean_vector(all_legs: Legs, i: int, ranked: list[int], pooling: Any) -> Pooled:
    """o = ‖x - ū‖, ū the mean of the k nearest centers; p_j = 1/k."""
    mp = all_legs.mp
    k = mp.mpf(pooling.neighbors)
    mean = sum(all_legs.centers[j] for j in ranked) / k
    leg = all_legs.maps.leg(all_legs.X[i] - mean, ranked[0])
    o = leg.distance
    return Pooled(-o, o, dict.fromkeys(ranked, 1 / k), [(o, leg)], mp.zero)


def local_reach(all_legs: Legs, i: int, ranked: list[int], pooling: Any) -> Pooled:
    """o = L̄ (mean_j max(κ_j, d_j) + ε); Δ_j = L̄/k (d_j - κ_j)⁺, the rest is unexplained."""
    mp, legs = all_legs.mp, all_legs.legs[i]
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
