"""A weighted sum of distances to points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial import distance

from whyodd.network.rebuilt import Rebuilt, rows_in_doubles
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WeightedDistances(Rebuilt):
    """Sum of distances in units of each variable: o = Σ_k a_k d_k, d_k = ‖(x - m)/s - v_k‖.

    R_i = Σ_k (a_k/d_k) ((x_i - m_i)/s_i - v_ki)²: each distance is shared out by its squares, as in a
    distance network, and a point at distance 0 has nothing to share out.

    Parameters
    ----------
    points : array of shape (K, d)
        v_k, in units of s from m.
    weights : array of shape (K,)
        a_k ≥ 0.
    mean : array of shape (d,)
        m.
    scale : array of shape (d,)
        s > 0.
    verdict : Verdict, optional
        What the model says of its own scores.

    Examples
    --------
    >>> from whyodd.network.sums.weighted_distances import WeightedDistances
    >>> score = WeightedDistances([[0.0, 0.0]], [2.0], mean=[0.0, 0.0], scale=[1.0, 10.0])
    >>> score.decompose([[3.0, 40.0]]).relevance
    array([[3.6, 6.4]])
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "save", "through"})

    points: Floats
    weights: Floats
    mean: Floats
    scale: Floats
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        points = self._freeze("points", None, None)
        self._freeze("weights", len(points), low=0.0)
        self._freeze("mean", points.shape[1])
        self._freeze("scale", points.shape[1], low=np.finfo(np.float64).tiny)

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return self.mean.size

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = Σ_k a_k d_k (n,)."""
        return np.asarray(distance.cdist(self._standard(X)[0], self.points) @ self.weights)

    def decompose(self, X: Any, *, through: LinearMap | None = None) -> Decomposition:
        """R_i (n, d), or that of the variables before a linear map."""
        values, dtype = self._standard(X)
        distances = distance.cdist(values, self.points)
        factors = self._factors(distances)
        makes = None if through is None else through.then(sparse.diags_array(1.0 / self.scale))
        relevance = np.zeros((len(values), self.n_features if makes is None else makes.n_inputs))
        unexplained = np.zeros(len(values))
        for point, factor in zip(self.points, factors.T, strict=True):
            gaps = values - point
            if makes is None:
                relevance += factor[:, None] * gaps**2
            else:
                squares = np.asarray(gaps @ makes.shortest) * np.asarray(gaps @ makes.gradient)
                relevance += factor[:, None] * squares
                unexplained += factor * np.asarray(((gaps @ makes.outside) ** 2).sum(axis=1))
        return Decomposition(relevance.astype(dtype, copy=False), unexplained, distances @ self.weights)

    def expected(self, X: Any) -> NDArray[np.floating]:
        """(n, d) mean of the points by a_k/d_k: R_i is, but for their spread, the squared gap to it."""
        values, dtype = self._standard(X)
        factors = self._factors(distance.cdist(values, self.points))
        total = factors.sum(axis=1, keepdims=True)
        shares = np.divide(factors, total, out=np.zeros_like(factors), where=total > 0.0)
        return np.asarray(self.mean + self.scale * (shares @ self.points), dtype=dtype)

    def _factors(self, distances: Floats) -> Floats:
        return np.divide(self.weights, distances, out=np.zeros_like(distances), where=distances > 0.0)

    def _standard(self, X: Any) -> tuple[Floats, np.dtype[Any]]:
        values, dtype = rows_in_doubles(X, self.n_features)
        return (values - self.mean) / self.scale, dtype
