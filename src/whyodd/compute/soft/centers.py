"""Centers made ready for matrix products: around an origin, scaled, with norms and log-weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.compute.points import are_whole, as_compiled, is_sparse, localize, squared_norms
from whyodd.compute.soft.grouping import group_far_apart

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.soft.row import Pool
    from whyodd.kernels import Kernel

# What rounding may change of assignments and shares: a fifth to a tenth of what is promised
# (1e-4 and 1e-9 of a row's largest relevance).
TOLERANCE = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-10}
# A pair treated exactly costs about ten times what float64 adds to a pair in matrix products.
_PATIENCE = {np.dtype(np.float32): 0.1, np.dtype(np.float64): math.inf}
# Squared distances and their powers stay below these.
_LARGEST = {np.dtype(np.float32): 1e36, np.dtype(np.float64): 1e300}
# Extent of the centers in bandwidths, and outlierness on top of them, up to which float32 is of use.
_MAX_BANDWIDTHS32, _MAX_LEAST_OUTLIERNESS32 = 1e6, 1e12
# Parameters of kernels that float32 can hold, with their squares and inverses in mind.
_MAX_NUMBER32 = 1e18
# Logarithms of energies between which a kernel falls.
_LARGEST_LOG = 690.0
# BLAS sums in runs of a few hundred terms before it adds runs up.
_BLAS_RUN = 384


def rounding(dtype: DTypeLike, terms: int) -> float:
    """Error of a matrix product's entry over the size of its terms: a random walk of ``terms`` roundings."""
    unit = float(np.finfo(dtype).eps) / 2.0
    return unit * (2.0 + math.sqrt(min(terms, _BLAS_RUN)))


@dataclass(frozen=True)
class Group:
    """Centers around one origin, in scaled units: ũ = (u - origin) / scale."""

    columns: slice
    origin: NDArray[np.float64]
    centers: Points
    norms: NDArray[np.float64]

    @cached_property
    def transposed(self) -> Any:
        """Ũᵀ for the distances; CSR rows of it make sparse products fast."""
        return self.centers.T.tocsr() if is_sparse(self.centers) else self.centers.T

    @cached_property
    def stacked(self) -> Points:
        """[Ũ, Ũ²] (m, 2d): one product for both terms of the contraction."""
        if is_sparse(self.centers):
            return sparse.csr_array(sparse.hstack([self.centers, self.centers.multiply(self.centers)]))
        return np.hstack([self.centers, self.centers * self.centers])


