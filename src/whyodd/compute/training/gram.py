"""Kernel matrices K_ij = k(‖x_i - u_j‖) by tiles: products with vectors, dense blocks, a coarse Gram matrix.

Inner products come from BLAS on points centred in float64; each tile is turned into similarities, and these
are used, while it is in the processor's cache. One tile per thread, BLAS held to one thread inside.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import takewhile
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whyodd.compute.announce import announced_compilation
from whyodd.compute.blocks import count_threads, single_threaded_blas
from whyodd.compute.compiling import radial_of
from whyodd.compute.points import is_sparse, localize, squared_norms
from whyodd.compute.soft.centers import length_scale
from whyodd.compute.training.similarity_tiles import (
    add_fixed_point_product,
    add_product,
    add_transposed_product,
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
# 256 × 512 float32 are 512 kB: one core's second-level cache.
TILE_ROWS, TILE_COLUMNS = 256, 512


def spans(stop: int, step: int) -> list[slice]:
    """Consecutive slices of at most ``step`` that cover range(stop)."""
    return [slice(start, min(start + step, stop)) for start in range(0, stop, step)]


def for_row_tiles(n: int, work: Callable[[Iterable[slice]], Any]) -> list[Any]:
    """Results of ``work`` on one share of the row tiles of range(n) per thread, BLAS limited to one thread.

    A share is every t-th tile, so that the rows of a triangle, short and long ones, are shared evenly. Shares
    end early when the caller is interrupted: it need not wait for the whole product.
    """
    tiles = spans(n, TILE_ROWS)
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
    """

    points: Points
    half_norms: npt.NDArray[Any]
    radial: Radial

    @classmethod
    def of(cls, X: Points, kernel: Kernel, rounding: float = ROUGHEST) -> RadialPoints:
        """Centre (dense data only) and scale in float64; keep float32 if that rounds similarities by less."""
        origin = np.zeros(X.shape[1]) if is_sparse(X) else X.mean(axis=0, dtype=np.float64)
        local = localize(X, origin, kernel.sigma, np.dtype(np.float64))
        half_norms = 0.5 * squared_norms(local)
        narrow = not is_sparse(X) and _float32_rounding(half_norms, kernel) <= rounding
        dtype = np.float32 if narrow else np.float64
        points = cls(
            local.astype(dtype, copy=False),
            half_norms.astype(dtype, copy=False),
            radial_of(kernel, kernel.sigma, np.float32),
        )
        with announced_compilation("training", dtype, type(kernel)) as is_new:
            if is_new:
                points.take(slice(0, 1)).block(points.take(slice(0, 1)))
        return points

    def __len__(self) -> int:
        return len(self.half_norms)

    @property
    def n_bytes(self) -> int:
        """Memory of the points themselves."""
        return int(self.points.data.nbytes) + self.half_norms.nbytes

    def take(self, index: IndexArray | slice) -> RadialPoints:
        """Select the points of ``index``."""
        return replace(self, points=self.points[index], half_norms=self.half_norms[index])

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

        for_row_tiles(len(self), work)
        return out

    def block(self, others: RadialPoints) -> Float32Array:
        """Compute the matrix of k(‖x_i - u_j‖), for few points x_i."""
        out = np.empty((len(self), len(others)), np.float32)

        def work(tiles: Iterable[slice]) -> None:
            similarities = _TileOfSimilarities(self)
            for rows in tiles:
                mine = self.take(rows)
                for columns in spans(len(others), TILE_COLUMNS):
                    out[rows, columns] = similarities(mine, others.take(columns))

        for_row_tiles(len(self), work)
        return out

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

    def gram(self, out: Float32Array | None = None) -> Float32Array:
        """Compute the square matrix K, exactly symmetric, 1 on its diagonal."""
        K = np.empty((len(self), len(self)), np.float32) if out is None else out

        def work(tiles: Iterable[slice]) -> None:
            similarities = _TileOfSimilarities(self)
            for rows in tiles:
                mine = self.take(rows)
                for columns in spans(rows.start, TILE_COLUMNS):
                    K[rows, columns] = similarities(mine, self.take(columns))
                    K[columns, rows] = K[rows, columns].T
                # BLAS does not promise a symmetric result.
                lower = np.tril(similarities(mine, mine), -1)
                K[rows, rows] = lower + lower.T
                np.fill_diagonal(K[rows, rows], 1.0)

        for_row_tiles(len(self), work)
        return K


def _float32_rounding(half_norms: Float64Array, kernel: Kernel) -> float:
    """How much rounding ⟨x, u⟩ in float32 changes a similarity.

    The rounding of s = (d/σ)² is about ε (‖x‖² + ‖u‖²). Near s = 0 the kernel may be infinitely steep, as for
    q < 2; elsewhere it changes in proportion to that over the length at which it falls.
    """
    rounding = 4.0 * float(np.finfo(np.float32).eps) * float(half_norms.mean())
    near = -np.expm1(kernel.log_profile(rounding ** (0.5 * kernel.q)))
    return max(rounding * (kernel.sigma / length_scale(kernel)) ** 2, float(near))


class _TileOfSimilarities:
    """k(‖x_i - u_j‖) of one tile at a time, in buffers that one thread uses again and again."""

    def __init__(self, points: RadialPoints) -> None:
        self._radial = points.radial
        precision = points.half_norms.dtype
        self._rounding = precision.type(8.0 * np.finfo(precision).eps)
        self._similarities = np.empty(TILE_ROWS * TILE_COLUMNS, np.float32)
        self._products = self._similarities
        if precision != np.float32:
            self._products = np.empty(TILE_ROWS * TILE_COLUMNS, precision)

    def __call__(self, x: RadialPoints, u: RadialPoints) -> Float32Array:
        """Compute a tile, valid until the next call."""
        shape = (len(x), len(u))
        products = self._products[: shape[0] * shape[1]].reshape(shape)
        out = self._similarities[: products.size].reshape(shape)
        if is_sparse(x.points):
            (x.points @ u.points.T).toarray(out=products)
        else:
            np.matmul(x.points, u.points.T, out=products)
        similarity_tile(products, x.half_norms, u.half_norms, self._rounding, self._radial, out)
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
