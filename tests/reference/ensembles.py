"""Ensembles, spheres, clusters and neighbours under other metrics as plain loops over one row.

Written from the formulas, without a formula of whyodd's: of a member only its parameters are read, and of an
ensemble what its members say of the row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np


class Found(NamedTuple):
    """Of one row."""

    outlierness: float
    relevance: list[float]
    unexplained: float


def explain(member: Any, x: Any) -> Found:
    """Outlierness, relevance (d,) and what belongs to no variable."""
    return _KINDS[type(member).__name__](member, [float(value) for value in x])


def _ensemble(member: Any, x: list[float]) -> Found:
    d, found = len(x), []
    for part in member.parts:
        seen = x if part.columns is None else [x[i] for i in part.columns]
        keywords = {}
        if part.through is not None:
            matrix = part.through.matrix.toarray()
            seen = [sum(row[i] * x[i] for i in range(d)) for row in matrix]
            keywords = {"through": part.through}
        parts = part.score.decompose(np.array([seen]), **keywords)
        o, rest = float(parts.outlierness[0]), float(parts.unexplained[0])
        relevance = [0.0] * d
        for place, value in enumerate(parts.relevance[0]):
            relevance[place if part.columns is None else int(part.columns[place])] += float(value)
        z = (float(part.scale.score(o)) - part.mean) / part.deviation
        least = (float(part.scale.score(0.0)) - part.mean) / part.deviation
        found.append((o, relevance, rest, z, least))
    standings, least = [one[3] for one in found], [one[4] for one in found]
    weights, floor = _combined(member.combination, x, standings, least)
    total = sum(w * z for w, z in zip(weights, standings, strict=True)) - floor
    lifts = [w * (z - low) for w, z, low in zip(weights, standings, least, strict=True)]
    factor = min(1.0, total / sum(lifts)) if sum(lifts) else 0.0
    relevance, unexplained = [0.0] * d, total - factor * sum(lifts)
    for lift, (o, shares, rest, _, _) in zip(lifts, found, strict=True):
        if lift:
            relevance = [r + factor * lift * share / o for r, share in zip(relevance, shares, strict=True)]
            unexplained += factor * lift * rest / o
    return Found(total, relevance, unexplained)


def _combined(rule: Any, x: list[float], z: list[float], least: list[float]) -> tuple[list[float], float]:
    name = type(rule).__name__
    if name == "Average":
        return list(rule.counts), sum(w * low for w, low in zip(rule.counts, least, strict=True))
    if name == "Maximum":
        return [float(k == z.index(max(z))) for k in range(len(z))], max(least)
    counts = _selected(rule, x)
    return [count / sum(counts) for count in counts], min(least)


def _selected(rule: Any, x: list[float]) -> list[int]:
    """How often LSCP selects each score for a row."""
    times = [0] * len(rule.rows)
    for columns in rule.subspaces:
        gaps = [math.dist([row[i] for i in columns], [x[i] for i in columns]) for row in rule.rows]
        for j in sorted(range(len(gaps)), key=gaps.__getitem__)[: rule.neighbors]:
            times[j] += 1
    enough = len(rule.subspaces) // 2
    while sum(count > enough for count in times) < 2:
        enough -= 1
    local = [rule.standings[j] for j, count in enumerate(times) if count > enough]
    truth = [max(row) for row in local]
    found = [float(np.corrcoef(truth, [row[k] for row in local])[0, 1]) for k in range(len(local[0]))]
    low, width = min(found), (max(found) - min(found)) / rule.bins
    edges = [low + width * b for b in range(rule.bins)] + [max(found)]
    last = rule.bins - 1
    inside = [
        [edges[b] <= r and (r < edges[b + 1] or (b == last and r <= edges[b + 1])) for r in found]
        for b in range(rule.bins)
    ]
    fullest = max(map(sum, inside))
    counts = [0] * len(found)
    for b in range(rule.bins):
        if sum(inside[b]) == fullest:
            counts = [n + (edges[b] <= r <= edges[b + 1]) for n, r in zip(counts, found, strict=True)]
    return counts


def _spheres(member: Any, x: list[float]) -> Found:
    sets = len(member.centers)
    total, relevance, unexplained = 0.0, [0.0] * len(x), 0.0
    for t in range(sets):
        squared = [math.dist(x, center) ** 2 for center in member.centers[t]]
        radii = member.squared_radii[t]
        # Centers lie on the surface of other spheres, to rounding.
        holding = [j for j, value in enumerate(squared) if value <= radii[j] * (1.0 + 1e-12)]
        if holding:
            j = min(holding, key=lambda k: radii[k])
            value, measure = member.values[t][j] / sets, radii[j]
        else:
            j = squared.index(min(squared))
            value, measure = 1.0 / sets, squared[j]
        total += value
        if measure == 0.0:
            unexplained += value
            continue
        for i in range(len(x)):
            relevance[i] += value * (x[i] - member.centers[t][j][i]) ** 2 / measure
        unexplained += value * (1.0 - squared[j] / measure)
    return Found(total, relevance, unexplained)


def _cluster(member: Any, x: list[float]) -> Found:
    gaps = [math.dist(x, point) for point in member.points]
    cluster = int(member.labels[gaps.index(min(gaps))])
    if member.is_large[cluster]:
        center = member.centroids[cluster]
    else:
        large = [point for point, is_large in zip(member.centroids, member.is_large, strict=True) if is_large]
        center = min(large, key=lambda point: math.dist(x, point))
    d, weight = math.dist(x, center), float(member.weights[cluster])
    shares = [0.0] * len(x) if d == 0 else [(a - u) ** 2 / d for a, u in zip(x, center, strict=True)]
    return Found(weight * d, [weight * share for share in shares], 0.0)


def _neighbors(member: Any, x: list[float]) -> Found:
    measured = [_distance(member, x, [float(value) for value in u]) for u in member.centers]
    pooling = member.pooling
    nearest = sorted(range(len(measured)), key=lambda j: measured[j][0])[: pooling.k]
    distances = [measured[j][0] for j in nearest]
    if type(pooling).__name__ == "Nearest":
        parts = [w * value for w, value in zip(pooling.rank_weights, distances, strict=True)]
        rest = 0.0
    else:
        density = sum(pooling.densities[j] for j in nearest) / pooling.k
        gaps = [max(d - pooling.reaches[j], 0.0) for d, j in zip(distances, nearest, strict=True)]
        parts = [density / pooling.k * gap for gap in gaps]
        rest = density * (sum(pooling.reaches[j] for j in nearest) / pooling.k + pooling.floor)
    relevance = [0.0] * len(x)
    for part, j in zip(parts, nearest, strict=True):
        terms = measured[j][1]
        if sum(terms) > 0.0:
            relevance = [r + part * term / sum(terms) for r, term in zip(relevance, terms, strict=True)]
    return Found(sum(parts) + rest, relevance, rest)


def _distance(member: Any, x: list[float], u: list[float]) -> tuple[float, list[float]]:
    """Of two points: the distance, and what each variable has in it."""
    gaps = [abs(a - b) for a, b in zip(x, u, strict=True)]
    match member.metric:
        case "manhattan" | "cityblock" | "l1":
            return sum(gaps), gaps
        case "minkowski":
            powers = [gap**member.p for gap in gaps]
            return sum(powers) ** (1.0 / member.p), powers
        case "chebyshev":
            return max(gaps), [float(gap == max(gaps)) for gap in gaps]
        case "canberra":
            terms = [gap / (abs(a) + abs(b)) if gap else 0.0 for gap, a, b in zip(gaps, x, u, strict=True)]
            return sum(terms), terms
        case "cosine":
            long, short = math.hypot(*x), math.hypot(*u)
            terms = [(a / long - b / short) ** 2 for a, b in zip(x, u, strict=True)]
            return 0.5 * sum(terms), terms
    raise ValueError(member.metric)


_KINDS = {
    "ClusterDistance": _cluster,
    "EnsembleScore": _ensemble,
    "Hyperspheres": _spheres,
    "NeighborDistances": _neighbors,
}
