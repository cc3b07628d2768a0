"""Sums over variables, projections and points as plain loops, from the formulas alone."""

from __future__ import annotations

from bisect import bisect_left
from math import fsum, log, log2, sqrt
from typing import Any

import numpy as np


def tails(values: list[float], x: float) -> tuple[float, float]:
    """-log of the share of values that are at most x, and that are at least x."""
    return -log(sum(v <= x for v in values) / len(values)), -log(sum(v >= x for v in values) / len(values))


def skewness(values: list[float]) -> int:
    """Sign of Σ(v - mean)³, 0 below the rounding of its terms."""
    mean = fsum(values) / len(values)
    cubes = [(v - mean) ** 3 for v in values]
    total = fsum(cubes)
    return 0 if abs(total) <= 1e-12 * fsum(map(abs, cubes)) else (1 if total > 0 else -1)


def ecod_terms(training: Any, x: Any, without: int | None = None) -> list[float]:
    """Terms of a row among the training rows, without one of them, and itself."""
    return [_ecod(*_column(training, x, i, without)) for i in range(len(x))]


def copod_terms(training: Any, x: Any, without: int | None = None) -> list[float]:
    """The same of COPOD."""
    return [_copod(*_column(training, x, i, without)) for i in range(len(x))]


def _column(training: Any, x: Any, i: int, without: int | None) -> tuple[list[float], float]:
    values = [float(row[i]) for j, row in enumerate(training) if j != without]
    return [*values, float(x[i])], float(x[i])


def _ecod(values: list[float], x: float) -> float:
    low, high = tails(values, x)
    return low + high if skewness(values) == 0 else max(low, high)


def _copod(values: list[float], x: float) -> float:
    low, high = tails(values, x)
    longer = {1: high, -1: low, 0: low + high}[skewness(values)]
    return max(longer, (low + high) / 2)


def hbos_terms(edges: Any, densities: Any, alpha: float, tolerance: float, x: Any) -> list[float]:
    """-log2(density + α) of the bin of each value; beyond the edges of the outermost or the emptiest one."""
    return [
        -log2(_density(list(e), list(h), tolerance, float(v)) + alpha)
        for e, h, v in zip(edges, densities, x, strict=True)
    ]


def _density(edges: list[float], densities: list[float], tolerance: float, x: float) -> float:
    for b, density in enumerate(densities):
        if edges[b] < x <= edges[b + 1]:
            return density
    if x <= edges[0]:
        is_near = edges[0] - x <= tolerance * (edges[1] - edges[0])
        return densities[0] if is_near else min(densities)
    is_near = x - edges[-1] <= tolerance * (edges[-1] - edges[-2])
    return densities[-1] if is_near else min(densities)


def spread(terms: Any, weights: Any, gaps: Any, outside: Any) -> tuple[list[float], float]:
    """Relevance and rest of one row: each term by c⁺ of c_ki = w_ki (x_i - m_i), and of what lies outside."""
    relevance, rest = [0.0] * len(gaps), 0.0
    for t, w, beyond in zip(terms, weights, outside, strict=True):
        moves = [float(wi * g) for wi, g in zip(w, gaps, strict=True)] + [float(beyond)]
        way = np.sign(fsum(moves))
        along = [max(way * move, 0.0) for move in moves]
        if fsum(along) == 0.0:
            rest += t
            continue
        for i in range(len(gaps)):
            relevance[i] += t * along[i] / fsum(along)
        rest += t * along[-1] / fsum(along)
    return relevance, rest


def step(edges: Any, values: Any, z: float) -> float:
    """The value of the cell of z; a cell holds its upper edge."""
    return float(values[bisect_left(list(edges), z)])


def weighted_distances(points: Any, weights: Any, z: Any) -> tuple[list[float], float]:
    """Relevance and o of one row: Σ_k a_k (z_i - v_ki)²/d_k and Σ_k a_k d_k."""
    relevance, o = [0.0] * len(z), 0.0
    for v, a in zip(points, weights, strict=True):
        squares = [(float(zi) - float(vi)) ** 2 for zi, vi in zip(z, v, strict=True)]
        d = sqrt(fsum(squares))
        o += a * d
        for i, square in enumerate(squares):
            relevance[i] += a * square / d if d > 0 else 0.0
    return relevance, o
