"""A fitted model, or several, for every adapter.

``FITTED`` (distance networks), ``LINEAR`` and ``OTHERS`` (other members of the waist) have the keys of the
registries: the contracts fail for an entry missing here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import isotree
import numpy as np
from pyod.models.cblof import CBLOF
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.gmm import GMM
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from pyod.models.kde import KDE
from pyod.models.knn import KNN
from pyod.models.kpca import KPCA
from pyod.models.loda import LODA
from pyod.models.lof import LOF
from pyod.models.mad import MAD
from pyod.models.mcd import MCD
from pyod.models.ocsvm import OCSVM
from pyod.models.pca import PCA as DistancesToAxes  # noqa: N811 - scikit-learn has one too
from pyod.models.sampling import Sampling
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.covariance import EllipticEnvelope, EmpiricalCovariance, LedoitWolf, MinCovDet
from sklearn.decomposition import (
    PCA,
    FactorAnalysis,
    FastICA,
    IncrementalPCA,
    KernelPCA,
    MiniBatchSparsePCA,
    SparsePCA,
    TruncatedSVD,
)
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.pyod_sums import row_by_row
from whyodd.adapters.registry import ADAPTERS


class Case(NamedTuple):
    """An unfitted model, and how many columns it takes; as many as there are by default."""

    model: Any
    columns: int | None = None

    def fit(self, X: Any) -> Any:
        """Fit a copy of the model to X."""
        np.random.seed(0)  # noqa: NPY002 - all that LODA of PyOD 2.0 draws from
        return clone(self.model).fit(self.rows(X))

    def rows(self, X: Any) -> Any:
        """The columns of X, an array or a frame, that it takes."""
        return getattr(X, "iloc", X)[:, : self.columns]


def own_scores(model: Any, network: Any, rows: Any) -> Any:
    """The model's own scores, high for outliers, from the outlierness alone."""
    if not find_entry(ADAPTERS, model).is_kept:  # a model of the package, whose score it is
        return network.outlierness(rows)
    return network.verdict.scale.score(network.outlierness(rows))


def said(model: Any, verb: str, rows: Any) -> Any:
    """What a model says of rows, of each by itself where that depends on the others."""
    if find_entry(ADAPTERS, model).own is row_by_row:
        return np.concatenate([getattr(model, verb)(row[None]) for row in rows])
    return getattr(model, verb)(rows)


def _cases(*models: Any, columns: int | None = None) -> list[Case]:
    return [Case(model, columns) for model in models]


# scikit-learn adds and subtracts bounds while it descends a tree, which loses all digits of a small density.
_ONE_LEAF = 10_000
_COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")

