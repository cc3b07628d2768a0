"""A series for the page: few points that still show every spike, and the odd channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number
from whyodd.findings.summary.items.reasons import REASONS, reason, whole
from whyodd.patches.places import place_text, time_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.patches.explanation import PatchExplanation
    from whyodd.patches.items import Item
    from whyodd.patches.strangest import StrangePatch

    Doubles = NDArray[np.float64]

# Points of a channel: as many as a page is wide enough for. Two make a bin, its least and largest value.
_POINTS = 400
_BINS = _POINTS // 2
# Time jumps shown as separate gaps: more would leave no room for bins.
_JUMPS = _BINS // 4
_DIGITS = 5  # that a line of some hundred pixels can show, and more


def series_item(e: PatchExplanation, i: int) -> dict[str, Any]:
    """Series ``i``: the channels with the most relevance, drawn from their values over time."""
    item = e.items[i]
    values = item.values.reshape(len(item.values), -1)
    heat = item.as_values(e.heatmap(i)).reshape(values.shape)
    thin = Thinning.of(item)
    return {
        "type": "series",
        "channels": [
            {
                "name": e.channels[c],
                "values": [_rounded(value) for value in thin.values(values[:, c].astype(np.float64))],
                "relevance": [_rounded(part) for part in thin.sums(heat[:, c])],
            }
            for c in np.argsort(-heat.sum(axis=0), kind="stable")[:REASONS]
        ],
        "from": _time(item, 0),
        "to": _time(item, len(item.given) - 1),
        "caption": _caption(e, i),
    }


@dataclass(frozen=True)
class Thinning:
    """Steps joined into bins of two points each, or one point per step if there are few.

    Attributes
    ----------
    starts : ndarray of int of shape (m,)
        First step of each bin.
    n_steps : int
    """

    starts: NDArray[np.intp]
    n_steps: int

    @classmethod
    def of(cls, item: Item) -> Thinning:
        """Bins of a series; a jump in time is one of its own, so that no line runs across it."""
        n = len(item.values)
        if n <= _POINTS:
            return cls(np.arange(n), n)
        added = item.jumps + np.arange(item.jumps.size) if item.jumps.size <= _JUMPS else item.jumps[:0]
        even = np.linspace(0, n, _BINS - 2 * added.size, endpoint=False).astype(np.intp)
        starts = np.unique(np.concatenate([even, added, added + 1]))
        return cls(starts[starts < n], n)

    @property
    def _is_whole(self) -> bool:
        return len(self.starts) == self.n_steps

    def values(self, values: Doubles) -> Doubles:
        """The smallest and the largest value of each bin, in the order they occur; NaN for a gap."""
        if self._is_whole:
            return values
        pieces = np.split(values, self.starts[1:])
        return np.concatenate([_ends(piece) for piece in pieces])

    def sums(self, relevance: Doubles) -> Doubles:
        """Relevance of each point: half of its bin's sum."""
        if self._is_whole:
            return relevance
        return np.repeat(np.add.reduceat(relevance, self.starts) / 2.0, 2)


def _ends(values: Doubles) -> Doubles:
    if np.isnan(values).all():
        return np.full(2, np.nan)
    return np.asarray(values[np.sort([np.nanargmin(values), np.nanargmax(values)])])


def series_reasons(e: PatchExplanation, i: int) -> tuple[list[dict[str, Any]], int]:
    """The channels with the most relevance in series ``i``, and how many others there are."""
    window, total = e.strangest(i), whole(e, i)
    shown = list(e.by_channel(i).items())[:REASONS]
    found = [reason(name, part, total, **_texts(e, window, e.channels.index(name))) for name, part in shown]
    return found, len(e.channels) - len(found)


def _texts(e: PatchExplanation, window: StrangePatch, channel: int) -> dict[str, str]:
    """Range of a channel in a window and in the most similar normal one; None in unknown units."""
    if e.model.prepare is not None:
        return {"value": "", "expected": ""}
    parts = {"value": window.values, "expected": window.nearest}
    return {name: range_text(part[:, channel]) for name, part in parts.items()}


def range_text(values: NDArray[np.floating]) -> str:
    """From the least to the largest of some numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.findings.summary.items.series import range_text
    >>> range_text(np.array([3.0, 1.5])), range_text(np.array([2.0, 2.0]))
    ('1.5 to 3', '2')
    """
    low, high = number(float(values.min())), number(float(values.max()))
    return low if low == high else f"{low} to {high}"


def _caption(e: PatchExplanation, i: int) -> str:
    item, n_jumps = e.items[i], e.items[i].jumps.size
    told = [f"{len(item.given):,} time steps; darker means more relevant."]
    if len(e.channels) > REASONS:
        told.insert(0, f"The {REASONS} channels of {len(e.channels)} with the most relevance.")
    if e.n_windows[i] and e.outlierness[i] > 0.0 and e.model.prepare is None:
        window = place_text(e.strangest(i), item)
        told.append(f"The ranges below belong to {window}, and to the normal window most like it.")
    if n_jumps:
        told.append(f"{n_jumps:,} {'jumps' if n_jumps > 1 else 'jump'} in time, shown as gaps.")
    return " ".join(told)


def _time(item: Item, step: int) -> str:
    if item.times is None:
        return f"step {step:,}"
    return f"{time_text(item.times[step])}{' (UTC)' if item.is_utc else ''}"


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.{_DIGITS}g}")
