"""A fitted model, or several, for every adapter, and how its own scores follow from its network.

``FITTED`` and ``LINEAR`` have the keys of the registries: the contracts fail for an entry missing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pyod.models.cblof import CBLOF
from pyod.models.gmm import GMM
from pyod.models.kde import KDE
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.mcd import MCD
from pyod.models.ocsvm import OCSVM
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.covariance import EllipticEnvelope, EmpiricalCovariance, LedoitWolf, MinCovDet
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

import whyodd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Known(NamedTuple):
    """What a score is recovered from: the model's attributes, the network's offset and its outlierness o."""

    model: Any
    offset: float
    o: Floats


class Score(NamedTuple):
    """One of the model's own scores of X, and the same from what is known without it."""

    own: Callable[[Any, Any], Floats]
    recovered: Callable[[Known], Floats]


class Case(NamedTuple):
    """An unfitted model and its scores."""

    model: Any
    scores: list[Score]

    def fit(self, X: Any) -> Any:
        """Fit a copy of the model to X."""
        return clone(self.model).fit(X)


def _method(name: str) -> Callable[[Any, Any], Floats]:
    return lambda model, X: getattr(model, name)(X)


def _cases(scores: list[Score], *models: Any) -> list[Case]:
    return [Case(model, scores) for model in models]


_SCORE, _DECISION = _method("score_samples"), _method("decision_function")
_MAHALANOBIS = Score(_method("mahalanobis"), lambda known: 2 * known.o)
_LOG_DENSITY = [Score(_SCORE, lambda known: known.offset - known.o)]
_NEAREST_CENTROID = [Score(lambda model, X: model.transform(X).min(axis=1), lambda known: known.o)]
_OUTLIERNESS = [Score(_DECISION, lambda known: known.o)]
# scikit-learn adds and subtracts bounds while it descends a tree, which loses all digits of a small density.
_ONE_LEAF = 10_000
_COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")

FITTED: dict[str, list[Case]] = {
    "pyod.models.cblof.CBLOF": _cases(
        _OUTLIERNESS,
        CBLOF(n_clusters=8, random_state=0),
        CBLOF(n_clusters=5, clustering_estimator=MiniBatchKMeans(5, random_state=0)),
    ),
    "pyod.models.gmm.GMM": _cases(
        [Score(_DECISION, lambda known: known.o - known.offset)], GMM(2, random_state=0)
    ),
    "pyod.models.kde.KDE": _cases(
        [Score(_DECISION, lambda known: known.o - known.offset)], KDE(bandwidth=0.8, leaf_size=_ONE_LEAF)
    ),
    "pyod.models.knn.KNN": _cases(
        _OUTLIERNESS,
        *(KNN(method=method, n_neighbors=k) for method in ("largest", "mean", "median") for k in (4, 5)),
    ),
    "pyod.models.lof.LOF": _cases(_OUTLIERNESS, LOF(n_neighbors=7)),
    "pyod.models.mcd.MCD": _cases(
        [Score(_DECISION, lambda known: 2 * known.o)],
        MCD(random_state=0, support_fraction=0.9),
    ),
    "pyod.models.ocsvm.OCSVM": _cases(
        [Score(_DECISION, lambda known: known.model.detector_.offset_ - np.exp(known.offset - known.o))],
        OCSVM(nu=0.2),
    ),
    "sklearn.cluster._kmeans.KMeans": _cases(_NEAREST_CENTROID, KMeans(3, random_state=0)),
    "sklearn.cluster._kmeans.MiniBatchKMeans": _cases(_NEAREST_CENTROID, MiniBatchKMeans(3, random_state=0)),
    "sklearn.covariance._elliptic_envelope.EllipticEnvelope": _cases(
        [
            Score(_SCORE, lambda known: -2 * known.o),
            Score(_DECISION, lambda known: -2 * known.o - known.model.offset_),
            _MAHALANOBIS,
        ],
        EllipticEnvelope(random_state=0, support_fraction=0.9),
    ),
    "sklearn.covariance._empirical_covariance.EmpiricalCovariance": _cases(
        [_MAHALANOBIS],
        EmpiricalCovariance(),
        EmpiricalCovariance(store_precision=False, assume_centered=True),
        LedoitWolf(),
        MinCovDet(random_state=0, support_fraction=0.9),
    ),
    "sklearn.mixture._bayesian_mixture.BayesianGaussianMixture": _cases(
        _LOG_DENSITY,
        *(
            BayesianGaussianMixture(
                n_components=3,
                covariance_type=kind,
                weight_concentration_prior_type=prior,
                tol=0.1,
                random_state=0,
            )
            for kind in _COVARIANCE_TYPES
            for prior in ("dirichlet_process", "dirichlet_distribution")
        ),
    ),
    "sklearn.mixture._gaussian_mixture.GaussianMixture": _cases(
        _LOG_DENSITY,
        *(GaussianMixture(3, covariance_type=kind, random_state=0) for kind in _COVARIANCE_TYPES),
    ),
    "sklearn.neighbors._kde.KernelDensity": _cases(
        _LOG_DENSITY,
        KernelDensity(leaf_size=_ONE_LEAF),
        KernelDensity(kernel="exponential", bandwidth=0.4, leaf_size=_ONE_LEAF),
        KernelDensity(bandwidth="scott", metric="minkowski", leaf_size=_ONE_LEAF),
    ),
    "sklearn.neighbors._lof.LocalOutlierFactor": _cases(
        [
            Score(_SCORE, lambda known: -known.o),
            Score(_DECISION, lambda known: -known.o - known.model.offset_),
        ],
        LocalOutlierFactor(n_neighbors=7, novelty=True),
        LocalOutlierFactor(n_neighbors=3, novelty=True, contamination=0.1, algorithm="brute"),
    ),
    "sklearn.neighbors._unsupervised.NearestNeighbors": _cases(
        [Score(lambda model, X: model.kneighbors(X)[0].mean(axis=1), lambda known: known.o)],
        NearestNeighbors(),
        NearestNeighbors(n_neighbors=3, metric="l2"),
    ),
    "sklearn.svm._classes.OneClassSVM": _cases(
        [
            Score(_SCORE, lambda known: np.exp(known.offset - known.o)),
            Score(_DECISION, lambda known: np.exp(known.offset - known.o) - known.model.offset_),
        ],
        OneClassSVM(nu=0.2),
    ),
    "whyodd.models.base.DistanceDetector": _cases(
        [Score(_SCORE, lambda known: -known.o)],
        whyodd.OneClassSVM(kernel="laplacian"),
    ),
}

LINEAR: dict[str, Case] = {
    "pyod.models.ocsvm.OCSVM": Case(OCSVM(kernel="linear"), [Score(_DECISION, lambda known: known.o)]),
    "sklearn.linear_model._stochastic_gradient.SGDOneClassSVM": Case(
        SGDOneClassSVM(nu=0.2, random_state=0),
        [
            Score(_SCORE, lambda known: known.offset - known.o),
            Score(_DECISION, lambda known: -known.o),
        ],
    ),
    "sklearn.svm._classes.OneClassSVM": Case(
        OneClassSVM(kernel="linear", nu=0.2),
        [
            Score(_SCORE, lambda known: known.offset - known.o),
            Score(_DECISION, lambda known: -known.o),
        ],
    ),
}
