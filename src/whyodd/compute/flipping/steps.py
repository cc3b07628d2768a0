"""Feature flipping for networks with a metric or a hard pooling: one row at a time, in float64.

As in ``flipping.py`` variables come back one step after the other, from nothing left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from whyodd.compute import blocks
from whyodd.compute.points import is_sparse, squared_norms, to_dense
from whyodd.compute.soft.centers import log_of_rest
from whyodd.compute.soft.in_numpy import pool
from whyodd.maths.hard_poolings import MeanVector
from whyodd.maths.metrics import ComponentMetric, LinearMetric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.flipping.removals import Removals
    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel
    from whyodd.maths.hard_poolings import Pooling
    from whyodd.maths.metrics import Metric

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]


class Legs(Protocol):
    """From one row to every center, with the differences that are left."""

    def add(self, columns: Indices, shares: Wide, more: Wide) -> None:
        """Let differences of ``columns`` count with ``more`` than their ``shares`` so far."""

    def squared_distances(self) -> Wide:
        """d² (m,)."""

    def to_mean(self, chosen: Indices) -> float:
        """Distance to the mean of some centers."""


@dataclass(frozen=True)
class StepFlipping:
    """Centers with a metric, pooled softly or hard: o while variables are taken away.

    Attributes
    ----------
    points : ndarray or CSR array of shape (m, d)
    log_weights : ndarray of shape (m,)
    kernel : Kernel
    kept : ndarray of shape (m,)
        Share of its weight that a center keeps if a row leaves it.
    metric : LinearMetric, ComponentMetric or None
    pooling : Pooling or None
        None: soft min-pooling over the kernel.
    """

    points: Points
    log_weights: Wide
    kernel: Kernel
    kept: Wide
    metric: Metric | None = None
    pooling: Pooling | None = None

    def curves(
        self,
        X: Points,
        removals: Removals,
        own: Indices,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Wide:
        """Outlierness (n, S + 1) before and after each of S steps; infinite where it exceeds all floats."""
        curves = np.empty((X.shape[0], removals.steps + 1))

        def work(shared: blocks.Blocks) -> None:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                for rows in shared:
                    i = rows.start
                    x = to_dense(X[rows]).astype(np.float64)[0]
                    curves[i] = self._flip(x, removals.of_rows(rows), int(own[i]))

        blocks.run(blocks.Blocks(X.shape[0], 1, progress), blocks.count_threads(n_jobs), work)
        return curves

    def _flip(self, x: Wide, removals: Removals, own: int) -> Wide:
        legs, shares = self._legs(x), np.zeros(len(x))
        order, ends = _by_stage(removals.stages[0], removals.steps)
        curve = np.empty(removals.steps + 1)
        curve[-1] = o = self._pool(legs, own)
        for step in range(removals.steps, 0, -1):
            entries = order[ends[step - 1] : ends[step]]
            if entries.size:
                columns, before = np.unique(removals.columns[entries]), shares.copy()
                squares = shares * shares
                np.add.at(squares, removals.columns[entries], removals.gains[0, entries])
                shares = np.sqrt(squares)
                legs.add(columns, before[columns], shares[columns])
                o = self._pool(legs, own)
            curve[step - 1] = o
        return curve

    def _legs(self, x: Wide) -> Legs:
        if self.metric is None:
            return _PlainLegs(x, self._by_column)
        if isinstance(self.metric, LinearMetric):
            return _LinearLegs(x, self._by_column, self.metric.matrix)
        return _ComponentLegs(x, self._by_column, self.metric)

    @cached_property
    def _by_column(self) -> Any:
        """The centers, columns of which are taken."""
        return sparse.csc_array(self.points) if is_sparse(self.points) else self.points

    def _pool(self, legs: Legs, own: int) -> float:
        d2 = legs.squared_distances()
        if self.pooling is None:
            some = d2[None], np.array([own]), self.log_weights, self.kept, self._log_rest
            return float(pool(*some, self.kernel)[1][0])
        if own >= 0:
            d2[own] = np.inf
        chosen = _smallest(d2, self.pooling.k)
        is_mean = isinstance(self.pooling, MeanVector)
        d = np.array([legs.to_mean(chosen)]) if is_mean else np.sqrt(d2[chosen])
        return float(self.pooling.outlierness(d[None], chosen[None])[0])

    @cached_property
    def _log_rest(self) -> Wide:
        return log_of_rest(self.log_weights, self.kept)


class _PlainLegs:
    """d² grows by squares; nothing else is kept."""

    def __init__(self, x: Wide, points: Any) -> None:
        self.x, self.points = x, points
        self.d2 = np.zeros(points.shape[0])
        self.left = np.zeros(len(x))

    def add(self, columns: Indices, shares: Wide, more: Wide) -> None:
        self.left[columns] = more
        difference = self.x[columns] - to_dense(self.points[:, columns])
        self.d2 += squared_norms(difference * np.sqrt(more**2 - shares**2))

    def squared_distances(self) -> Wide:
        return self.d2.copy()

    def to_mean(self, chosen: Indices) -> float:
        difference = self.x - to_dense(self.points[chosen])
        return float(np.linalg.norm(difference.mean(axis=0) * self.left))


class _LinearLegs:
    """ζ = A Ψ grows by the columns of A."""

    def __init__(self, x: Wide, points: Any, matrix: Wide) -> None:
        self.x, self.points, self.matrix = x, points, matrix
        self.zeta = np.zeros((points.shape[0], len(matrix)))

    def add(self, columns: Indices, shares: Wide, more: Wide) -> None:
        difference = (self.x[columns] - to_dense(self.points[:, columns])) * (more - shares)
        self.zeta += difference @ self.matrix[:, columns].T

    def squared_distances(self) -> Wide:
        return squared_norms(self.zeta)

    def to_mean(self, chosen: Indices) -> float:
        return float(np.linalg.norm(self.zeta[chosen].mean(axis=0)))


class _ComponentLegs(_LinearLegs):
    """ζ_j = A_j Ψ_j grows by the columns of each A_j."""

    def __init__(self, x: Wide, points: Any, metric: ComponentMetric) -> None:
        self.factors = metric.factors
        width = metric.factors.shape[1]
        super().__init__(x, points, np.empty((width, 0)))

    def add(self, columns: Indices, shares: Wide, more: Wide) -> None:
        difference = (self.x[columns] - to_dense(self.points[:, columns])) * (more - shares)
        if self.factors.ndim == 2:
            self.zeta[:, columns] += difference * self.factors[:, columns]
        else:
            self.zeta += np.einsum("mc,mkc->mk", difference, self.factors[:, :, columns])


def _by_stage(stages: NDArray[np.int32], steps: int) -> tuple[Indices, Indices]:
    """Entries by ascending stage, and (S + 1,) how many have a stage of at most 0, ..., S."""
    order = np.argsort(stages, kind="stable")
    return order, np.searchsorted(stages[order], np.arange(steps + 1), side="right")


def _smallest(d2: Wide, k: int) -> Indices:
    """The k smallest in ascending order, of equal ones those that come first."""
    limit = np.partition(d2, k - 1)[k - 1]
    candidates = np.flatnonzero(d2 <= limit)
    return candidates[np.argsort(d2[candidates], kind="stable")[:k]]
