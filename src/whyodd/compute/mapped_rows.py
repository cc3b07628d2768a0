"""One linear metric for all centers: the plain distance, seen through a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from whyodd.compute.nearest import Neighbors
from whyodd.compute.points import to_dense
from whyodd.compute.soft import SoftMin
from whyodd.linear_maps import LinearMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.passes import Scores, Work
    from whyodd.compute.points import Points

    Floats = NDArray[np.floating]
    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

Plain = TypeVar("Plain", SoftMin, Neighbors)


@dataclass(frozen=True)
class MappedRows:
    """Rows z = A (x - origin) (n, k), in float64: indexing gives an array; nothing is kept.

    Attributes
    ----------
    points : ndarray or CSR array of shape (n, d)
        x.
    matrix : ndarray of shape (k, d)
        A.
    origin : ndarray of shape (d,)
        Taken off before the map: far from 0 the products would lose what tells rows apart.
    """

    points: Points
    matrix: NDArray[np.float64]
    origin: NDArray[np.float64]

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the rows come in."""
        return np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of variables after the map."""
        return int(self.points.shape[0]), len(self.matrix)

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        return (to_dense(self.points[rows]).astype(np.float64, copy=False) - self.origin) @ self.matrix.T


@dataclass(frozen=True)
class Mapped(Generic[Plain]):
    """Distances d_j = ‖A (x - u_j)‖: passes of plain distances in z = A (x - origin), and the way back."""

    plain: Plain
    matrix: Wide
    origin: Wide

    @classmethod
    def of(cls, points: Points, matrix: Wide, make_plain: Callable[[Wide], Plain]) -> Mapped[Plain]:
        """``make_plain`` is given the centers (m, k) after the map."""
        origin = np.asarray(points.mean(axis=0), dtype=np.float64).ravel()
        return cls(make_plain(MappedRows(points, matrix, origin)[:]), matrix, origin)

    def assign(
        self, X: Points, own: Indices, work: Work, consume: Callable[[Any, Any], None] | None = None
    ) -> Scores:
        """Scores of each row; ``consume(rows, p)`` is handed the assignments p (rows, m) block by block."""
        return self.plain.assign(self._mapped(X), own, work, consume)

    def decompose(
        self, X: Points, own: Indices, work: Work, through: LinearMap | None = None
    ) -> tuple[Floats, Scores]:
        """Relevance of the variables before the map, and before the map ``through`` if there is one."""
        whole = self._map if through is None else through.then(self.matrix)
        return self.plain.decompose(self._mapped(X), own, work, whole)

    def nearest(self, X: Points, own: Indices, work: Work, k: int) -> tuple[Indices, Wide, Scores]:
        """The k nearest centers, their assignments, and the scores: for hard poolings."""
        if not isinstance(self.plain, Neighbors):
            raise TypeError("Only hard poolings rank centers by distance.")
        return self.plain.nearest(self._mapped(X), own, work, k)

    @cached_property
    def _map(self) -> LinearMap:
        return LinearMap(self.matrix)

    def _mapped(self, X: Points) -> MappedRows:
        return MappedRows(X, self.matrix, self.origin)
