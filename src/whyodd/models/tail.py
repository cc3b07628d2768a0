"""How rare an outlierness is among normal rows, even beyond the largest one seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# Above the quantile that this share exceeds, a fitted tail takes over from what was seen.
_TAIL = 0.05
# Shapes of the tail: at least exponential, so that nothing is impossible, and with a finite mean.
_SHAPES = (0.0, 0.9)
# What rounding may change of a score when its row is scored again, beside other rows.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """Distribution of the outlierness of normal rows that were not learned.

    Up to the last 5 % it is empirical. Beyond that, a generalised Pareto tail is fitted to the quantiles that
    20, 10 and 5 % exceed (Pickands, 1975): a few odd rows among the normal ones do not move these.

    Parameters
    ----------
    scores : array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.models.tail import ScoreDistribution
    >>> known = ScoreDistribution(np.random.default_rng(0).exponential(size=2000))
    >>> known.p_values([0.0, 0.7, 9.2]).round(3)
    array([1.   , 0.502, 0.   ])
    """

    scores: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", np.sort(np.asarray(self.scores, dtype=np.float64)))

    def p_values(self, outlierness: ArrayLike) -> Floats:
        """Share of normal rows (n,) that are at least as odd."""
        o, n = np.asarray(outlierness, dtype=np.float64), self.scores.size
        seen = (n - np.searchsorted(self.scores, o, side="left") + 1.0) / (n + 1.0)
        start, scale, shape = self._tail
        beyond = np.maximum(o - start, 0.0) / scale
        fitted = _TAIL * (np.exp(-beyond) if shape == 0.0 else (1.0 + shape * beyond) ** (-1.0 / shape))
        return np.asarray(np.where(o > start, np.minimum(fitted, seen), np.maximum(seen, _TAIL)))

    def threshold(self, share: float) -> float:
        """Outlierness that this share of normal rows exceeds."""
        n_beyond = int(share * (self.scores.size + 1.0))
        seen = float(self.scores[-n_beyond]) if n_beyond else np.inf
        seen += _ROUNDING * abs(seen)  # a row that is scored again does not exceed itself
        start, scale, shape = self._tail
        if share >= _TAIL:
            return seen if n_beyond else start  # with few rows the share is less than one row
        rarer = _TAIL / share
        fitted = start + scale * (np.log(rarer) if shape == 0.0 else (rarer**shape - 1.0) / shape)
        # If few normal rows suggest a heavy tail, the largest values seen bound it.
        return float(min(fitted, seen))

    @cached_property
    def _tail(self) -> tuple[float, float, float]:
        """Where the tail starts, its scale there, and its shape."""
        far, farther, farthest = np.quantile(self.scores, [1.0 - 4 * _TAIL, 1.0 - 2 * _TAIL, 1.0 - _TAIL])
        first, second = max(farther - far, 1e-12), max(farthest - farther, 1e-12)
        shape = float(np.clip(np.log2(second / first), *_SHAPES))
        # From the excess over `far` that a quarter of those beyond it exceed.
        reach = max(farthest - far, 1e-12)
        at_far = reach / np.log(4.0) if shape == 0.0 else reach * shape / (4.0**shape - 1.0)
        return float(farthest), float(at_far + shape * reach), shape
