"""Explaining outliers by the variables in which they separate from normal points (Micenková et al.)."""

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

# λ √d as a share of the distance from the k-th neighbour.
_SHARE = 0.35
# The path of the lasso is followed down to this share of the penalty that lets nothing in.
_END_OF_PATH = 0.05


def micenkova(task: Task, neighbors: int = 35) -> Floats:
    """Separability R_i = mean |w_i(λ)| over the penalties λ of a lasso that separates a row from normal ones.

    Parameters
    ----------
    task : Task
        Relevance depends on the rows and on ``task.normal`` alone (the network's centers, or the rows given
        as ``options={"normal": rows}``), not on the model.
    neighbors : int, default 35
        k: the normal class are the k nearest normal points of a row, and k more at random; fewer if there are
        not so many.

    Notes
    -----
    After Micenková, Ng, Dang and Assent, "Explaining outliers by subspace separability", ICDM 2013: the
    normal class of a row are neighbours and others at random, its own class are as many points from a
    Gaussian around it, and a feature selection, here the lasso, separates them. Chosen here: k = 35; a
    deviation of 0.35 k-distance / √d; variables in units of their standard deviation among the normal points,
    then of all points of both classes; and one number per variable instead of a selected subset: its mean
    absolute weight along the path of penalties, so that what enters early and what gets large weights both
    counts.
    """
    k = whole_number("neighbors", neighbors, 1)
    at = Surroundings.of(task, "micenkova")
    relevance = np.zeros(task.X.shape)
    for row, x in enumerate(at.rows):
        order, distances = at.by_distance(row)
        near, far = order[:k], order[k:]
        chosen = np.concatenate([near, task.random.choice(far, min(k, far.size), replace=False)])
        spread = _SHARE * distances[len(near) - 1] / np.sqrt(len(x))
        drawn = around(task.random, x, len(chosen), float(spread))
        relevance[row] = _mean_weights(drawn, at.normal[chosen])
        task.report(row + 1)
    return relevance


def _mean_weights(odd: Floats, normal: Floats) -> Floats:
    """(d,) mean absolute weight of each variable along the path of a lasso between two classes."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path

    points = np.vstack([odd, normal])
    points = points - points.mean(axis=0)
    spread = points.std(axis=0)
    points = np.divide(points, spread, out=np.zeros_like(points), where=spread > 0.0)
    classes = np.repeat([0.5, -0.5], [len(odd), len(normal)])
    classes = classes - classes.mean()
    largest = float(np.abs(points.T @ classes).max() / len(classes))
    if largest == 0.0:
        return np.zeros(points.shape[1])
    with warnings.catch_warnings():  # variables that agree: one of them is left out
        warnings.simplefilter("ignore", ConvergenceWarning)
        penalties, _, weights = lars_path(
            points, classes, method="lasso", alpha_min=_END_OF_PATH * largest, return_path=True
        )
    # Weights are linear between the corners of the path.
    return np.asarray(np.abs(np.trapezoid(np.abs(weights), penalties, axis=1)) / largest)
