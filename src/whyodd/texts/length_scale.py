"""What is usual at each length: its level, and the spread of messages of that length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Messages of similar length that define what is usual, and groups of them: enough for a median and a
# quantile.
_LIKE, _MOST_GROUPS = 100, 20
_UPPER = 0.9  # quantile whose distance from the median is the spread upwards
# Means of n independent terms spread with n^-1/2; they depend on each other, but no spread falls faster.
_SLOPES = (-1.0, 0.0)


@dataclass(frozen=True, eq=False)
class LengthScale:
    """log o = (log s - level(n)) (n / middle)^-slope, for a score s of a message of n terms.

    ``level`` is the median of log s at that length, between groups of like length a line in log n, beyond
    the shortest and longest of them constant. Scores of long messages lie closer together than those of
    short ones, by a power of n: a message is as odd as usual if o is 1, and at all lengths as many exceed
    any other o.

    Attributes
    ----------
    log_lengths, levels : ndarray of shape (groups,)
    slope, middle : float
    """

    log_lengths: Floats
    levels: Floats
    slope: float
    middle: float

    @classmethod
    def of(cls, lengths: NDArray[np.integer], log_scores: Floats) -> LengthScale:
        """Scale of normal messages, none of them empty."""
        n_groups = int(np.clip(lengths.size // _LIKE, 1, _MOST_GROUPS))
        order = np.argsort(lengths, kind="stable")
        groups = np.array_split(order, n_groups)
        x = np.array([np.log(lengths[group]).mean() for group in groups])
        levels = np.array([np.median(log_scores[group]) for group in groups])
        spreads = np.array([np.quantile(log_scores[group], _UPPER) for group in groups]) - levels
        return cls(x, levels, _slope(x, spreads), float(np.median(np.log(lengths))))

    def log_outlierness(self, lengths: NDArray[np.integer], log_scores: Floats) -> Floats:
        """(n,) log o; scores may be -inf."""
        x = np.clip(np.log(np.maximum(lengths, 1)), self.log_lengths[0], self.log_lengths[-1])
        stretch = np.exp(-self.slope * (x - self.middle))
        return np.asarray((log_scores - np.interp(x, self.log_lengths, self.levels)) * stretch)


def _slope(x: Floats, spreads: Floats) -> float:
    """Slope of the line of log spreads over log lengths; 0 if there is no such line."""
    used = spreads > 0.0
    if np.count_nonzero(used) < 2 or np.ptp(x[used]) == 0.0:
        return 0.0
    return float(np.clip(np.polyfit(x[used], np.log(spreads[used]), 1)[0], *_SLOPES))
