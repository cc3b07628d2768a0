"""Simple Taylor decomposition at the nearest point that is as odd as normal points are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import squared_norms, to_dense
from whyodd.explainers.checks import finite_number
from whyodd.explainers.methods.nearest import nearest_centers
from whyodd.explainers.support.gradients import gradient
from whyodd.maths.metrics import ComponentMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task
    from whyodd.network.distance_network import DistanceNetwork

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# How near o(x̃) comes to the threshold, as a share of o(x) - τ. It is aimed at from above: a gradient may jump
# at the threshold itself, such as that of a distance at a center.
_TOLERANCE = 1e-9
_NEWTON_STEPS = 50
_BISECTIONS = 100


def taylor(task: Task, threshold: float | None = None) -> Floats:
    """Simple Taylor decomposition R_i = ∂o/∂x_i|_x̃ (x_i - x̃_i) at the nearest root x̃ of o - τ.

    Rows with o ≤ τ have R = 0. What is left unexplained is o - Σ_i R_i: τ and the terms of higher order.

    Parameters
    ----------
    task : Task
    threshold : float, optional
        τ. By default the weighted median of o over the normal points: the rows given as ``options={"normal":
        rows}``, or the centers, each without itself. The centers of a mixture are no points of the data, and
        are taken as they are; at the center of a Gaussian the gradient is 0, and with it all relevance.
        Pass normal rows or a threshold there.

    Notes
    -----
    "Simple Taylor Decomposition" in section "Background" of Kauffmann, Müller and Montavon; Montavon et al.,
    "Explaining nonlinear classification decisions with deep Taylor decomposition", 2017. The outlierness
    itself has no root, hence τ. Chosen here: the root is the nearer of two, that of steps x - (o - τ) ∇o /
    ‖∇o‖², and that on the segment to the nearest center (if that is too odd itself, to the least odd one).
    """
    tau = _usual(task) if threshold is None else finite_number("threshold", threshold)
    X = np.asarray(task.X, dtype=np.float64)
    o = task.scores.outlierness
    relevance = np.zeros(X.shape)
    odd = np.flatnonzero(o > tau)
    if odd.size == 0:
        return relevance
    inner = _inner_points(task, odd, tau)
    level = np.maximum(tau, task.outlierness(inner, odd))
    if threshold is not None and (level > tau).any():
        raise ValueError(
            f"threshold={threshold!r}: no center has an outlierness that low. Choose a larger one."
        )
    # A row that is less odd than every center has no root to be compared with.
    has_root = level < o[odd]
    if has_root.any():
        odd, inner, level = odd[has_root], inner[has_root], level[has_root]
        roots = _nearest_roots(task, odd, inner, level)
        relevance[odd] = gradient(task.network, roots, _own(task, odd), task.n_jobs) * (X[odd] - roots)
    return relevance


def _usual(task: Task) -> float:
    """Weighted median of the outlierness of normal points."""
    left_out = np.arange(task.network.n_centers) if _are_left_out(task) else None
    o = task.network.outlierness(task.normal, own=left_out, n_jobs=task.n_jobs)
    order = np.argsort(o)
    below = np.cumsum(task.weights[order])
    return float(o[order[min(np.searchsorted(below, 0.5 * below[-1]), len(o) - 1)]])


def _are_left_out(task: Task) -> bool:
    """Whether normal points are centers and rows of the data, so that others can be scored without them."""
    network = task.network
    if task.given is not None or isinstance(network.metric, ComponentMetric):
        return False
    if network.pooling is None:
        return int(np.count_nonzero(network.weights)) > 1
    return network.rows is not None and network.n_centers > network.pooling.k


def _own(task: Task, rows: Indices) -> Indices | None:
    return None if task.own is None else task.own[rows]


def _inner_points(task: Task, rows: Indices, tau: float) -> Floats:
    """For each row the nearest center, or the least odd one if the nearest is beyond the threshold."""
    centers = np.asarray(to_dense(task.network.centers), dtype=np.float64)
    inner = centers[nearest_centers(task)[rows]]
    beyond = task.outlierness(inner, rows) > tau
    if beyond.any():
        inner[beyond] = centers[_least_odd(task.network, task.n_jobs)]
    return inner


def _least_odd(network: DistanceNetwork, n_jobs: int | None) -> int:
    return int(np.argmin(network.outlierness(network.centers, n_jobs=n_jobs)))


def _nearest_roots(task: Task, rows: Indices, inner: Floats, level: Floats) -> Floats:
    X = np.asarray(task.X, dtype=np.float64)[rows]
    rise = task.scores.outlierness[rows] - level
    aim, reach = level + 0.5 * _TOLERANCE * rise, 0.5 * _TOLERANCE * rise
    found = _bisect(task, rows, inner, X, aim, reach)
    stepped, converged = _step(task, rows, X, aim, reach, 4.0 * squared_norms(found - X))
    nearer = converged & (squared_norms(stepped - X) < squared_norms(found - X))
    return np.where(nearer[:, None], stepped, found)


def _bisect(task: Task, rows: Indices, inner: Floats, outer: Floats, aim: Floats, reach: Floats) -> Floats:
    """Points between an inner and an outer one with o close to the aim, or as close as floats allow."""
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    points = outer.copy()
    active = np.arange(len(rows))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low[active] + high[active])
        points[active] = inner[active] + middle[:, None] * (outer[active] - inner[active])
        beyond = task.outlierness(points[active], rows[active]) - aim[active]
        high[active] = np.where(beyond > 0.0, middle, high[active])
        low[active] = np.where(beyond > 0.0, low[active], middle)
        active = active[np.abs(beyond) > reach[active]]
        if active.size == 0:
            break
    return points


def _step(
    task: Task, rows: Indices, X: Floats, aim: Floats, reach: Floats, within: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Steps down the gradient to where o would equal the aim if it were linear; and whether they succeeded.

    They end where they lead farther from X than a squared distance: a nearer root is known.
    """
    points, beyond = X.copy(), task.scores.outlierness[rows] - aim
    is_lost = np.zeros(len(rows), dtype=bool)
    for _ in range(_NEWTON_STEPS):
        active = np.flatnonzero(np.abs(beyond) > reach)
        if active.size == 0:
            break
        slope = gradient(task.network, points[active], _own(task, rows[active]), task.n_jobs)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            points[active] -= (beyond[active] / squared_norms(slope))[:, None] * slope
            is_far = ~(squared_norms(points[active] - X[active]) <= within[active])
        lost, active = active[is_far], active[~is_far]
        points[lost], beyond[lost], is_lost[lost] = X[lost], 0.0, True
        if active.size > 0:
            beyond[active] = task.outlierness(points[active], rows[active]) - aim[active]
    return points, (np.abs(beyond) <= reach) & ~is_lost
