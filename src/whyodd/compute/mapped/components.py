"""Passes for few centers with a metric each, or one for all (mixtures): differences are taken one by one.

Nothing cancels here: every distance and every share comes from the difference of a row and a center.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whyodd.compute import blocks, plain
from whyodd.compute.mapped.mixing import WayBack, way_back
from whyodd.compute.mapped.rows import diagonal_of
from whyodd.compute.points import as_compiled, squared_norms, to_dense
from whyodd.compute.soft.centers import log_of_rest
from whyodd.compute.soft.in_numpy import pool
from whyodd.compute.work import Scores
from whyodd.maths.metrics import ComponentMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.work import Work
    from whyodd.kernels import Kernel
    from whyodd.maths.linear_maps import LinearMap
    from whyodd.maths.metrics import Metric

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# A block costs as many calls of NumPy as there are steps and centers: rows to share them among.
_BLOCK_ROWS = 4096


class Legs(Protocol):
    """Distances from the rows of a block to every center, and each variable's part of them."""

    def squared_distances(self) -> Wide:
        """d² (n, m)."""

    def add_shares(self, weights: Wide, relevance: Wide, unexplained: Wide) -> None:
        """Add Σ_j W_j times each variable's part of d²_j to (n, d), and the part of no variable to (n,)."""


@dataclass(frozen=True)
class Components:
    """Centers u_j with log-weights, a kernel, and maps A_j: d_j = ‖A_j (x - u_j)‖.

    Attributes
    ----------
    points : ndarray of shape (m, d)
    log_weights : ndarray of shape (m,)
    kernel : Kernel
    factors : tuple of m arrays
        Each A_j of shape (k, d), or the diagonal (d,) of it, if all are diagonal. One array may serve several
        centers.
    kept : ndarray of shape (m,)
        Share of its weight that a center keeps if a row leaves it.
    """

    points: Wide
    log_weights: Wide
    kernel: Kernel
    factors: tuple[Wide, ...]
    kept: Wide

    def assign(
        self, X: Points, own: Indices, work: Work, consume: Callable[[Any, Wide], None] | None = None
    ) -> Scores:
        """Scores of each row; ``consume(rows, p)`` is handed the assignments p (rows, m) block by block."""
        scores, is_small = Scores.empty(X.shape[0]), plain.is_enough(X, self.points)

        def score(where: slice, x: Wide) -> None:
            d2 = self._legs(x, None, is_small).squared_distances()
            p = self._pool(d2, own[where], scores, where)
            if consume is not None:
                consume(where, p)

        self._sweep(X, work, score, self._floats_per_row(None, 0, is_small))
        return scores

    def decompose(
        self, X: Points, own: Indices, work: Work, through: LinearMap | None = None
    ) -> tuple[Wide, Scores]:
        """Relevance R (n, d) = Σ_j Δ_j (δ_j ⊙ A_jᵀζ_j) / d²_j, ζ_j = A_j (x - u_j), and the scores."""
        n, width = X.shape[0], X.shape[1] if through is None else through.n_inputs
        relevance, scores = np.zeros((n, width)), Scores.empty(n)
        ways = self._ways_back if through is None else self._ways(through)
        is_small = plain.is_enough(X, self.points)

        def explain(where: slice, x: Wide) -> None:
            legs = self._legs(x, ways, is_small)
            d2 = legs.squared_distances()
            p = self._pool(d2, own[where], scores, where)
            o = scores.outlierness[where, None]
            explained = self.kernel.explained(d2, o)
            scores.unexplained[where] = np.sum(p * (o - explained), axis=1)
            weights = np.divide(p * explained, d2, out=np.zeros_like(d2), where=d2 > 0.0)
            legs.add_shares(weights, relevance[where], scores.unexplained[where])

        self._sweep(X, work, explain, self._floats_per_row(ways, width, is_small))
        return relevance, scores

    def _legs(self, x: Wide, ways: Sequence[WayBack] | None, is_small: bool) -> Legs:
        if ways is None and self._diagonals is not None:
            parts = as_compiled(x), as_compiled(self.points), as_compiled(self._diagonals)
            return _DiagonalLegs(*parts, loops=plain if is_small else _compiled_loops())
        return _GeneralLegs(x, self.points, self.factors, ways or ())

    @cached_property
    def _diagonals(self) -> Wide | None:
        return np.stack(self.factors) if self.factors[0].ndim == 1 else None

    @cached_property
    def _ways_back(self) -> list[WayBack] | None:
        """The way back from each center; None for diagonal metrics, where each variable goes its own way."""
        return None if self._diagonals is not None else self._ways(None)

    def _ways(self, through: LinearMap | None) -> list[WayBack]:
        """The way back from each center; a factorisation shared by many centers is computed once."""
        distinct = {id(factor): factor for factor in self.factors}
        ways = {name: way_back(factor, through) for name, factor in distinct.items()}
        return [ways[id(factor)] for factor in self.factors]

    def _pool(self, d2: Wide, own: Indices, scores: Scores, where: slice) -> Wide:
        """Soft min-pooling of squared distances (rows, m): p; outlierness and log g are filled in."""
        log_g, o, p = pool(d2, own, self.log_weights, self.kept, self._log_rest, self.kernel)
        scores.log_inlierness[where], scores.outlierness[where] = log_g, o
        return p

    @cached_property
    def _log_rest(self) -> Wide:
        return log_of_rest(self.log_weights, self.kept)

    def _floats_per_row(self, ways: Sequence[WayBack] | None, width: int, is_small: bool) -> int:
        """Beside input and output: pooling, raw rows and relevance, and all legs if they are kept."""
        m, d = self.points.shape
        if ways is None and self._diagonals is not None:
            legs = 3 * m * d if is_small else 0
        else:
            legs = m * d + sum(map(len, self.factors))
        return int(legs + 8 * m + 4 * max(width, d))

    def _sweep(self, X: Points, work: Work, step: Callable[[slice, Wide], None], floats_per_row: int) -> None:
        n, m = X.shape[0], len(self.points)
        threads = blocks.count_threads(work.n_jobs)
        threads = threads if n * m * X.shape[1] > blocks.WORTH_A_THREAD else 1
        per_row = 8 * floats_per_row
        size = blocks.block_rows(n, threads, per_row, floats_per_row, work.memory_mb, _BLOCK_ROWS)

        def through_blocks(shared: blocks.Blocks) -> None:
            # Distances beyond the largest float come out infinite, and so does the outlierness.
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                for where in shared:
                    step(where, to_dense(X[where]).astype(np.float64, copy=False))

        blocks.run(blocks.Blocks(n, size, work.progress), threads, through_blocks)


