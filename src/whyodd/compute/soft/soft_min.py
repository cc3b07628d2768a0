"""Soft min-pooling over centers under the plain distance: what a network does unless told otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.soft import passes
from whyodd.compute.soft.centers import choose_dtype, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.compute.soft.centers import Centers
    from whyodd.compute.soft.passes import Scores, Work
    from whyodd.kernels import Kernel
    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]


@dataclass(frozen=True)
class SoftMin:
    """Centers, log-weights and a kernel, prepared once for each dtype: rows often come one at a time."""

    points: Points
    log_weights: NDArray[np.float64]
    kernel: Kernel
    _prepared: dict[np.dtype[Any], Centers] = field(default_factory=dict)

    def assign(
        self, X: Points, own: Indices, work: Work, consume: Callable[[Any, Floats], None] | None = None
    ) -> Scores:
        """Scores of each row; ``consume(rows, p)`` is handed the assignments p (rows, m) block by block."""
        return passes.assign(X, own, self._centers_for(X.dtype), work, consume)

    def decompose(
        self, X: Points, own: Indices, work: Work, through: LinearMap | None = None
    ) -> tuple[Floats, Scores]:
        """Relevance R (n, d) = Σ_j Δ_j (x - u_j)² / d²_j, before a linear map if there is one; the scores."""
        dtype = X.dtype if through is None else np.dtype(np.float64)
        return passes.decompose(X, own, self._centers_for(dtype), work, through)

    def _centers_for(self, dtype: np.dtype[Any]) -> Centers:
        if dtype not in self._prepared:
            chosen = choose_dtype(dtype, self.points, self.kernel)
            self._prepared[dtype] = prepare(self.points, self.log_weights, self.kernel, dtype=chosen)
        return self._prepared[dtype]
