"""Passes over rows: blocks of them over threads, each through all trees."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.announce import announced_compilation
from whyodd.compute.blocks import Blocks, block_rows, count_threads, run
from whyodd.compute.points import to_dense
from whyodd.compute.trees.shapley import add_shapley, gauss_rule
from whyodd.compute.trees.walks import add_shortfalls, add_splits, find_cuts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.trees.nodes import Nodes

    Floats = NDArray[np.float64]
    Work = Callable[[Floats, slice], None]

# Rows of a block: enough that the preparation of a tree per block hardly counts.
_MOST_ROWS = 1024
_MEMORY_MB = 256.0


def shortfalls(nodes: Nodes, longest: Floats, X: Points, dtype: DTypeLike, n_jobs: int | None) -> Floats:
    """(n,) how much shorter than the longest the paths of rows are, summed over trees."""
    out = np.zeros(X.shape[0])
    _sweep(X, dtype, n_jobs, None, lambda x, rows: add_shortfalls(nodes, longest, x, out[rows]))
    return out


def splits(nodes: Nodes, X: Points, dtype: DTypeLike, n_jobs: int | None) -> Floats:
    """(n, d) how much the splits of each variable shorten the path of a row, summed over trees."""
    out = np.zeros(X.shape)
    _sweep(X, dtype, n_jobs, None, lambda x, rows: add_splits(nodes, x, out[rows]))
    return out


def shapley(
    nodes: Nodes,
    sizes: tuple[int, int, int],
    X: Points,
    dtype: DTypeLike,
    n_jobs: int | None,
    progress: Callable[[int], None] | None,
) -> Floats:
    """(n, d) Shapley values of minus the length of the paths, summed over trees; ``sizes``: of the paths."""
    points, weights = gauss_rule(sizes[1])
    out = np.empty(X.shape)

    def add(x: Floats, rows: slice) -> None:
        # Rows side by side, as the products take them.
        values = np.zeros(x.shape[::-1])
        add_shapley(nodes, sizes, points, weights, np.ascontiguousarray(x.T), values)
        out[rows] = values.T

    _sweep(X, dtype, n_jobs, progress, add)
    return out


def cuts(
    nodes: Nodes, X: Points, dtype: DTypeLike, n_jobs: int | None
) -> tuple[Floats, Floats, NDArray[np.int32]]:
    """(n, d) the cuts below and above that isolate each value (NaN for none), and in how many trees."""
    low, high, trees = np.full(X.shape, np.nan), np.full(X.shape, np.nan), np.zeros(X.shape, np.int32)

    def find(x: Floats, rows: slice) -> None:
        find_cuts(nodes, x, low[rows], high[rows], trees[rows])

    _sweep(X, dtype, n_jobs, None, find)
    return low, high, trees


def _sweep(
    X: Points,
    dtype: DTypeLike,
    n_jobs: int | None,
    progress: Callable[[int], None] | None,
    work: Work,
) -> None:
    """Call ``work`` for every block of rows, dense, rounded to ``dtype`` as the trees compare them."""
    n, d = X.shape
    threads = count_threads(n_jobs)
    size = block_rows(n, threads, 40 * d, d, _MEMORY_MB, most=_MOST_ROWS)
    run(Blocks(n, size, progress), threads, partial(_work_through, X, dtype, work))


def _work_through(X: Points, dtype: DTypeLike, work: Work, blocks: Blocks) -> None:
    for rows in blocks:
        with np.errstate(over="ignore"), announced_compilation(_sweep, work.__qualname__):
            # A value too large for the smaller type is infinite, and above every threshold.
            work(_rounded(X[rows], dtype), rows)


def _rounded(rows: Any, dtype: DTypeLike) -> Floats:
    return np.ascontiguousarray(to_dense(rows).astype(dtype, copy=False), dtype=np.float64)
