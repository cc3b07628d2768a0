"""scikit-learn's covariance estimates as distance networks with one center."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.requirements import require_fitted
from whyodd.kernels import Exponential
from whyodd.maths.metrics import LinearMetric
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray


def from_covariance(model: Any) -> DistanceNetwork:
    """Network of a fitted ``EllipticEnvelope`` or other covariance: o = ½ (x - μ)ᵀ Σ⁻¹ (x - μ).

    One center, the location μ, with Mahalanobis' distance. ``mahalanobis`` = 2 o for every covariance
    estimator of scikit-learn; for ``EllipticEnvelope`` ``score_samples`` = -2 o and ``decision_function``
    = -2 o - ``model.offset_``. The network's own offset is 0. Directions in which the training rows did not
    vary at all have no part in the distance, as in scikit-learn.

    Parameters
    ----------
    model : sklearn.covariance.EllipticEnvelope, MinCovDet, EmpiricalCovariance, LedoitWolf, ...
        Fitted.

    Returns
    -------
    DistanceNetwork
        The location as the only center.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.covariance import EmpiricalCovariance
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [4.0, 4.0]])
    >>> model = EmpiricalCovariance().fit(X)
    >>> np.allclose(2 * neuralize(model).outlierness(X), model.mahalanobis(X))
    True
    """
    require_fitted(model, "location_")
    return DistanceNetwork(
        model.location_[None, :],
        kernel=Exponential(q=2.0, sigma=1.0),
        metric=LinearMetric(precision_root(model.get_precision())),
    )


def precision_root(precision: NDArray[np.float64]) -> NDArray[np.float64]:
    """A (r, d) of rank r with AᵀA = P for a precision P (d, d) of rank r.

    P is scaled to a unit diagonal first: columns of very different spread keep their digits. What remains
    below rounding belongs to directions without variance.
    """
    scale = np.sqrt(np.maximum(np.diagonal(precision), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    values, vectors = np.linalg.eigh(inverse[:, None] * precision * inverse)
    kept = values > len(precision) * np.finfo(np.float64).eps * values.max()
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T * scale)


def mahalanobis(model: Any, X: Any) -> NDArray[np.float64]:
    """Own score (n,) of a covariance, high for outliers: the squared distance."""
    return model.mahalanobis(X)  # type: ignore[no-any-return]
