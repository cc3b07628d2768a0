"""Feature flipping in the variables of one network, whatever its distance and pooling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.flipping.removals import Removals
    from whyodd.compute.flipping.soft import SoftFlipping
    from whyodd.compute.flipping.steps import StepFlipping
    from whyodd.compute.points import Points
    from whyodd.kernels import Kernel
    from whyodd.maths.hard_poolings import Pooling
    from whyodd.maths.metrics import Metric


@dataclass(frozen=True)
class NetworkFlipping:
    """Prepared parts of a network, for many calls."""

    centers: Points
    log_weights: NDArray[np.float64]
    kernel: Kernel
    kept: NDArray[np.float64]
    metric: Metric | None
    pooling: Pooling | None

    def curves(
        self,
        X: Points,
        removals: Removals,
        left_out: NDArray[np.intp],
        n_jobs: int | None,
        progress: Callable[[int], None] | None,
    ) -> NDArray[np.float64]:
        """o(Ψ) of rows X (n, d), before and after each of S steps (n, S + 1).

        ``left_out`` (n,) is the center that each row leaves, or -1; ``progress`` receives how many rows are
        done.
        """
        if self.pooling is None and self.metric is None:
            curves, small = self._soft.curves(X, removals, left_out, n_jobs, progress)
            if small.size:
                some = X[small], removals.of_rows(small), left_out[small]
                curves[small] = self._steps.curves(*some, n_jobs)
        else:
            curves = self._steps.curves(X, removals, left_out, n_jobs, progress)
        _check_representable(curves)
        return curves

    @cached_property
    def _soft(self) -> SoftFlipping:
        from whyodd.compute.flipping.soft import SoftFlipping

        return SoftFlipping(self.centers, self.log_weights, self.kernel, self.kept)

    @cached_property
    def _steps(self) -> StepFlipping:
        from whyodd.compute.flipping.steps import StepFlipping

        return StepFlipping(self.centers, self.log_weights, self.kernel, self.kept, self.metric, self.pooling)


def _check_representable(curves: NDArray[np.float64]) -> None:
    if not np.isfinite(curves).all():
        row = int(np.argmin(np.isfinite(curves).all(axis=1)))
        raise OverflowError(
            f"Row {row} of X is so far from every center that its outlierness exceeds the largest float. "
            "Check the row's values, or use a larger bandwidth or a smaller q."
        )
