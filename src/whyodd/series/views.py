"""How the network sees a window: step by step, or by how much each channel varies in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyodd.series.windows import cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]

# Share of a channel's unit: a smaller variation counts as none.
_STILL = 0.01


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a window, step by step.

    Attributes
    ----------
    width : int
        Steps of a window.
    """

    width: int

    def centers(self, values: Floats, starts: Indices) -> Floats:
        """These windows, to compare with."""
        return self.rows(values, starts)

    def rows(self, values: Floats, starts: Indices) -> Floats:
        """Windows (n, width · C)."""
        return cut(values, starts, self.width)

    def at_steps(self, values: Floats, starts: Indices, relevance: Floats) -> Floats:  # noqa: ARG002
        """Relevance (n, width, C) of each step."""
        return relevance.reshape(len(starts), self.width, -1)


@dataclass(frozen=True, eq=False)
class Spread:
    """How far each channel varies within a window: the logarithm of its standard deviation.

    A sensor that stands still is near to many normal windows, if these are noise around the same level. In
    this view it is far from what is usual. There is one number for each channel, so that normal windows are
    close together: they are compared with their median, not with the nearest, of which each would be a
    thousand times as near as anything new.

    Attributes
    ----------
    width : int
        Steps of a window.
    center, size : ndarray of shape (C,)
        Median and standard deviation of it in training.
    """

    width: int
    center: Floats
    size: Floats

    @classmethod
    def of(cls, values: Floats, starts: Indices, width: int) -> Spread:
        """In units of the windows at ``starts``."""
        logs = _log_spread(values, starts, width)
        size = logs.std(axis=0)
        # The unit of a channel that never varies would be rounding.
        return cls(width, np.median(logs, axis=0), np.where(size > 1e-6, size, 1.0))

    def centers(self, values: Floats, starts: Indices) -> Floats:  # noqa: ARG002
        """The median, (1, C): 0 in these units."""
        return np.zeros((1, values.shape[1]), dtype=np.float32)

    def rows(self, values: Floats, starts: Indices) -> Floats:
        """Windows (n, C)."""
        return ((_log_spread(values, starts, self.width) - self.center) / self.size).astype(np.float32)

    def at_steps(self, values: Floats, starts: Indices, relevance: Floats) -> Floats:
        """Relevance (n, width, C) of each step, where a channel varies less than usual: all equal.

        Where it varies more, nobody can say which of two halves is to blame; the values show that.
        """
        is_less = self.rows(values, starts) < 0.0
        parts = np.where(is_less, relevance / self.width, 0.0)
        return np.repeat(parts[:, None, :], self.width, axis=1)


View = Values | Spread


def _log_spread(values: Floats, starts: Indices, width: int) -> Floats:
    """log(s + ε) (n, C) of windows, in blocks of bounded memory."""
    found = np.empty((len(starts), values.shape[1]))
    size = max(4_000_000 // (width * values.shape[1]), 1)
    for first in range(0, len(starts), size):
        some = slice(first, first + size)
        windows = cut(values, starts[some], width).reshape(-1, width, values.shape[1])
        found[some] = np.log(windows.std(axis=1, dtype=np.float64) + _STILL)
    return found
