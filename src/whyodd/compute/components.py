"""Passes for centers with a metric each (mixtures): few centers, so differences are taken one by one.

Nothing cancels here: every distance and every share comes from the difference of a row and a center.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute import blocks
from whyodd.compute.centers import log_of_rest
from whyodd.compute.mixing import shares
from whyodd.compute.passes import Scores
from whyodd.compute.points import to_dense
from whyodd.linear_maps import LinearMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.passes import Work
    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel
    from whyodd.metrics import ComponentMetric

    Floats = NDArray[np.floating]
    Wide = NDArray[np.float64]
    WayBack = Callable[[Wide, Wide], Floats]


@dataclass(frozen=True)
class Components:
    """Centers u_j with log-weights, a kernel, and maps A_j: d_j = ‖A_j (x - u_j)‖."""

    points: Floats
    log_weights: Wide
    kernel: Kernel
    metric: ComponentMetric

    def assign(
        self,
        X: Points,
        own: NDArray[np.intp],
        work: Work,
        consume: Callable[[Any, Floats], None] | None = None,
    ) -> Scores:
        """Scores of each row; ``consume(rows, p)`` is handed the assignments p (rows, m) block by block."""
        scores = Scores.empty(X.shape[0])

        def score(where: slice, x: Wide) -> None:
            d2 = np.column_stack([_square_sums(self._zeta(x, j)[1]) for j in range(len(self.points))])
            p = self._pool(d2, own[where], scores, where)[0]
            if consume is not None:
                consume(where, p)

        self._sweep(X, work, score)
        return scores

    def decompose(
        self, X: Points, own: NDArray[np.intp], work: Work, through: LinearMap | None = None
    ) -> tuple[Wide, Scores]:
        """Relevance R (n, d) = Σ_j Δ_j (δ_j ⊙ A_jᵀζ_j) / d²_j, ζ_j = A_j (x - u_j), and the scores."""
        n, d = X.shape[0], X.shape[1] if through is None else through.n_inputs
        relevance, scores = np.zeros((n, d)), Scores.empty(n)
        ways = self._ways_back if through is None else self._ways_through(through)

        def explain(where: slice, x: Wide) -> None:
            pairs = [self._zeta(x, j) for j in range(len(self.points))]
            d2 = np.column_stack([_square_sums(zeta) for _, zeta in pairs])
            p, o = self._pool(d2, own[where], scores, where)
            explained = self.kernel.explained(d2, o[:, None])
            scores.unexplained[where] = np.sum(p * (o[:, None] - explained), axis=1)
            weights = np.divide(p * explained, d2, out=np.zeros_like(d2), where=d2 > 0.0)
            for weight, pair, way in zip(weights.T, pairs, ways, strict=True):
                relevance[where] += weight[:, None] * way(*pair)

        self._sweep(X, work, explain)
        return relevance, scores

    def _zeta(self, x: Wide, j: int) -> tuple[Wide, Wide]:
        """Differences to center j, and what the metric makes of them."""
        difference, factor = x - self.points[j], self.metric.factors[j]
        return difference, difference * factor if self.metric.is_diagonal else difference @ factor.T

    @cached_property
    def _ways_back(self) -> list[WayBack]:
        """Shares of ‖ζ‖² as functions of differences and ζ, for each center."""
        if self.metric.is_diagonal:
            return [_squares] * len(self.points)
        return [_way_back(factor) for factor in self.metric.factors]

    def _ways_through(self, through: LinearMap) -> list[WayBack]:
        factors = map(np.diag, self.metric.factors) if self.metric.is_diagonal else self.metric.factors
        return [_way_through(through.then(factor)) for factor in factors]

    def _pool(
        self, d2: Wide, own: NDArray[np.intp], scores: Scores, where: slice
    ) -> tuple[Wide, NDArray[np.float64]]:
        """Soft min-pooling of squared distances (rows, m): p and o; the scores are filled in."""
        v = self.log_weights + self.kernel.log_similarity(d2)
        left_out = np.flatnonzero(own >= 0)
        v[left_out, own[left_out]] = -np.inf
        peak = v.max(axis=1)
        p = np.exp(v - peak[:, None])
        total = p.sum(axis=1)
        log_g = peak + np.log(total)
        log_g[left_out] -= log_of_rest(self.log_weights)[own[left_out]]
        if self.kernel.family == "exponential":
            log_g = np.minimum(log_g, 0.0)
        p /= total[:, None]
        d2[left_out, own[left_out]] = 1.0  # of no weight, at some distance
        o = self.kernel.outlierness(log_g, np.where(own >= 0, len(self.points) - 1.0, len(self.points)))
        scores.log_inlierness[where], scores.outlierness[where] = log_g, o
        return p, np.asarray(o)

    def _sweep(self, X: Points, work: Work, step: Callable[[slice, Wide], None]) -> None:
        m, d = self.points.shape
        per_row = m * (2 * d + 4) + 4 * X.shape[1]
        threads = blocks.count_threads(work.n_jobs)
        threads = threads if X.shape[0] * per_row > blocks.WORTH_A_THREAD else 1
        size = blocks.block_rows(X.shape[0], threads, 8 * per_row, per_row, work.memory_mb)

        def through_blocks(shared: blocks.Blocks) -> None:
            for where in shared:
                step(where, to_dense(X[where]).astype(np.float64, copy=False))

        blocks.run(blocks.Blocks(X.shape[0], size, work.progress), threads, through_blocks)


def _way_back(matrix: Wide) -> WayBack:
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        return _way_through(LinearMap(matrix))
    return lambda difference, zeta: difference * (zeta @ matrix)  # A⁺ζ is the difference itself


def _way_through(whole: LinearMap) -> WayBack:
    return lambda _, zeta: shares(zeta, whole)


def _squares(_: Wide, zeta: Wide) -> Wide:
    return zeta * zeta


def _square_sums(rows: Wide) -> Wide:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