FITTED: dict[str, list[Case]] = {
    "pyod.models.cblof.CBLOF": _cases(
        CBLOF(n_clusters=8, random_state=0),
        CBLOF(n_clusters=5, alpha=0.7, clustering_estimator=MiniBatchKMeans(5, random_state=0)),
    ),
    "pyod.models.gmm.GMM": _cases(GMM(2, random_state=0)),
    "pyod.models.kde.KDE": _cases(KDE(bandwidth=0.8, leaf_size=_ONE_LEAF)),
    "pyod.models.knn.KNN": _cases(
        *(KNN(method=method, n_neighbors=k) for method in ("largest", "mean", "median") for k in (4, 5)),
    ),
    "pyod.models.kpca.KPCA": _cases(
        KPCA(n_components=8),
        KPCA(n_components=20, n_selected_components=12, gamma=0.05),
        KPCA(sampling=True, subset_size=30, n_components=10, random_state=0),
        KPCA(n_components=2, kernel="linear"),
    ),
    "pyod.models.lof.LOF": _cases(LOF(n_neighbors=7)),
    "pyod.models.mcd.MCD": _cases(
        MCD(random_state=0, support_fraction=0.9),
    ),
    "pyod.models.ocsvm.OCSVM": _cases(
        OCSVM(nu=0.2),
    ),
    "pyod.models.sampling.Sampling": _cases(
        Sampling(random_state=0),
        Sampling(subset_size=0.5, metric="euclidean", random_state=0),
    ),
    "sklearn.cluster._kmeans.KMeans": _cases(KMeans(3, random_state=0)),
    "sklearn.cluster._kmeans.MiniBatchKMeans": _cases(MiniBatchKMeans(3, random_state=0)),
    "sklearn.covariance._elliptic_envelope.EllipticEnvelope": _cases(
        EllipticEnvelope(random_state=0, support_fraction=0.9),
    ),
    "sklearn.covariance._empirical_covariance.EmpiricalCovariance": _cases(
        EmpiricalCovariance(),
        EmpiricalCovariance(store_precision=False, assume_centered=True),
        LedoitWolf(),
        MinCovDet(random_state=0, support_fraction=0.9),
    ),
    "sklearn.decomposition._factor_analysis.FactorAnalysis": _cases(FactorAnalysis(2, random_state=0)),
    "sklearn.decomposition._kernel_pca.KernelPCA": _cases(
        KernelPCA(8, kernel="rbf"),
        KernelPCA(5, kernel="rbf", gamma=0.02, eigen_solver="arpack", random_state=0),
        KernelPCA(2, kernel="linear"),
    ),
    "sklearn.mixture._bayesian_mixture.BayesianGaussianMixture": _cases(
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
        *(GaussianMixture(3, covariance_type=kind, random_state=0) for kind in _COVARIANCE_TYPES),
    ),
    "sklearn.neighbors._kde.KernelDensity": _cases(
        KernelDensity(leaf_size=_ONE_LEAF),
        KernelDensity(kernel="exponential", bandwidth=0.4, leaf_size=_ONE_LEAF),
        KernelDensity(bandwidth="scott", metric="minkowski", leaf_size=_ONE_LEAF),
    ),
    "sklearn.neighbors._lof.LocalOutlierFactor": _cases(
        LocalOutlierFactor(n_neighbors=7, novelty=True),
        LocalOutlierFactor(n_neighbors=3, novelty=True, contamination=0.1, algorithm="brute"),
    ),
    "sklearn.neighbors._unsupervised.NearestNeighbors": _cases(
        NearestNeighbors(),
        NearestNeighbors(n_neighbors=3, metric="l2"),
    ),
    "sklearn.svm._classes.OneClassSVM": _cases(
        OneClassSVM(nu=0.2),
    ),
    "whyodd.models.base.DistanceDetector": _cases(
        whyodd.OneClassSVM(kernel="laplacian"),
    ),
}

LINEAR: dict[str, Case] = {
    "pyod.models.ocsvm.OCSVM": Case(OCSVM(kernel="linear")),
    "sklearn.linear_model._stochastic_gradient.SGDOneClassSVM": Case(SGDOneClassSVM(nu=0.2, random_state=0)),
    "sklearn.svm._classes.OneClassSVM": Case(OneClassSVM(kernel="linear", nu=0.2)),
}

OTHERS: dict[str, list[Case]] = {
    "isotree.IsolationForest": _cases(
        isotree.IsolationForest(ntrees=20, ndim=1, random_seed=1, nthreads=1),
        isotree.IsolationForest(ntrees=5, ndim=1, max_depth=None, random_seed=1, nthreads=1),
    ),
    "pyod.models.iforest.IForest": _cases(IForest(n_estimators=20, random_state=0)),
    "sklearn.ensemble._iforest.IsolationForest": _cases(
        IsolationForest(n_estimators=20, random_state=0),
        IsolationForest(n_estimators=9, max_features=0.5, contamination=0.1, random_state=0),
        IsolationForest(n_estimators=9, max_samples=7, bootstrap=True, random_state=0),
    ),
    "pyod.models.copod.COPOD": _cases(COPOD()),
    "pyod.models.ecod.ECOD": _cases(ECOD()),
    "pyod.models.hbos.HBOS": _cases(HBOS(), HBOS(n_bins=5, alpha=0.01, tol=0.1)),
    "pyod.models.loda.LODA": _cases(LODA(), LODA(n_random_cuts=3)),
    "pyod.models.mad.MAD": _cases(MAD(), columns=1),
    "pyod.models.pca.PCA": _cases(
        DistancesToAxes(),
        DistancesToAxes(n_selected_components=2, weighted=False),
        DistancesToAxes(standardization=False),
    ),
    "sklearn.decomposition._fastica.FastICA": _cases(FastICA(2, random_state=0)),
    "sklearn.decomposition._incremental_pca.IncrementalPCA": _cases(IncrementalPCA(2)),
    "sklearn.decomposition._pca.PCA": _cases(PCA(2), PCA(1, whiten=True)),
    "sklearn.decomposition._sparse_pca.MiniBatchSparsePCA": _cases(MiniBatchSparsePCA(2, random_state=0)),
    "sklearn.decomposition._sparse_pca.SparsePCA": _cases(SparsePCA(2, random_state=0)),
    "sklearn.decomposition._truncated_svd.TruncatedSVD": _cases(TruncatedSVD(2, random_state=0)),
}
