"""Positions of a page's drawings as SVG attributes, in percent across, so that text keeps its size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from whyodd.explanations.sentences import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WAYS = {1: "up", -1: "down", 0: "odd"}  # direction of a reason -> class of its drawing
HEIGHT = 180.0  # pixels of the histogram's bars
_SKEWED = 50  # times the largest bin over the smallest that is not empty: counts are drawn as logarithms
_LEAST = 2.0  # pixels of a bar that must not be overlooked
_TICKS = 5
_RIGHT = 0.6  # of the width: beyond it there is no room for words
_THIN = 0.008  # of the width: a band that is seen
_PLOT = (70.0, 8.0, 240.0, 160.0)  # left, top, width and height of the dots of a pair, in its units
_LETTERS = 28  # that fit below them
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def percent_of(part: float) -> str:
    """A position between 0 and 1 in SVG units.

    Examples
    --------
    >>> from whyodd.report.drawings import percent_of
    >>> percent_of(0.125), percent_of(1.5)
    ('12.5%', '100%')
    """
    inside = min(max(part, 0.0), 1.0) if math.isfinite(part) else 0.0
    return f"{100 * inside:.2f}".rstrip("0").rstrip(".") + "%"


@dataclass(frozen=True)
class Axes:
    """Scales of the scores and counts of the histogram.

    Attributes
    ----------
    low, high : float
        Scores at the left and the right.
    most : int
        The count of the highest bar.
    is_log : bool
        Whether heights are logarithms of counts.
    is_wide : bool
        Whether places across are logarithms of scores, all of them above 0.
    """

    low: float
    high: float
    most: int
    is_log: bool
    is_wide: bool = False

    def across(self, score: float) -> str:
        """Place of a score."""
        return percent_of(self.part(score))

    def part(self, score: float) -> float:
        """Place of a score between 0 and 1."""
        if self.is_wide:
            return math.log(score / self.low) / math.log(self.high / self.low) if score > 0.0 else 0.0
        return (score - self.low) / ((self.high - self.low) or 1.0)

    def rise(self, count: float) -> float:
        """Pixels of a count; the logarithm is of 1 + n, so that one is seen."""
        return HEIGHT * (math.log1p(count) / math.log1p(self.most) if self.is_log else count / self.most)

    @property
    def scores(self) -> list[float]:
        """Marks of the axis of scores."""
        if not self.is_wide:
            return ticks(self.low, self.high)
        powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
        return [10.0**power for power in powers][:: 1 + len(powers) // _TICKS]

    @property
    def counts(self) -> list[int]:
        """Marks of the axis of counts."""
        if self.is_log:
            powers = [10**power for power in range(len(str(self.most)))]
            return powers[:: 1 if len(powers) < _TICKS else 2]
        return [int(tick) for tick in ticks(0.0, float(self.most), 4) if tick == int(tick)]


def histogram(scores: Mapping[str, Any], threshold: float | None, nouns: str) -> dict[str, Any] | None:
    """Bars of the score distribution, ticks of both axes, position of the threshold; None without scores."""
    edges, bins = scores["edges"], list(zip(scores["below"], scores["above"], strict=True))
    totals = [sum(both) for both in bins if any(both)]
    if not totals:
        return None
    is_log = max(totals) > _SKEWED * min(totals)
    axes = Axes(edges[0], edges[-1], max(totals), is_log, scores["is_log"])
    has_threshold = threshold is not None and axes.low <= threshold <= axes.high
    return {
        "bars": [
            _bin(axes, pair, both, nouns)
            for pair, both in zip(pairwise(edges), bins, strict=True)
            if any(both)
        ],
        "across": [(axes.across(tick), number(tick)) for tick in axes.scores],
        "up": [(HEIGHT - axes.rise(tick), f"{tick:,}") for tick in axes.counts],
        "threshold": axes.across(threshold) if threshold is not None and has_threshold else None,
        "is_right": threshold is not None and axes.part(threshold) > _RIGHT,
        "is_log": axes.is_log,
        "is_wide": axes.is_wide,
    }


def _bin(axes: Axes, ends: tuple[float, float], both: tuple[int, int], nouns: str) -> dict[str, Any]:
    """One bar: scores up to the threshold at the bottom, those above it on top."""
    height = max(axes.rise(sum(both)), _LEAST)
    foot = axes.rise(both[0]) if both[1] else height
    return {
        "x": axes.across(ends[0]),
        "width": percent_of(axes.part(ends[1]) - axes.part(ends[0])),
        "below": (f"{HEIGHT - foot:.1f}", f"{foot:.1f}"),
        "above": (f"{HEIGHT - height:.1f}", f"{height - foot:.1f}"),
        "title": f"{sum(both):,} {nouns} with an outlierness from {number(ends[0])} to {number(ends[1])}",
    }


def ticks(low: float, high: float, most: int = _TICKS) -> list[float]:
    """Round numbers from ``low`` to ``high``.

    Examples
    --------
    >>> from whyodd.report.drawings import ticks
    >>> ticks(0.3, 9.7)
    [2.0, 4.0, 6.0, 8.0]
    """
    rough = (high - low) / most
    size = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next((size * nice for nice in _STEPS if size * nice >= rough), size * _STEPS[-1])
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def bars(anomaly: Mapping[str, Any]) -> dict[str, Any]:
    """Scale of the bars of all reasons, of the other variables and of the unexplained part."""
    parts = (*anomaly["reasons"], anomaly["others"], anomaly["unexplained"])
    shares = [float(part["share"]) for part in parts if part is not None and part["share"] is not None]
    low, size = min((0.0, *shares)), (max((0.0, *shares)) - min((0.0, *shares))) or 1.0
    return {"zero": percent_of(-low / size) if low < 0 else None, "size": size, "low": low}


def bar(share: float, scale: Mapping[str, Any]) -> tuple[str, str]:
    """Start and width of one bar."""
    start = (min(share, 0.0) - scale["low"]) / scale["size"]
    return percent_of(start), percent_of(abs(share) / scale["size"])


def strip(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Bars of usual values and the marks among them; None for a missing mark.

    Examples
    --------
    >>> from whyodd.report.drawings import strip
    >>> marks = dict.fromkeys(("low_at", "high_at", "at", "expected_at", "break_at"))
    >>> strip({"heights": [1.0, 0.0, 0.5], "start": 0.0, "stop": 0.9, **marks})["bars"]
    'M0 20v-20h300v20zM600 20v-10h300v10z'
    """
    start, stop, heights = drawn["start"], drawn["stop"], drawn["heights"]
    width = 1000 * (stop - start) / max(len(heights), 1)
    bars = "".join(
        f"M{1000 * start + place * width:.0f} 20v-{20 * height:.3g}h{width:.3g}v{20 * height:.3g}z"
        for place, height in enumerate(heights)
        if height
    )
    low, high = drawn["low_at"], drawn["high_at"]
    marks = {"at": "at", "expected": "expected_at", "broken": "break_at"}
    return {
        "bars": bars,
        "start": percent_of(start),
        "stop": percent_of(stop),
        # A range of one value stays visible.
        "band": None if low is None else (percent_of(low), percent_of(max(high - low, _THIN))),
        **{name: None if drawn[key] is None else percent_of(drawn[key]) for name, key in marks.items()},
    }


