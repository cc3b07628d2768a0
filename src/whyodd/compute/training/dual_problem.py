"""The dual at a feasible point: min ½ αᵀKα + pᵀα, 0 ≤ α ≤ C, Σα fixed, with its gradient g = Kα + p.

A working set is again such a problem: the coefficients outside it are fixed and end up in p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whyodd.compute.training.gram import GramRows

if TYPE_CHECKING:
    from whyodd.compute.training.gram import Float64Array, IndexArray, RadialPoints

# How many of the worst violators on either side bring similar support vectors into a working set.
_WORST = 4
# Rows of K that are computed at once, or as many as are so much work; work up to which all of them are.
# Matrix products of a few rows alone, in float32, are slow.
_AHEAD, _AHEAD_WORK, _SMALL, _AHEAD_PRODUCTS = 4, 400_000, 500_000, 64


@dataclass
class DualProblem:
    """A feasible α, its bounds and its gradient, changed in place by the solvers.

    Attributes
    ----------
    points : RadialPoints
    upper : ndarray (n,)
        C.
    alpha : ndarray (n,)
    gradient : ndarray (n,)
        Kα + p.
    rows : GramRows or None
        Rows of K, if those that are needed are kept.
    """

    points: RadialPoints
    upper: Float64Array
    alpha: Float64Array
    gradient: Float64Array
    rows: GramRows | None = None

    @classmethod
    def at(cls, points: RadialPoints, upper: Float64Array, alpha: Float64Array, room: int = 0) -> DualProblem:
        """State the whole problem, p = 0, and compute its gradient from nothing.

        With ``room`` for that many rows of K, those that the gradient is made of are kept.
        """
        support = np.flatnonzero(alpha)
        if room:
            rows = GramRows(points, room)
            rows.add(np.arange(len(alpha)) if len(alpha) * points.row_work <= _SMALL else support)
            return cls(points, upper, alpha, rows.product(alpha), rows)
        if 2 * len(support) > len(alpha):
            return cls(points, upper, alpha, points.gram_product(alpha))
        return cls(points, upper, alpha, points.product(points.take(support), alpha[support]))

    def __len__(self) -> int:
        return len(self.alpha)

    def bounds(self) -> tuple[float, float]:
        """(min g over α < C, max g over α > 0): at the optimum the first is not below the second."""
        lowest = self.gradient.min(where=self.alpha < self.upper, initial=np.inf)
        highest = self.gradient.max(where=self.alpha > 0.0, initial=-np.inf)
        return float(lowest), float(highest)

    def violation(self) -> float:
        """How far the optimality conditions are from holding, as libsvm measures it."""
        lowest, highest = self.bounds()
        return max(highest - lowest, 0.0)

    def middle(self) -> float:
        """Mean gradient of the free coefficients, else the middle of its bounds, else the one there is."""
        free = (self.alpha > 0.0) & (self.alpha < self.upper)
        if free.any():
            return float(self.gradient[free].mean())
        bounds = np.array(self.bounds())
        return float(bounds[np.isfinite(bounds)].mean())

    def threshold(self) -> float:
        """ρ: the middle, or lower, so that no more than Σα (a share ν) of the rows, by weight, is below it.

        With many free coefficients most rows lie within the tolerance of the middle, on either side.
        """
        middle, allowed = self.middle(), float(self.alpha.sum())
        if float(self.upper[self.gradient < middle].sum()) <= allowed:
            return middle
        order = np.argsort(self.gradient, kind="stable")
        first = int(np.searchsorted(np.cumsum(self.upper[order]), allowed, side="right"))
        return min(middle, float(self.gradient[order[min(first, order.size - 1)]]))

    def count_violators(self, tol: float) -> int:
        """Count the coefficients whose gradient is on the wrong side of the middle."""
        excess = self.gradient - self.middle()
        grow = (excess < -0.5 * tol) & (self.alpha < self.upper)
        shrink = (excess > 0.5 * tol) & (self.alpha > 0.0)
        return int(np.count_nonzero(grow | shrink))

    def next_rows(self, missing: int, rows: GramRows) -> IndexArray:
        """The missing row of K, and those likely to be needed soon: a few together cost little more."""
        grows = self.alpha[missing] < self.upper[missing]
        may_move = self.alpha < self.upper if grows else self.alpha > 0.0
        urgency = np.where(may_move & (rows.slots < 0), self.gradient if grows else -self.gradient, np.inf)
        urgency[missing] = -np.inf
        least = _AHEAD if rows.values.dtype == np.float64 else _AHEAD_PRODUCTS
        some = min(max(least, _AHEAD_WORK // self.points.row_work), len(self))
        soon = np.argpartition(urgency, some - 1)[:some]
        return np.sort(soon[urgency[soon] < np.inf])

    def working_set(self, size: int) -> IndexArray:
        """Choose the smallest gradients of those that may grow and the largest of those that may shrink.

        A quarter of the set are the support vectors most similar to the worst of them: a violation is best
        undone there, and their own gradients need not be extreme.
        """
        grow, shrink = np.flatnonzero(self.alpha < self.upper), np.flatnonzero(self.alpha > 0.0)

        def extremes(count: int) -> IndexArray:
            return np.union1d(
                _smallest(grow, self.gradient[grow], count), _smallest(shrink, -self.gradient[shrink], count)
            )

        similarities = self.points.take(extremes(_WORST)).block(self.points.take(shrink))
        partners = [_smallest(shrink, -row, size // (8 * _WORST)) for row in similarities]
        return np.unique(np.concatenate([extremes(3 * size // 8), *partners]))

    def restricted_to(self, index: IndexArray) -> DualProblem:
        """State the problem in the coefficients of ``index``, all others fixed."""
        return DualProblem(
            self.points.take(index), self.upper[index], self.alpha[index], self.gradient[index]
        )

    def adopt(self, part: DualProblem, index: IndexArray) -> None:
        """Take over the coefficients of a solved part, and what they do to the gradient of all others."""
        change = part.alpha - self.alpha[index]
        moved = np.flatnonzero(change)
        self.gradient += self.points.product(part.points.take(moved), change[moved])
        self.gradient[index] = part.gradient
        self.alpha[index] = part.alpha

    def move_to(self, alpha: Float64Array) -> None:
        """Change all coefficients at once."""
        change = alpha - self.alpha
        self.gradient += self.points.gram_product(change)
        self.alpha = alpha


def _smallest(index: IndexArray, values: npt.NDArray[Any], count: int) -> IndexArray:
    """Those of ``index`` with the ``count`` smallest values."""
    return index if len(index) <= count else index[np.argpartition(values, count)[:count]]
