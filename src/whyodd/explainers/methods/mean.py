"""Difference from the mean of normal points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.explainers.support.differences import squared_parts
from whyodd.maths.metrics import ComponentMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task


def mean(task: Task) -> NDArray[np.float64]:
    """Squared difference R_i = (x_i - ū_i)² from the expected value ū = Σ_j α_j u_j, in the network's metric.

    Where every center has a map of its own, that of the center with the largest assignment counts.

    Notes
    -----
    "EV" in section "Internal Validation" of Kauffmann, Müller and Montavon.
    """
    differences = np.asarray(task.X) - task.weights @ task.normal
    return squared_parts(task.metric, differences, _main_centers(task))


def _main_centers(task: Task) -> NDArray[np.intp]:
    if not isinstance(task.metric, ComponentMetric):
        return np.zeros(task.X.shape[0], dtype=np.intp)  # all have the same map
    return np.asarray(task.network.nearest(task.X, 1, own=task.own, n_jobs=task.n_jobs)[0][:, 0])
