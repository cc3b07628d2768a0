"""Fitted models of other packages as distance networks, one function per model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.adapters.class_paths import class_path, find_entry, public_path
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.own_models import from_own_model
from whyodd.adapters.pyod_models import (
    from_pyod_cblof,
    from_pyod_gmm,
    from_pyod_kde,
    from_pyod_knn,
    from_pyod_lof,
    from_pyod_mcd,
    from_pyod_ocsvm,
)
from whyodd.adapters.sklearn_cluster import from_k_means
from whyodd.adapters.sklearn_covariance import from_covariance
from whyodd.adapters.sklearn_density import from_kernel_density
from whyodd.adapters.sklearn_mixture import from_bayesian_gaussian_mixture, from_gaussian_mixture
from whyodd.adapters.sklearn_neighbors import from_local_outlier_factor, from_nearest_neighbors
from whyodd.adapters.sklearn_svm import from_one_class_svm
from whyodd.models.registry import MODELS
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ADAPTERS", "UnsupportedModelError", "neuralize"]

# Keyed by class path: a model is recognised without importing the package it comes from.
ADAPTERS: dict[str, Callable[[Any], DistanceNetwork]] = {
    "pyod.models.cblof.CBLOF": from_pyod_cblof,
    "pyod.models.gmm.GMM": from_pyod_gmm,
    "pyod.models.kde.KDE": from_pyod_kde,
    "pyod.models.knn.KNN": from_pyod_knn,
    "pyod.models.lof.LOF": from_pyod_lof,
    "pyod.models.mcd.MCD": from_pyod_mcd,
    "pyod.models.ocsvm.OCSVM": from_pyod_ocsvm,
    "sklearn.cluster._kmeans.KMeans": from_k_means,
    "sklearn.cluster._kmeans.MiniBatchKMeans": from_k_means,
    "sklearn.covariance._elliptic_envelope.EllipticEnvelope": from_covariance,
    "sklearn.covariance._empirical_covariance.EmpiricalCovariance": from_covariance,
    "sklearn.mixture._bayesian_mixture.BayesianGaussianMixture": from_bayesian_gaussian_mixture,
    "sklearn.mixture._gaussian_mixture.GaussianMixture": from_gaussian_mixture,
    "sklearn.neighbors._kde.KernelDensity": from_kernel_density,
    "sklearn.neighbors._lof.LocalOutlierFactor": from_local_outlier_factor,
    "sklearn.neighbors._unsupervised.NearestNeighbors": from_nearest_neighbors,
    "sklearn.svm._classes.OneClassSVM": from_one_class_svm,
    "whyodd.models.base.DistanceDetector": from_own_model,
}


def neuralize(model: object) -> DistanceNetwork:
    """Distance network with the same score as a fitted model: o(x) = -log Σ_j α_j k(‖x - u_j‖).

    Parameters
    ----------
    model : fitted model or DistanceNetwork
        One of the classes in ``ADAPTERS`` or a subclass of it; a network is returned as it is.

    Returns
    -------
    DistanceNetwork

    Raises
    ------
    UnsupportedModelError
        If the model cannot be written as a distance network.

    Examples
    --------
    >>> from sklearn.svm import OneClassSVM
    >>> from whyodd import neuralize
    >>> network = neuralize(OneClassSVM(gamma=0.5).fit([[0.0], [1.0], [3.0]]))
    >>> network.kernel
    Exponential(q=2.0, sigma=1.0)
    """
    if isinstance(model, DistanceNetwork):
        return model
    adapt = find_entry(ADAPTERS, model)
    if adapt is None:
        raise UnsupportedModelError(_unsupported(model))
    return adapt(model)


def _unsupported(model: object) -> str:
    if isinstance(model, type):
        return f"Expected a fitted model, got the class {model.__name__}. Pass {model.__name__}(...).fit(X)."
    if not hasattr(model, "fit"):
        return f"Expected a fitted model, got {type(model).__name__}. Pass the model first, then the rows."
    if hasattr(model, "steps"):
        return (
            "A pipeline is no distance network; its last step may be one. "
            "Pass neuralize(pipeline[-1]), or the whole pipeline to whyodd.explain."
        )
    if hasattr(model, "explain"):
        name = type(model).__name__
        return f"{name} is made of networks and explains what it is given itself: call model.explain(...)."
    own = ", ".join(f"whyodd.{cls.__name__}" for cls in MODELS.values())
    foreign = ", ".join(public_path(path) for path in ADAPTERS if not path.startswith("whyodd."))
    supported = f"{own}, {foreign}, whyodd.DistanceNetwork"
    return (
        f"{public_path(class_path(type(model)))} cannot be written as a distance network. "
        f"Supported: {supported}. Fit one of these."
    )