def factors_of(metric: Metric, m: int) -> tuple[Wide, ...]:
    """A metric for each of m centers: a matrix, or a diagonal."""
    if isinstance(metric, ComponentMetric):
        return tuple(metric.factors)
    scales = diagonal_of(metric.matrix)
    return (metric.matrix if scales is None else scales,) * m


def _compiled_loops() -> Any:
    from whyodd.compute.mapped import diagonal

    return diagonal


@dataclass(frozen=True)
class _DiagonalLegs:
    """ζ is a product per variable, and its squares are the shares; ``loops`` are compiled or plain."""

    x: Wide
    points: Wide
    factors: Wide
    loops: Any

    def squared_distances(self) -> Wide:
        out = np.empty((len(self.x), len(self.points)))
        self.loops.squared_distances(self.x, self.points, self.factors, out)
        return out

    def add_shares(self, weights: Wide, relevance: Wide, unexplained: Wide) -> None:
        del unexplained  # nothing is: every ζ is a variable's
        self.loops.add_shares(self.x, self.points, self.factors, weights, relevance)


@dataclass(frozen=True)
class _GeneralLegs:
    """ζ by a matrix product per center, kept for the way back."""

    x: Wide
    points: Wide
    factors: Sequence[Wide]
    ways: Sequence[WayBack]

    def squared_distances(self) -> Wide:
        return np.column_stack([squared_norms(zeta) for _, zeta in self._pairs])

    def add_shares(self, weights: Wide, relevance: Wide, unexplained: Wide) -> None:
        for weight, (difference, zeta), way in zip(weights.T, self._pairs, self.ways, strict=True):
            relevance += weight[:, None] * way.shares(difference, zeta)
            unexplained += weight * way.outside(zeta)

    @cached_property
    def _pairs(self) -> list[tuple[Wide, Wide]]:
        return [self._pair(u, factor) for u, factor in zip(self.points, self.factors, strict=True)]

    def _pair(self, u: Wide, factor: Wide) -> tuple[Wide, Wide]:
        difference = self.x - u
        return difference, difference * factor if factor.ndim == 1 else difference @ factor.T
