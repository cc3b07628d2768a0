"""Soft min-pooling over centers under the plain distance: what a network does unless told otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute import plain
from whyodd.compute.mapped.components import Components
from whyodd.compute.points import to_dense
from whyodd.compute.soft.centers import choose_dtype, prepare
from whyodd.compute.work import Scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.soft.centers import Centers
    from whyodd.compute.soft.near import NearCenters
    from whyodd.compute.work import Work
    from whyodd.kernels import Kernel
    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]


@dataclass(frozen=True)
class SoftMin:
    """Centers, log-weights and a kernel, prepared once for each dtype: rows often come one at a time.

    Few rows are done in NumPy (``compute/plain.py``), all others in compiled passes. ``kept`` (m,) is the
    share of its weight that a center keeps if a row leaves it.
    """

    points: Points
    log_weights: NDArray[np.float64]
    kernel: Kernel
    kept: NDArray[np.float64]
    _prepared: dict[np.dtype[Any], Centers] = field(default_factory=dict)

    def assign(
        self, X: Points, own: Indices, work: Work, consume: Callable[[Any, Floats], None] | None = None
    ) -> Scores:
        """Scores of each row; ``consume(rows, p)`` is handed the assignments p (rows, m) block by block."""
        if self._is_small_with(X):
            return self._small.assign(X, own, work, consume)
        from whyodd.compute.soft import passes

        centers = self._centers_for(X.dtype)
        if work.tolerance == 0.0 or consume is not None or self._near is None:
            return passes.assign(X, own, centers, work, consume)
        scores = Scores.empty(X.shape[0])
        rest = self._near.fill(X, own, work, scores, None)
        if rest.size:
            scores.put(rest, passes.assign(X[rest], own[rest], centers, _rest_of(work, X, rest)))
        return scores

    def decompose(
        self, X: Points, own: Indices, work: Work, through: LinearMap | None = None
    ) -> tuple[Floats, Scores]:
        """Relevance R (n, d) = Σ_j Δ_j (x - u_j)² / d²_j, before a linear map if there is one; the scores."""
        if self._is_small_with(X):
            return self._small.decompose(X, own, work, through)
        from whyodd.compute.soft import passes

        dtype = X.dtype if through is None else np.dtype(np.float64)
        centers = self._centers_for(dtype)
        if work.tolerance == 0.0 or through is not None or self._near is None:
            return passes.decompose(X, own, centers, work, through)
        relevance, scores = np.empty(X.shape, dtype=X.dtype), Scores.empty(X.shape[0])
        rest = self._near.fill(X, own, work, scores, relevance)
        if rest.size:
            relevance[rest], inner = passes.decompose(X[rest], own[rest], centers, _rest_of(work, X, rest))
            scores.put(rest, inner)
        return relevance, scores

    @cached_property
    def _near(self) -> NearCenters | None:
        from whyodd.compute.soft.near import NearCenters

        return NearCenters.of(self._centers_for(np.dtype(np.float64)))

    def _is_small_with(self, X: Points) -> bool:
        """Whether differences to all centers are better taken one by one, in NumPy, and lose nothing."""
        if not plain.is_enough(X, self.points):
            return False
        return plain.are_ordinary(to_dense(X[:]).astype(np.float64), self.points, self.kernel.sigma)

    @cached_property
    def _small(self) -> Components:
        m, d = self.points.shape
        return Components(self.points, self.log_weights, self.kernel, (np.ones(d),) * m, self.kept)

    def _centers_for(self, dtype: np.dtype[Any]) -> Centers:
        if dtype not in self._prepared:
            chosen = choose_dtype(dtype, self.points, self.kernel)
            self._prepared[dtype] = prepare(
                self.points, self.log_weights, self.kernel, dtype=chosen, kept=self.kept
            )
        return self._prepared[dtype]


def _rest_of(work: Work, X: Points, rest: Indices) -> Work:
    """How to do the rows that are left; progress has been told of all rows unless all are left."""
    return work if rest.size == X.shape[0] else replace(work, progress=None)
