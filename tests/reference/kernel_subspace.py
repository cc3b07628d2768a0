"""Kernel PCA's reconstruction error as plain loops: a row at a time, every sum exact.

Written from Hoffmann's and Mika's formulas alone. Of a member only the parameters are read.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

STEPS, STANDSTILL, DESCENT = 100, 1e-12, 1e-9


class SubspaceParts(NamedTuple):
    relevance: Any
    unexplained: Any
    outlierness: Any
    expected: Any


class Seen(NamedTuple):
    """Of one row: the error, k_j, and γ_j, with which centers make up its reconstruction."""

    error: float
    k: list[float]
    gamma: list[float]


def explain_subspace(X: Any, member: Any) -> SubspaceParts:
    """Relevance (n, d), unexplained (n,), outlierness (n,), expected (n, d)."""
    rows = [_explain_row([float(value) for value in x], member) for x in np.asarray(X)]
    return SubspaceParts(*(np.array(part) for part in zip(*rows, strict=True)))


def similarity(x: Any, u: Any, sigma: float) -> float:
    return math.exp(-0.5 * math.fsum(((a - b) / sigma) ** 2 for a, b in zip(x, u, strict=True)))


def seen(x: Any, member: Any) -> Seen:
    m, q = member.components.shape
    w, rho, C = member.weights, member.similarities, member.components
    k = [similarity(x, u, member.sigma) for u in member.centers]
    f = [math.fsum(C[j, component] * (k[j] - rho[j]) for j in range(m)) for component in range(q)]
    from_mean = 1.0 - 2.0 * math.fsum(w * k) + math.fsum(w * rho)
    gamma = [w[j] + math.fsum(C[j] * f) for j in range(m)]
    return Seen(max(from_mean - math.fsum(value * value for value in f), 0.0), k, gamma)


def _explain_row(x: list[float], member: Any) -> tuple[list[float], float, float, list[float]]:
    row = seen(x, member)
    z = pre_image(x, row, member)
    parts = [(a - b) ** 2 for a, b in zip(x, z, strict=True)]
    length = math.fsum(parts)
    left = min(seen(z, member).error, row.error) if length > 0.0 else row.error
    relevance = [(row.error - left) * part / length if length > 0.0 else 0.0 for part in parts]
    return relevance, left, row.error, z


def height(z: Any, gamma: list[float], member: Any) -> float:
    """s(z) = Σ_j γ_j k(z, u_j)."""
    return math.fsum(
        weight * similarity(z, u, member.sigma) for weight, u in zip(gamma, member.centers, strict=True)
    )


def pre_image(x: list[float], row: Seen, member: Any) -> list[float]:
    heights = [height(u, row.gamma, member) for u in member.centers]
    best = int(np.argmax(heights))
    z = (
        x
        if height(x, row.gamma, member) >= heights[best]
        else [float(value) for value in member.centers[best]]
    )
    before, highest = z, -math.inf
    for _ in range(STEPS):
        pull = [
            weight * similarity(z, u, member.sigma)
            for weight, u in zip(row.gamma, member.centers, strict=True)
        ]
        s = math.fsum(pull)
        if s < highest * (1.0 - DESCENT):
            return before
        if s <= 0.0:
            return z
        before, highest = z, s
        z = [math.fsum(pull * member.centers[:, i]) / s for i in range(len(z))]
        if max(abs(a - b) for a, b in zip(z, before, strict=True)) <= STANDSTILL * member.sigma:
            break
    return z
