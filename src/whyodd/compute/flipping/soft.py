"""Feature flipping for soft min-pooling under the plain distance: blocks of rows, and the dtype they need."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute import blocks
from whyodd.compute.announce import announced_compilation
from whyodd.compute.compiling import radial_of
from whyodd.compute.flipping.tiles import add_tiles
from whyodd.compute.mapped.rows import mean_of
from whyodd.compute.points import are_whole, is_sparse, largest_coordinates, to_dense
from whyodd.compute.soft.centers import length_scale, log_of_rest, power_of_two

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.compute.compiling import Radial
    from whyodd.compute.flipping.removals import Removals
    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel

    Floats = NDArray[np.floating]
    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Bytes of a tile of coordinates, half of a usual second-level cache, and centers in it.
_TILE_BYTES, _LEAST_TILE, _MOST_TILE = 1 << 18, 256, 1024
# Centers that vectors of compiled loops are made of.
_LANES = 16
# Bytes of tiles made of CSR centers at a time.
_DENSE_BYTES = 1 << 25
_MOST_BLOCK_ROWS = 128
# Largest effect on o of rounding coordinates to float32.
_TOLERANCE32 = 2e-5
# Outlierness below which -log g has lost digits.
_NEAR_ZERO = {np.dtype(np.float32): 0.05, np.dtype(np.float64): 1e-3}
# Largest scaled coordinate whose squares stay in range; largest energy in float32.
_REACH = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e150}
_LARGEST32 = 1e30
# How far log k may fall below log k(0) for sums of similarities not to underflow.
_DEEPEST = {np.dtype(np.float32): 75.0, np.dtype(np.float64): 690.0}


@dataclass(frozen=True)
class _Prepared:
    """Centers in one dtype, around an origin and scaled, in tiles (t, d, w)."""

    points: Points
    origin: Wide
    scale: float
    radial: Radial
    log_weights: Floats  # (2, t, w) log α minus its maximum; the second without the heaviest center
    packed: list[Floats]  # all tiles, unless they are made of CSR centers when they are needed

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the tiles."""
        return self.log_weights.dtype

    def localized(self, points: Points) -> Floats:
        """Points (n, d) made dense, around the origin, and scaled; within what can be squared."""
        with np.errstate(over="ignore"):
            moved = (to_dense(points).astype(np.float64, copy=False) - self.origin) / self.scale
        reach = _REACH[self.dtype]
        return np.ascontiguousarray(np.clip(moved, -reach, reach), dtype=self.dtype)

    def tiles(self) -> Iterator[tuple[slice, Floats]]:
        """Tiles (t, d, w), some at a time, and which they are."""
        _, count, width = self.log_weights.shape
        bytes_each = self.points.shape[1] * width * self.dtype.itemsize
        some = count if self.packed else max(_DENSE_BYTES // bytes_each, 1)
        for first in range(0, count, some):
            which = slice(first, min(first + some, count))
            yield which, self.packed[0] if self.packed else self.pack(which)

    def pack(self, which: slice) -> Floats:
        """Some tiles; zeros in place of centers beyond the last."""
        count, width = which.stop - which.start, self.log_weights.shape[2]
        some = self.localized(self.points[which.start * width : which.stop * width])
        full = np.zeros((count * width, some.shape[1]), dtype=self.dtype)
        full[: len(some)] = some
        return np.ascontiguousarray(full.reshape(count, width, -1).transpose(0, 2, 1))


@dataclass(frozen=True)
class SoftFlipping:
    """Centers under the plain distance, log-weights and a kernel: o while variables are taken away.

    Attributes
    ----------
    points : ndarray or CSR array of shape (m, d)
    log_weights : ndarray of shape (m,)
    kernel : Kernel
    kept : ndarray of shape (m,)
        Share of its weight that a center keeps if a row leaves it.
    """

    points: Points
    log_weights: Wide
    kernel: Kernel
    kept: Wide
    _usual: dict[np.dtype[Any], _Prepared] = field(default_factory=dict)

    def curves(
        self,
        X: Points,
        removals: Removals,
        own: Indices,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[Wide, Indices]:
        """Outlierness (n, S + 1) before and after each of S steps; rows where it is too near 0 for -log g.

        Right to 1e-9 of a row's first value, or to 1e-4 for X in float32; infinite where it exceeds all
        floats.
        """
        dtype = np.dtype(X.dtype)
        # BLAS threads would keep spinning after the smallest product, in the way of ours.
        with blocks.single_threaded_blas():
            curves, doubtful = self._curves(X, removals, own, dtype, n_jobs, progress)
            again = np.flatnonzero(doubtful)
            if dtype == np.float32 and again.size:
                wide = np.dtype(np.float64)
                found = self._curves(X[again], removals.of_rows(again), own[again], wide, n_jobs, None)
                curves[again], doubtful[again] = found
        return curves, np.flatnonzero(doubtful)

    def _curves(
        self,
        X: Points,
        removals: Removals,
        own: Indices,
        dtype: np.dtype[Any],
        n_jobs: int | None,
        progress: Callable[[int], None] | None,
    ) -> tuple[Wide, NDArray[np.bool_]]:
        """Curves in one dtype, and which of them need a more precise one."""
        if dtype not in self._usual:
            self._usual[dtype] = self._prepare(dtype, self._scale)
        prepared = self._usual[dtype]
        curves, nearest = np.empty((X.shape[0], removals.steps + 1)), np.empty(X.shape[0])
        sizes = self._sizes(X)
        by_logs = self._needs_logs(X.shape[1], float(sizes.max()), dtype)

        def work(shared: blocks.Blocks) -> None:
            for rows in shared:
                some = X[rows], removals.of_rows(rows), own[rows]
                curves[rows], nearest[rows] = self._flip(*some, prepared, by_logs)

        with announced_compilation("flipping", dtype, type(self.kernel)) as is_new:
            if is_new:
                work(blocks.Blocks(1, 1, None))
        threads = blocks.count_threads(n_jobs)
        size = max(min(-(-X.shape[0] // (4 * threads)), _MOST_BLOCK_ROWS), 1)
        blocks.run(blocks.Blocks(X.shape[0], size, progress), threads, work)
        if dtype == np.float32:
            return curves, self._is_beyond_float32(X, sizes, nearest) | self._is_near_zero(curves, dtype)
        for i in np.flatnonzero(sizes > _REACH[dtype] * self._scale):
            one, scale = np.array([i]), power_of_two(min(sizes[i], 1e307))
            some = X[one], removals.of_rows(one), own[one]
            curves[one], nearest[one] = self._flip(*some, self._prepare(dtype, scale), by_logs=True)
        return curves, self._is_near_zero(curves, dtype)

    def _flip(
        self, X: Points, removals: Removals, own: Indices, prepared: _Prepared, by_logs: bool
    ) -> tuple[Wide, Wide]:
        """Curves of some rows, and their smallest d² in scaled units."""
        x = prepared.localized(X)
        kept = np.where(own >= 0, self.kept[own], 1.0)
        versions = np.where((own == self._heaviest) & (kept == 0.0), 1, 0)
        sums = np.full((len(x), removals.steps + 1), -np.inf if by_logs else 0.0)
        weights = prepared.log_weights if by_logs else np.exp(prepared.log_weights)
        nearest = np.full(len(x), np.inf)
        gains = removals.gains.astype(x.dtype)
        least = 1e-20 if x.dtype == np.float32 else 1e-200
        for which, tiles in prepared.tiles():
            local = own - which.start * tiles.shape[2]
            add_tiles(
                x,
                tiles,
                np.ascontiguousarray(weights[:, which]),
                local,
                kept,
                versions,
                removals.columns,
                gains,
                removals.stages,
                prepared.radial,
                by_logs,
                least,
                sums,
                nearest,
            )
        if not by_logs:
            with np.errstate(divide="ignore"):
                sums = np.log(sums)
        o = self._outlierness(sums, own, versions)
        return np.take_along_axis(o, removals.last_changes(), axis=1), nearest

    def _outlierness(self, log_sums: Wide, own: Indices, versions: Indices) -> Wide:
        """Outlierness of log-sums (n, S + 1) over all centers; exact in the last column: nothing is left."""
        rest = np.where(own >= 0, self._log_rest[own], 0.0)[:, None]
        log_g = np.minimum(log_sums + self._shifts[versions][:, None] - rest, 0.0)
        log_g[:, -1] = 0.0
        is_out = (own >= 0) & (self.kept[own] == 0.0)
        counted = (self.points.shape[0] - is_out).astype(np.float64)[:, None]
        with np.errstate(over="ignore"):
            return np.asarray(self.kernel.outlierness(self.kernel.log_height + log_g, counted))

    def _needs_logs(self, d: int, size: float, dtype: np.dtype[Any]) -> bool:
        """Whether the kernel falls so far on the way to rows of this size that sums of it would underflow."""
        with np.errstate(over="ignore"):
            farthest = np.square((size + self._radius) * math.sqrt(d))
            fall = self.kernel.log_profile(self.kernel.energy(farthest))
        return not fall > -_DEEPEST[dtype]

    def _is_near_zero(self, curves: Wide, dtype: np.dtype[Any]) -> NDArray[np.bool_]:
        return np.asarray(curves[:, 0] < _NEAR_ZERO[dtype])

    def _is_beyond_float32(self, X: Points, sizes: Wide, nearest: Wide) -> NDArray[np.bool_]:
        """Rows where rounding of coordinates shows against the nearest center, or powers may overflow."""
        reach, q = (sizes + self._radius) * math.sqrt(X.shape[1]), self.kernel.q
        largest = min(_REACH[np.dtype(np.float32)] * self._scale, _LARGEST32 ** (1.0 / q) * self.kernel.sigma)
        is_whole = are_whole(self.points) and are_whole(X)
        noise = np.where(is_whole & (sizes + self._radius < 2.0**24), 0.0, 2.0**-24 * reach)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = noise / (np.sqrt(nearest) * self._scale)
        # For a root of distances the relative error grows where they are small.
        is_blurred = ~(max(q, 1.0) * error ** min(q, 1.0) <= _TOLERANCE32)
        return np.asarray((reach > largest) | (is_blurred & (noise > 0.0)))

    def _sizes(self, points: Points) -> Wide:
        """Largest coordinate of each point, seen from the origin."""
        if is_sparse(points):
            return largest_coordinates(points) + float(np.abs(self._origin).max())
        with np.errstate(over="ignore"):
            above, below = points - self._origin, self._origin - points
        return np.asarray(np.maximum(above.max(axis=1), below.max(axis=1)), dtype=np.float64)

    def _prepare(self, dtype: np.dtype[Any], scale: float) -> _Prepared:
        m, d = self.points.shape
        width = max(min(_TILE_BYTES // (d * dtype.itemsize), _MOST_TILE), _LEAST_TILE)
        width = min(width // _LANES, -(-m // _LANES)) * _LANES
        radial = radial_of(self.kernel, scale, dtype)
        log_weights = self._padded_log_weights(-(-m // width), width).astype(dtype)
        made = _Prepared(self.points, self._origin, scale, radial, log_weights, [])
        if not is_sparse(self.points):
            made.packed.append(made.pack(slice(0, log_weights.shape[1])))
        return made

    def _padded_log_weights(self, count: int, width: int) -> Wide:
        """(2, count, width) log-weights minus their maximum; nothing for no center."""
        full = np.full((2, count * width), -np.inf)
        full[:, : self.log_weights.size] = self.log_weights - self._shifts[:, None]
        full[1, self._heaviest] = -np.inf
        return full.reshape(2, count, width)

    @cached_property
    def _heaviest(self) -> int:
        return int(np.argmax(self.log_weights))

    @cached_property
    def _shifts(self) -> Wide:
        """Largest log-weight, and the largest without the heaviest center."""
        others = np.delete(self.log_weights, self._heaviest)
        second = float(others.max()) if others.size else -np.inf
        return np.array([self.log_weights.max(), second if second > -np.inf else 0.0])

    @cached_property
    def _log_rest(self) -> Wide:
        return log_of_rest(self.log_weights, self.kept)

    @cached_property
    def _origin(self) -> Wide:
        """Mean center, a whole one for whole numbers: then nothing is rounded."""
        mean = mean_of(self.points)
        return np.rint(mean) if are_whole(self.points) else mean

    @cached_property
    def _radius(self) -> float:
        return float(self._sizes(self.points).max())

    @cached_property
    def _scale(self) -> float:
        return power_of_two(max(self._radius, length_scale(self.kernel)))