@dataclass(frozen=True)
class Centers:
    """Centers, weights and kernel, prepared for blocks of one dtype and one scale.

    ``kept`` (m,): the share of its weight that a center keeps if a row leaves it.
    """

    points: Points
    log_weights: NDArray[np.float64]
    kept: NDArray[np.float64]
    kernel: Kernel
    dtype: np.dtype[Any]
    scale: float
    origin: NDArray[np.float64]
    groups: tuple[Group, ...]
    order: NDArray[np.intp] | None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of centers and of variables."""
        m, d = self.points.shape
        return m, d

    @property
    def is_sparse(self) -> bool:
        """Whether the centers are kept in CSR form."""
        return is_sparse(self.points)

    @property
    def reach(self) -> float:
        """Largest scaled coordinate whose squared distances, and their powers in float32, do not overflow."""
        largest = _LARGEST[self.dtype]
        reach = math.sqrt(largest / self.shape[1])
        if self.dtype == np.float32:
            largest /= max(least_outlierness(self.kernel, self.shape[0]), 1.0)
            reach = min(
                reach, largest ** (1.0 / self.kernel.q) * self.kernel.sigma / self.scale / self.shape[1]
            )
        return reach / 4.0

    @cached_property
    def widened(self) -> Centers:
        """The same centers in float64."""
        return self.rescaled(self.scale)

    def rescaled(self, scale: float) -> Centers:
        """The same centers in float64 at another scale."""
        points, log_weights = self.in_given_order(self.points.T).T, self.in_given_order(self.log_weights)
        kept, wide = self.in_given_order(self.kept), np.dtype(np.float64)
        return prepare(points, log_weights, self.kernel, dtype=wide, scale=scale, kept=kept)

    def noise(self, raw: Points, norms: NDArray[np.float64]) -> float:
        """Rounding error of squared distances of rows over (‖x‖² + ‖u‖²).

        Whole numbers are multiplied and summed without any (pixels of 8 bits also in float32), as long as all
        sums stay below the numbers whose neighbours are more than 1 apart.
        """
        if len(self.groups) == 1 and self._is_whole and are_whole(raw):
            largest = self.scale * math.sqrt(2.0 * (float(norms.max()) + self.pool.norm_limit))
            if largest < 2.0 ** (0.5 * np.finfo(self.dtype).nmant):
                return 0.0
        return rounding(self.dtype, self.shape[1])

    @cached_property
    def _is_whole(self) -> bool:
        return are_whole(self.points)

    def in_given_order(self, columns: Any) -> Any:
        """Columns (..., m) in the order in which the centers were given."""
        return columns if self.order is None else columns[..., np.argsort(self.order)]

    def own_in_order(self, own: NDArray[np.intp]) -> NDArray[np.intp]:
        """Indices of centers to leave out (-1: none) in the order of the groups."""
        return own if self.order is None else np.where(own >= 0, np.argsort(self.order)[own], -1)

    @cached_property
    def pool(self) -> Pool:
        """The same as plain arrays and numbers for the compiled loops."""
        from whyodd.compute.compiling import radial_of
        from whyodd.compute.soft.row import Pool

        heaviest = int(np.argmax(self.log_weights))
        finite = self.log_weights[self.log_weights > -np.inf]
        without = np.delete(self.log_weights, heaviest)
        shifts = np.array([finite.max(), without.max() if without.size and without.max() > -np.inf else 0.0])
        norms = np.concatenate([group.norms for group in self.groups])
        return Pool(
            points=as_compiled(self.points),
            norms=norms,
            norm_limit=float(norms.max()),
            starts=np.array([group.columns.start for group in self.groups] + [self.shape[0]]),
            log_weights=self.log_weights - shifts[:, None],
            shifts=shifts,
            spread=float(finite.max() - finite.min()),
            heaviest=heaviest,
            kept=self.kept,
            log_rest=log_of_rest(self.log_weights, self.kept),
            radial=radial_of(self.kernel, self.scale, self.dtype),
            wide=radial_of(self.kernel, self.scale, np.float64),
            per_scale=1.0 / self.scale,
            tolerance=TOLERANCE[self.dtype],
            patience=_PATIENCE[self.dtype],
        )


def length_scale(kernel: Kernel) -> float:
    """Distance at which log k begins to fall in earnest: σ for the Gaussian.

    There the steepness is a half, or half of what it becomes far away where that is less than 1.
    """
    low, high = -_LARGEST_LOG, _LARGEST_LOG
    with np.errstate(all="ignore"):
        target = 0.5 * min(1.0, float(kernel.steepness(np.exp(high))))
        while high - low > 1e-6:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if kernel.steepness(np.exp(middle)) < target else (low, middle)
    return float(kernel.sigma * math.exp(min(low / kernel.q, _LARGEST_LOG)))


def choose_dtype(wanted: np.dtype[Any], points: Points, kernel: Kernel) -> np.dtype[Any]:
    """``wanted``, or float64 where centers, parameters or outlierness are out of the reach of float32."""
    if wanted != np.float32:
        return wanted
    from whyodd.compute.compiling import radial_of

    numbers = np.abs(radial_of(kernel, 1.0, np.float64).numbers)
    is_beyond = (
        _span(points) > _MAX_BANDWIDTHS32 * length_scale(kernel)
        or least_outlierness(kernel, points.shape[0]) > _MAX_LEAST_OUTLIERNESS32
        or ((numbers > _MAX_NUMBER32) | ((numbers > 0.0) & (numbers < 1.0 / _MAX_NUMBER32))).any()
    )
    return np.dtype(np.float64) if is_beyond else wanted


def least_outlierness(kernel: Kernel, m: int) -> float:
    """Outlierness of a point at distance 0 from m centers."""
    return float(kernel.outlierness(kernel.log_height, float(m)))


def prepare(
    points: Points,
    log_weights: NDArray[np.float64],
    kernel: Kernel,
    *,
    dtype: np.dtype[Any],
    scale: float | None = None,
    kept: NDArray[np.float64] | None = None,
) -> Centers:
    """Prepare centers (m, d) for products in ``dtype``, scaled by a power of two near their spread."""
    kept = np.zeros(len(log_weights)) if kept is None else kept
    origin = _weighted_mean(points, log_weights)
    if are_whole(points):
        origin = np.rint(origin)
    if scale is None:
        scale = power_of_two(max(_radius(points, origin), length_scale(kernel)))
    order, parts = _arrange(points, origin, length_scale(kernel), dtype)
    if order is not None:
        points, log_weights, kept = points[order], log_weights[order], kept[order]
    groups = tuple(_localize(points, part, origin, scale, dtype, len(parts) > 1) for part in parts)
    return Centers(points, log_weights, kept, kernel, dtype, scale, origin, groups, order)


def _arrange(
    points: Points, origin: NDArray[np.float64], length: float, dtype: np.dtype[Any]
) -> tuple[NDArray[np.intp] | None, list[slice]]:
    """Order and column ranges of the centers' groups: one, unless they lie too far apart for one origin."""
    m, d = points.shape
    if is_sparse(points):
        return None, [slice(0, m)]
    # Norms up to this many bandwidths leave an error in log k that cannot be seen.
    radius = length * math.sqrt(TOLERANCE[dtype] / rounding(dtype, d))
    parts = group_far_apart(points, origin, radius)
    if len(parts) == 1:
        return None, [slice(0, m)]
    stops = np.cumsum([part.size for part in parts]).tolist()
    return np.concatenate(parts), [
        slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)
    ]


