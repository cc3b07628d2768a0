"""Events of a series: stretches of odd steps, and where in them the relevance is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.series.detector import StepScores

    Floats = NDArray[np.float64]

# Share of the relevance beyond the usual that an event must hold.
_WITHIN = 0.95


@dataclass(frozen=True)
class Event:
    """A stretch of a series that is odd.

    Attributes
    ----------
    start, stop : int
        First row, and the one after the last.
    peak : int
        Row at which most of the relevance lies.
    oddest : int
        Row with the largest outlierness: the windows around it are the oddest.
    """

    start: int
    stop: int
    peak: int
    oddest: int


def find_events(scores: StepScores, threshold: float, focus_threshold: float, gap: int) -> list[Event]:
    """Runs of rows that are odd, joined across fewer than ``gap`` others, the oddest first.

    A row is judged by the windows around it, which reach beyond the odd rows in them. So each run is cut to
    the rows at which the relevance itself is beyond ``focus_threshold``: one run may hold several events. If
    no row is above the threshold, there is still one event, around the oddest row.
    """
    o = np.where(np.isnan(scores.outlierness), -np.inf, scores.outlierness)
    focus, is_odd = scores.focus, o > threshold
    if not is_odd.any():
        oddest = int(o.argmax())
        is_odd[max(oddest - gap // 2, 0) : oddest + gap // 2 + 1] = True
    events = []
    for start, stop in joined_runs(is_odd, gap):
        parts = joined_runs(focus[start:stop] > focus_threshold, gap)
        parts = [(start + a, start + b) for a, b in parts] or [(start, stop)]
        beyond = [float((focus[a:b] - 1.0).sum()) for a, b in parts]
        # Next to a much odder stretch there are echoes; a real event would make a window odd by itself.
        own = [part for part, much in zip(parts, beyond, strict=True) if much > gap * (threshold - 1.0)]
        events += [_event(focus, o, a, b) for a, b in own or [parts[int(np.argmax(beyond))]]]
    return sorted(events, key=lambda event: (-o[event.oddest], event.start))


def joined_runs(is_odd: NDArray[np.bool_], gap: int) -> list[tuple[int, int]]:
    """Start and stop of runs of odd rows, with fewer than ``gap`` others within.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.series.events import joined_runs
    >>> joined_runs(np.array([0, 1, 1, 0, 1, 0, 0, 0, 1], dtype=bool), gap=2)
    [(1, 5), (8, 9)]
    """
    edges = np.flatnonzero(np.diff(is_odd, prepend=False, append=False)).reshape(-1, 2)
    runs: list[tuple[int, int]] = []
    for start, stop in edges.tolist():
        if runs and start - runs[-1][1] < gap:
            runs[-1] = (runs[-1][0], stop)
        else:
            runs.append((start, stop))
    return runs


def _event(focus: Floats, o: Floats, start: int, stop: int) -> Event:
    oddest, peak = start + int(o[start:stop].argmax()), start + int(focus[start:stop].argmax())
    beyond = np.maximum(focus[start:stop] - 1.0, 0.0)
    if beyond.sum() <= 0.0:
        return Event(start, stop, peak, oddest)
    part = np.cumsum(beyond) / beyond.sum()
    outside = (1.0 - _WITHIN) / 2.0
    first = int(np.searchsorted(part, outside, side="right"))
    last = int(np.searchsorted(part, 1.0 - outside))
    first, last = min(first, peak - start), max(min(last, stop - start - 1), peak - start)
    return Event(start + first, start + last + 1, peak, oddest)
