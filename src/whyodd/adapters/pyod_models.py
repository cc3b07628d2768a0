"""PyOD's detectors as distance networks. Most wrap a model of scikit-learn; PyOD itself is never imported.

PyOD's ``decision_function`` is high for outliers. Each function says how it follows from o and the offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.pyod_neighbors import clusters_of_cblof
from whyodd.adapters.requirements import require_fitted
from whyodd.adapters.sklearn_covariance import from_covariance
from whyodd.adapters.sklearn_density import from_kernel_density
from whyodd.adapters.sklearn_kernel_pca import subspace
from whyodd.adapters.sklearn_mixture import from_gaussian_mixture
from whyodd.adapters.sklearn_neighbors import from_local_outlier_factor, neighbor_network
from whyodd.adapters.sklearn_svm import from_one_class_svm
from whyodd.maths.hard_poolings import Nearest
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.linear_score import LinearScore
from whyodd.network.verdict import AffineScale, ExponentialScale

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.network.kernel_subspace import KernelSubspace
    from whyodd.network.neighbor_distances import NeighborDistances
    from whyodd.network.reference_points import ClusterDistance
    from whyodd.network.verdict import Scale

# What PyOD's KNN makes of the distances to the neighbours.
_METHODS: dict[str, Callable[[int], Nearest]] = {
    "largest": Nearest.kth,
    "mean": Nearest.mean,
    "median": Nearest.median,
}

# Clusterings that put a row into the cluster with the nearest centroid.
_NEAREST_CENTROID = {"sklearn.cluster._kmeans.KMeans": True, "sklearn.cluster._kmeans.MiniBatchKMeans": True}


def from_pyod_ocsvm(model: Any) -> DistanceNetwork | LinearScore:
    """Network of a fitted ``pyod.models.ocsvm.OCSVM(kernel="rbf")``, or the score of a linear one.

    That of its one-class SVM: ``decision_function`` = ``model.detector_.offset_`` - exp(offset - o), or o of
    ``kernel="linear"``.
    """
    _require_fitted(model)
    return from_one_class_svm(model.detector_)


def from_pyod_knn(model: Any) -> DistanceNetwork | NeighborDistances:
    """Network of a fitted ``pyod.models.knn.KNN``: ``decision_function`` = o, the offset is 0.

    Largest, mean or median of the distances to the k nearest training rows (``method``). For training rows
    without themselves o is ``decision_scores_``.
    """
    _require_fitted(model)
    return neighbor_network(model.neigh_, _METHODS[model.method](model.n_neighbors))


def from_pyod_lof(model: Any) -> DistanceNetwork | NeighborDistances:
    """Network of a fitted ``pyod.models.lof.LOF(novelty=True)``: ``decision_function`` = o, the offset is 0.

    For training rows without themselves o is ``decision_scores_``.
    """
    _require_fitted(model)
    return from_local_outlier_factor(model.detector_)


def from_pyod_kde(model: Any) -> DistanceNetwork:
    """Network of a fitted ``pyod.models.kde.KDE``: ``decision_function`` = o - offset."""
    _require_fitted(model)
    return from_kernel_density(model.kde_)


def from_pyod_gmm(model: Any) -> DistanceNetwork:
    """Network of a fitted ``pyod.models.gmm.GMM``: ``decision_function`` = o - offset."""
    _require_fitted(model)
    return from_gaussian_mixture(model.detector_)


def from_pyod_kpca(model: Any) -> KernelSubspace | DistanceNetwork:
    """Reconstruction error of a fitted ``pyod.models.kpca.KPCA``, kernel "rbf" or "linear".

    ``decision_function`` = o, the squared distance from the first ``n_selected_components`` in feature space;
    with ``sampling=True`` those of the rows that were drawn.
    """
    _require_fitted(model)
    return subspace(model.kpca, model.n_selected_components_, "KPCA")


def from_pyod_mcd(model: Any) -> DistanceNetwork:
    """Network of a fitted ``pyod.models.mcd.MCD``: ``decision_function`` = 2 o, the offset is 0."""
    _require_fitted(model)
    return from_covariance(model.detector_)


def from_pyod_cblof(model: Any) -> DistanceNetwork | ClusterDistance:
    """Network of a fitted ``pyod.models.cblof.CBLOF``: ``decision_function`` = o, the offset is 0.

    The distance to the nearest centroid of a large cluster: a row of a large cluster is scored by that
    cluster's centroid, which is the nearest of all, and a row of a small one by the nearest large cluster.
    With weights, or another clustering than k-means, the score jumps where clusters meet: then it is
    explained as the distance that it is on this side.
    """
    _require_fitted(model)
    if model.use_weights or find_entry(_NEAREST_CENTROID, model.clustering_estimator_) is None:
        return clusters_of_cblof(model)
    return DistanceNetwork(model.cluster_centers_[model.large_cluster_labels_], pooling=Nearest.kth(1))


def _require_fitted(model: Any) -> None:
    # The last attribute that every fit sets; missing, or None, before.
    require_fitted(model, "decision_scores_")


def scale_of_pyod_svm(model: Any, network: DistanceNetwork | LinearScore) -> Scale:
    """``decision_function`` = ``detector_.offset_`` - exp(offset - o), or o of a linear one."""
    if isinstance(network, LinearScore):
        return AffineScale()
    shift = float(np.ravel(model.detector_.offset_)[0])
    return ExponentialScale(rate=-1.0, log_slope=network.offset, shift=shift)
