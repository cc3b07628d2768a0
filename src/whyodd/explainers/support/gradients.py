"""Gradients of outlierness: ∂o/∂x = Σ_j w_j (x - u_j), with weights from the derivative of the pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import squared_norms, to_dense
from whyodd.maths.hard_poolings import LocalReach, MeanVector
from whyodd.maths.learned_poolings import LearnedPooling
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.kernels import Kernel

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]

# Squared distances below this share of the squared norms have lost too many digits in a matrix product.
_BLURRED = 1e-7
# Numbers in the differences of a block of rows to their neighbours.
_BLOCK = 1 << 22


def gradient(
    network: DistanceNetwork, X: Floats, own: Indices | None = None, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Gradient ∂o/∂x (n, d) of the outlierness at dense rows X; 0 where a center at distance 0 has none.

    For hard poolings it is that of the region in which the neighbours stay the same.
    """
    X = np.asarray(X, dtype=np.float64)
    if isinstance(network.metric, ComponentMetric):
        return _by_component(network, X, own, n_jobs)
    if isinstance(network.metric, LinearMetric):
        A = network.metric.matrix
        return gradient(_mapped(network, A), X @ A.T, own, n_jobs) @ A
    if network.pooling is not None:
        return _of_neighbors(network, X, own)
    return _of_soft_min(network, X, own, n_jobs)


def _mapped(network: DistanceNetwork, A: Floats) -> DistanceNetwork:
    """The same network under the plain distance, after the map."""
    centers = to_dense(network.centers) @ A.T
    if network.pooling is not None:
        return DistanceNetwork(centers, pooling=network.pooling)
    return DistanceNetwork(centers, kernel=network.kernel, log_weights=network.log_weights)


def _slopes(kernel: Kernel, d2: Floats, o: Floats) -> Floats:
    """(n, m) -∂o/∂log g · q s(e_j) / d_j², s the kernel's steepness: w_j = p_j times this.

    It is ∂o/∂v_j · ∂v_j/∂(d²) · 2 over p_j for v_j = log α_j + log k_j, at rows of outlierness o (n,).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = kernel.rise(o[:, None]) * kernel.q * kernel.steepness(kernel.energy(d2)) / d2
    return np.where(d2 > 0.0, slopes, 0.0)


def _of_soft_min(
    network: DistanceNetwork, X: Floats, own: Indices | None, n_jobs: int | None
) -> NDArray[np.float64]:
    origin = np.asarray(network.weights @ network.centers).ravel()
    U = to_dense(network.centers) - origin
    u2 = squared_norms(U)
    out = np.empty(X.shape)
    o = network.outlierness(X, own=own, n_jobs=n_jobs)

    def add_up(rows: Any, p: Floats) -> None:
        x = X[rows] - origin
        d2, i, j = _squared_distances(x, U, u2)
        w = p * _slopes(network.kernel, d2, o[rows])
        near = w[i, j, None] * (x[i] - U[j])
        w[i, j] = 0.0
        out[rows] = w.sum(axis=1)[:, None] * x - w @ U
        np.add.at(out, np.arange(len(X))[rows][i], near)

    network.assign(X, add_up, own=own, n_jobs=n_jobs)
    return out


def _squared_distances(x: Floats, U: Floats, u2: Floats) -> tuple[Floats, Indices, Indices]:
    """(n, m) d², and the pairs of rows and centers for which a matrix product would be too inexact."""
    size = squared_norms(x)[:, None] + u2
    d2 = np.asarray(size - 2.0 * (x @ U.T))
    i, j = np.nonzero(d2 < _BLURRED * size)
    d2[i, j] = ((x[i] - U[j]) ** 2).sum(axis=1)
    return d2, i, j


def _of_neighbors(network: DistanceNetwork, X: Floats, own: Indices | None) -> NDArray[np.float64]:
    """Hard pooling: Σ_r ∂o/∂d_r (x - u_r) / d_r over the k nearest."""
    index = network.nearest(X, network.pooling.k, own=own)[0]  # type: ignore[union-attr]
    out = np.empty(X.shape)
    step = max(_BLOCK // (index.shape[1] * X.shape[1]), 1)
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        near = to_dense(network.centers[index[rows].ravel()]).reshape(*index[rows].shape, -1)
        out[rows] = _pooled_slope(network.pooling, X[rows, None, :] - near, index[rows])
    return out


def _pooled_slope(pooling: Any, differences: Floats, index: Indices) -> Floats:
    """(n, d) from differences (n, k, d) to the k nearest centers."""
    if isinstance(pooling, MeanVector):
        return _unit(differences.mean(axis=1))
    d = np.sqrt((differences**2).sum(axis=2))
    if isinstance(pooling, LocalReach):
        density = pooling.densities[index].mean(axis=1, keepdims=True)
        along = density / pooling.k * (d > pooling.reaches[index])
    elif isinstance(pooling, LearnedPooling):
        along = pooling.slope(d)
    else:
        along = np.broadcast_to(pooling.assignment(), d.shape)
    return np.asarray((along[:, :, None] * _unit(differences)).sum(axis=1))


def _unit(differences: Floats) -> Floats:
    """Differences over their lengths; 0 where that is 0."""
    length = np.sqrt((differences**2).sum(axis=-1, keepdims=True))
    out = np.zeros_like(differences)
    return np.asarray(np.divide(differences, length, out=out, where=length > 0.0))


def _by_component(
    network: DistanceNetwork, X: Floats, own: Indices | None, n_jobs: int | None
) -> NDArray[np.float64]:
    """A map per center: Σ_j w_j A_jᵀ A_j (x - u_j), center by center."""
    p = network.assignment(X, own=own, n_jobs=n_jobs)
    o = network.outlierness(X, own=own, n_jobs=n_jobs)
    out = np.zeros(X.shape)
    for j, center in enumerate(to_dense(network.centers)):
        factor = factor_of(network, j)
        mapped = (X - center) @ factor.T
        w = p[:, [j]] * _slopes(network.kernel, (mapped**2).sum(axis=1, keepdims=True), o)
        out += w * (mapped @ factor)
    return out


def factor_of(network: DistanceNetwork, center: int) -> Floats:
    """(k, d) the map through which the distance to a center is measured."""
    if isinstance(network.metric, LinearMetric):
        return network.metric.matrix
    if isinstance(network.metric, ComponentMetric):
        factor = network.metric.factors[center]
        return np.diag(factor) if network.metric.is_diagonal else np.asarray(factor)
    return np.eye(network.n_features)
