"""Baselines of explanation as plain loops: slow, obvious, and independent of whyodd.

Written from the formulas alone. Outlierness is that of ``pooled``; gradients are central
differences of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reference import pooled

# Central differences err by h² times the third derivative, and by rounding over h.
STEP = 1e-5


def outlierness(network: Any, x: Any, own: int = -1) -> float:
    """O of one point, without one of the centers."""
    return float(pooled.explain_network([x], network, own=[own]).outlierness[0])


def gradient(network: Any, x: Any, own: int = -1) -> list[float]:
    """(o(x + h e_i) - o(x - h e_i)) / 2h."""
    slopes = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += STEP
        down[i] -= STEP
        slopes.append((outlierness(network, up, own) - outlierness(network, down, own)) / (2 * STEP))
    return slopes


def gradient_by_pairs(network: Any, x: Any) -> list[float]:
    """Σ_j p_j e_j / d_j² (x - u_j) with e_j = (d_j/σ)^q, for an exponential kernel and the plain distance."""
    p = pooled.explain_network([x], network).assignment[0]
    total = [0.0] * len(x)
    for j, u in enumerate(dense(network.centers)):
        difference = [float(a) - float(b) for a, b in zip(x, u, strict=True)]
        d = math.sqrt(sum(value * value for value in difference))
        energy = (d / network.kernel.sigma) ** network.kernel.q
        for i, value in enumerate(difference):
            total[i] += p[j] * energy * value / d**2 if d > 0.0 else 0.0
    return total


def factor(network: Any, j: int) -> Any:
    """The map A_j through which the distance to center j is measured."""
    if network.metric is None:
        return np.eye(dense(network.centers).shape[1])
    if hasattr(network.metric, "matrix"):
        return np.asarray(network.metric.matrix)
    factors = np.asarray(network.metric.factors[j])
    return np.diag(factors) if factors.ndim == 1 else factors


def distance(network: Any, x: Any, u: Any, j: int) -> float:
    """‖A_j (x - u)‖."""
    mapped = factor(network, j) @ (np.asarray(x, dtype=float) - np.asarray(u, dtype=float))
    return math.sqrt(sum(float(value) ** 2 for value in mapped))


def nearest_center(network: Any, x: Any, own: int = -1) -> int:
    """The center at the smallest distance."""
    centers = dense(network.centers)
    return min(
        (j for j in range(len(centers)) if j != own), key=lambda j: distance(network, x, centers[j], j)
    )


def squared_parts(network: Any, x: Any, u: Any, j: int) -> list[float]:
    """δ_i [AᵀA δ]_i for δ = x - u."""
    delta = np.asarray(x, dtype=float) - np.asarray(u, dtype=float)
    A = factor(network, j)
    back = A.T @ (A @ delta)
    return [float(delta[i] * back[i]) for i in range(len(delta))]


def nearest(network: Any, x: Any, own: int = -1) -> list[float]:
    """Squared difference from the nearest center."""
    j = nearest_center(network, x, own)
    return squared_parts(network, x, dense(network.centers)[j], j)


def mean_point(points: Any, weights: Any) -> list[float]:
    """Σ_j α_j u_j."""
    return [sum(w * u[i] for w, u in zip(weights, points, strict=True)) for i in range(len(points[0]))]


def mvn(x: Any, points: Any, weights: Any, regularization: float) -> list[float]:
    """(x_i - μ_i)² / (2 (s_i² + λ))."""
    mu = mean_point(points, weights)
    parts = []
    for i in range(len(x)):
        variance = sum(w * (u[i] - mu[i]) ** 2 for w, u in zip(weights, points, strict=True))
        parts.append((x[i] - mu[i]) ** 2 / (2 * (variance + regularization)))
    return parts


def occlusion(network: Any, x: Any, usual: Any, own: int = -1) -> list[float]:
    """O(x) - o(x with its i-th value replaced)."""
    parts = []
    for i in range(len(x)):
        varied = list(x)
        varied[i] = usual[i]
        parts.append(outlierness(network, x, own) - outlierness(network, varied, own))
    return parts


def integrated_gradients(network: Any, x: Any, start: Any, own: int = -1, steps: int = 50) -> list[float]:
    """(x_i - r_i) times the mean of ∂o/∂x_i over the midpoints of equal steps from r to x."""
    total = [0.0] * len(x)
    for k in range(steps):
        t = (k + 0.5) / steps
        slopes = gradient(network, [r + t * (a - r) for a, r in zip(x, start, strict=True)], own)
        total = [sum_ + slope for sum_, slope in zip(total, slopes, strict=True)]
    return [(a - r) * sum_ / steps for a, r, sum_ in zip(x, start, total, strict=True)]


def taylor(network: Any, x: Any, tau: float, own: int = -1) -> list[float]:
    """∂o/∂x_i (x_i - x̃_i) at the nearer of two roots of o - τ: of gradient steps, and towards a center."""
    if outlierness(network, x, own) <= tau:
        return [0.0] * len(x)
    roots = [_root_on_segment(network, x, tau, own)]
    stepped = _root_by_steps(network, x, tau, own)
    roots += [] if stepped is None else [stepped]
    root = min(roots, key=lambda point: sum((a - b) ** 2 for a, b in zip(point, x, strict=True)))
    slopes = gradient(network, root, own)
    return [slope * (a - b) for slope, a, b in zip(slopes, x, root, strict=True)]


def _root_on_segment(network: Any, x: Any, tau: float, own: int) -> list[float]:
    inner = dense(network.centers)[nearest_center(network, x, own)]
    assert outlierness(network, inner, own) <= tau
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        point = [u + middle * (a - u) for a, u in zip(x, inner, strict=True)]
        if outlierness(network, point, own) > tau:
            high = middle
        else:
            low = middle
    return [float(u + high * (a - u)) for a, u in zip(x, inner, strict=True)]


def _root_by_steps(network: Any, x: Any, tau: float, own: int) -> list[float] | None:
    point = [float(value) for value in x]
    for _ in range(50):
        beyond = outlierness(network, point, own) - tau
        if abs(beyond) < 1e-9:
            return point
        slopes = gradient(network, point, own)
        steepness = sum(slope * slope for slope in slopes)
        if steepness == 0.0:
            return None
        point = [value - beyond * slope / steepness for value, slope in zip(point, slopes, strict=True)]
    return None


def weighted_median(values: Any, weights: Any) -> float:
    """The first value, in ascending order, at which half of the weight is reached."""
    reached = 0.0
    for value, weight in sorted(zip(values, weights, strict=True)):
        reached += weight
        if reached >= 0.5 * sum(weights):
            return float(value)
    raise AssertionError("weights sum to 0")


def dense(values: Any) -> Any:
    """An array of a sparse matrix, or of anything else."""
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)
