"""Where a value lies in the distribution of its column: the small strips beside reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import WEEKDAYS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_BINS = 24
# Range drawn of a column: all but the few values that would leave no room for the others.
_DRAWN = (0.005, 0.995)
_EDGE = 0.03  # of the width, on both sides
# A value farther from the others than they are from one another is drawn beyond a break of the axis.
_REACH = 1.0
_BREAK = {"right": (_EDGE, 0.78, 0.87, 0.95), "left": (0.22, 1.0 - _EDGE, 0.13, 0.05)}
_SEEN = 0.08  # height of a bar that must not be overlooked, of the highest
# Part of a date -> number of bars, how long it is, and what stands at its ends.
CYCLES = {
    "hour of the day": (24, 24.0, ("0:00", "24:00")),
    "day of the week": (7, 7.0, (WEEKDAYS[0], WEEKDAYS[-1])),
    "day of the year": (12, 12.0, ("January", "December")),
}


def number_strip(
    column: tuple[Floats, Floats],
    usual: tuple[float, float],
    value: float | None = None,
    expected: float | None = None,
) -> dict[str, Any] | None:
    """Heights of bars, and places from 0 to 1 of the value, the expected one and the usual range.

    Parameters
    ----------
    column : tuple of two ndarrays of shape (n,)
        Usual values, and how much each counts.
    usual : tuple of two floats
        What most of them are between.
    value, expected : float, optional
        What to mark.

    Returns
    -------
    dict or None
        ``heights`` from 0 to 1 of bars between ``start`` and ``stop``; ``at``, ``expected_at``, ``low_at``
        and ``high_at``; ``break_at``, where the axis is broken because the value lies far beyond, or None.
        None if no usual value is known.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.findings.summary.rows.strips import number_strip
    >>> drawn = number_strip((np.arange(101.0), np.ones(101)), (5.0, 95.0), value=50.0)
    >>> drawn["at"], drawn["break_at"]
    (0.5, None)
    >>> number_strip((np.arange(101.0), np.ones(101)), (5.0, 95.0), value=1e6)["break_at"]
    0.87
    """
    is_known = np.isfinite(column[0])
    values, weights = column[0][is_known].astype(np.float64), column[1][is_known]
    if values.size == 0 or not weights.sum() > 0.0:
        return None
    low, high = np.quantile(values, _DRAWN, weights=weights, method="inverted_cdf").tolist()
    low, high = min(low, usual[0]), max(high, usual[1])
    room = (high - low) or max(abs(low), 1.0)
    side = None
    if value is not None:
        side = "right" if value > high + _REACH * room else "left" if value < low - _REACH * room else None
        if side is None:
            low, high = min(low, value), max(high, value)
    if not high > low:
        low, high = low - 0.5 * room, high + 0.5 * room
    start, stop, break_at, beyond = _BREAK[side] if side else (_EDGE, 1.0 - _EDGE, None, None)
    counts, _ = np.histogram(values, bins=_BINS, range=(low, high), weights=weights)

    def at(number: float) -> float:
        part = min(max((number - low) / (high - low), 0.0), 1.0)
        return float(round(start + (stop - start) * part, 4))

    return {
        "heights": _heights(counts),
        "start": start,
        "stop": stop,
        "low_at": at(usual[0]),
        "high_at": at(usual[1]),
        "at": None if value is None else at(value) if beyond is None else beyond,
        "expected_at": None if expected is None else at(expected),
        "break_at": break_at,
        "ends": None,
    }


def date_strip(part: str, usual: Floats, value: float) -> dict[str, Any] | None:
    """The same for a part of a date, without a usual range: by hours, weekdays or months, or over time.

    ``usual`` (n,) and ``value`` are places as :func:`whyodd.explanations.date_parts.part_places` gives them.
    """
    if part not in CYCLES:
        drawn = number_strip((usual, np.ones(usual.size)), (float(usual.min()), float(usual.max())), value)
        return None if drawn is None else {**drawn, "low_at": None, "high_at": None, "ends": _TIME}
    bins, length, ends = CYCLES[part]
    counts, _ = np.histogram(usual, bins=bins, range=(0.0, length))
    width = 1.0 - 2.0 * _EDGE
    place = np.floor(value) + 0.5 if part == "day of the week" else value
    nothing = dict.fromkeys(("low_at", "high_at", "expected_at", "break_at"))
    return {
        "heights": _heights(counts),
        "start": _EDGE,
        "stop": 1.0 - _EDGE,
        "at": round(_EDGE + width * float(place) / length, 4),
        **nothing,
        "ends": ends,
    }


_TIME = ("earlier", "later")


def _heights(counts: NDArray[Any]) -> list[float]:
    """Counts relative to the largest; a count above 0 stays visible."""
    largest = float(counts.max()) or 1.0
    parts = np.where(counts > 0, np.maximum(counts / largest, _SEEN), 0.0)
    return [round(part, 3) for part in parts.tolist()]
