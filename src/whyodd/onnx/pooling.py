"""A distance network as formulas of ONNX: from rows as they reach it to outlierness and relevance.

Everything is in float64. Squared distances to many centers come from products, x² - 2xu + u², around their
mean. These cancel for the nearest centers of a row, which are measured by differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.metrics import ComponentMetric
from whyodd.onnx.ways import Ways, applied

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.kernels import Kernel
    from whyodd.maths.hard_poolings import Pooling
    from whyodd.maths.linear_maps import LinearMap
    from whyodd.network.distance_network import DistanceNetwork

    Floats = NDArray[np.float64]
    Value = Any  # values.Value, whose arithmetic NumPy's types do not know

# Up to this many centers, exact differences to each are computed; with more, products.
_FEW_CENTERS = 32
# Nearest centers whose distances are exact: twice as many as a hard pooling takes, or this many.
_TWICE, _NEAREST = 2, 8


class Explained(NamedTuple):
    """The outputs: o (n,), R (n, d_y) and the part of o that belongs to no variable (n,)."""

    outlierness: Value
    relevance: Value
    unexplained: Value


def explain_softly(network: DistanceNetwork, through: LinearMap | None, z: Value) -> Explained:
    """Soft min-pooling over a kernel of the distances to all centers."""
    kernel = network.kernel
    centers, log_weights, ways = _distinct(network, through)
    legs: _Differences | _Products
    if isinstance(network.metric, ComponentMetric) or len(centers) <= _FEW_CENTERS:
        legs = _Differences(z, centers, ways)
    else:
        legs = _Products(z, centers, ways, _NEAREST)
    e = _energy(kernel, legs.squares)
    o, p = _soft_min(kernel, e, log_weights, float(network.n_centers))
    explained = kernel.explained_part(e, o)
    unexplained = (p * (o - explained)).sum(1)
    relevance = legs.contracted(_over(p * explained, legs.squares))
    return Explained(o.sum(1), ways.without_rounding(relevance), unexplained)


def explain_by_neighbors(network: DistanceNetwork, through: LinearMap | None, z: Value) -> Explained:
    """Hard min-pooling of the distances to the nearest centers."""
    pooling: Any = network.pooling
    centers: Any = to_dense(network.centers)
    ways = Ways.of(network.metric, through)
    _, neighbors = _Products(z, centers, ways, _TWICE * pooling.k).squares.smallest(pooling.k)
    difference = z.with_axis(1) - z.graph.constant(centers).at(neighbors)
    if isinstance(pooling, MeanVector):
        difference = (difference * pooling.assignment()[:, None]).sum(1, keepdims=True)
    squares = _squared(applied(difference, ways.zeta), 2)
    o, explained, unexplained = _pooled(pooling, np.sqrt(squares), neighbors)
    relevance = ways.shared(difference, _over(explained, squares).with_axis(2)).sum(1)
    return Explained(o, ways.without_rounding(relevance), unexplained)


def can_pool(pooling: Pooling | None) -> bool:
    """Whether a pooling can be exported."""
    return pooling is None or isinstance(pooling, (LocalReach, MeanVector, Nearest))


class _Differences:
    """Squared distances (n, m) and each variable's part of them, from differences x - u (m, n, d)."""

    def __init__(self, z: Value, centers: Floats, ways: Ways) -> None:
        self.ways = ways
        self.difference = z.with_axis(0) - centers[:, None, :]
        self.squares = _squared(applied(self.difference, ways.zeta), 2).T

    def contracted(self, weights: Value) -> Value:
        """Σ_j W_j times each variable's part of d²_j (n, d_y)."""
        return self.ways.shared(self.difference, weights.T.with_axis(2)).sum(0)


