"""scikit-learn's neighbour searches as distance networks with hard pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.requirements import require_euclidean, require_fitted
from whyodd.maths.hard_poolings import LocalReach, Nearest, Pooling
from whyodd.maths.term_metrics import terms_of
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.neighbor_distances import NeighborDistances

if TYPE_CHECKING:
    from numpy.typing import NDArray


def from_nearest_neighbors(model: Any) -> DistanceNetwork | NeighborDistances:
    """Network of a fitted ``sklearn.neighbors.NearestNeighbors``: o is the mean distance to the neighbours.

    The model has no score of its own; o = ``model.kneighbors(X)[0].mean(axis=1)``, Harmeling's γ with
    k = ``n_neighbors``. The offset is 0.

    Parameters
    ----------
    model : sklearn.neighbors.NearestNeighbors
        Fitted with a Euclidean metric, on dense or CSR data.

    Returns
    -------
    DistanceNetwork
        The training rows as centers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> network = neuralize(NearestNeighbors(n_neighbors=2).fit(X))
    >>> network.outlierness([[6.0]])
    array([3.])
    """
    require_fitted(model, "n_samples_fit_")
    if model.n_neighbors > model.n_samples_fit_:
        raise ValueError(
            f"NearestNeighbors(n_neighbors={model.n_neighbors}) was fitted on only {model.n_samples_fit_} "
            "rows, too few for that many neighbours. Lower n_neighbors, or fit it on more rows."
        )
    return neighbor_network(model, Nearest.mean(model.n_neighbors))


def from_local_outlier_factor(model: Any) -> DistanceNetwork | NeighborDistances:
    """Network of a fitted ``sklearn.neighbors.LocalOutlierFactor(novelty=True)``: o is the factor itself.

    With reach distances r_j = max(κ_j, d_j) and densities L_j of the k = ``n_neighbors_`` neighbours,
    o = mean_j L_j · (mean_j r_j + 1e-10). ``score_samples`` = -o and ``decision_function`` =
    -o - ``model.offset_``; the network's own offset is 0. For training rows without themselves o is
    ``-negative_outlier_factor_``.

    Parameters
    ----------
    model : sklearn.neighbors.LocalOutlierFactor
        Fitted with ``novelty=True`` and a Euclidean metric, on dense or CSR data.

    Returns
    -------
    DistanceNetwork
        The training rows as centers.

    Notes
    -----
    Where more than k training rows are equal, densities reach 1e10 and o counts distances in units of 1e-10,
    as the model's own score does. The rounding of its search (1e-8 for ``algorithm="brute"``, which "auto"
    chooses above 15 columns) then shows in the score of rows next to them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> from whyodd import neuralize
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> model = LocalOutlierFactor(n_neighbors=2, novelty=True).fit(X)
    >>> network = neuralize(model)
    >>> np.allclose(-network.outlierness([[9.0]]), model.score_samples([[9.0]]))
    True
    """
    if not model.novelty:
        raise UnsupportedModelError(
            "LocalOutlierFactor(novelty=False) has no score for new rows: expected novelty=True. Fit it "
            "again with LocalOutlierFactor(novelty=True). Each training row is then explained without "
            "itself, as novelty=False scores it."
        )
    require_fitted(model, "n_samples_fit_")
    k = model.n_neighbors_
    pooling = LocalReach(k, reaches=model._distances_fit_X_[:, k - 1], densities=model._lrd)
    return neighbor_network(model, pooling)


def neighbor_network(search: Any, pooling: Pooling) -> DistanceNetwork | NeighborDistances:
    """Network over the rows of a fitted neighbour search of scikit-learn.

    Of Euclidean distances, or those under another metric that is made of a term for each variable.
    """
    if not hasattr(search, "n_features_in_"):
        raise UnsupportedModelError(
            f"This {type(search).__name__} was fitted on a tree, which does not store its metric. Fit it "
            "again on the rows themselves."
        )
    metric, given = search.effective_metric_, search.effective_metric_params_ or {}
    parameters = {name: value for name, value in given.items() if value is not None}
    p = parameters.get("p")
    is_known = isinstance(metric, str) and not {*parameters} - {"p"}
    is_euclidean = metric in ("euclidean", "l2") or (metric == "minkowski" and p in (None, 2))
    if is_known and not is_euclidean and terms_of(metric, p) is not None:
        if sparse.issparse(search._fit_X):
            raise UnsupportedModelError(
                f"{type(search).__name__} has sparse rows and metric={metric!r}, expected dense ones or "
                "Euclidean distances. Fit it again with X.toarray(), or with metric='euclidean'."
            )
        return NeighborDistances(search._fit_X, pooling, metric, p)
    require_euclidean(search, metric, parameters)
    rows = search._fit_X if sparse.issparse(search._fit_X) else np.asarray(search._fit_X)
    n = search.n_samples_fit_
    return DistanceNetwork(rows, pooling=pooling, rows=np.arange(n), n_rows=n)


def mean_distance(model: Any, X: Any) -> NDArray[np.float64]:
    """Own score (n,) of a neighbour search, high for outliers."""
    return model.kneighbors(X)[0].mean(axis=1)  # type: ignore[no-any-return]
