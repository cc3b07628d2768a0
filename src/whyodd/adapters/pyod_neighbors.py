"""PyOD's models of spheres and clusters, whose scores jump where another sphere or cluster takes over."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyodd.adapters.class_paths import class_path, find_entry
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_fitted
from whyodd.network.reference_points import ClusterDistance, Hyperspheres

# Clusterings that assign a row to the cluster of the nearest of some points: the points, and their clusters.
_DECIDING_POINTS = {
    "sklearn.cluster._affinity_propagation.AffinityPropagation": ("cluster_centers_", None),
    "sklearn.cluster._birch.Birch": ("subcluster_centers_", "subcluster_labels_"),
    "sklearn.cluster._kmeans.KMeans": ("cluster_centers_", None),
    "sklearn.cluster._kmeans.MiniBatchKMeans": ("cluster_centers_", None),
    "sklearn.cluster._mean_shift.MeanShift": ("cluster_centers_", None),
}


def from_pyod_inne(model: Any) -> Hyperspheres:
    """Spheres of a fitted ``pyod.models.inne.INNE``: ``decision_function`` = o, the mean isolation score."""
    require_fitted(model, "decision_scores_")
    # No sphere is smaller than that of its nearest neighbour; rounding may have it so.
    return Hyperspheres(model._centroids, model._centroids_radius, np.maximum(model._ratio, 0.0))


def clusters_of_cblof(model: Any) -> ClusterDistance:
    """Clusters of a fitted ``pyod.models.cblof.CBLOF``: ``decision_function`` = o.

    The distance to the cluster of the row, or from a small cluster to the nearest large one; times the size
    of the row's cluster with ``use_weights``.
    """
    clustering = model.clustering_estimator_
    names = find_entry(_DECIDING_POINTS, clustering)
    if names is None:
        raise UnsupportedModelError(
            f"CBLOF with the clustering {class_path(type(clustering))} does not assign rows to the nearest "
            "center: expected k-means, BIRCH, mean shift or affinity propagation. Fit it again with "
            "CBLOF(clustering_estimator=KMeans(...))."
        )
    points = np.asarray(getattr(clustering, names[0]), dtype=np.float64)
    labels = np.arange(len(points)) if names[1] is None else getattr(clustering, names[1])
    is_large = np.isin(np.arange(model.n_clusters_), model.large_cluster_labels_)
    weights = model.cluster_sizes_ if model.use_weights else np.ones(model.n_clusters_)
    return ClusterDistance(points, labels, model.cluster_centers_, is_large, weights)