class _Products:
    """The same by matrix products, but for the nearest centers."""

    def __init__(self, z: Value, centers: Floats, ways: Ways, n_nearest: int) -> None:
        self.ways = ways
        points = z.graph.constant(centers)
        origin = centers.mean(axis=0)
        # Values that depend on centers alone are computed when the file is loaded, and need not be stored.
        self.x, self.u = z - origin, points - origin
        x, u = applied(self.x, ways.zeta), applied(self.u, ways.zeta)
        sizes = _squared(x, 1, keepdims=True) + _squared(u, 1)
        rough = np.maximum(sizes - x @ (2.0 * u).T, 0.0)
        _, self.nearest = rough.smallest(min(n_nearest, len(centers)))
        self.difference = z.with_axis(1) - points.at(self.nearest)
        self.squares = rough.with_values(self.nearest, _squared(applied(self.difference, ways.zeta), 2))

    def contracted(self, weights: Value) -> Value:
        """Σ_j W_j P_j Q_j = P_x Q_x ΣW - P_x (W Q_u) - Q_x (W P_u) + W (P_u Q_u), (n, d_y)."""
        near = weights.along(self.nearest)
        weights = weights.with_values(self.nearest, 0.0 * near)
        nearest = self.ways.shared(self.difference, near.with_axis(2)).sum(1)
        total = weights.sum(1, keepdims=True)
        p_x, p_u = (applied(points, self.ways.shortest) for points in (self.x, self.u))
        if self.ways.gradient is self.ways.shortest:
            return nearest + p_x * (p_x * total - 2.0 * (weights @ p_u)) + weights @ (p_u * p_u)
        q_x, q_u = (applied(points, self.ways.gradient) for points in (self.x, self.u))
        crossed = p_x * (q_x * total - weights @ q_u) - q_x * (weights @ p_u)
        return nearest + crossed + weights @ (p_u * q_u)


def _distinct(network: DistanceNetwork, through: LinearMap | None) -> tuple[Floats, Floats, Ways]:
    """Centers that count, their log-weights, and the maps to them; equal centers are merged."""
    counts = network.log_weights > -np.inf
    centers: Any = to_dense(network.centers)[counts]
    log_weights = network.log_weights[counts]
    ways = Ways.of(network.metric, through, counts)
    if isinstance(network.metric, ComponentMetric):
        return centers, log_weights, ways
    centers, which = np.unique(centers, axis=0, return_inverse=True)
    added = np.full(len(centers), -np.inf)
    np.logaddexp.at(added, which.ravel(), log_weights)
    return centers, added, ways


def _energy(kernel: Kernel, squares: Value) -> Value:
    """Energies (d/σ)^q."""
    # Here, and not before products: onnxruntime would merge a scale into a neighbouring product, in float32.
    ratio = squares / kernel.sigma / kernel.sigma
    return ratio if kernel.q == 2.0 else np.power(ratio, 0.5 * kernel.q)


def _soft_min(kernel: Kernel, e: Value, log_weights: Floats, m: float) -> tuple[Value, Value]:
    """Outlierness o (n, 1) and assignments p (n, m) of energies (n, m)."""
    v = kernel.log_profile(e) + log_weights
    peak = v.max(1, keepdims=True)
    parts = np.exp(v - peak)
    total = parts.sum(1, keepdims=True)
    log_g = peak + np.log(total) + kernel.log_height
    return kernel.outlierness(log_g, m), parts / total


def _pooled(pooling: Pooling, d: Value, neighbors: Value) -> tuple[Value, Value, Value]:
    """Outlierness (n,), the part that each distance (n, k) accounts for, and the rest (n,)."""
    if isinstance(pooling, LocalReach):
        reaches, densities = (
            d.graph.constant(each).at(neighbors) for each in (pooling.reaches, pooling.densities)
        )
        density = densities.sum(1, keepdims=True) / pooling.k
        beyond = density / pooling.k * np.maximum(d - reaches, 0.0)
        within = density * (reaches.sum(1, keepdims=True) / pooling.k + pooling.floor)
        o = density * (np.maximum(reaches, d).sum(1, keepdims=True) / pooling.k + pooling.floor)
        return o.sum(1), beyond, within.sum(1)
    explained = d if isinstance(pooling, MeanVector) else d * pooling.assignment()
    o = explained.sum(1)
    return o, explained, 0.0 * o


def _over(parts: Value, squares: Value) -> Value:
    """The weight of a squared distance; 0 for a distance of 0."""
    return np.where(squares > 0.0, parts / squares, 0.0)


def _squared(values: Value, axis: int, *, keepdims: bool = False) -> Value:
    return (values * values).sum(axis, keepdims=keepdims)