def _localize(
    points: Points,
    columns: slice,
    origin: NDArray[np.float64],
    scale: float,
    dtype: np.dtype[Any],
    apart: bool,
) -> Group:
    members = points[columns]
    if apart:
        origin = members.mean(axis=0, dtype=np.float64)
    local = localize(members, origin, scale, dtype)
    return Group(columns, origin, local, squared_norms(local))


def log_of_rest(
    log_weights: NDArray[np.float64], kept: NDArray[np.float64] | float = 0.0
) -> NDArray[np.float64]:
    """log(1 - α_j (1 - kept_j)) without cancellation, also when one center holds nearly all the weight."""
    weights = np.exp(log_weights) * (1.0 - kept)
    with np.errstate(divide="ignore"):
        rest = np.log1p(-np.minimum(weights, 1.0))
    heaviest = int(np.argmax(log_weights))
    others = np.delete(log_weights, heaviest)
    if weights[heaviest] > 0.5 and others.size:
        with np.errstate(divide="ignore"):
            stays = log_weights[heaviest] + np.log(np.broadcast_to(kept, weights.shape)[heaviest])
        rest[heaviest] = np.logaddexp(np.logaddexp.reduce(others), stays)
    return rest


def power_of_two(size: float) -> float:
    """Power of two at or below ``size``: scaling by it rounds nothing."""
    return math.ldexp(1.0, math.frexp(size)[1] - 1) if size > 0.0 else 1.0


def _weighted_mean(points: Points, log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    if is_sparse(points):
        return np.zeros(points.shape[1])  # moving sparse points would fill them
    return np.asarray(np.exp(log_weights) @ points, dtype=np.float64)


def _span(points: Points) -> float:
    """Largest difference of two centers in one variable (or from 0, for sparse ones)."""
    if is_sparse(points):
        return _radius(points, np.zeros(0))
    return float(np.max(points.max(axis=0) - points.min(axis=0)))


def _radius(points: Points, origin: NDArray[np.float64]) -> float:
    """Largest coordinate of a center, seen from the origin."""
    if is_sparse(points):
        return float(abs(points).max()) if points.nnz else 0.0
    return float(max(np.max(points.max(axis=0) - origin), np.max(origin - points.min(axis=0))))
