"""COIN: how a row separates from each cluster of normal points around it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from whyodd.explainers.checks import whole_number
from whyodd.explainers.support.neighborhoods import Surroundings, around

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Spread of the points drawn around a row, as a share of its distance from the nearest point of a cluster:
# they must stay on its side.
_SHARE = 0.25
# Smallest spacing γ, in standard deviations: where all points of a cluster agree it would be 0.
_FINEST = 0.05
_SPACED = 5
_MOST = 4
# Tibshirani and Walther find 0.8 to 0.9 to speak for well separated clusters.
_STRONG = 0.8
_SPLITS = 5
# A cluster whose halves have fewer points says nothing.
_FEWEST = 5
# Restarts and steps of k-means.
_RUNS, _STEPS = 3, 100


def coin(task: Task, neighbors: int = 50, clusters: int | None = None) -> Floats:
    """COIN's R_i = Σ_l |C_l| / |C| · |w_li| / γ_li, with w_l the linear separation from a cluster C_l.

    Parameters
    ----------
    task : Task
        Relevance depends on the rows and on ``task.normal`` alone (the network's centers, or the rows given
        as ``options={"normal": rows}``), not on the model.
    neighbors : int, default 50
        How many normal points around a row are its context C.
    clusters : int, optional
        Number of clusters in the context; by default what its prediction strength speaks for, at most 4.

    Notes
    -----
    After Liu, Shin and Hu, "Contextual outlier interpretation", IJCAI 2018: context, clusters by k-means and
    prediction strength, a class of points drawn around the outlier, as many as the cluster has, a linear
    SVM with an L1 penalty, γ the mean distance of a point of the cluster along a variable from those closest
    to it, and the mean over clusters weighted by their size. Chosen here: variables in units of their
    standard deviation among the normal points, the 5 closest points, γ of at least 0.05, the spread of the
    drawn points (a quarter of the distance from the nearest point of the cluster, over √d), and C = 1 with
    squared hinge loss.
    """
    neighbors = whole_number("neighbors", neighbors, 1)
    wanted = None if clusters is None else whole_number("clusters", clusters, 1)
    at = Surroundings.of(task, "coin")
    relevance = np.zeros(task.X.shape)
    for row, x in enumerate(at.rows):
        context = at.normal[at.by_distance(row)[0][:neighbors]]
        labels = cluster(context, wanted, task.random)
        for label in np.unique(labels):
            members = context[labels == label]
            relevance[row] += len(members) / len(context) * _abnormality(x, members, task.random)
        task.report(row + 1)
    return relevance


def _abnormality(x: Floats, members: Floats, random: np.random.Generator) -> Floats:
    """(d,) |w| / γ of a row against the points of one cluster."""
    gap = float(np.sqrt(((members - x) ** 2).sum(axis=1)).min())
    drawn = around(random, x, len(members), _SHARE * gap / np.sqrt(len(x)))
    return np.abs(_separate(drawn, members, random)) / _spacing(members)


def _separate(odd: Floats, normal: Floats, random: np.random.Generator) -> Floats:
    """(d,) weights of a linear SVM between two classes."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    classes = np.repeat([1, 0], [len(odd), len(normal)])
    machine = LinearSVC(penalty="l1", dual=False, max_iter=5000, random_state=int(random.integers(1 << 31)))
    with warnings.catch_warnings():  # nearly the best separation is good enough
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(np.vstack([odd, normal]), classes)
    return np.asarray(machine.coef_[0], dtype=np.float64)


def _spacing(members: Floats) -> Floats:
    """(d,) mean distance along each variable from the closest other points of the cluster."""
    if len(members) < 2:
        return np.ones(members.shape[1])
    others = members[closest(members, min(_SPACED, len(members) - 1))]
    spacing = np.abs(others - members[:, None, :]).mean(axis=(0, 1))
    return np.asarray(np.maximum(spacing, _FINEST))


def cluster(points: Floats, count: int | None, random: np.random.Generator) -> Indices:
    """(n,) cluster of each point; ``count`` clusters, or the number that prediction strength supports."""
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
    """Of the pairs that share a cluster in one half, the share that the other half's means keep together.

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
    """Points far apart: each drawn with a probability proportional to its squared distance (k-means++)."""
    chosen = [int(random.integers(len(points)))]
    for _ in range(count - 1):
        distances = _squared_distances(points, points[chosen]).min(axis=1)
        chosen.append(int(random.choice(len(points), p=distances / distances.sum())))
    return points[chosen]


def _squared_distances(a: Floats, b: Floats) -> Floats:
    return np.asarray(((a[:, None, :] - b) ** 2).sum(axis=2))
