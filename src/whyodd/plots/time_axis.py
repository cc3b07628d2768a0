"""The time axis of a picture: positions of steps, and cells large enough to be seen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.patches.items import Item

    Doubles = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Cells along the time axis: about as many as there are dots on paper.
_CELLS = 1500


@dataclass(frozen=True)
class Cells:
    """Neighbouring steps joined into as many cells as can be seen, never across a jump in time.

    Attributes
    ----------
    starts : ndarray of int of shape (m,)
        First step of each cell.
    jumps : ndarray of int
        Cells before which time jumps.
    edges : ndarray of shape (m + jumps + 1,)
        Where cells begin and end in time; what a jump leaves out is a cell, too.
    """

    starts: Indices
    jumps: Indices
    edges: Doubles

    @classmethod
    def of(cls, item: Item) -> Cells:
        """Cells of a series."""
        x = on_time_axis(item)
        together = -(-len(x) // _CELLS)
        runs = pairwise([0, *item.jumps, len(x)])
        starts = np.concatenate([np.arange(start, stop, together) for start, stop in runs])
        jumps = np.flatnonzero(np.isin(starts, item.jumps))
        half = float(np.median(np.diff(x))) / 2 if len(x) > 1 else 0.5
        ends = x[np.append(starts[1:], len(x)) - 1] + half
        edges = np.insert(x[starts] - half, jumps, ends[jumps - 1])
        return cls(starts, jumps, np.append(edges, ends[-1]))

    @property
    def middles(self) -> Doubles:
        """(m + jumps,) the middle of each cell in time."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    def within(self, x: float) -> float:
        """The place on the time axis nearest to ``x`` that is drawn."""
        return float(np.clip(x, self.edges[0], self.edges[-1]))

    def largest(self, values: Doubles) -> Doubles:
        """(m + jumps,) the largest of the numbers (T,) in each cell; NaN if one of them is, and in jumps."""
        return np.asarray(np.insert(np.maximum.reduceat(values, self.starts), self.jumps, np.nan))

    def ends(self, values: Doubles) -> Doubles:
        """(m + jumps, 2) the least and the largest of the numbers (T,) in each cell; NaN if there is none."""
        pairs = [reduce.reduceat(values, self.starts) for reduce in (np.fmin, np.fmax)]
        return np.asarray(np.insert(np.column_stack(pairs), self.jumps, np.nan, axis=0))


def label_time(ax: Any, item: Item, size: float) -> None:
    """Ticks and name of the time axis."""
    from matplotlib import dates

    kind = "" if item.times is None else item.times.dtype.kind
    if kind == "M":
        locator = dates.AutoDateLocator(minticks=4, maxticks=10)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    labels = {"": "step", "M": "time (UTC)" if item.is_utc else "", "m": "time in seconds"}
    ax.set_xlabel(labels.get(kind, "time"), fontsize=size)


def on_time_axis(item: Item) -> Doubles:
    """Where each step is on the time axis."""
    if item.times is None:
        return np.arange(len(item.given), dtype=np.float64)
    return np.asarray(_on_axis(item.times), dtype=np.float64)


def position(mark: Any, item: Item) -> float:
    """Where a date or number is on the time axis."""
    is_date = item.times is not None and item.times.dtype.kind == "M"
    return float(_on_axis(np.asarray(mark, dtype="datetime64[ns]" if is_date else None)))


def _on_axis(times: NDArray[Any]) -> Any:
    from matplotlib.dates import date2num

    if times.dtype.kind == "m":
        return times / np.timedelta64(1, "s")
    return date2num(times) if times.dtype.kind == "M" else times  # type: ignore[no-untyped-call]
