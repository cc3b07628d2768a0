"""Fitted models that become members of the waist: what o is, and how their own scores follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whyodd.adapters.ensembles import (
    from_feature_bagging,
    from_lscp,
    from_suod,
    next_scores_of_lscp,
    scale_of_ensemble,
)
from whyodd.adapters.forests import (
    from_isolation_forest,
    from_isotree,
    from_pyod_iforest,
    own_score_of_isotree,
    scale_of_isolation_forest,
    scale_of_isotree,
    scale_of_pyod_iforest,
)
from whyodd.adapters.own_models import from_own_model
from whyodd.adapters.pyod_models import (
    from_pyod_cblof,
    from_pyod_gmm,
    from_pyod_kde,
    from_pyod_knn,
    from_pyod_kpca,
    from_pyod_lof,
    from_pyod_mcd,
    from_pyod_ocsvm,
    scale_of_pyod_svm,
)
from whyodd.adapters.pyod_neighbors import from_pyod_inne
from whyodd.adapters.pyod_neural import (
    from_pyod_ae1svm,
    from_pyod_auto_encoder,
    from_pyod_deep_svdd,
    from_pyod_lunar,
    from_pyod_vae,
    mean_code_score,
    scale_of_pyod_lunar,
)
from whyodd.adapters.pyod_sampling import from_pyod_sampling
from whyodd.adapters.pyod_sums import (
    from_pyod_copod,
    from_pyod_ecod,
    from_pyod_hbos,
    from_pyod_loda,
    from_pyod_mad,
    from_pyod_pca,
    row_by_row,
    scale_of_pyod_hbos,
    scale_of_pyod_loda,
)
from whyodd.adapters.sklearn_cluster import distance_to_centroid, from_k_means
from whyodd.adapters.sklearn_covariance import from_covariance, mahalanobis
from whyodd.adapters.sklearn_decomposition import (
    from_factor_analysis,
    from_fast_ica,
    from_pca,
    from_sparse_pca,
    from_truncated_svd,
    reconstruction_error,
)
from whyodd.adapters.sklearn_density import from_kernel_density
from whyodd.adapters.sklearn_kernel_pca import error_in_feature_space, from_kernel_pca
from whyodd.adapters.sklearn_mixture import from_bayesian_gaussian_mixture, from_gaussian_mixture
from whyodd.adapters.sklearn_neighbors import (
    from_local_outlier_factor,
    from_nearest_neighbors,
    mean_distance,
)
from whyodd.adapters.sklearn_svm import from_one_class_svm, from_sgd_svm, scale_of_svm
from whyodd.network.verdict import AffineScale

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.network.verdict import Scale

    Floats = NDArray[np.float64]


class Family(NamedTuple):
    """What all models that become the same kind of member have in common.

    Attributes
    ----------
    cost : str
        What explaining a row takes.
    conserves : str
        What adds up to what.
    exactness : str
        "exact", "sampled" or "distilled".
    """

    cost: str
    conserves: str
    exactness: str = "exact"


DISTANCES = Family("three matrix products", "R ≥ 0, and what belongs to no variable, add up to o")
NEIGHBORS = Family("a search for neighbours", "R ≥ 0, and what belongs to no variable, add up to o")
SPHERES = Family("a distance per sphere", "R ≥ 0, and what belongs to no variable, add up to o")
ENSEMBLE = Family("that of its members", "R of its members, and what belongs to no variable, add up to o")
COVARIANCES = Family(
    "a matrix product per center", "R, of both signs, and what belongs to no variable add up to o"
)
SUBSPACES = Family(
    "two matrix products for each step to the expected row",
    "R ≥ 0, and the error of the expected row, add up to o",
)
FOREST = Family("a few passes over all trees", "R, of both signs, and a constant of the forest add up to o")
LINEAR = Family("a product per value", "R, of both signs, and a constant add up to o, which may be below 0")

AUTOENCODERS = Family("a pass through the network", "R ≥ 0 add up to o")
EMBEDDINGS = Family("a pass through the network and back", "R ≥ 0, and what biases have, add up to o")
LEARNED_NEIGHBORS = Family(
    "a search for neighbours", "R, below 0 where a distance reassures, and a constant add up to o"
)
TERMS = Family("a look-up per value", "R ≥ 0 add up to o")
PROJECTIONS = Family("a look-up per projection", "R ≥ 0, and what belongs to no variable, add up to o")
RECONSTRUCTIONS = Family("two matrix products", "R ≥ 0 add up to o")
POINTS = Family("a distance per component", "R ≥ 0 add up to o")


def _own_score(model: Any, X: Any) -> Floats:
    """PyOD's scores are high for outliers, scikit-learn's are low."""
    is_pyod = hasattr(model, "decision_scores_")
    return np.asarray(model.decision_function(X) if is_pyod else -model.score_samples(X), dtype=np.float64)


def _same(model: Any, member: Any) -> Scale:
    """The model's own score is o."""
    del model, member
    return AffineScale()


