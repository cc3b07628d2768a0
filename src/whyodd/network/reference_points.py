"""Scores by a few points that each row is measured against: enclosing spheres, or a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from whyodd.network.rebuilt import Rebuilt, rows_in_doubles
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


class Reference(NamedTuple):
    """The points that rows are measured against.

    Attributes
    ----------
    value : ndarray of shape (n,)
        v ≥ 0, which adds to the outlierness.
    points : ndarray of shape (n, d)
        The point u of each row.
    reach : ndarray of shape (n,)
        r² ≥ 0: nearer to u than r, the difference accounts for a part of v only.
    """

    value: Floats
    points: Floats
    reach: Floats


class ReferencePoints(ABC, Rebuilt):
    """Sum over references: o = Σ_t v_t, R_i = Σ_t v_t (x_i - u_ti)² / max(d_t², r_t²).

    The values v_t depend on the row through the distances d_t to points u_t. Each goes to the variables by
    their squared differences to its point, and to no variable as far as the row is within the reach r_t of
    that point. Which points a row is measured against is taken as given.
    """

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of variables d."""

    @abstractmethod
    def references(self, X: Floats) -> Iterator[Reference]:
        """The references of rows (n, d)."""

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = Σ_t v_t (n,)."""
        values, _ = rows_in_doubles(X, self.n_features)
        return np.asarray(sum(found.value for found in self.references(values)))

    def decompose(self, X: Any) -> Decomposition:
        """Relevance by squared differences, and the part within reach of a reference."""
        values, dtype = rows_in_doubles(X, self.n_features)
        relevance = np.zeros(values.shape)
        outlierness, unexplained = np.zeros((2, len(values)))
        for found in self.references(values):
            squares = (values - found.points) ** 2
            distance = squares.sum(axis=1)
            measure = np.maximum(distance, found.reach)
            rate = np.divide(found.value, measure, out=np.zeros(len(values)), where=measure > 0.0)
            relevance += rate[:, None] * squares
            unexplained += np.where(measure > 0.0, rate * (measure - distance), found.value)
            outlierness += found.value
        return Decomposition(relevance.astype(dtype, copy=False), unexplained, outlierness)

    def expected(self, X: Any) -> Floats:
        """Mean of the points that each row is measured against (n, d)."""
        values, _ = rows_in_doubles(X, self.n_features)
        points = [found.points for found in self.references(values)]
        return np.asarray(np.mean(points, axis=0))


@dataclass(frozen=True, eq=False)
class Hyperspheres(ReferencePoints):
    """Isolation by hyperspheres: o = mean_t v_t, of the smallest sphere in set t that holds the row, or 1.

    A row inside the sphere (u, r) with value v has R_i = v (x_i - u_i)²/r², and the rest of v belongs to no
    variable: it says that the whole sphere is far from others. A row in no sphere is measured against the
    nearest center, R_i = (x_i - u_i)²/d².

    Parameters
    ----------
    centers : array of shape (T, m, d)
        Of T sets of m spheres.
    squared_radii : array of shape (T, m)
    values : array of shape (T, m)
        Isolation score of each sphere, at least 0.

    Notes
    -----
    Bandaragoda et al., "Isolation-based anomaly detection using nearest-neighbor ensembles", 2018. Radii are
    distances to other centers, which lie on the surface: to rounding. Distances are computed as PyOD does.

    Examples
    --------
    >>> from whyodd.network.reference_points import Hyperspheres
    >>> spheres = Hyperspheres([[[0.0, 0.0], [9.0, 9.0]]], [[4.0, 1.0]], [[0.5, 0.0]])
    >>> parts = spheres.decompose([[1.0, 0.0], [0.0, 3.0]])
    >>> parts.relevance, parts.unexplained
    (array([[0.125, 0.   ], [0.   , 1.   ]]), array([0.375, 0.   ]))
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "save"})

    centers: Floats
    squared_radii: Floats
    values: Floats
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        sets, spheres, _ = self._freeze("centers", None, None, None).shape
        self._freeze("squared_radii", sets, spheres, low=0.0)
        self._freeze("values", sets, spheres, low=0.0)

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return int(self.centers.shape[2])

    def references(self, X: Floats) -> Iterator[Reference]:
        """The sphere of each set that counts for each row."""
        from sklearn.metrics.pairwise import euclidean_distances

        rows = np.arange(len(X))
        for centers, radii, values in zip(self.centers, self.squared_radii, self.values, strict=True):
            distances = euclidean_distances(X, centers, squared=True)
            holding = np.where(distances <= radii, radii, np.inf)
            smallest = holding.argmin(axis=1)
            is_held = np.isfinite(holding[rows, smallest])
            chosen = np.where(is_held, smallest, distances.argmin(axis=1))
            value = np.where(is_held, values[chosen], 1.0) / len(self.values)
            yield Reference(value, centers[chosen], np.where(is_held, radii[chosen], 0.0))


@dataclass(frozen=True, eq=False)
class ClusterDistance(ReferencePoints):
    """Distance to a cluster times its weight: o = w_c ‖x - u‖, R_i = w_c (x_i - u_i)²/‖x - u‖.

    The row is in the cluster c of the nearest of several points. It is measured against the centroid of that
    cluster if it is large, else against the nearest centroid of a large one.

    Parameters
    ----------
    points : array of shape (p, d)
        They decide in which cluster a row is.
    labels : array of int of shape (p,)
        The cluster of each point.
    centroids : array of shape (m, d)
        Of the clusters.
    is_large : array of bool of shape (m,)
    weights : array of shape (m,)
        w_c, at least 0.

    Examples
    --------
    >>> from whyodd.network.reference_points import ClusterDistance
    >>> centroids = [[0.0, 0.0], [10.0, 0.0]]
    >>> score = ClusterDistance(centroids, [0, 1], centroids, [True, False], [5.0, 2.0])
    >>> score.decompose([[3.0, 4.0], [8.0, 0.0]]).relevance
    array([[ 9., 16.], [16.,  0.]])
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "save"})

    points: Floats
    labels: Indices
    centroids: Floats
    is_large: NDArray[np.bool_]
    weights: Floats
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        m, d = self._freeze("centroids", None, None).shape
        p = len(self._freeze("points", None, d))
        self._freeze("weights", m, low=0.0)
        object.__setattr__(self, "labels", np.array(self.labels, dtype=np.intp))
        object.__setattr__(self, "is_large", np.array(self.is_large, dtype=bool))
        if self.labels.shape != (p,) or self.labels.min() < 0 or self.labels.max() >= m:
            raise ValueError(f"Expected one label for each point, naming one of {m} centroids.")
        if self.is_large.shape != (m,):
            raise ValueError(f"Expected true or false for each of {m} clusters: whether it is large.")
        if not self.is_large.any():
            raise ValueError("At least one cluster must be large.")

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return int(self.centroids.shape[1])

    def references(self, X: Floats) -> Iterator[Reference]:
        """The centroid of each row."""
        from scipy.spatial.distance import cdist

        cluster = self.labels[cdist(X, self.points).argmin(axis=1)]
        large = np.flatnonzero(self.is_large)
        nearest = large[cdist(X, self.centroids[large]).argmin(axis=1)]
        against = self.centroids[np.where(self.is_large[cluster], cluster, nearest)]
        distance = np.sqrt(((X - against) ** 2).sum(axis=1))
        yield Reference(self.weights[cluster] * distance, against, np.zeros(len(X)))
