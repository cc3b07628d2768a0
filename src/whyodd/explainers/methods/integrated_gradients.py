"""Integrated gradients along the straight line from a reference point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from whyodd.compute.points import to_dense
from whyodd.explainers.checks import whole_number
from whyodd.explainers.methods.nearest import nearest_normal
from whyodd.explainers.support.gradients import gradient

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task

    Floats = NDArray[np.float64]


def integrated_gradients(task: Task, reference: Any = "nearest", steps: int = 50) -> Floats:
    """Integrated gradients R_i = (x_i - r_i) ∫_0^1 ∂o/∂x_i (r + t (x - r)) dt from a reference r.

    They sum to o(x) - o(r), up to the error of the integral; o(r) is what is left unexplained.

    Parameters
    ----------
    task : Task
    reference : {"nearest", "mean"} or array of shape (d,) or (n, d), default "nearest"
        The nearest normal point of each row, or the mean of all of them. Normal points are the network's
        centers, or the rows given as ``options={"normal": rows}``, in the columns of X: with "mean" and one
        such row, that row is the reference. An array holds points as they reach the model, for a pipeline
        what its steps make of rows.
    steps : int, default 50
        Points at which the gradient is taken: the nodes of Gauss and Legendre.

    Notes
    -----
    Sundararajan, Taly and Yan, "Axiomatic attribution for deep networks", 2017, which sums over equidistant
    points instead.
    """
    X = np.asarray(task.X, dtype=np.float64)
    start = _references(task, reference)
    nodes, weights = np.polynomial.legendre.leggauss(whole_number("steps", steps, 1))
    total = np.zeros(X.shape)
    for done, (node, weight) in enumerate(zip(nodes, weights, strict=True), start=1):
        points = start + 0.5 * (1.0 + node) * (X - start)
        total += 0.5 * weight * gradient(task.network, points, task.own, task.n_jobs)
        task.report(len(X) * done // len(nodes))
    return total * (X - start)


def _references(task: Task, reference: Any) -> Floats:
    """(n, d) or (1, d)."""
    if isinstance(reference, str):
        if reference == "nearest":
            return nearest_normal(task).astype(np.float64)
        if reference == "mean":
            return np.asarray(task.weights @ task.normal)[None, :]
        raise ValueError(f"reference={reference!r}: expected 'nearest', 'mean' or an array.")
    points = _checked_points(reference, len(task.X), task.n_inputs)
    return np.asarray(task.lifted(points), dtype=np.float64)


def _checked_points(reference: Any, n: int, d: int) -> Floats:
    try:
        points = np.asarray(to_dense(reference) if issparse(reference) else reference, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"reference must be numbers: {error}.") from error
    if points.shape not in ((d,), (n, d)):
        raise ValueError(
            f"reference has shape {points.shape}: expected a point, ({d},), or one for each row, ({n}, {d})."
        )
    if not np.isfinite(points).all():
        raise ValueError("reference must be finite.")
    return np.atleast_2d(points)
