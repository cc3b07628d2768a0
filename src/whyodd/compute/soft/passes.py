"""Passes over rows: scores, assignments, relevance and expected values, block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.compute import blocks
from whyodd.compute.announce import announced_compilation
from whyodd.compute.mapped.mixing import MixedContraction
from whyodd.compute.points import (
    as_compiled,
    blanked,
    is_sparse,
    largest_coordinates,
    localize,
    squared_norms,
    to_dense,
)
from whyodd.compute.scratch import scratch
from whyodd.compute.soft.block import ASSIGNMENTS, SCORES, WEIGHTS, pool_block
from whyodd.compute.soft.centers import Centers, power_of_two, rounding
from whyodd.compute.soft.contraction import add_contraction, finish_block
from whyodd.compute.soft.localizing import fill_local
from whyodd.compute.soft.row import Direct, Pooled, Rows
from whyodd.compute.work import Scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.soft.centers import Group
    from whyodd.compute.work import Work
    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.floating]


# Share of rows for which few centers count that is worth looking for them: such a row saves about four times
# what it takes to see that another is none.
_WORTH_SHARE = 0.25
# Rows from which on some of them are asked first.
_WORTH_PROBING = 64
# Arrays of one number per center that a thread needs beside its block.
_ROW_BUFFERS = 16


@dataclass(frozen=True)
class Block:
    """Some rows of X as the passes need them: raw, local to each group of centers, and multiplied by Uᵀ."""

    where: slice
    raw: Points
    rows: Rows
    local: list[Points]
    products: Floats
    far: NDArray[np.intp]


def decompose(
    X: Points, own: NDArray[np.intp], centers: Centers, work: Work, through: LinearMap | None = None
) -> tuple[Floats, Scores]:
    """Input relevance R (n, d) = Σ_j Δ_j (x - u_j)² / d²_j and the scores of each row.

    ``through`` a linear map, relevance is that of the variables before it; the centers are in float64 then.
    Rows whose outlierness no float can hold come out infinite.
    """
    n, d = X.shape[0], X.shape[1] if through is None else through.n_inputs
    relevance = np.empty((n, d), dtype=X.dtype)
    scores = Scores.empty(n)
    mixed = None if through is None else MixedContraction.of(centers, through, work.memory_mb)
    tolerance = float(work.tolerance)
    if tolerance > 0.0 and n > _WORTH_PROBING and _peaked_share(X, centers, tolerance) < _WORTH_SHARE:
        tolerance = 0.0

    def explain(block: Block, centers: Centers) -> bool:
        if mixed is not None:
            nothing = _nothing_direct(block.products)
            pool_block(
                block.products, block.rows, centers.pool, _views(scores, block.where), WEIGHTS, nothing
            )
            relevance[block.where], outside = mixed.contract(block.products, block.raw, block.local)
            scores.unexplained[block.where] += outside
            return True
        pooled = _views(scores, block.where)
        size = (block.products.shape[0], d)
        W, contracted, bound = block.products, np.zeros(size), np.zeros(size)
        direct = Direct(np.zeros(size), np.empty(size[0], dtype=bool), tolerance)
        if not pool_block(W, block.rows, centers.pool, pooled, WEIGHTS, direct):
            return False
        if direct.is_all.all():
            relevance[block.where] = direct.relevance
            return True
        W[direct.is_all] = 0.0
        for x, group in zip(block.local, centers.groups, strict=True):
            start, stop = group.columns.start, group.columns.stop
            products = _weighted_sums(W[:, group.columns], group, ~direct.is_all)
            add_contraction(W, start, stop, to_dense(x), products, contracted, bound)
        noise = rounding(centers.dtype, centers.shape[0])
        out = relevance[block.where]
        finish_block(W, block.rows, centers.pool, pooled, direct.relevance, contracted, bound, noise, out)
        return True

    # Beside the products: raw rows, four arrays in float64, a product of width 2 d, rows local to each group.
    width = max(d, X.shape[1])
    far = _sweep(X, own, centers, work, explain, floats_per_row=(14 + len(centers.groups)) * width)
    relevance[far], scores.outlierness[far] = 0.0, np.inf
    for index, rescaled in _beyond_reach(X, far, centers, work):
        part, inner = decompose(X[index], own[index], rescaled, _inside(work), through)
        with np.errstate(over="ignore"):  # an infinite relevance is reported by whoever asked
            relevance[index] = part
        scores.put(index, inner)
    return relevance, scores


def assign(
    X: Points,
    own: NDArray[np.intp],
    centers: Centers,
    work: Work,
    consume: Callable[[Any, Floats], None] | None = None,
) -> Scores:
    """Scores of each row; ``consume(rows, p)`` is handed the soft assignments p (rows, m) block by block."""
    scores = Scores.empty(X.shape[0])
    wanted = SCORES if consume is None else ASSIGNMENTS

    def score(block: Block, centers: Centers) -> bool:
        p = block.products
        nothing = _nothing_direct(p)
        done = pool_block(p, block.rows, centers.pool, _views(scores, block.where), wanted, nothing)
        if done and consume is not None:
            consume(block.where, centers.in_given_order(p))
        return bool(done)

    floats_per_row = centers.shape[0] + (2 + len(centers.groups)) * centers.shape[1]
    far = _sweep(X, own, centers, work, score, floats_per_row=floats_per_row)
    scores.outlierness[far], scores.log_inlierness[far] = np.inf, -np.inf
    for index, rescaled in _beyond_reach(X, far, centers, work):
        inner = assign(X[index], own[index], rescaled, _inside(work), _at_rows(consume, index))
        scores.put(index, inner)
    return scores


def _sweep(
    X: Points,
    own: NDArray[np.intp],
    centers: Centers,
    work: Work,
    step: Callable[[Block, Centers], bool],
    *,
    floats_per_row: int,
) -> NDArray[np.intp]:
    """Apply ``step`` to every block of rows; returns the rows too far away to be treated at this scale.

    A block on which ``step`` gives up in float32 is done in float64; all of them, if a few rows say so.
    Nothing of this depends on which thread does what: the same input gives the same bytes.
    """
    n, m = X.shape[0], centers.shape[0]
    threads = blocks.count_threads(work.n_jobs)
    threads = threads if n * m > blocks.WORTH_A_THREAD else 1
    threads, memory_mb = _within_memory(threads, 8 * _ROW_BUFFERS * m, work.memory_mb)
    # A block may be needed in float64, and twice: as a sparse product or product per group, and as a whole.
    # What a row has in the cache beside its products goes up to a double with the number of variables.
    elements = m + min(2 * centers.shape[1], m)
    size = blocks.block_rows(n, threads, 8 * (2 * m + floats_per_row), elements, memory_mb)
    # Threads of BLAS keep spinning for a while after a product, in the way of ours.
    with (
        announced_compilation(centers.dtype, centers.is_sparse, type(centers.kernel)) as is_new,
        blocks.single_threaded_blas(),
    ):
        is_worth_probing = is_new or (n > _WORTH_PROBING and centers.dtype == np.float32)
        if is_worth_probing and not _probe(X, centers):
            centers = centers.widened
    far: list[NDArray[np.intp]] = []

    def through(shared: blocks.Blocks) -> None:
        # Whoever asked reports what is too large for a float. Threads start with settings of their own.
        with np.errstate(over="ignore", invalid="ignore"), scratch((size, m), centers.dtype) as products:
            for where in shared:
                block = _multiply(X[where], own[where], centers, products, where)
                if not step(block, centers):
                    block = _multiply(X[where], own[where], centers.widened, np.empty((size, m)), where)
                    step(block, centers.widened)
                if block.far.size:
                    far.append(block.far)

    blocks.run(blocks.Blocks(n, size, work.progress), threads, through)
    return np.sort(np.concatenate(far)) if far else np.empty(0, dtype=np.intp)


def _probe(X: Points, centers: Centers) -> bool:
    """Whether rows from all over X can be pooled in the centers' dtype; compiles what is not compiled."""
    index = blocks.probed_rows(X.shape[0])
    return _pooled_some(X, centers, index[:1] if centers.dtype == np.float64 else index, 0.0)[0]


