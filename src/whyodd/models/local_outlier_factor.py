"""Local outlier factor for new rows."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import is_sparse
from whyodd.maths.hard_poolings import LocalReach
from whyodd.models.base import DistanceDetector
from whyodd.models.fitting.neighborhood import fewer_than_rows
from whyodd.models.fitting.repetition import repeated_rows
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points

# Where scikit-learn cuts, and the original authors did.
_THRESHOLD = 1.5
# scikit-learn adds it to a mean reachability, so that the density of k equal rows is finite.
_FLOOR = 1e-10


class LocalOutlierFactor(DistanceDetector):
    """Local outlier factor: o(x) = mean_j L_j · mean_j max(κ_j, d_j) over the k nearest training rows j.

    κ_j is the distance of row j to its own k-th neighbour and L_j its local density. It is about 1 for a row
    in a place as dense as those of its neighbours, and more for one that is farther from them than they are
    from each other. The scores are those of ``sklearn.neighbors.LocalOutlierFactor(novelty=True)``.

    Parameters
    ----------
    n_neighbors : int, default 20
        k; n - 1 if there are not more rows, with a warning.
    contamination : float, optional
        Share of training rows that ``predict`` calls outliers. They are scored with themselves among their
        neighbours, unlike new rows. None puts the threshold at a factor of 1.5.

    Attributes
    ----------
    n_neighbors_ : int
        k.

    Notes
    -----
    Breunig et al., "LOF: identifying density-based local outliers", 2000. What the neighbours' own reach κ_j
    accounts for belongs to no variable: it is what explanations call unexplained. ``sample_weight`` must be
    whole numbers: rows count that often.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = whyodd.LocalOutlierFactor().fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 0.0]])
    array([ 1, -1])
    """

    def __init__(self, n_neighbors: int = 20, *, contamination: float | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.contamination = contamination

    def _fit(
        self,
        X: Points,
        sample_weight: NDArray[np.float64] | None,
        previous: DistanceNetwork | None,  # noqa: ARG002
    ) -> tuple[DistanceNetwork, float]:
        k = self.n_neighbors
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_neighbors={k!r}: expected a whole number of at least 1.")
        rows = repeated_rows(sample_weight, X.shape[0], type(self).__name__)
        self.n_neighbors_ = fewer_than_rows(int(k), len(rows))
        pooling = local_reach(X[rows], self.n_neighbors_)
        return DistanceNetwork(X[rows], pooling=pooling, rows=rows, n_rows=X.shape[0]), _THRESHOLD


def local_reach(points: Points, k: int) -> LocalReach:
    """Pooling of the local outlier factor: κ_j the distance to the k-th neighbour, L_j the local density.

    L_j = 1 / (mean_i max(κ_i, d_ij) + 1e-10) over the k neighbours i of row j, which do not include j itself.

    Parameters
    ----------
    points : ndarray or CSR array of shape (n, d)
        Training rows.
    k : int
        Number of neighbours, less than n.

    Returns
    -------
    LocalReach
    """
    wide = points.astype(np.float64)
    if not is_sparse(points):
        wide = wide - wide.mean(axis=0)  # search by matrix products loses digits far from the origin
    from sklearn.neighbors import NearestNeighbors

    distances, neighbors = NearestNeighbors(n_neighbors=k).fit(wide).kneighbors()
    reaches = distances[:, -1]
    reachability = np.maximum(distances, reaches[neighbors]).mean(axis=1)
    return LocalReach(k, reaches=reaches, densities=1.0 / (reachability + _FLOOR), floor=_FLOOR)
