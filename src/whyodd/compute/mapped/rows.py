"""One linear metric for many centers: the plain distance, seen through a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import squared_norms, to_dense
from whyodd.maths.linear_maps import LinearMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.soft.soft_min import SoftMin
    from whyodd.compute.work import Scores, Work

    Floats = NDArray[np.floating]
    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Numbers made dense at a time: rows before the map may be much wider than after it.
_DENSE_ELEMENTS = 1 << 18


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
        Taken off before the map: far from 0 the products would lose the differences between rows.
    """

    points: Points
    matrix: NDArray[np.float64]
    origin: NDArray[np.float64]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the rows."""
        return np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of variables after the map."""
        return int(self.points.shape[0]), len(self.matrix)

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        chosen = self.points[rows]
        out = np.empty((chosen.shape[0], len(self.matrix)))
        for part, moved in self._moved(chosen):
            np.matmul(moved, self.matrix.T, out=out[part])
        return out

    def sizes(self) -> NDArray[np.float64]:
        """Length (n,) of z with all terms taken as positive; its rounding is in proportion to this."""
        out = np.empty(self.points.shape[0])
        for part, moved in self._moved(self.points):
            out[part] = np.sqrt(squared_norms(np.abs(moved) @ np.abs(self.matrix.T)))
        return out

    def _moved(self, points: Points) -> Iterator[tuple[slice, Wide]]:
        """Some rows at a time, made dense, and moved to the origin."""
        step = max(1, _DENSE_ELEMENTS // self.origin.size)
        for start in range(0, points.shape[0], step):
            part = slice(start, start + step)
            yield part, to_dense(points[part]).astype(np.float64, copy=False) - self.origin


@dataclass(frozen=True)
class Mapped:
    """Distances d_j = ‖A (x - u_j)‖: passes of plain distances in z = A (x - origin), and the way back.

    z is rounded: results are those of rows moved by a rounding error of their distance from the mean center.
    """

    plain: SoftMin
    matrix: Wide
    origin: Wide

    @classmethod
    def of(cls, points: Points, matrix: Wide, make_plain: Callable[[Wide], SoftMin]) -> Mapped:
        """``make_plain`` receives the centers (m, k) after the map."""
        origin = mean_of(points)
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

    @cached_property
    def _map(self) -> LinearMap | None:
        """The map, unless it only scales: then each variable has the relevance of what it was scaled to."""
        return None if diagonal_of(self.matrix) is not None else LinearMap(self.matrix)

    def _mapped(self, X: Points) -> MappedRows:
        return MappedRows(X, self.matrix, self.origin)


def mean_of(points: Points) -> Wide:
    """Mean (d,) of points, dense or CSR; of large ones the sum would overflow."""
    m = points.shape[0]
    return np.asarray(np.full(m, 1.0 / m) @ points, dtype=np.float64)


def diagonal_of(matrix: Wide) -> Wide | None:
    """Diagonal (d,) of a matrix without other entries, or None."""
    if matrix.shape[0] != matrix.shape[1] or np.count_nonzero(matrix - np.diag(np.diag(matrix))):
        return None
    return np.diag(matrix).copy()