def _log_density(model: Any, member: Any) -> Scale:
    """The model's own score is -log density = o - offset."""
    del model
    return AffineScale(shift=-member.offset)


def _squared(model: Any, member: Any) -> Scale:
    """The model's own score is a squared distance, o one half of it."""
    del model, member
    return AffineScale(slope=2.0)


class Adapter(NamedTuple):
    """One class of models: how it becomes a member, and how its own scores follow.

    Attributes
    ----------
    read : callable
        ``read(model)`` gives the member of the waist with the score of a fitted model.
    explains : str
        What o is, in a few words.
    family : Family
        What it costs, and what is conserved.
    own : callable
        ``own(model, X)`` gives the model's own scores (n,), high for outliers.
    scale : callable
        ``scale(model, member)`` says how these follow from o.
    is_kept : bool
        Whether what is read is kept as long as the model stays as it is; not where the model has it itself.
    """

    read: Callable[[Any], Any]
    explains: str
    family: Family
    own: Callable[[Any, Any], Floats] = _own_score
    scale: Callable[[Any, Any], Scale] = _same
    is_kept: bool = True


# Keyed by class path: a model is recognised without importing the package it comes from.
ADAPTERS: dict[str, Adapter] = {
    "isotree.IsolationForest": Adapter(
        from_isotree,
        "how much sooner trees isolate a row than their deepest leaf",
        FOREST,
        own=own_score_of_isotree,
        scale=scale_of_isotree,
    ),
    "pyod.models.ae1svm.AE1SVM": Adapter(from_pyod_ae1svm, "distance to the reconstruction", AUTOENCODERS),
    "pyod.models.auto_encoder.AutoEncoder": Adapter(
        from_pyod_auto_encoder, "distance to the reconstruction", AUTOENCODERS
    ),
    "pyod.models.cblof.CBLOF": Adapter(from_pyod_cblof, "distance to the nearest large cluster", NEIGHBORS),
    "pyod.models.copod.COPOD": Adapter(
        from_pyod_copod, "-log share of values in the longer tail, over all variables", TERMS, own=row_by_row
    ),
    "pyod.models.deep_svdd.DeepSVDD": Adapter(
        from_pyod_deep_svdd, "squared distance to the center inside the network", EMBEDDINGS
    ),
    "pyod.models.ecod.ECOD": Adapter(
        from_pyod_ecod, "-log share of values in the rarer tail, over all variables", TERMS, own=row_by_row
    ),
    "pyod.models.feature_bagging.FeatureBagging": Adapter(
        from_feature_bagging,
        "combined scores of members on subsets of columns",
        ENSEMBLE,
        scale=scale_of_ensemble,
    ),
    "pyod.models.gmm.GMM": Adapter(
        from_pyod_gmm, "-log density over its largest value", COVARIANCES, scale=_log_density
    ),
    "pyod.models.hbos.HBOS": Adapter(
        from_pyod_hbos,
        "log density below that of the fullest bin, over all variables",
        TERMS,
        scale=scale_of_pyod_hbos,
    ),
    "pyod.models.iforest.IForest": Adapter(
        from_pyod_iforest,
        "how much sooner trees isolate a row than their deepest leaf",
        FOREST,
        scale=scale_of_pyod_iforest,
    ),
    "pyod.models.inne.INNE": Adapter(from_pyod_inne, "how isolated the spheres are that hold a row", SPHERES),
    "pyod.models.kde.KDE": Adapter(
        from_pyod_kde, "-log density over its largest value", DISTANCES, scale=_log_density
    ),
    "pyod.models.knn.KNN": Adapter(from_pyod_knn, "distance to the k nearest training rows", NEIGHBORS),
    "pyod.models.kpca.KPCA": Adapter(
        from_pyod_kpca, "squared distance from the principal components in feature space", SUBSPACES
    ),
    "pyod.models.loda.LODA": Adapter(
        from_pyod_loda, "-log share of rows along random projections", PROJECTIONS, scale=scale_of_pyod_loda
    ),
    "pyod.models.lof.LOF": Adapter(from_pyod_lof, "local outlier factor", NEIGHBORS),
    "pyod.models.lscp.LSCP": Adapter(
        from_lscp,
        "mean score of the members that are competent near a row",
        ENSEMBLE,
        own=next_scores_of_lscp,
        scale=scale_of_ensemble,
    ),
    "pyod.models.lunar.LUNAR": Adapter(
        from_pyod_lunar,
        "distances to the nearest rows, as a network weighs them",
        LEARNED_NEIGHBORS,
        scale=scale_of_pyod_lunar,
    ),
    "pyod.models.mad.MAD": Adapter(from_pyod_mad, "robust deviation from the median", TERMS),
    "pyod.models.mcd.MCD": Adapter(
        from_pyod_mcd, "half the squared Mahalanobis distance", COVARIANCES, scale=_squared
    ),
    "pyod.models.ocsvm.OCSVM": Adapter(
        from_pyod_ocsvm, "-log similarity to the support vectors", DISTANCES, scale=scale_of_pyod_svm
    ),
    "pyod.models.pca.PCA": Adapter(from_pyod_pca, "weighted distances to the principal axes", POINTS),
    "pyod.models.sampling.Sampling": Adapter(
        from_pyod_sampling, "distance to the nearest of a few training rows", NEIGHBORS
    ),
    "pyod.models.suod.SUOD": Adapter(
        from_suod, "combined standardised scores of members", ENSEMBLE, scale=scale_of_ensemble
    ),
    "pyod.models.vae.VAE": Adapter(
        from_pyod_vae,
        "distance to the reconstruction from the mean code",
        AUTOENCODERS,
        own=mean_code_score,
    ),
    "sklearn.cluster._kmeans.KMeans": Adapter(
        from_k_means, "distance to the nearest centroid", NEIGHBORS, own=distance_to_centroid
    ),
    "sklearn.cluster._kmeans.MiniBatchKMeans": Adapter(
        from_k_means, "distance to the nearest centroid", NEIGHBORS, own=distance_to_centroid
    ),
    "sklearn.covariance._elliptic_envelope.EllipticEnvelope": Adapter(
        from_covariance, "half the squared Mahalanobis distance", COVARIANCES, scale=_squared
    ),
    "sklearn.covariance._empirical_covariance.EmpiricalCovariance": Adapter(
        from_covariance, "half the squared Mahalanobis distance", COVARIANCES, own=mahalanobis, scale=_squared
    ),
    "sklearn.decomposition._factor_analysis.FactorAnalysis": Adapter(
        from_factor_analysis, "half the squared Mahalanobis distance", COVARIANCES, scale=_log_density
    ),
    "sklearn.decomposition._fastica.FastICA": Adapter(
        from_fast_ica, "squared error of the reconstruction", RECONSTRUCTIONS, own=reconstruction_error
    ),
    "sklearn.decomposition._incremental_pca.IncrementalPCA": Adapter(
        from_pca, "squared error of the reconstruction", RECONSTRUCTIONS, own=reconstruction_error
    ),
    "sklearn.decomposition._kernel_pca.KernelPCA": Adapter(
        from_kernel_pca,
        "squared distance from the principal components in feature space",
        SUBSPACES,
        own=error_in_feature_space,
    ),
    "sklearn.decomposition._pca.PCA": Adapter(
        from_pca, "squared error of the reconstruction", RECONSTRUCTIONS, own=reconstruction_error
    ),
    "sklearn.decomposition._sparse_pca.MiniBatchSparsePCA": Adapter(
        from_sparse_pca, "squared error of the reconstruction", RECONSTRUCTIONS, own=reconstruction_error
    ),
    "sklearn.decomposition._sparse_pca.SparsePCA": Adapter(
        from_sparse_pca, "squared error of the reconstruction", RECONSTRUCTIONS, own=reconstruction_error
    ),
    "sklearn.decomposition._truncated_svd.TruncatedSVD": Adapter(
        from_truncated_svd, "squared error of the reconstruction", RECONSTRUCTIONS, own=reconstruction_error
    ),
    "sklearn.ensemble._iforest.IsolationForest": Adapter(
        from_isolation_forest,
        "how much sooner trees isolate a row than their deepest leaf",
        FOREST,
        scale=scale_of_isolation_forest,
    ),
    "sklearn.linear_model._stochastic_gradient.SGDOneClassSVM": Adapter(
        from_sgd_svm, "how far the linear score falls short", LINEAR, scale=_log_density
    ),
    "sklearn.mixture._bayesian_mixture.BayesianGaussianMixture": Adapter(
        from_bayesian_gaussian_mixture, "-log density over its largest value", COVARIANCES, scale=_log_density
    ),
    "sklearn.mixture._gaussian_mixture.GaussianMixture": Adapter(
        from_gaussian_mixture, "-log density over its largest value", COVARIANCES, scale=_log_density
    ),
    "sklearn.neighbors._kde.KernelDensity": Adapter(
        from_kernel_density, "-log density over its largest value", DISTANCES, scale=_log_density
    ),
    "sklearn.neighbors._lof.LocalOutlierFactor": Adapter(
        from_local_outlier_factor, "local outlier factor", NEIGHBORS
    ),
    "sklearn.neighbors._unsupervised.NearestNeighbors": Adapter(
        from_nearest_neighbors, "mean distance to the k nearest training rows", NEIGHBORS, own=mean_distance
    ),
    "sklearn.svm._classes.OneClassSVM": Adapter(
        from_one_class_svm, "-log similarity to the support vectors", DISTANCES, scale=scale_of_svm
    ),
    "whyodd.models.base.DistanceDetector": Adapter(
        from_own_model, "the model's own outlierness", DISTANCES, is_kept=False
    ),
}
