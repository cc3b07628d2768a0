"""Distances other than Euclidean that increase with a sum of terms, one per variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def canberra(x: Floats, u: Floats) -> Floats:
    """|x_i - u_i| / (|x_i| + |u_i|), the distance itself."""
    size = np.abs(x) + np.abs(u)
    return np.asarray(np.divide(np.abs(x - u), size, out=np.zeros(size.shape), where=size > 0.0))


def chebyshev(x: Floats, u: Floats) -> Floats:
    """1 for the largest difference, and for others equal to it; 0 for the rest."""
    gaps = np.abs(x - u)
    return np.asarray(gaps == gaps.max(axis=1, keepdims=True), dtype=np.float64)


def cosine(x: Floats, u: Floats) -> Floats:
    """(x̂_i - û_i)² of rows with the length 1: they sum to 2 (1 - cos)."""
    return np.asarray((_unit(x) - _unit(u)) ** 2)


def hamming(x: Floats, u: Floats) -> Floats:
    """1 where values differ."""
    return np.asarray(x != u, dtype=np.float64)


def manhattan(x: Floats, u: Floats) -> Floats:
    """|x_i - u_i|, the distance itself."""
    return np.abs(x - u)


def powers(p: float) -> Callable[[Floats, Floats], Floats]:
    """|x_i - u_i|^p of Minkowski's distance, over the largest of them."""

    def terms(x: Floats, u: Floats) -> Floats:
        gaps = np.abs(x - u)
        largest = gaps.max(axis=1, keepdims=True)
        return np.asarray(np.divide(gaps, largest, out=np.zeros(gaps.shape), where=largest > 0.0) ** p)

    return terms


# Only true metrics, and those that are never searched by trees: elsewhere a tree misses neighbours.
# Names of scikit-learn's metrics -> terms (n, d) of rows x (n, d) and points u (n, d).
TERMS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "canberra": canberra,
    "chebyshev": chebyshev,
    "cityblock": manhattan,
    "cosine": cosine,
    "hamming": hamming,
    "infinity": chebyshev,
    "l1": manhattan,
    "manhattan": manhattan,
    "sqeuclidean": powers(2.0),
}


def terms_of(metric: str, p: float | None) -> Callable[[Floats, Floats], Floats] | None:
    """Terms of a metric of scikit-learn, or None; ``p`` is that of Minkowski's."""
    if metric != "minkowski":
        return TERMS.get(metric)
    return None if p is None or not p > 0.0 else chebyshev if np.isinf(p) else powers(p)


def _unit(x: Floats) -> Floats:
    length = np.sqrt((x**2).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(x, length, out=np.zeros(x.shape), where=length > 0.0))
