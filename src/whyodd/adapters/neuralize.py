"""Fitted models as members of the waist: what is made of each, and where it cuts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from whyodd.adapters.class_paths import class_path, find_entry, public_path
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.pyod_models import (
    from_pyod_cblof,
    from_pyod_gmm,
    from_pyod_kde,
    from_pyod_knn,
    from_pyod_lof,
    from_pyod_mcd,
    from_pyod_ocsvm,
    threshold_of_pyod_mcd,
    threshold_of_pyod_score,
    threshold_of_pyod_svm,
)
from whyodd.adapters.remembered import remembered
from whyodd.adapters.requirements import require_fitted
from whyodd.adapters.sklearn_cluster import from_k_means
from whyodd.adapters.sklearn_covariance import from_covariance, threshold_of_envelope
from whyodd.adapters.sklearn_density import from_kernel_density
from whyodd.adapters.sklearn_mixture import from_bayesian_gaussian_mixture, from_gaussian_mixture
from whyodd.adapters.sklearn_neighbors import (
    from_local_outlier_factor,
    from_nearest_neighbors,
    threshold_of_local_outlier_factor,
)
from whyodd.adapters.sklearn_svm import from_one_class_svm, from_sgd_svm, threshold_of_svm
from whyodd.models.registry import MODELS
from whyodd.network.waist import is_score

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.models.registry import DistanceDetector
    from whyodd.network.distance_network import DistanceNetwork

__all__ = ["ADAPTERS", "UnsupportedModelError", "neuralize", "threshold_of"]


class Adapter(NamedTuple):
    """What is known of a class of models.

    Attributes
    ----------
    read : callable
        ``read(model)`` gives the member of the waist with the score of a fitted model.
    threshold : callable, optional
        ``threshold(model, network)`` gives the outlierness above which ``model.predict`` says outlier; None
        for a model that only scores.
    is_kept : bool
        Whether what is read is kept as long as the model stays as it is; not where the model has it itself.
    """

    read: Callable[[Any], Any]
    threshold: Callable[[Any, Any], float] | None = None
    is_kept: bool = True


def from_own_model(model: DistanceDetector) -> DistanceNetwork:
    """Network of a fitted detector of the package: o grows as its ``score_samples`` falls."""
    require_fitted(model, "network_")
    return model.network_


# Keyed by class path: a model is recognised without importing the package it comes from.
ADAPTERS: dict[str, Adapter] = {
    "pyod.models.cblof.CBLOF": Adapter(from_pyod_cblof, threshold_of_pyod_score),
    "pyod.models.gmm.GMM": Adapter(from_pyod_gmm, threshold_of_pyod_score),
    "pyod.models.kde.KDE": Adapter(from_pyod_kde, threshold_of_pyod_score),
    "pyod.models.knn.KNN": Adapter(from_pyod_knn, threshold_of_pyod_score),
    "pyod.models.lof.LOF": Adapter(from_pyod_lof, threshold_of_pyod_score),
    "pyod.models.mcd.MCD": Adapter(from_pyod_mcd, threshold_of_pyod_mcd),
    "pyod.models.ocsvm.OCSVM": Adapter(from_pyod_ocsvm, threshold_of_pyod_svm),
    "sklearn.cluster._kmeans.KMeans": Adapter(from_k_means),
    "sklearn.cluster._kmeans.MiniBatchKMeans": Adapter(from_k_means),
    "sklearn.covariance._elliptic_envelope.EllipticEnvelope": Adapter(from_covariance, threshold_of_envelope),
    "sklearn.covariance._empirical_covariance.EmpiricalCovariance": Adapter(from_covariance),
    "sklearn.linear_model._stochastic_gradient.SGDOneClassSVM": Adapter(from_sgd_svm, lambda *_: 0.0),
    "sklearn.mixture._bayesian_mixture.BayesianGaussianMixture": Adapter(from_bayesian_gaussian_mixture),
    "sklearn.mixture._gaussian_mixture.GaussianMixture": Adapter(from_gaussian_mixture),
    "sklearn.neighbors._kde.KernelDensity": Adapter(from_kernel_density),
    "sklearn.neighbors._lof.LocalOutlierFactor": Adapter(
        from_local_outlier_factor, threshold_of_local_outlier_factor
    ),
    "sklearn.neighbors._unsupervised.NearestNeighbors": Adapter(from_nearest_neighbors),
    "sklearn.svm._classes.OneClassSVM": Adapter(from_one_class_svm, threshold_of_svm),
    "whyodd.models.base.DistanceDetector": Adapter(
        from_own_model, lambda model, _: float(model.threshold_), is_kept=False
    ),
}


def neuralize(model: object) -> Any:
    """Distance network with the same score as a fitted model: o(x) = -log Σ_j α_j k(‖x - u_j‖).

    Of a linear one-class SVM a linear score. Both are members of the waist: see ``whyodd.network``.

    Parameters
    ----------
    model : fitted model or member of the waist
        One of the classes in ``ADAPTERS`` or a subclass of it. What has ``outlierness(X)`` and
        ``decompose(X)`` itself, such as a network, is returned as it is.

    Returns
    -------
    DistanceNetwork, LinearScore, or what was given

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
    if is_score(model):
        return model
    adapter = find_entry(ADAPTERS, model)
    if adapter is None:
        raise UnsupportedModelError(_unsupported(model))
    return remembered(model, adapter.read) if adapter.is_kept else adapter.read(model)


def threshold_of(model: Any, network: Any) -> float | None:
    """Outlierness above which ``model.predict`` says outlier; None if the model does not cut.

    Parameters
    ----------
    model : fitted model
    network : member of the waist
        What was made of it.
    """
    adapter = None if network is model else find_entry(ADAPTERS, model)
    if adapter is None or adapter.threshold is None:
        return None
    value = adapter.threshold(model, network)
    return value if math.isfinite(value) else None


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
