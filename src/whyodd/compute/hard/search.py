"""Exact nearest neighbours by leaves, a tree or products, measured from differences where those round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from whyodd.compute import plain
from whyodd.compute.mapped.rows import MappedRows, mean_of
from whyodd.compute.points import as_compiled, is_sparse, largest_coordinates, squared_norms, to_dense
from whyodd.compute.scratch import scratch
from whyodd.compute.soft.centers import TOLERANCE, power_of_two, rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.neighbors import NearestNeighbors

    from whyodd.compute.hard.leaves import LeafSearch
    from whyodd.compute.points import Points

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# From this many points on leaves are tried; where they pass over too few points, or there are not so many, a
# k-d tree searches up to so many dimensions, beyond them matrix products: scikit-learn's own choice.
_LEAF_POINTS, _TREE_DIMENSIONS = 4096, 15
# Up to this many points all distances are measured: a search would cost more than it saves.
_FEW_POINTS = 16
# Up to this many points the products of a row with all of them are looked through; beyond that scikit-learn
# has tiles.
_MOST_POINTS = 1 << 15
# Products at a time: they stay in one core's cache.
_TILE = 1 << 17
# Squared lengths in this range neither over- nor underflowed on the way.
LEAST_SQUARE, LARGEST_SQUARE = 1e-280, 1e300
# Coordinates up to this have squares whose sums do not overflow.
_REACH = 1e150
# Distances to measure at a time.
_MEASURED_AT_ONCE = 1 << 17


class Placed(NamedTuple):
    """Rows where the search has them: around its origin, after the metric, scaled.

    Attributes
    ----------
    z : ndarray or CSR array of shape (n, k)
    norms : ndarray of shape (n,)
        ‖z‖.
    blur : ndarray of shape (n,)
        What rounding of z itself may change of a distance.
    is_far : ndarray of bool of shape (n,)
        Rows so far away that they were drawn nearer, in the same direction.
    """

    z: Points
    norms: Wide
    blur: Wide
    is_far: NDArray[np.bool_]

    def at(self, rows: Indices) -> Placed:
        """Some of the rows."""
        return Placed(self.z[rows], self.norms[rows], self.blur[rows], self.is_far[rows])


@dataclass(frozen=True)
class ExactSearch:
    """The nearest of some points under d = ‖A (x - u)‖.

    Attributes
    ----------
    points : ndarray or CSR array of shape (m, d)
        u.
    matrix : ndarray of shape (k, d) or None
        A.
    is_small : bool
        Measure all distances, in NumPy; without a matrix only.
    """

    points: Points
    matrix: Wide | None
    is_small: bool = False

    def nearest(self, x: Points, k: int) -> tuple[Wide, Indices]:
        """Distances (n, k) of rows to their k nearest points, ascending, and which these are.

        They are measured from differences where the search rounds visibly; where that leaves in doubt which
        points are the nearest, more of them are measured.
        """
        if self._measures_all:
            return self._among_all(x, k)
        # Squares may overflow: such distances are measured.
        with np.errstate(over="ignore", invalid="ignore"):
            placed = self._place(x)
            found, neighbors = self._find(placed, k)
            d = found * self._scale
            # The nearest is in doubt if any is.
            touched = np.flatnonzero(self._is_blurred(placed, found[:, :1]))
            if touched.size:
                in_doubt = self._is_blurred(placed.at(touched), found[touched])
                measured = self._measured(x[touched], d[touched], neighbors[touched], in_doubt)
                d[touched], neighbors[touched] = _sorted(measured, neighbors[touched])
            # Only a farthest neighbour in doubt can be the wrong one; none is nearer than 0.
            rest = np.flatnonzero(self._is_blurred(placed, found[:, -1:])[:, 0] & (d[:, -1] > 0.0))
            if rest.size and k < self.points.shape[0]:
                parts = min(-(-2 * k * rest.size // _MEASURED_AT_ONCE), rest.size)
                for some in np.array_split(rest, parts):
                    d[some], neighbors[some] = self._among_more(x[some], placed.at(some), k)
            return d, neighbors

    def prepare(self) -> None:
        """Build whatever a search needs, so that threads find it."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._measures_all:
                _ = self._scale
                return
            if self._leaves is None:
                _ = self._half_norms if self._is_compiled else self._index
            _ = self._largest_norm, self._largest_size

    def leg(self, x: Points, which: Indices) -> tuple[Wide, Wide]:
        """Differences x - u to one point per row (n, d), and what the metric makes of them (n, k)."""
        difference = self.difference(x, which)
        return difference, self.mapped(difference)

    def difference(self, x: Points, which: Indices) -> Wide:
        """Differences x - u (n, d) to one point per row."""
        return np.asarray(to_dense(x - self.points[which]), dtype=np.float64)

    def mapped(self, difference: Wide) -> Wide:
        """ζ = A δ of differences δ (n, d)."""
        return difference if self.matrix is None else difference @ self.matrix.T

    @property
    def by_products(self) -> bool:
        """Whether the search is by matrix products, which round but use all threads."""
        width = self.points.shape[1] if self.matrix is None else len(self.matrix)
        return self._is_sparse or (width > _TREE_DIMENSIONS and self._leaves is None)

    @property
    def brings_threads(self) -> bool:
        """Whether the search has threads of its own."""
        return self.by_products and not self._is_compiled and not self.is_small

    @property
    def _measures_all(self) -> bool:
        """Whether a search would cost more than it saves."""
        return self.is_small or (self.matrix is None and self.points.shape[0] <= _FEW_POINTS)

    @property
    def _is_sparse(self) -> bool:
        return self.matrix is None and is_sparse(self.points)

    @property
    def _is_compiled(self) -> bool:
        return self.by_products and not self._is_sparse and self.points.shape[0] <= _MOST_POINTS

    @cached_property
    def _leaves(self) -> LeafSearch | None:
        """The points in leaves, where that is worthwhile; it depends on the points alone, not on the rows."""
        if self._is_sparse or self.points.shape[0] < _LEAF_POINTS:
            return None
        from whyodd.compute.hard.leaves import LeafSearch

        coordinates = self._unmoved(self.points)
        leaves = LeafSearch.of(
            _times(coordinates, 1.0 / power_of_two(float(largest_coordinates(coordinates).max())))
        )
        return leaves if leaves.is_worthwhile else None

    def _find(self, placed: Placed, k: int) -> tuple[Wide, Indices]:
        """Distances (n, k) in scaled units to the k nearest points, ascending, and which; they may round."""
        if self._leaves is not None:
            return self._leaves.nearest(placed.z, k)
        if not self._is_compiled:
            return self._index.kneighbors(placed.z, k)  # type: ignore[no-any-return]
        from whyodd.compute.hard.legs import select_nearest

        n, m = placed.z.shape[0], self.points.shape[0]
        d, nearest = np.empty((n, k)), np.empty((n, k), dtype=np.intp)
        half_norms = 0.5 * placed.norms**2
        step = max(_TILE // m, 1)
        with scratch((min(step, n), m), np.dtype(np.float64)) as buffer:
            for start in range(0, n, step):
                part = slice(start, min(start + step, n))
                tile = buffer[: part.stop - start]
                np.matmul(placed.z[part], self._scaled_points.T, out=tile)
                norms = as_compiled(self._half_norms), as_compiled(half_norms[part])
                select_nearest(tile, *norms, k, d[part], nearest[part])
        return d, nearest

    def _among_more(self, x: Points, placed: Placed, k: int) -> tuple[Wide, Indices]:
        """The k nearest among twice as many that the search finds, or among all if they are not certain."""
        found, candidates = self._find(placed, min(2 * k, self.points.shape[0]))
        every = np.ones(found.shape, dtype=bool)
        d, neighbors = _sorted(self._measured(x, found, candidates, every), candidates)
        d, neighbors = d[:, :k], neighbors[:, :k]
        is_open = self._may_be_beaten(placed, d[:, -1], found[:, -1])
        rest = np.flatnonzero(is_open & (found.shape[1] < self.points.shape[0]))
        if rest.size:
            d[rest], neighbors[rest] = self._among_all(x[rest], k)
        return d, neighbors

    def _among_all(self, x: Points, k: int) -> tuple[Wide, Indices]:
        """The k nearest by all distances, each from its difference."""
        n, m = x.shape[0], self.points.shape[0]
        d, neighbors = np.empty((n, k)), np.empty((n, k), dtype=np.intp)
        step = max(1, _MEASURED_AT_ONCE // m)
        with np.errstate(over="ignore", invalid="ignore"):
            for part in (slice(start, start + step) for start in range(0, n, step)):
                squares = self._all_squares(x[part])
                nearest = _smallest(squares, k)
                chosen = np.take_along_axis(squares, nearest, axis=1)
                lost = ~is_ordinary(chosen)
                measured = self._measured(x[part], np.sqrt(chosen) * self._scale, nearest, lost)
                d[part], neighbors[part] = _sorted(measured, nearest)
        return d, neighbors

    def _all_squares(self, x: Points) -> Wide:
        """Squared distances (n, m) to all points, in scaled units."""
        out = np.empty((x.shape[0], self.points.shape[0]))
        if self.is_small:
            plain.fill_squares(x, self.points, 1.0 / self._scale, out)
            return out
        if self.matrix is None:
            from whyodd.compute.soft.pairs import fill_squares

            fill_squares(as_compiled(x), as_compiled(self.points), 1.0 / self._scale, out)
            return out
        for i in range(len(out)):
            # A (u - x) is as long as A (x - u).
            legs = MappedRows(self.points, self.matrix, to_dense(x[i : i + 1])[0])[:]
            out[i] = squared_norms(legs / self._scale)
        return out

    def _may_be_beaten(self, placed: Placed, kth: Wide, last_found: Wide) -> NDArray[np.bool_]:
        """Whether a point that was not found may be nearer than the k-th, put farther away by rounding."""
        kth = kth / self._scale
        seen_at = np.sqrt(kth * kth + self._noise(placed.norms, kth)) + placed.blur
        return np.asarray((kth > 0.0) & (placed.is_far | ~(last_found >= seen_at)))

    def _is_blurred(self, placed: Placed, found: Wide) -> NDArray[np.bool_]:
        """(n, k): distances that rounding of the search may have changed visibly."""
        tolerance = TOLERANCE[np.dtype(np.float64)]
        noise = self._noise(placed.norms[:, None], found)
        squares = found * found
        return np.asarray(
            placed.is_far[:, None]
            | (squares < LEAST_SQUARE)
            | (placed.blur[:, None] > tolerance * found)
            | (noise > tolerance * squares)
        )

    def _noise(self, norms: Wide, d: Wide) -> Wide:
        """Rounding error of squared distances of about d² from matrix products; 0 of leaves and trees."""
        if not self.by_products:
            return np.zeros_like(d)
        # A point at this distance is no farther from the origin than the row and the distance together.
        other = np.minimum(self._largest_norm, norms + d)
        return np.asarray(rounding(np.float64, self.points.shape[1]) * (norms**2 + other**2))

    def _measured(self, x: Points, d: Wide, neighbors: Indices, which: NDArray[np.bool_]) -> Wide:
        """The distances ``d`` (n, k), with those that ``which`` (n, k) marks taken from differences."""
        d = d.copy()
        for rank in range(d.shape[1]):
            rows = np.flatnonzero(which[:, rank])
            d[rows, rank] = lengths(self.leg(x[rows], neighbors[rows, rank])[1])
        return d

    def _place(self, x: Points) -> Placed:
        coordinates = self._coordinates(x)
        largest = largest_coordinates(coordinates)
        factors = np.minimum(1.0 / self._scale, _REACH / np.maximum(largest, np.finfo(np.float64).tiny))
        z = _times(coordinates, factors)
        return Placed(z, np.sqrt(squared_norms(z)), self._blur(x), factors < 1.0 / self._scale)

    def _blur(self, x: Points) -> Wide:
        """Rounding error of z = A (x - origin), of a row and of a point, in scaled units."""
        if self.matrix is None:
            return np.zeros(x.shape[0])
        error = rounding(np.float64, self.points.shape[1])
        return error * (self._sizes(x, self.matrix) + self._largest_size) / self._scale

    def _sizes(self, points: Points, matrix: Wide) -> Wide:
        """Length of the terms that the map adds up, which may be much larger than their sum."""
        return np.minimum(MappedRows(points, matrix, self._origin).sizes(), np.finfo(np.float64).max)

    @cached_property
    def _largest_size(self) -> float:
        return 0.0 if self.matrix is None else float(self._sizes(self.points, self.matrix).max())

    def _coordinates(self, points: Points) -> Points:
        """Points after the metric; around the origin where products or a map would cancel far from it."""
        unmoved = self._unmoved(points)
        if self.matrix is not None or is_sparse(points) or not self.by_products:
            return unmoved
        largest = np.finfo(np.float64).max
        return np.clip(unmoved - self._origin, -largest, largest)

    def _unmoved(self, points: Points) -> Points:
        """Points after the metric, whose differences are exact if there is none."""
        if self.matrix is None:
            return points
        mapped = MappedRows(points, self.matrix, self._origin)[:]
        return np.nan_to_num(mapped, nan=np.finfo(np.float64).max)

    @cached_property
    def _origin(self) -> Wide:
        return mean_of(self.points)

    @cached_property
    def _scale(self) -> float:
        return power_of_two(float(largest_coordinates(self._coordinates(self.points)).max()))

    @cached_property
    def _largest_norm(self) -> float:
        return float(np.sqrt(squared_norms(self._scaled_points).max()))

    @cached_property
    def _half_norms(self) -> Wide:
        return 0.5 * squared_norms(self._scaled_points)

    @cached_property
    def _index(self) -> NearestNeighbors:
        from sklearn.neighbors import NearestNeighbors

        algorithm = "brute" if self.by_products else "kd_tree"
        return NearestNeighbors(algorithm=algorithm).fit(self._scaled_points)

    @cached_property
    def _scaled_points(self) -> Points:
        return _times(self._coordinates(self.points), 1.0 / self._scale)


def lengths(rows: Points) -> Wide:
    """Lengths (n,) of vectors, also of those whose squares over- or underflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = squared_norms(rows)
        out = np.sqrt(squares)
        odd = np.flatnonzero(~is_ordinary(squares))
        if odd.size:
            largest = largest_coordinates(rows[odd])
            out[odd] = largest * np.sqrt(squared_norms(_times(rows[odd], _inverse(largest))))
    return np.asarray(np.abs(np.nan_to_num(out, nan=np.inf, posinf=np.inf)))


def is_ordinary(squares: Wide) -> NDArray[np.bool_]:
    """Whether squared lengths neither over- nor underflowed on the way."""
    return np.asarray((squares > LEAST_SQUARE) & (squares < LARGEST_SQUARE))


def _inverse(values: Wide) -> Wide:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > np.finfo(np.float64).tiny)


def _times(rows: Points, factors: Wide | float) -> Points:
    """Rows times a factor each, or times one for all."""
    each = np.broadcast_to(factors, rows.shape[0])
    if is_sparse(rows):
        return sparse.csr_array(sparse.diags_array(each) @ rows)
    return rows * each[:, None]


def _smallest(values: Wide, k: int) -> Indices:
    """Where the k smallest entries of each row are, in no order."""
    if k == 1:
        return np.asarray(values.argmin(axis=1)[:, None])
    if k == values.shape[1]:
        return np.tile(np.arange(k), (len(values), 1))
    return np.asarray(values.argpartition(k - 1, axis=1)[:, :k])


def _sorted(d: Wide, neighbors: Indices) -> tuple[Wide, Indices]:
    order = np.argsort(d, axis=1, kind="stable")
    return np.take_along_axis(d, order, axis=1), np.take_along_axis(neighbors, order, axis=1)
