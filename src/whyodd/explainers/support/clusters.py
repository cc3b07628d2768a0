"""Clusters of a few points: k-means, and as many as can be predicted from half of the points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

_MOST = 4
# Tibshirani and Walther find 0.8 to 0.9 to speak for well separated clusters.
_STRONG = 0.8
_SPLITS = 5
# Fewer points in each half of a cluster say nothing.
_FEWEST = 5
# Of k-means.
_RUNS, _STEPS = 3, 100


def cluster(points: Floats, count: int | None, random: np.random.Generator) -> Indices:
    """(n,) cluster of each point; as many as ``count``, or as their prediction strength speaks for."""
    if count is None:
        count = _predictable_count(points, random)
    return _means(points, min(count, len(np.unique(points, axis=0))), random)[0]


def closest(points: Floats, k: int) -> Indices:
    """(n, k) for each point the k others nearest to it."""
    distances = _squared_distances(points, points)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def _predictable_count(points: Floats, random: np.random.Generator) -> int:
    """The largest number of clusters with a strong prediction (Tibshirani and Walther, 2005)."""
    most = min(_MOST, len(points) // (2 * _FEWEST))
    for count in range(most, 1, -1):
        strengths = [_prediction_strength(points, count, random) for _ in range(_SPLITS)]
        if np.mean(strengths) >= _STRONG:
            return count
    return 1


def _prediction_strength(points: Floats, count: int, random: np.random.Generator) -> float:
    """Of the pairs that share a cluster in one half, the share that the other half's means leave together.

    The least over the clusters.
    """
    order = random.permutation(len(points))
    here, there = points[order[: len(points) // 2]], points[order[len(points) // 2 :]]
    if min(len(np.unique(half, axis=0)) for half in (here, there)) < count:
        return 0.0
    labels, means = _means(here, count, random)[0], _means(there, count, random)[1]
    predicted = _squared_distances(here, means).argmin(axis=1)
    return min(_pairs_kept(predicted[labels == label]) for label in np.unique(labels))


def _pairs_kept(predicted: Indices) -> float:
    n = len(predicted)
    sizes = np.unique(predicted, return_counts=True)[1]
    return 1.0 if n == 1 else float((sizes * (sizes - 1)).sum() / (n * (n - 1)))


def _means(points: Floats, count: int, random: np.random.Generator) -> tuple[Indices, Floats]:
    """Labels (n,) and means (count, d) of the best of a few runs of k-means.

    scikit-learn's takes longer to start its threads than this does for the hundreds of small sets at hand.
    """
    runs = [_run(points, count, random) for _ in range(_RUNS if count > 1 else 1)]
    return min(runs, key=lambda run: float(((points - run[1][run[0]]) ** 2).sum()))


def _run(points: Floats, count: int, random: np.random.Generator) -> tuple[Indices, Floats]:
    means = _seeds(points, count, random)
    labels = np.full(len(points), -1)
    for _ in range(_STEPS):
        before, labels = labels, _squared_distances(points, means).argmin(axis=1)
        if np.array_equal(before, labels):
            break
        for label in np.unique(labels):  # a cluster that has lost its points keeps its mean
            means[label] = points[labels == label].mean(axis=0)
    return labels, means


def _seeds(points: Floats, count: int, random: np.random.Generator) -> Floats:
    """Points far apart: each drawn with a chance in proportion to its squared distance (k-means++)."""
    chosen = [int(random.integers(len(points)))]
    for _ in range(count - 1):
        distances = _squared_distances(points, points[chosen]).min(axis=1)
        chosen.append(int(random.choice(len(points), p=distances / distances.sum())))
    return points[chosen]


def _squared_distances(a: Floats, b: Floats) -> Floats:
    return np.asarray(((a[:, None, :] - b) ** 2).sum(axis=2))
