"""Scores by a few points that each row is measured against: spheres that hold it, the cluster it is in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances

from whyodd.compute.points import to_dense
from whyodd.inputs.matrices import as_matrix
from whyodd.network.constructed import Constructed
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


class Reference(NamedTuple):
    """What rows are measured against once.

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


class ReferencePoints(ABC, Constructed):
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
        """What rows (n, d) are measured against."""

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = Σ_t v_t (n,)."""
        values = self._checked(X)
        return np.sum([found.value for found in self.references(values)], axis=0, dtype=np.float64)

    def decompose(self, X: Any) -> Decomposition:
        """Relevance by squared differences, and what lies within reach."""
        values = self._checked(X)
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
        relevance = relevance.astype(as_matrix(X).values.dtype, copy=False)
        return Decomposition(relevance, unexplained, outlierness)

    def expected(self, X: Any) -> Floats:
        """Mean of the points that each row is measured against (n, d)."""
        values = self._checked(X)
        points = [found.points for found in self.references(values)]
        return np.asarray(np.mean(points, axis=0))

    def _checked(self, X: Any) -> Floats:
        values = np.asarray(to_dense(as_matrix(X).values), dtype=np.float64)
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the model was fitted on {self.n_features}. "
                "Pass the columns used in fit."
            )
        return values


@dataclass(frozen=True, eq=False)
class Hyperspheres(ReferencePoints):
    """Isolation by hyperspheres: o = mean_t v_t, v_t of the smallest sphere of set t that holds the row, or 1.

    A row inside the sphere (u, r) with value v has R_i = v (x_i - u_i)²/r², and the rest of v belongs to no
    variable: it tells that the whole sphere is far from others. A row in no sphere is measured against the
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
        _set_finite(self, centers=3, squared_radii=2, values=2)
        if not self.centers.shape[:2] == self.squared_radii.shape == self.values.shape:
            raise ValueError("Hyperspheres need one radius and one value for each center.")
        if self.squared_radii.min() < 0.0 or self.values.min() < 0.0:
            raise ValueError("Squared radii and values of hyperspheres must be at least 0.")

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return int(self.centers.shape[2])

    def references(self, X: Floats) -> Iterator[Reference]:
        """The sphere of each set that counts for each row."""
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
        _set_finite(self, points=2, centroids=2, weights=1)
        object.__setattr__(self, "labels", np.array(self.labels, dtype=np.intp))
        object.__setattr__(self, "is_large", np.array(self.is_large, dtype=bool))
        m, d = self.centroids.shape
        shapes = (self.points.shape, self.labels.shape, self.is_large.shape, self.weights.shape)
        p = len(self.points)
        if shapes != ((p, d), (p,), (m,), (m,)):
            raise ValueError("Clusters need a label for each point, a size and a weight for each centroid.")
        if not (0 <= self.labels.min() and self.labels.max() < m) or self.weights.min() < 0.0:
            raise ValueError("Labels of clusters must be those of centroids, and weights at least 0.")
        if not self.is_large.any():
            raise ValueError("At least one cluster must be large.")

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return int(self.centroids.shape[1])

    def references(self, X: Floats) -> Iterator[Reference]:
        """The centroid of each row."""
        cluster = self.labels[cdist(X, self.points).argmin(axis=1)]
        large = np.flatnonzero(self.is_large)
        nearest = large[cdist(X, self.centroids[large]).argmin(axis=1)]
        against = self.centroids[np.where(self.is_large[cluster], cluster, nearest)]
        distance = np.sqrt(((X - against) ** 2).sum(axis=1))
        yield Reference(self.weights[cluster] * distance, against, np.zeros(len(X)))


def _set_finite(member: Any, **dimensions: int) -> None:
    """Make fields arrays of finite numbers, not empty, of these numbers of dimensions."""
    for name, ndim in dimensions.items():
        values = np.array(getattr(member, name), dtype=np.float64)
        if values.ndim != ndim or not values.size or not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite numbers in {ndim} dimension(s).")
        values.flags.writeable = False
        object.__setattr__(member, name, values)
