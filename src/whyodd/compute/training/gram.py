"""Kernel matrices K_ij = k(‖x_i - u_j‖) by tiles: products with vectors, dense blocks, a coarse Gram matrix.

Inner products come from BLAS on points centred in float64; each tile is turned into similarities, and these
are used, while it is in the processor's cache. One tile per thread, BLAS held to one thread inside.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whyodd.compute.announce import announced_compilation
from whyodd.compute.blocks import WORTH_A_THREAD, count_threads, single_threaded_blas
from whyodd.compute.compiling import radial_of
from whyodd.compute.points import is_sparse, localize, squared_norms
from whyodd.compute.soft.centers import length_scale
from whyodd.compute.training.similarity_tiles import (
    add_fixed_point_product,
    add_product,
    add_transposed_product,
    similarities_of_differences,
    similarity_tile,
    to_fixed_point,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whyodd.compute.compiling import Radial
    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel

Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# Largest rounding of a similarity in training: a tenth of libsvm's default tolerance.
ROUGHEST = 1e-4
# Up to this rounding of a similarity a sum of them has the nine digits that a float64 result promises.
_PRECISE = 1e-10
# 256 × 512 float32 are 512 kB: one core's second-level cache.
TILE_ROWS, TILE_COLUMNS = 256, 512
# So many variables of a pair take as long as its similarity.
_VARIABLES = 8


def spans(stop: int, step: int) -> list[slice]:
    """Consecutive slices of at most ``step`` that cover range(stop)."""
    return [slice(start, min(start + step, stop)) for start in range(0, stop, step)]


def for_row_tiles(n: int, work: Callable[[Iterable[slice]], Any]) -> list[Any]:
    """Results of ``work`` on one share of the row tiles of range(n) per thread."""
    return in_threads(spans(n, TILE_ROWS), work)


def in_threads(tiles: list[slice], work: Callable[[Iterable[slice]], Any]) -> list[Any]:
    """Results of ``work`` on one share of the tiles per thread, BLAS limited to one thread.

    A share is every t-th tile, so that the rows of a triangle, short and long ones, are shared evenly. Shares
    end early when the caller is interrupted: it need not wait for the whole product.
    """
    n_threads = min(count_threads(None), len(tiles))
    interrupted = Event()
    shares = [takewhile(lambda _: not interrupted.is_set(), tiles[t::n_threads]) for t in range(n_threads)]
    with single_threaded_blas():
        if n_threads == 1:
            return [work(shares[0])]
        with ThreadPoolExecutor(n_threads) as pool:
            try:
                return list(pool.map(work, shares))
            except BaseException:
                interrupted.set()
                raise


@dataclass(frozen=True)
class RadialPoints:
    """Points in units of the kernel's bandwidth, and the kernel between them: k(‖x_i - u_j‖) / k(0).

    Attributes
    ----------
    points : ndarray (n, d) of float32 or float64, or CSR array
    half_norms : ndarray (n,), ‖x_i‖²/2 in the precision of the points
    radial : Radial
        The kernel for distances in these units.
    dtype : dtype
        Of similarities.
    is_precise : bool
        Whether sums of similarities are as good as those of distances taken one by one in float64.
    """

    points: Points
    half_norms: npt.NDArray[Any]
    radial: Radial
    dtype: np.dtype[Any]
    is_precise: bool

    @classmethod
    def of(cls, X: Points, kernel: Kernel, rounding: float = ROUGHEST) -> RadialPoints:
        """Centre (dense data only) and scale in float64; keep float32 if that rounds similarities by less.

        Similarities are in float32 unless ``rounding`` is 0.
        """
        origin = np.zeros(X.shape[1]) if is_sparse(X) else X.mean(axis=0, dtype=np.float64)
        local = localize(X, origin, kernel.sigma, np.dtype(np.float64))
        half_norms = 0.5 * squared_norms(local)
        wide = rounding == 0.0
        narrow = (
            not wide and not is_sparse(X) and _rounding(half_norms.mean(), kernel, np.float32) <= rounding
        )
        dtype = np.dtype(np.float32 if narrow else np.float64)
        similarities = np.dtype(np.float64 if wide else np.float32)
        points = cls(
            local.astype(dtype, copy=False),
            half_norms.astype(dtype, copy=False),
            radial_of(kernel, kernel.sigma, similarities),
            similarities,
            wide and (not is_sparse(X) or _rounding(half_norms.max(), kernel, np.float64) <= _PRECISE),
        )
        with announced_compilation("training", dtype, similarities, type(kernel)) as is_new:
            if is_new:
                points.take(slice(0, 1)).block(points.take(slice(0, 1)))
        return points

    def __len__(self) -> int:
        return len(self.half_norms)

    @property
    def n_bytes(self) -> int:
        """Memory of the points themselves."""
        return int(self.points.data.nbytes) + self.half_norms.nbytes

    @property
    def row_work(self) -> int:
        """Work of the similarities of all points to one other, in variables of pairs."""
        return len(self) * (_VARIABLES + int(self.points.shape[1]))

    @cached_property
    def coordinates(self) -> Float64Array:
        """The points (d, n), a row per variable."""
        return np.ascontiguousarray(self.points.T)

    def take(self, index: IndexArray | slice) -> RadialPoints:
        """Select the points of ``index``."""
        return RadialPoints(
            self.points[index], self.half_norms[index], self.radial, self.dtype, self.is_precise
        )

    def product(self, others: RadialPoints, weights: Float64Array) -> Float64Array:
        """Σ_j w_j k(‖x_i - u_j‖) for every x_i, summed in float64; K is never stored.

        Parameters
        ----------
        others : RadialPoints
            The m points u_j.
        weights : ndarray (m,)

        Returns
        -------
        ndarray (n,)
        """
        out = np.zeros(len(self))
        columns = [(others.take(span), weights[span]) for span in spans(len(others), TILE_COLUMNS)]

        def work(tiles: Iterable[slice]) -> None:
            similarities = _TileOfSimilarities(self)
            for rows in tiles:
                mine = self.take(rows)
                for theirs, w in columns:
                    add_product(similarities(mine, theirs), w, out[rows])

        self._share_out(spans(len(self), TILE_ROWS), len(others), work)
        return out

    def block(self, others: RadialPoints, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Compute the matrix of k(‖x_i - u_j‖), in rows of ``out`` if it is given."""
        if out is None:
            out = np.empty((len(self), len(others)), self.dtype)
        # A few rows at a time stay in the second-level cache between their products and similarities.
        rows_at_once = max(TILE_ROWS * TILE_COLUMNS // (2 * len(others)), 1) if len(others) else 1

        def work(some: Iterable[slice]) -> None:
            for rows in some:
                similarities_between(self.take(rows), others, out[rows])

        self._share_out(spans(len(self), rows_at_once), len(others), work)
        return out

    def _share_out(self, tiles: list[slice], n_others: int, work: Callable[[Iterable[slice]], Any]) -> None:
        """Let threads do the work if it is worth their start."""
        if n_others * self.row_work < _VARIABLES * WORTH_A_THREAD:
            work(tiles)
        else:
            in_threads(tiles, work)

    def gram_product(self, v: Float64Array) -> Float64Array:
        """Product K v of the points among themselves: each tile serves its transpose, in half the time."""

        def work(tiles: Iterable[slice]) -> Float64Array:
            out, similarities = np.zeros(len(self)), _TileOfSimilarities(self)
            for rows in tiles:
                mine = self.take(rows)
                for columns in spans(rows.start, TILE_COLUMNS):
                    tile = similarities(mine, self.take(columns))
                    add_product(tile, v[columns], out[rows])
                    add_transposed_product(tile, v[rows], out[columns])
                add_product(similarities(mine, mine), v[rows], out[rows])
            return out

        return np.asarray(sum(for_row_tiles(len(self), work)))


def _rounding(half_norm: float, kernel: Kernel, dtype: Any) -> float:
    """How much rounding ⟨x, u⟩ changes a similarity, of points with such a norm.

    The rounding of s = (d/σ)² is about ε (‖x‖² + ‖u‖²). Near s = 0 the kernel may be infinitely steep, as for
    q < 2; elsewhere it changes in proportion to that over the length at which it falls.
    """
    rounding = 4.0 * float(np.finfo(dtype).eps) * float(half_norm)
    near = -np.expm1(kernel.log_profile(rounding ** (0.5 * kernel.q)))
    return max(rounding * (kernel.sigma / length_scale(kernel)) ** 2, float(near))


def similarities_between(x: RadialPoints, u: RadialPoints, out: npt.NDArray[Any]) -> None:
    """Fill ``out``, contiguous, with k(‖x_i - u_j‖)."""
    if x.dtype == np.float64 and not is_sparse(x.points):
        similarities_of_differences(x.points, u.coordinates, x.radial, out)
        return
    precision = x.half_norms.dtype
    products = out if precision == out.dtype else np.empty(out.shape, precision)
    if is_sparse(x.points):
        (x.points @ u.points.T).toarray(out=products)
    else:
        np.matmul(x.points, u.points.T, out=products)
    rounding = precision.type(8.0 * np.finfo(precision).eps)
    similarity_tile(products, x.half_norms, u.half_norms, rounding, x.radial, out)


class _TileOfSimilarities:
    """k(‖x_i - u_j‖) of one tile at a time, in a buffer that one thread uses again and again."""

    def __init__(self, points: RadialPoints) -> None:
        self._buffer = np.empty(TILE_ROWS * TILE_COLUMNS, points.dtype)

    def __call__(self, x: RadialPoints, u: RadialPoints) -> npt.NDArray[Any]:
        """Compute a tile, valid until the next call."""
        out = self._buffer[: len(x) * len(u)].reshape(len(x), len(u))
        similarities_between(x, u, out)
        return out


class GramRows:
    """Rows of the Gram matrix of some points, each computed when it is first asked for.

    Attributes
    ----------
    values : ndarray (most, n)
        Room for the rows; fresh memory costs nothing until it is written to.
    slots : ndarray (n,) of int
        Where in ``values`` each row is, -1 if it is not.
    """

    def __init__(self, points: RadialPoints, most: int) -> None:
        self._points, self._count = points, 0
        self.values = np.empty((most, len(points)), points.dtype)
        self.slots = np.full(len(points), -1, np.intp)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another row."""
        return self._count == len(self.values)

    def add(self, index: IndexArray) -> None:
        """Compute the rows ``index``, none of which is there yet, as far as there is room."""
        start = self._count
        chosen = index[: len(self.values) - start]
        self._count += chosen.size
        self._points.take(chosen).block(self._points, out=self.values[start : self._count])
        self.slots[chosen] = np.arange(start, self._count)

    def product(self, v: Float64Array) -> Float64Array:
        """Product K v, all rows in which v is not 0 being there."""
        there = np.flatnonzero(self.slots >= 0)
        weights, out = np.empty(self._count), np.zeros(v.size)
        weights[self.slots[there]] = v[there]
        add_transposed_product(self.values[: self._count], weights, out)
        return out


class CoarseGram:
    """The lower half of a Gram matrix in 16-bit fixed point: n² bytes, computed once, for products K v.

    Its elements are within 2⁻¹⁷ of the exact ones: plenty for a first approximation, in a quarter of
    the memory of a square float32 matrix and of the time to read it.
    """

    def __init__(self, points: RadialPoints) -> None:
        self._size, self._unit = len(points), 1.0 / 65535.0
        self._rows = {
            rows.start: np.empty((rows.stop - rows.start, rows.stop), np.uint16)
            for rows in spans(self._size, TILE_ROWS)
        }
        scale = np.float32(1.0 / self._unit)

        def work(tiles: Iterable[slice]) -> None:
            similarities = _TileOfSimilarities(points)
            for rows in tiles:
                mine = points.take(rows)
                for columns in [*spans(rows.start, TILE_COLUMNS), rows]:
                    tile = similarities(mine, points.take(columns))
                    to_fixed_point(tile, scale, self._rows[rows.start], columns.start)

        for_row_tiles(self._size, work)

    @staticmethod
    def capacity(memory: float) -> int:
        """Largest n whose matrix, n (n + 256) bytes with whole diagonal tiles, fits in ``memory`` bytes."""
        half = 0.5 * TILE_ROWS
        return int(np.sqrt(half**2 + max(memory, 0.0)) - half)

    def product(self, v: Float64Array) -> Float64Array:
        """Product K v, within ‖v‖₁ 2⁻¹⁷ and the rounding of float32."""
        coarse_v = v.astype(np.float32)

        def work(tiles: Iterable[slice]) -> Float64Array:
            out = np.zeros(self._size)
            for rows in tiles:
                add_fixed_point_product(self._rows[rows.start], rows.start, coarse_v, out)
            return out

        return np.asarray(sum(for_row_tiles(self._size, work)) * self._unit)
