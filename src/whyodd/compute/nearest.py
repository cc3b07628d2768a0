"""Passes for hard pooling: an exact neighbour search, then differences to the few centers that count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from whyodd.compute import blocks
from whyodd.compute.centers import TOLERANCE, rounding
from whyodd.compute.mixing import shares
from whyodd.compute.passes import Scores
from whyodd.compute.points import is_sparse, squared_norms, to_dense
from whyodd.poolings import MeanVector

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.passes import Work
    from whyodd.compute.points import Points
    from whyodd.linear_maps import LinearMap
    from whyodd.poolings import Pooling

    Floats = NDArray[np.floating]
    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# The search validates its input on every call: blocks are larger than those of other passes.
_BLOCK_ROWS = 2048


@dataclass(frozen=True)
class Neighbors:
    """Centers in the space of the distances, and the pooling of the nearest of them."""

    points: Points
    pooling: Pooling

    def assign(
        self, X: Points, own: Indices, work: Work, consume: Callable[[Any, Any], None] | None = None
    ) -> Scores:
        """Scores of each row; ``consume(rows, p)`` is handed CSR assignments p (rows, m) block by block."""
        scores = Scores.empty(X.shape[0])

        def score(where: slice, x: Points) -> None:
            d, neighbors = self._search(x, own[where], self.pooling.k)
            self._pool(x, d, neighbors, scores, where)
            if consume is not None:
                consume(where, self._assignment(neighbors))

        self._sweep(X, work, score)
        return scores

    def decompose(
        self, X: Points, own: Indices, work: Work, through: LinearMap | None = None
    ) -> tuple[Wide, Scores]:
        """Relevance R (n, d) = Σ_j Δ_j (x - u_j)² / d²_j over the neighbours, and the scores."""
        n, width = X.shape[0], X.shape[1] if through is None else through.n_inputs
        relevance, scores = np.zeros((n, width)), Scores.empty(n)

        def explain(where: slice, x: Points) -> None:
            d, neighbors = self._search(x, own[where], self.pooling.k)
            d = self._pool(x, d, neighbors, scores, where)
            scores.unexplained[where] = self.pooling.unexplained(d, neighbors)
            explained = self.pooling.explained(d, neighbors)
            for rank in np.flatnonzero(explained.any(axis=0)):
                zeta = self._difference(x, neighbors, rank)
                relevance[where] += _spread(explained[:, rank], zeta, through)

        self._sweep(X, work, explain)
        return relevance, scores

    def nearest(self, X: Points, own: Indices, work: Work, k: int) -> tuple[Indices, Wide, Scores]:
        """The k nearest centers of each row (n, k), the nearest first, their assignments, and the scores."""
        index = np.empty((X.shape[0], k), dtype=np.intp)
        scores = Scores.empty(X.shape[0])
        p = np.zeros(max(k, self.pooling.k))
        p[: self.pooling.k] = self.pooling.assignment()

        def select(where: slice, x: Points) -> None:
            d, neighbors = self._search(x, own[where], p.size)
            index[where] = neighbors[:, :k]
            self._pool(x, d[:, : self.pooling.k], neighbors[:, : self.pooling.k], scores, where)

        self._sweep(X, work, select)
        return index, np.tile(p[:k], (X.shape[0], 1)), scores

    @cached_property
    def _origin(self) -> Wide:
        """Mean of the centers, taken off everything: products of large numbers cancel."""
        d = self.points.shape[1]
        return np.zeros(d) if is_sparse(self.points) else self.points.mean(axis=0)

    @cached_property
    def _centered(self) -> Points:
        return self.points if is_sparse(self.points) else self.points - self._origin

    @cached_property
    def _largest_norm(self) -> float:
        return float(squared_norms(self._centered).max())

    @cached_property
    def _index(self) -> NearestNeighbors:
        return NearestNeighbors().fit(self._centered)

    def _search(self, x: Points, own: Indices, k: int) -> tuple[Wide, Indices]:
        """Distances (n, k), ascending, to the k nearest centers, and which they are; without the own one."""
        leaves_out = bool((own >= 0).any())
        wanted = min(k + leaves_out, self.points.shape[0])
        d, neighbors = self._index.kneighbors(x, wanted)
        if self._index._fit_method == "brute":  # by matrix products: of the searches the one that rounds
            d, neighbors = self._sharpened(x, d, neighbors)
        if not leaves_out:
            return d, neighbors
        # A row is not its own neighbour; one that has no center of its own does without the farthest.
        is_own = neighbors == own[:, None]
        is_own[~is_own.any(axis=1), -1] = True
        return d[~is_own].reshape(-1, wanted - 1), neighbors[~is_own].reshape(-1, wanted - 1)

    def _sharpened(self, x: Points, d: Wide, neighbors: Indices) -> tuple[Wide, Indices]:
        """The same with exact distances where rounding could be seen, and a new search where it misleads."""
        least = np.sqrt(
            rounding(np.float64, x.shape[1]) / TOLERANCE[d.dtype] * (squared_norms(x) + self._largest_norm)
        )
        blurred = np.flatnonzero(d[:, 0] < least)
        if blurred.size:
            exact = np.column_stack([_norms(x[blurred], self._centered[nth]) for nth in neighbors[blurred].T])
            order = np.argsort(exact, axis=1, kind="stable")
            d[blurred] = np.take_along_axis(exact, order, axis=1)
            neighbors[blurred] = np.take_along_axis(neighbors[blurred], order, axis=1)
        # Which centers are the nearest is in doubt only if the farthest of them is; none is nearer than 0.
        misled = np.flatnonzero((d[:, -1] > 0.0) & (d[:, -1] < least))
        if misled.size:
            d[misled], neighbors[misled] = self._search_exactly(x[misled], d.shape[1])
        return d, neighbors

    def _search_exactly(self, x: Points, k: int) -> tuple[Wide, Indices]:
        rows, step = to_dense(x), max(1, (1 << 22) // self.points.shape[0])
        centers = to_dense(self._centered)
        found = []
        for start in range(0, len(rows), step):
            distances = cdist(rows[start : start + step], centers)
            nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]
            order = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1, kind="stable")
            nearest = np.take_along_axis(nearest, order, axis=1)
            found.append((np.take_along_axis(distances, nearest, axis=1), nearest))
        d, neighbors = zip(*found, strict=True)
        return np.concatenate(d), np.concatenate(neighbors)

    def _pool(self, x: Points, d: Wide, neighbors: Indices, scores: Scores, where: slice) -> Wide:
        """Fill in the scores; the distances that count (n, k), or (n, 1) to the mean of the neighbours."""
        if isinstance(self.pooling, MeanVector):
            d = np.sqrt(squared_norms(self._difference(x, neighbors, 0)))[:, None]
        o = self.pooling.outlierness(d, neighbors)
        scores.outlierness[where], scores.log_inlierness[where] = o, -o
        return d

    def _difference(self, x: Points, neighbors: Indices, rank: int | np.integer) -> Floats:
        """(n, d) rows minus their neighbours of a rank, or minus the mean of their neighbours."""
        if isinstance(self.pooling, MeanVector):
            return to_dense(x) - to_dense(self._assignment(neighbors) @ self._centered)
        return to_dense(x - self._centered[neighbors[:, rank]])

    def _assignment(self, neighbors: Indices) -> sparse.csr_array:
        n, k = neighbors.shape
        p = np.tile(self.pooling.assignment(), n)
        return sparse.csr_array((p, neighbors.ravel(), np.arange(0, n * k + 1, k)), (n, self.points.shape[0]))

    def _sweep(self, X: Points, work: Work, step: Callable[[slice, Points], None]) -> None:
        n, d = X.shape
        # Search by matrix products brings its own threads.
        threads = 1 if self._index._fit_method == "brute" else blocks.count_threads(work.n_jobs)
        per_row = 8 * (6 * d + 8 * self.pooling.k)
        size = int(min(max(work.memory_mb * 2**20 / threads // per_row, 1), _BLOCK_ROWS, -(-n // threads)))

        def through_blocks(shared: blocks.Blocks) -> None:
            for where in shared:
                x = X[where].astype(np.float64, copy=False)
                if is_sparse(self.points):
                    step(where, sparse.csr_array(x))
                else:
                    step(where, to_dense(x) - self._origin)

        blocks.run(blocks.Blocks(n, size, work.progress), threads, through_blocks)


def _spread(explained: Wide, zeta: Floats, through: LinearMap | None) -> Floats:
    """Δ of one neighbour per row, spread over the variables in proportion to their shares of ‖ζ‖²."""
    d2 = squared_norms(zeta)
    # Without the square of a difference that underflows: such a row has none to explain.
    weight = np.divide(explained, d2, out=np.zeros_like(d2), where=d2 > 0.0)
    return weight[:, None] * shares(zeta, through)


def _norms(x: Points, u: Points) -> Wide:
    return np.sqrt(squared_norms(x - u))
