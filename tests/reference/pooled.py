"""Networks with hard poolings and with metrics as plain loops: slow, obvious, and independent of whyodd.

Written from the formulas alone (design, section 2, "Linear maps", "Hard pooling", "Mixtures"); the Euclidean
soft min-pooling is ``oracle``'s. Of a pooling and a metric only the parameters are read. For a map A with
ζ = A (x - u) and the shortest input difference δ = A⁺ζ that makes it, variable i has the share
δ_i [Aᵀζ]_i / ‖ζ‖² of a distance; without a map that is (x_i - u_i)² / d².
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reference import oracle
from reference.committee import explain_committee
from reference.kernel_subspace import explain_subspace
from reference.kernels import formulas_of
from reference.oracle import FLOATS, Reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Leg(NamedTuple):
    """From a point to a center: the distance, and the share of each variable in it."""

    distance: float
    shares: list[float]


class Pooled(NamedTuple):
    """log g and o of one row; by center p_j, Δ_j and the leg that Δ_j is for; what of o belongs to none."""

    log_g: float
    outlierness: float
    assignment: dict[int, float]
    explained: dict[int, tuple[float, Leg]]
    unexplained: float


def explain_network(X: ArrayLike, network: Any, own: Sequence[int] | None = None) -> Reference:
    """All quantities for the rows of ``X``, from the parts a network is made of."""
    X = _dense(X)
    if hasattr(network, "views"):
        relevance, o, expected = explain_committee(X, network, own)
        empty = np.zeros((len(X), 0))
        known = {"relevance": relevance, "outlierness": o, "expected": expected, "log_g": -o}
        known["unexplained"] = np.zeros(len(X))
        return Reference(**{field.name: known.get(field.name, empty) for field in fields(Reference)})
    if hasattr(network, "similarities"):
        parts, empty = explain_subspace(X, network), np.zeros((len(X), 0))
        known = {**parts._asdict(), "log_g": -parts.outlierness}
        return Reference(**{field.name: known.get(field.name, empty) for field in fields(Reference)})
    if network.pooling is None and network.metric is None:
        return oracle.explain(
            X, _dense(network.centers), network.kernel, log_weights=network.log_weights, own=own
        )
    own = [-1] * len(X) if own is None else own
    rows = [_explain_row(x, network, int(j)) for x, j in zip(X, own, strict=True)]
    return Reference(*(np.array([getattr(row, field.name) for row in rows]) for field in fields(Reference)))


def _explain_row(x: Any, network: Any, left_out: int) -> Reference:
    centers = _dense(network.centers)
    maps = _Maps(network.metric, len(x))
    kept = [j for j in range(len(centers)) if j != left_out]
    if network.pooling is None:
        pooled = _soft_min(x, centers, kept, maps, network)
    else:
        pooled = _POOLINGS[type(network.pooling).__name__](x, centers, kept, maps, network.pooling)

    o, g = pooled.outlierness, math.exp(pooled.log_g)
    p = [pooled.assignment.get(j, 0.0) for j in range(len(centers))]
    relevance = [0.0] * len(x)
    for delta, leg in pooled.explained.values():
        for i, share in enumerate(leg.shares):
            relevance[i] += delta * share
    return Reference(
        log_g=pooled.log_g,
        assignment=p,
        outlierness=o,
        inlier_relevance=[value * g for value in p],
        center_relevance=[value * o for value in p],
        explained=[pooled.explained[j][0] if j in pooled.explained else 0.0 for j in range(len(centers))],
        relevance=relevance,
        unexplained=pooled.unexplained,
        expected=[sum(p[j] * u[i] for j, u in enumerate(centers)) for i in range(len(x))],
    )


class _Maps:
    """The map A_j of each center, if there is a metric, and the way along it."""

    def __init__(self, metric: Any, d: int) -> None:
        self.metric, self.d = metric, d

    def of(self, j: int) -> Any:
        if hasattr(self.metric, "matrix"):
            return self.metric.matrix
        factor = self.metric.factors[j]
        return np.diag(factor) if factor.ndim == 1 else factor

    def leg(self, x: Any, u: Any, j: int) -> Leg:
        difference = [float(xi) - float(ui) for xi, ui in zip(x, u, strict=True)]
        if self.metric is None:
            d2 = sum(value * value for value in difference)
            return Leg(math.sqrt(d2), [value * value / d2 if d2 > 0.0 else 0.0 for value in difference])
        A = self.of(j)
        zeta = [sum(a * value for a, value in zip(row, difference, strict=True)) for row in A]
        d2 = sum(value * value for value in zeta)
        if d2 == 0.0:
            return Leg(0.0, [0.0] * self.d)
        shortest = [sum(b * value for b, value in zip(row, zeta, strict=True)) for row in np.linalg.pinv(A)]
        gradient = [sum(A[r][i] * zeta[r] for r in range(len(zeta))) for i in range(self.d)]
        return Leg(math.sqrt(d2), [shortest[i] * gradient[i] / d2 for i in range(self.d)])


def _soft_min(x: Any, centers: Any, kept: list[int], maps: _Maps, network: Any) -> Pooled:
    """v_j = log α_j + log k(d_j), log g = LSE_j(v_j), p_j = exp(v_j - log g); o and Δ_j by the kernel."""
    kernel = network.kernel
    total = _log_sum_exp([network.log_weights[j] for j in kept])
    legs = {j: maps.leg(x, centers[j], j) for j in kept}
    formulas = formulas_of(kernel)
    v = {
        j: network.log_weights[j] - total + formulas.log_similarity(legs[j].distance, kernel, FLOATS)
        for j in kept
    }
    log_g = _log_sum_exp(list(v.values()))
    o = formulas.outlierness(log_g, len(kept), kernel, FLOATS)
    p = {j: math.exp(v[j] - log_g) for j in kept}
    parts = {j: formulas.explained(legs[j].distance, o, kernel, FLOATS) for j in kept}
    return Pooled(
        log_g=log_g,
        outlierness=o,
        assignment=p,
        explained={j: (p[j] * parts[j], legs[j]) for j in kept},
        unexplained=sum(p[j] * (o - parts[j]) for j in kept),
    )


def _nearest(x: Any, centers: Any, kept: list[int], maps: _Maps, pooling: Any) -> Pooled:
    """o = Σ_r w_r d_(r), the r-th smallest distance; p_j = w_r, Δ_j = p_j d_j."""
    legs = _sorted_legs(x, centers, kept, maps)[: len(pooling.rank_weights)]
    ranked = list(zip(pooling.rank_weights, legs, strict=True))
    o = sum(w * leg.distance for w, (_, leg) in ranked)
    return Pooled(
        log_g=-o,
        outlierness=o,
        assignment={j: w for w, (j, _) in ranked},
        explained={j: (w * leg.distance, leg) for w, (j, leg) in ranked},
        unexplained=0.0,
    )


def _mean_vector(x: Any, centers: Any, kept: list[int], maps: _Maps, pooling: Any) -> Pooled:
    """o = ‖x - ū‖, ū the mean of the k nearest centers; p_j = 1/k."""
    k = pooling.neighbors
    chosen = [j for j, _ in _sorted_legs(x, centers, kept, maps)[:k]]
    mean = [sum(centers[j][i] for j in chosen) / k for i in range(len(x))]
    leg = maps.leg(x, mean, chosen[0])
    return Pooled(
        log_g=-leg.distance,
        outlierness=leg.distance,
        assignment=dict.fromkeys(chosen, 1.0 / k),
        explained=dict.fromkeys(chosen, (leg.distance / k, leg)),
        unexplained=0.0,
    )


def _local_reach(x: Any, centers: Any, kept: list[int], maps: _Maps, pooling: Any) -> Pooled:
    """o = L̄ (mean_j max(κ_j, d_j) + ε); Δ_j = L̄/k (d_j - κ_j)⁺, the rest is unexplained."""
    k = pooling.neighbors
    chosen = _sorted_legs(x, centers, kept, maps)[:k]
    density = sum(pooling.densities[j] for j, _ in chosen) / k
    reach = {j: pooling.reaches[j] for j, _ in chosen}
    o = density * (sum(max(reach[j], leg.distance) for j, leg in chosen) / k + pooling.floor)
    return Pooled(
        log_g=-o,
        outlierness=o,
        assignment={j: 1.0 / k for j, _ in chosen},
        explained={j: (density / k * max(leg.distance - reach[j], 0.0), leg) for j, leg in chosen},
        unexplained=density * (sum(reach.values()) / k + pooling.floor),
    )


_POOLINGS = {"LocalReach": _local_reach, "MeanVector": _mean_vector, "Nearest": _nearest}


def _sorted_legs(x: Any, centers: Any, kept: list[int], maps: _Maps) -> list[tuple[int, Leg]]:
    legs = [(j, maps.leg(x, centers[j], j)) for j in kept]
    return sorted(legs, key=lambda entry: entry[1].distance)


def _log_sum_exp(values: list[float]) -> float:
    return float(oracle._log_sum_exp(values, FLOATS))


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)