def _peaked_share(X: Points, centers: Centers, tolerance: float) -> float:
    """Share of some rows from all over X for which few centers count."""
    with blocks.single_threaded_blas():
        return float(np.mean(_pooled_some(X, centers, blocks.probed_rows(X.shape[0]), tolerance)[1]))


def _pooled_some(
    X: Points, centers: Centers, index: NDArray[np.intp], tolerance: float
) -> tuple[bool, NDArray[np.bool_]]:
    """Whether some rows can be pooled in the centers' dtype, and for which of them few centers count."""
    pooled = _views(Scores.empty(index.size), slice(None))
    with scratch((index.size, centers.shape[0]), centers.dtype) as products:
        block = _multiply(X[index], np.full(index.size, -1), centers, products, slice(0, index.size))
        direct = Direct(np.zeros((index.size, X.shape[1])), np.empty(index.size, dtype=bool), tolerance)
        wanted = WEIGHTS if tolerance > 0.0 else SCORES
        done = pool_block(products, block.rows, centers.pool, pooled, wanted, direct)
    return bool(done), direct.is_all


def _within_memory(threads: int, bytes_per_thread: int, memory_mb: float) -> tuple[int, float]:
    """Fewer threads if what each needs beside its block takes most of the memory; what is left for blocks."""
    each = bytes_per_thread / 2**20
    threads = max(1, min(threads, int(min(memory_mb / (2.0 * each), threads))))
    return threads, max(memory_mb - threads * each, 0.0)


