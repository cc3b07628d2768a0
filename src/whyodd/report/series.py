"""A series for the page: lines with gaps, and behind them how much each time contributes."""

from __future__ import annotations

import math
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from whyodd.explanations.sentences import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CHANNELS = 12  # that are drawn
_POINTS = 400  # across: more cannot be distinguished on a page
_FINE_POINTS = 2000  # of what can be zoomed
_WIDTH, _HEIGHT = 1000, 100  # of the drawing's own units
_LEVELS = 5  # of relevance
_MARGIN = 0.06  # of the height, above and below the line


def channels(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines of the first channels, and the relevance behind them on one scale."""
    chosen = item["channels"][:CHANNELS]
    parts = [_in_parts(len(channel["values"])) for channel in chosen]
    means = [
        [_mean(channel["relevance"][part]) for part in own]
        for channel, own in zip(chosen, parts, strict=True)
    ]
    most = max((max(own, default=0.0) for own in means), default=0.0)
    return [
        {"name": channel["name"], **_line(channel["values"], own), "shades": list(_shades(strength, most))}
        for channel, own, strength in zip(chosen, parts, means, strict=True)
    ]


def timeline(drawn: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The outlierness and the channels of a whole series, with its events behind them.

    Events that are too short to be seen are drawn as wide as a line.
    """
    events = [
        {
            "rank": event["rank"],
            "name": event["name"],
            "x": f"{_WIDTH * event['start']:.2f}",
            "width": f"{max(_WIDTH * (event['stop'] - event['start']), 2.0):.2f}",
        }
        for event in drawn["events"]
    ]
    lines = []
    for place, channel in enumerate(drawn["channels"]):
        values = channel["values"]
        line = _line(values, _in_parts(len(values), _FINE_POINTS))
        threshold = _height_of(drawn["threshold"], values) if place == 0 else None
        if place == 0:  # a logarithm
            line |= _powers(values)
        lines.append({"name": channel["name"], **line, "events": events, "threshold": threshold})
    return lines


def _powers(values: Sequence[float | None]) -> dict[str, str]:
    known = [value for value in values if value is not None]
    return {"low": number(10 ** min(known), 2), "high": number(10 ** max(known), 2)} if known else {}


def _height_of(value: float, values: Sequence[float | None]) -> str | None:
    """Position of a value among others, if it is within their range."""
    known = [each for each in values if each is not None]
    if not known or not min(known) <= value <= max(known):
        return None
    return f"{_heights([value], min(known), (max(known) - min(known)) or 1.0)[0]:.1f}"


def _in_parts(length: int, most: int = _POINTS) -> list[slice]:
    """Steps drawn at one position: one by one, or in a limited number of parts."""
    count = min(length, most)
    ends = [place * length // count for place in range(count + 1)] if count else []
    return [slice(*pair) for pair in pairwise(ends)]


def _mean(relevances: Sequence[float]) -> float:
    return math.fsum(relevances) / len(relevances)


def _line(values: Sequence[float | None], parts: Sequence[slice]) -> dict[str, Any]:
    """Path of the line, through the lowest and highest value of each part, interrupted at gaps."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return {"path": "", "low": "", "high": ""}
    low, size = min(known), (max(known) - min(known)) or 1.0
    return {
        "path": "".join(_strokes(values, parts, low, size)),
        "low": number(min(known)),
        "high": number(max(known)),
    }


def _strokes(
    values: Sequence[float | None], parts: Sequence[slice], low: float, size: float
) -> Iterator[str]:
    is_joined = False
    for place, part in enumerate(parts):
        known = [value for value in values[part] if value is not None and math.isfinite(value)]
        across = _WIDTH * (place + 0.5) / len(parts)
        for height in _heights(known, low, size):
            # A lone point has no line: a stroke of no length is drawn as a dot.
            yield f"{'L' if is_joined else 'M'}{across:.1f} {height:.1f}" + ("" if is_joined else "h0")
            is_joined = True
        is_joined = bool(known)


def _heights(known: Sequence[float], low: float, size: float) -> list[float]:
    """Where the line passes in one part: at its only value, or at its first, lowest, highest and last."""
    chosen = known if len(known) <= 1 else [known[0], min(known), max(known), known[-1]]
    inner = 1.0 - 2.0 * _MARGIN
    return [_HEIGHT * (1.0 - _MARGIN - inner * (value - low) / size) for value in chosen]


def _shades(strengths: Sequence[float], most: float) -> Iterator[tuple[str, str, int]]:
    """Start, width and level of neighbouring parts of the same level; none where there is no relevance."""
    if most <= 0:
        return
    step, place = _WIDTH / len(strengths), 0
    for level, run in groupby(round(_LEVELS * max(part, 0.0) / most) for part in strengths):
        count = len(list(run))
        if level > 0:
            yield f"{place * step:.1f}", f"{count * step:.1f}", level
        place += count
