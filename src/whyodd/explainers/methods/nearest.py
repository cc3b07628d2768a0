"""Difference from the nearest normal point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explainers.support.differences import squared_parts
from whyodd.explainers.support.gradients import factor_of
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import ComponentMetric
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task

    Indices = NDArray[np.intp]


def nearest(task: Task) -> NDArray[np.float64]:
    """Squared difference R_i = (x_i - u_i)² from the nearest normal point u, in the metric of the network.

    Normal points are the centers, or the rows given as ``options={"normal": rows}``. Where every center has a
    map of its own, that of the nearest center counts.

    Notes
    -----
    "NN" in section "Internal Validation" of Kauffmann, Müller and Montavon. It jumps where another center
    becomes the nearest.
    """
    differences = np.asarray(task.X) - nearest_normal(task)
    has_maps = isinstance(task.metric, ComponentMetric)
    return squared_parts(task.metric, differences, nearest_centers(task) if has_maps else None)


def nearest_normal(task: Task) -> NDArray[np.floating]:
    """(n, d) the nearest normal point of each row: a center, or one of the rows that were given."""
    if task.given is None:
        return to_dense(task.network.centers[nearest_centers(task)])
    if isinstance(task.metric, ComponentMetric):
        return np.asarray(task.given[_by_map_of_nearest_center(task)])
    given = DistanceNetwork(task.given, pooling=Nearest.kth(1), metric=task.metric)
    return np.asarray(task.given[given.nearest(task.X, 1, n_jobs=task.n_jobs)[0][:, 0]])


def _by_map_of_nearest_center(task: Task) -> Indices:
    """(n,) the nearest of the rows that were given, where every center has its own map."""
    X, own = np.asarray(task.X), nearest_centers(task)
    index = np.empty(len(X), dtype=np.intp)
    for j in np.unique(own):
        rows, factor = np.flatnonzero(own == j), factor_of(task.network, j)
        mapped = DistanceNetwork(task.given @ factor.T, pooling=Nearest.kth(1))  # type: ignore[operator]
        index[rows] = mapped.nearest(X[rows] @ factor.T, 1, n_jobs=task.n_jobs)[0][:, 0]
    return index


def nearest_centers(task: Task) -> Indices:
    """(n,) the center at the smallest distance from each row, its own one left out."""
    if isinstance(task.metric, ComponentMetric):
        return _by_component(task)
    searched = DistanceNetwork(task.network.centers, pooling=Nearest.kth(1), metric=task.metric)
    return searched.nearest(task.X, 1, own=task.own, n_jobs=task.n_jobs)[0][:, 0]


def _by_component(task: Task) -> Indices:
    X, network = np.asarray(task.X), task.network
    distances = np.empty((len(X), network.n_centers))
    for j, center in enumerate(to_dense(network.centers)):
        distances[:, j] = (((X - center) @ factor_of(network, j).T) ** 2).sum(axis=1)
    if task.own is not None:
        left_out = np.flatnonzero(task.own >= 0)
        distances[left_out, task.own[left_out]] = np.inf
    return np.asarray(distances.argmin(axis=1))