def _multiply(raw: Points, own: NDArray[np.intp], centers: Centers, buffer: Floats, where: slice) -> Block:
    raw = _like_centers(raw, centers)
    products = buffer[: raw.shape[0]]
    local, norms = [], np.empty((raw.shape[0], len(centers.groups)))
    far = np.zeros(raw.shape[0], dtype=bool)
    for g, group in enumerate(centers.groups):
        x, norms[:, g] = _seen_from(group, raw, centers)
        if far.any() or not norms[:, g].max() <= centers.reach**2:
            far |= ~(largest_coordinates(x) <= centers.reach)  # also where scaling overflowed
            x = blanked(x, far)
            norms[:, g] = squared_norms(x)
        _product_into(x, group, products)
        local.append(x)
    rows = Rows(as_compiled(raw), norms, centers.own_in_order(own), centers.noise(raw, norms))
    return Block(where, raw, rows, local, products, where.start + np.flatnonzero(far))


def _seen_from(group: Group, raw: Points, centers: Centers) -> tuple[Points, NDArray[np.float64]]:
    """Rows from the origin of a group of centers, in their dtype, and squared norms in float64."""
    if is_sparse(raw):
        x = localize(raw, group.origin, centers.scale, centers.dtype)
        return x, squared_norms(x)
    x, norms = np.empty(raw.shape, centers.dtype), np.empty(raw.shape[0])
    fill_local(as_compiled(raw), group.origin, 1.0 / centers.scale, x, norms)
    return x, norms


def _product_into(x: Points, group: Group, products: Floats) -> None:
    # Both sides are finite. BLAS may look at memory beside them, whatever is there, and raise a flag for it.
    with np.errstate(invalid="ignore"):
        if is_sparse(x):
            products[:] = (x @ group.transposed).toarray()
        elif group.centers.shape[0] == products.shape[1]:
            np.matmul(x, group.transposed, out=products)
        else:
            products[:, group.columns] = x @ group.transposed


def _views(scores: Scores, rows: slice) -> Pooled:
    """Views of the scores of some rows, to be filled by compiled code."""
    return Pooled(
        scores.outlierness[rows],
        scores.log_inlierness[rows],
        scores.unexplained[rows],
        scores.discarded[rows],
    )


def _nothing_direct(products: Floats) -> Direct:
    """For passes that treat no pair on its own."""
    return Direct(np.empty((0, 0)), np.empty(products.shape[0], dtype=bool), 0.0)


def _weighted_sums(W: Floats, group: Group, wanted: NDArray[np.bool_]) -> Floats:
    """W [U, U²] of the rows ``wanted``, and 0 for the others."""
    if wanted.all():
        return to_dense(W @ group.stacked)
    sums = np.zeros((W.shape[0], group.stacked.shape[1]), dtype=W.dtype)
    sums[wanted] = to_dense(W[wanted] @ group.stacked)
    return sums


def _like_centers(raw: Points, centers: Centers) -> Points:
    """Rows in the form of the centers: CSR against CSR, dense against dense."""
    if centers.is_sparse:
        return raw if is_sparse(raw) else sparse.csr_array(raw)
    return to_dense(raw)


def _beyond_reach(
    X: Points, far: NDArray[np.intp], centers: Centers, work: Work
) -> Iterator[tuple[NDArray[np.intp], Centers]]:
    """Far rows in bunches of like distance, each with centers prepared in float64 at that scale.

    Rows that are out of reach at their own scale (a difference beyond the largest float) are left out.
    """
    # Four copies of a bunch, in the form of the centers, take half of the memory.
    size = max(1, int(min(work.memory_mb * 2**19 / (4 * 8 * X.shape[1]), far.size)))
    for start in range(0, far.size, size):
        index = far[start : start + size]
        distances = largest_coordinates(_moved(_like_centers(X[index], centers), centers.origin))
        # Squares of numbers within 2^±256 of the scale neither over- nor underflow.
        bunches = np.frexp(distances)[1] // 256
        for bunch in np.unique(bunches):
            scale = power_of_two(float(distances[bunches == bunch].max()))
            if scale != centers.scale or centers.dtype != np.float64:
                yield index[bunches == bunch], centers.rescaled(scale)


def _moved(points: Points, origin: NDArray[np.float64]) -> Points:
    if is_sparse(points):
        return points
    # Differences beyond the largest float are as far as it gets.
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return np.clip(points - origin, -largest, largest)


def _inside(work: Work) -> Work:
    """How to do a part of the work: in the other half of the memory, without a word."""
    return replace(work, memory_mb=work.memory_mb / 2.0, progress=None)


def _at_rows(
    consume: Callable[[Any, Floats], None] | None, index: NDArray[np.intp]
) -> Callable[[Any, Floats], None] | None:
    return None if consume is None else lambda rows, p: consume(index[rows], p)