def scatter(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Dots of usual rows, the position of the odd one, and the labels of both axes.

    Examples
    --------
    >>> from whyodd.report.drawings import scatter
    >>> axis = {"name": "a", "ticks": [(0.0, "1"), (1.0, "9")]}
    >>> drawn = scatter({"x": axis, "y": axis, "points": [[0.0, 0.0], [1.0, 1.0]], "at": [0.5, 0.5]})
    >>> drawn["points"], drawn["at"], drawn["up"]
    ('M70 168h0M310 8h0', ('190', '88'), [('172', '1'), ('12', '9')])
    """
    left, top, width, height = _PLOT

    def x(place: float) -> str:
        return f"{left + width * place:.0f}"

    def y(place: float, below: float = 0.0) -> str:
        return f"{top + height * (1.0 - place) + below:.0f}"

    across, up = drawn["x"]["ticks"], drawn["y"]["ticks"]
    return {
        "points": "".join(f"M{x(px)} {y(py)}h0" for px, py in drawn["points"]),
        "at": (x(drawn["at"][0]), y(drawn["at"][1])),
        "across": [(x(place), told) for place, told in across],
        "up": [(y(place, 4.0), told) for place, told in up],
        "longest": _LETTERS // max(len(across), 1),
    }


def against_largest(values: Sequence[float]) -> list[str]:
    """Widths of bars relative to the longest one."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0) or 1.0
    return [percent_of(abs(value) / largest) for value in values]
