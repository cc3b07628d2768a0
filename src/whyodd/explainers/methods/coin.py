"""COIN: how a row separates from each cluster of normal points around it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from whyodd.explainers.checks import whole_number
from whyodd.explainers.support.clusters import closest, cluster
from whyodd.explainers.support.neighborhoods import Surroundings, around

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task

    Floats = NDArray[np.float64]

# Spread of the points drawn around a row, as a share of its distance from the nearest point of a cluster:
# they must stay on its side.
_SHARE = 0.25
# Smallest spacing γ, in standard deviations: where all points of a cluster agree it would be 0.
_FINEST = 0.05
_SPACED = 5


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
