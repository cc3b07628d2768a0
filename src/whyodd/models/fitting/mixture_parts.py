"""Gaussian components as parts of a distance network, for our mixtures and for those of others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.kernels import Exponential
from whyodd.maths.metrics import ComponentMetric, LinearMetric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from whyodd.maths.metrics import Metric

    Floats = NDArray[np.float64]


def gaussian_components(
    means: ArrayLike, log_weights: ArrayLike, precisions_cholesky: ArrayLike, covariance_type: str
) -> dict[str, Any]:
    """Keywords of a ``DistanceNetwork`` with log Σ_k w_k N(x; μ_k, Σ_k) = offset - o(x).

    With α_k ∝ w_k |2πΣ_k|^(-1/2) and distances under Σ_k⁻¹ the density is e^offset Σ_k α_k exp(-d_k²/2). All
    of it is done in logarithms: |Σ|^(-1/2) leaves the range of floats in a few hundred dimensions.

    Parameters
    ----------
    means : array-like of shape (m, d)
        μ_k.
    log_weights : array-like of shape (m,)
        log w_k, with whatever else multiplies a component; they need not sum to 1.
    precisions_cholesky : array-like
        As scikit-learn's mixtures have it, P_k with Σ_k⁻¹ = P_k P_kᵀ: (m, d, d) for "full", (d, d) for
        "tied", (m, d) for "diag", (m,) for "spherical".
    covariance_type : {"full", "tied", "diag", "spherical"}

    Returns
    -------
    dict
        ``centers``, ``kernel``, ``log_weights`` (normalised), ``metric``, ``offset``.
    """
    centers = np.asarray(means, dtype=np.float64)
    roots = np.asarray(precisions_cholesky, dtype=np.float64)
    metric, log_determinants = _METRICS[covariance_type](roots, centers.shape[1])
    heights = np.asarray(log_weights, dtype=np.float64) + log_determinants
    heights = heights - 0.5 * centers.shape[1] * math.log(2.0 * math.pi)
    offset = float(np.logaddexp.reduce(heights))
    return {
        "centers": centers,
        "kernel": Exponential(q=2.0, sigma=1.0),
        "log_weights": heights - offset,
        "metric": metric,
        "offset": offset,
    }


def _full(roots: Floats, d: int) -> tuple[Metric, Floats]:  # noqa: ARG001
    diagonals = np.diagonal(roots, axis1=1, axis2=2)
    return ComponentMetric(roots.transpose(0, 2, 1)), np.log(diagonals).sum(axis=1)


def _tied(roots: Floats, d: int) -> tuple[Metric, Floats]:  # noqa: ARG001
    return LinearMetric(roots.T), np.log(np.diagonal(roots)).sum()


def _diag(roots: Floats, d: int) -> tuple[Metric, Floats]:  # noqa: ARG001
    return ComponentMetric(roots), np.log(roots).sum(axis=1)


def _spherical(roots: Floats, d: int) -> tuple[Metric, Floats]:
    return ComponentMetric(np.repeat(roots[:, None], d, axis=1)), d * np.log(roots)


# Covariance type -> metric and log |Σ_k|^(-1/2) of the roots P_k and the number of dimensions.
_METRICS: dict[str, Callable[[Floats, int], tuple[Metric, Floats]]] = {
    "diag": _diag,
    "full": _full,
    "spherical": _spherical,
    "tied": _tied,
}
