"""Empirical tails: how few rows, the row itself among them, are as low or as high in each variable."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from whyodd.network.rebuilt import Rebuilt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# A third moment below this part of the sum of its terms may have lost its sign to rounding: each of up to
# 10^7 terms rounds by 1e-16 of its size, up as often as down.
_DOUBTFUL = 1e-11


@dataclass(frozen=True, eq=False)
class EmpiricalTails(Rebuilt):
    """Tails of a row among the training rows and itself: l_i = -log F_i(x_i), r_i = -log F̄_i(x_i).

    F_i is the share of the m + 1 values that are at most x_i, F̄_i the share that are at least x_i. If a row
    leaves out a training row, ``own``, these are the m values of the others and of the row itself: a training
    row that leaves itself out is scored among all training rows.

    The skewness that some of these terms ask for is that of the same values. Its sign is found by updating
    moments with the row, in O(1). Where rounding might decide it, it is recomputed as PyOD does, in the
    order of the rows.

    Parameters
    ----------
    training : array of shape (m, d)
        The training rows.
    """

    training: Floats

    def __post_init__(self) -> None:
        self._freeze("training", None, None)

    @cached_property
    def usual(self) -> Floats:
        """(d,) the medians."""
        return np.asarray(np.median(self.training, axis=0))

    def of(self, X: Floats, own: Indices | None = None) -> Floats:
        """Terms (n, d) of rows (n, d)."""
        left_out = np.full(len(X), -1) if own is None else np.asarray(own)
        columns = [self._column(i, X[:, i], left_out) for i in range(X.shape[1])]
        return np.column_stack(columns)

    def combine(self, low: Floats, high: Floats, skewness: Floats) -> Floats:
        """Term of the tails l and r, given the sign of the skewness."""
        raise NotImplementedError

    def _column(self, i: int, x: Floats, own: Indices) -> Floats:
        is_out, gone = own >= 0, self.training[own, i]
        ordered, m = self._ordered[i], len(self.training)
        at_most = np.searchsorted(ordered, x, side="right") + 1 - (is_out & (gone <= x))
        at_least = m - np.searchsorted(ordered, x, side="left") + 1 - (is_out & (gone >= x))
        count = m + 1 - is_out
        low, high = (np.abs(np.log(tail / count)) for tail in (at_most, at_least))
        return self.combine(low, high, self._skewness(i, x, own))

    def _skewness(self, i: int, x: Floats, own: Indices) -> Floats:
        """(n,) sign of the skewness of column i with each value added, and the one left out taken away."""
        moments = self._moments[i]
        is_out, gone = own >= 0, self.training[own, i]
        added = x - moments.center
        taken = np.where(is_out, gone - moments.center, 0.0)
        count = len(self.training) + 1 - is_out
        first, second, third = (moments.sums[p - 1] + added**p - taken**p for p in (1, 2, 3))
        mean = first / count
        m3 = third / count - 3.0 * mean * second / count + 2.0 * mean**3
        size = (moments.absolute + np.abs(added) ** 3) / count + 3.0 * np.abs(mean) * second / count
        signs = np.sign(m3)
        is_same = is_out & (gone == x)  # the training rows themselves
        signs[is_same] = moments.skewness
        constant = moments.is_constant & (x == moments.center)
        signs[constant] = 0.0
        # Like SciPy, which treats columns that vary only by rounding as constant.
        level, variance = np.abs(moments.center + mean), second / count - mean**2
        doubtful = ~(is_same | constant) & ~((np.abs(m3) > _DOUBTFUL * size) & (variance > 1e-24 * level**2))
        if doubtful.any():
            signs[doubtful] = self._skewness_anew(i, x[doubtful], own[doubtful])
        return np.asarray(signs)

    def _skewness_anew(self, i: int, x: Floats, own: Indices) -> Floats:
        """(n,) the same by all values, once for equal ones."""
        pairs, place = np.unique(np.column_stack([x, own]), axis=0, return_inverse=True)
        column = self.training[:, i]
        signs = [
            _sign_of_skewness(
                np.append(column if row < 0 else np.delete(column, int(row)), value), self._width
            )
            for value, row in pairs
        ]
        return np.array(signs)[np.ravel(place)]

    @property
    def _width(self) -> int:
        # NumPy sums a single column in another order than several, and so rounds differently.
        return min(int(self.training.shape[1]), 2)

    @cached_property
    def _ordered(self) -> Floats:
        return np.ascontiguousarray(np.sort(self.training, axis=0).T)

    @cached_property
    def _moments(self) -> list[_Moments]:
        return [_Moments.of(column, self._width) for column in self.training.T]


class BothTails(EmpiricalTails):
    """The rarer tail counts: t = max(l, r), and l + r in a column without skewness.

    These are the terms of ECOD.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.sums.empirical_tails import BothTails
    >>> BothTails([[0.0], [1.0], [5.0]]).of(np.array([[9.0]])).round(3)
    array([[1.386]])
    """

    def combine(self, low: Floats, high: Floats, skewness: Floats) -> Floats:
        """max(l, r), or l + r."""
        return np.where(skewness == 0.0, low + high, np.maximum(low, high))


class LongerTail(EmpiricalTails):
    """The longer tail counts: t = max((l + r)/2, r if skewed to the right, l to the left, else l + r).

    These are the terms of COPOD.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.sums.empirical_tails import LongerTail
    >>> LongerTail([[0.0], [1.0], [5.0]]).of(np.array([[9.0], [-1.0]])).round(3)
    array([[1.386],
           [0.693]])
    """

    def combine(self, low: Floats, high: Floats, skewness: Floats) -> Floats:
        """The longer tail, or half of both."""
        longer = np.where(skewness <= 0.0, low, 0.0) + np.where(skewness >= 0.0, high, 0.0)
        return np.asarray(np.maximum(longer, (low + high) / 2.0))


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums of powers of a column about its mean.

    Attributes
    ----------
    center : float
        About what: the mean.
    sums : tuple of float
        Σ(x - c), Σ(x - c)², Σ(x - c)³.
    absolute : float
        Σ|x - c|³.
    skewness : float
        Sign of the skewness.
    is_constant : bool
        Whether all values are the center.
    """

    center: float
    sums: tuple[float, ...]
    absolute: float
    skewness: float
    is_constant: bool

    @classmethod
    def of(cls, column: Floats, width: int) -> _Moments:
        low, high = float(column.min()), float(column.max())
        center = low if low == high else float(column.mean())
        gaps = column - center
        sums = tuple(float((gaps**p).sum()) for p in (1, 2, 3))
        absolute = float((np.abs(gaps) ** 3).sum())
        return cls(center, sums, absolute, _sign_of_skewness(column, width), low == high)


def _sign_of_skewness(column: Floats, width: int) -> float:
    """Sign of the skewness by SciPy, as in PyOD: 0 of a column that is constant to rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that it is almost constant
        found = stats.skew(np.repeat(column[:, None], width, axis=1), axis=0)
    return float(np.sign(np.nan_to_num(found[0])))
