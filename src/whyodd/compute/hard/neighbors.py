"""Passes for hard pooling: an exact neighbour search, then differences to the few centers that count."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.compute import blocks, plain
from whyodd.compute.hard.search import LARGEST_SQUARE, LEAST_SQUARE, ExactSearch, is_ordinary, lengths
from whyodd.compute.mapped.mixing import way_back
from whyodd.compute.points import as_compiled, is_sparse, largest_coordinates, squared_norms, to_dense
from whyodd.compute.work import Scores
from whyodd.maths.hard_poolings import MeanVector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.compute.mapped.mixing import WayBack
    from whyodd.compute.points import Points
    from whyodd.compute.work import Work
    from whyodd.maths.hard_poolings import Pooling
    from whyodd.maths.linear_maps import LinearMap

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# The search has a cost per call, and shares out many rows better than few among its own threads.
_BLOCK_ROWS, _PRODUCT_ROWS = 2048, 16384
# Coordinates of rows that stay in cache with what is made of them.
_CACHED_ELEMENTS = 1 << 16


@dataclass(frozen=True)
class Neighbors:
    """Centers, the pooling of the nearest of them, and a metric: d_j = ‖A (x - u_j)‖.

    Attributes
    ----------
    points : ndarray or CSR array of shape (m, d)
    pooling : Pooling
    matrix : ndarray of shape (k, d), optional
        A.
    is_small : bool
        Do everything in NumPy.
    """

    points: Points
    pooling: Pooling
    matrix: Wide | None = None
    is_small: bool = False

    def assign(
        self, X: Points, own: Indices, work: Work, consume: Callable[[Any, Any], None] | None = None
    ) -> Scores:
        """Scores of each row; ``consume(rows, p)`` is handed CSR assignments p (rows, m) block by block."""
        if self._is_small_with(X):
            return self._small.assign(X, own, work, consume)
        scores = Scores.empty(X.shape[0])

        def score(where: slice, x: Points) -> None:
            d, neighbors = self._search(x, own[where], self.pooling.k)
            self._pool(d, neighbors, self._virtual(x, neighbors), scores, where)
            if consume is not None:
                consume(where, self._assignment(neighbors))

        # Whoever consumes p may make it dense.
        self._sweep(X, work, score, floats_per_row=0 if consume is None else self.points.shape[0])
        return scores

    def decompose(
        self,
        X: Points,
        own: Indices,
        work: Work,
        through: LinearMap | None = None,
        consume: Callable[[Any, Any], None] | None = None,
    ) -> tuple[Wide, Scores]:
        """Relevance R (n, d) = Σ_j Δ_j (x - u_j)² / d²_j over the neighbours, and the scores.

        ``consume`` as of :meth:`assign`: one search does for both.
        """
        if self._is_small_with(X):
            return self._small.decompose(X, own, work, through, consume)
        n, width = X.shape[0], X.shape[1] if through is None else through.n_inputs
        relevance, scores = np.zeros((n, width)), Scores.empty(n)
        way = self._way_back if through is None else way_back(self.matrix, through)
        is_compiled = self._is_plain and through is None and not self.is_small

        def explain(where: slice, x: Points) -> None:
            d, neighbors = self._search(x, own[where], self.pooling.k)
            virtual = self._virtual(x, neighbors)
            d = self._pool(d, neighbors, virtual, scores, where)
            scores.unexplained[where] = self.pooling.unexplained(d, neighbors)
            explained = self.pooling.explained(d, neighbors)
            rest = np.arange(len(d))
            if is_compiled and virtual is None:
                from whyodd.compute.hard.legs import add_relevance

                rest = np.flatnonzero(
                    add_relevance(
                        as_compiled(x),
                        as_compiled(self.points),
                        as_compiled(neighbors),
                        as_compiled(explained),
                        (LEAST_SQUARE, LARGEST_SQUARE),
                        relevance[where],
                    )
                )
            for rows in _few_at_a_time(rest, x.shape[1]):
                for rank in np.flatnonzero(explained.any(axis=0)):
                    if virtual is None:
                        leg = self._index.leg(x[rows], neighbors[rows, rank])
                    else:
                        leg = virtual[0][rows], virtual[1][rows]
                    shared, outside = _spread(explained[rows, rank], *leg, way)
                    relevance[where][rows] += shared
                    scores.unexplained[where][rows] += outside
            if consume is not None:  # last, since p is made of the neighbours and may sort them
                consume(where, self._assignment(neighbors))

        floats = 4 * width + (0 if consume is None else self.points.shape[0])
        self._sweep(X, work, explain, floats_per_row=floats)
        return relevance, scores

    def nearest(self, X: Points, own: Indices, work: Work, k: int) -> tuple[Indices, Wide, Scores]:
        """The k nearest centers of each row (n, k), the nearest first, their assignments, and the scores."""
        if self._is_small_with(X):
            return self._small.nearest(X, own, work, k)
        index = np.empty((X.shape[0], k), dtype=np.intp)
        scores = Scores.empty(X.shape[0])
        counted = self.pooling.k
        p = np.zeros(max(k, counted))
        p[:counted] = self.pooling.assignment()

        def select(where: slice, x: Points) -> None:
            d, neighbors = self._search(x, own[where], p.size)
            index[where] = neighbors[:, :k]
            d, neighbors = d[:, :counted], neighbors[:, :counted]
            self._pool(d, neighbors, self._virtual(x, neighbors), scores, where)

        self._sweep(X, work, select, floats_per_row=8 * p.size)
        return index, np.tile(p[:k], (X.shape[0], 1)), scores

    def _is_small_with(self, X: Points) -> bool:
        """Whether rows are better done in NumPy, and these passes are not those that do so."""
        return not self.is_small and self._is_plain and plain.is_enough(X, self.points)

    @property
    def _is_plain(self) -> bool:
        return self.matrix is None and not is_sparse(self.points)

    @cached_property
    def _small(self) -> Neighbors:
        return replace(self, is_small=True)

    @cached_property
    def _index(self) -> ExactSearch:
        return ExactSearch(self.points, self.matrix, self.is_small)

    @cached_property
    def _way_back(self) -> WayBack:
        return way_back(self.matrix)

    def _search(self, x: Points, own: Indices, k: int) -> tuple[Wide, Indices]:
        """Distances (n, k), ascending, to the k nearest centers, and which they are; without the own one."""
        if (own < 0).all():
            return self._index.nearest(x, k)
        d, neighbors = self._index.nearest(x, k + 1)
        # A row is not its own neighbour; one that has no center of its own does without the farthest.
        is_own = neighbors == own[:, None]
        is_own[~is_own.any(axis=1), -1] = True
        return d[~is_own].reshape(-1, k), neighbors[~is_own].reshape(-1, k)

    def _virtual(self, x: Points, neighbors: Indices) -> tuple[Wide, Wide] | None:
        """Leg from each row to the mean of its neighbours, if that is what counts."""
        if not isinstance(self.pooling, MeanVector):
            return None
        # The mean of differences: far from 0 the mean of the neighbours would lose digits.
        difference = np.zeros(x.shape)
        for p, which in zip(self.pooling.assignment(), neighbors.T, strict=True):
            difference += p * self._index.difference(x, which)
        return difference, self._index.mapped(difference)

    def _pool(
        self, d: Wide, neighbors: Indices, virtual: tuple[Wide, Wide] | None, scores: Scores, where: slice
    ) -> Wide:
        """Fill in the scores; the distances that count (n, k), or (n, 1) to the mean of the neighbours."""
        if virtual is not None:
            d = lengths(virtual[1])[:, None]
        o = self.pooling.outlierness(d, neighbors)
        scores.outlierness[where], scores.log_inlierness[where] = o, -o
        return d

    def _assignment(self, neighbors: Indices) -> sparse.csr_array:
        n, k = neighbors.shape
        p = np.tile(self.pooling.assignment(), n)
        return sparse.csr_array((p, neighbors.ravel(), np.arange(0, n * k + 1, k)), (n, self.points.shape[0]))

    def _sweep(
        self, X: Points, work: Work, step: Callable[[slice, Points], None], *, floats_per_row: int
    ) -> None:
        (n, d), m = X.shape, self.points.shape[0]
        self._index.prepare()  # once, not by every thread
        has_threads = self._index.brings_threads
        allowed = blocks.count_threads(work.n_jobs)
        allowed = allowed if n * m > blocks.WORTH_A_THREAD else 1
        threads = 1 if has_threads else allowed
        per_row = 8 * (6 * d + 12 * (self.pooling.k + 1) + floats_per_row)
        most = _PRODUCT_ROWS if has_threads else min(_BLOCK_ROWS, -(-n // threads))
        size = int(max(min(work.memory_mb * 2**20 / threads // per_row, most), 1))

        def through_blocks(shared: blocks.Blocks) -> None:
            # Distances beyond the largest float come out infinite, and so does the outlierness.
            with np.errstate(over="ignore", invalid="ignore"):
                for where in shared:
                    x = X[where].astype(np.float64, copy=False)
                    step(where, sparse.csr_array(x) if is_sparse(self.points) else to_dense(x))

        with blocks.openmp_threads(allowed) if has_threads else nullcontext():
            blocks.run(blocks.Blocks(n, size, work.progress), threads, through_blocks)


def _few_at_a_time(rows: Indices, d: int) -> Iterator[Indices]:
    """Rows in parts that stay in cache while legs to all their neighbours are spread."""
    step = max(1, _CACHED_ELEMENTS // d)
    return (rows[start : start + step] for start in range(0, rows.size, step))


def _spread(explained: Wide, difference: Wide, zeta: Wide, way: WayBack) -> tuple[Wide, Wide]:
    """Δ of one leg per row by the variables' parts of ‖ζ‖², and what of it no variable has."""
    squares = squared_norms(zeta)
    odd = np.flatnonzero(~is_ordinary(squares))
    if odd.size:  # parts are the same of any multiple of ζ; a leg of length 0 has none
        largest = largest_coordinates(zeta[odd])
        factor = np.divide(1.0, largest, out=np.ones_like(largest), where=largest > np.finfo(np.float64).tiny)
        difference, zeta = difference.copy(), zeta.copy()
        difference[odd] *= factor[:, None]
        zeta[odd] *= factor[:, None]
        squares = squared_norms(zeta)
    weight = np.divide(explained, squares, out=np.zeros_like(squares), where=squares > 0.0)
    return weight[:, None] * way.shares(difference, zeta), weight * way.outside(zeta)
