"""scikit-learn's k-means as a distance network with hard pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.adapters.requirements import require_fitted
from whyodd.maths.hard_poolings import Nearest
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def from_k_means(model: Any) -> DistanceNetwork:
    """Network of a fitted ``sklearn.cluster.KMeans`` or ``MiniBatchKMeans``: o = min_j ‖x - u_j‖.

    The distance to the nearest centroid, ``model.transform(X).min(axis=1)`` = o; ``model.score(X)`` = -Σ o².
    The offset is 0.

    Parameters
    ----------
    model : sklearn.cluster.KMeans or MiniBatchKMeans
        Fitted.

    Returns
    -------
    DistanceNetwork
        The centroids as centers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from whyodd import neuralize
    >>> model = KMeans(2, random_state=0).fit([[0.0, 0.0], [0.0, 2.0], [9.0, 9.0]])
    >>> neuralize(model).outlierness([[3.0, 5.0]])
    array([5.])
    """
    require_fitted(model, "cluster_centers_")
    return DistanceNetwork(model.cluster_centers_, pooling=Nearest.kth(1))


def distance_to_centroid(model: Any, X: Any) -> NDArray[np.float64]:
    """Own score (n,) of k-means, high for outliers."""
    return model.transform(X).min(axis=1)  # type: ignore[no-any-return]
