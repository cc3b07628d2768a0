"""scikit-learn's Gaussian mixtures as distance networks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma

from whyodd.adapters.requirements import require_fitted
from whyodd.models.fitting.mixture_parts import gaussian_components
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray


def from_gaussian_mixture(model: Any) -> DistanceNetwork:
    """Network of a fitted ``sklearn.mixture.GaussianMixture``: log-density = offset - o.

    Components are centers with distances under their own covariance and weights α_k ∝ π_k |2πΣ_k|^(-1/2); the
    offset is the logarithm of what normalises them. ``score_samples`` = offset - o.

    Parameters
    ----------
    model : sklearn.mixture.GaussianMixture
        Fitted, with any ``covariance_type``.

    Returns
    -------
    DistanceNetwork
        The means as centers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.mixture import GaussianMixture
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0], [1.0], [7.0], [9.0]])
    >>> model = GaussianMixture(2, means_init=[[0.0], [8.0]]).fit(X)
    >>> network = neuralize(model)
    >>> np.allclose(network.offset - network.outlierness(X), model.score_samples(X))
    True
    """
    require_fitted(model, "means_")
    return _mixture(model, np.log(model.weights_))


def from_bayesian_gaussian_mixture(model: Any) -> DistanceNetwork:
    """Network of a fitted ``sklearn.mixture.BayesianGaussianMixture``: ``score_samples`` = offset - o.

    As for a Gaussian mixture, with the expectations of log π_k and log |Λ_k| under the posterior in place of
    their logarithms, and the uncertainty of the means: constants of a component beyond ``weights_``, which
    become part of its weight α_k (Bishop, "Pattern Recognition and Machine Learning", 10.46 and 10.64-10.66).

    Parameters
    ----------
    model : sklearn.mixture.BayesianGaussianMixture
        Fitted, with any ``covariance_type`` and either prior of the weights.

    Returns
    -------
    DistanceNetwork
        The means as centers.
    """
    require_fitted(model, "means_")
    return _mixture(model, model._estimate_log_weights() + _posterior_constants(model))


def _mixture(model: Any, log_weights: NDArray[np.float64]) -> DistanceNetwork:
    parts = gaussian_components(model.means_, log_weights, model.precisions_cholesky_, model.covariance_type)
    return DistanceNetwork(**parts)


def _posterior_constants(model: Any) -> NDArray[np.float64]:
    """E[log N(x; μ_k, Λ_k)] minus log N at the expected mean and precision, (m,)."""
    d = model.means_.shape[1]
    degrees = np.broadcast_to(
        model.degrees_of_freedom_, len(model.means_)
    )  # one number if covariances are tied
    halves = 0.5 * (degrees - np.arange(d)[:, None])
    log_determinant = d * math.log(2.0) + digamma(halves).sum(axis=0) - d * np.log(degrees)
    return np.asarray(0.5 * (log_determinant - d / model.mean_precision_))
