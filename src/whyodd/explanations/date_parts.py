"""What is odd about a date: its time of day, weekday, place in the year, or how late it is."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

import numpy as np

from whyodd.explanations.sentences import WEEKDAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# The first day of 1970, where cycles begin, was a Thursday.
_FROM_MONDAY = 3
_DAYS = (*WEEKDAYS[_FROM_MONDAY:], *WEEKDAYS[:_FROM_MONDAY])
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_ROUNDING = 1e-6  # of a day, where angles are read back
_HALF_AN_HOUR, _TWO_WEEKS = 1.0 / 48.0, 14.0 / 365.2425


def odd_part(parts: Sequence[str], relevance: Floats) -> str:
    """The part of a date with the most relevance.

    Parameters
    ----------
    parts : sequence of str of length k
        The part that each number made of a date shows; cycles have two numbers each.
    relevance : array of shape (k,)
    """
    known = [part for part in dict.fromkeys(parts) if part in PARTS]
    return max(known, key=lambda part: sum(relevance[np.array(parts) == part]))


def told_part(part: str, value: Floats, usual: Floats) -> tuple[str, float]:
    """What is odd about a part of a date, in words, and the share of usual rows with a similar one.

    Parameters
    ----------
    part : str
        One of the keys of ``PARTS``.
    value : array of shape (w,)
        The numbers that show it: one, or first the point on a circle.
    usual : array of shape (n, w)
        The same of usual rows.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.explanations.date_parts import told_part
    >>> week = lambda day: [np.cos(2 * np.pi * day / 7), np.sin(2 * np.pi * day / 7)]
    >>> told_part("day of the week", np.array(week(6)), np.array([week(0), week(4), week(5), week(4)]))
    ('a Wednesday; no usual row has that weekday', 0.0)
    """
    return PARTS[part](value, usual)


def named_part(part: str, value: Floats) -> str | None:
    """A part of a date in words: "03:12", "a Sunday", "around 5 May"; None for how late it is.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.explanations.date_parts import named_part
    >>> named_part("hour of the day", np.array([0.0, 1.0]))
    '06:00'
    """
    if part == "time elapsed":
        return None
    turn = float(_turns(value))
    if part == "hour of the day":
        minutes = round(24 * 60 * turn) % (24 * 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    if part == "day of the week":
        return f"a {_DAYS[int(7.0 * turn + _ROUNDING) % 7]}"
    day = dt.date(2023, 1, 1) + dt.timedelta(days=int(365 * turn + _ROUNDING))  # leap days shift it by one
    return f"around {day.day} {_MONTHS[day.month - 1]}"


def part_places(part: str, points: Floats) -> Floats:
    """(n,) position of a part of some dates: hours, days after Monday, months, or the given number.

    Parameters
    ----------
    part : str
        One of the keys of ``PARTS``.
    points : array of shape (n, w)
        The numbers that show it.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.explanations.date_parts import part_places
    >>> part_places("hour of the day", np.array([[0.0, 1.0], [-1.0, 0.0]])).round(3)
    array([ 6., 12.])
    """
    if part == "time elapsed":
        return np.asarray(points[:, 0], dtype=np.float64)
    if part == "day of the week":
        return np.asarray(np.floor(7.0 * _turns(points) + _ROUNDING + _FROM_MONDAY) % 7.0)
    length = {"hour of the day": 24.0, "day of the year": 12.0}[part]
    return np.asarray((_turns(points) * length + _ROUNDING) % length)


def _elapsed(value: Floats, usual: Floats) -> tuple[str, float]:
    below = float(np.mean(usual[:, 0] < value[0]))
    side, share = ("later", below) if below >= 0.5 else ("earlier", 1.0 - below)
    others = "all usual rows" if share == 1.0 else _percent(share)
    return f"{side} than {others}", 1.0 - share


def _clock(value: Floats, usual: Floats) -> tuple[str, float]:
    share = float(np.mean(_gaps(value, usual) <= _HALF_AN_HOUR))
    return f"{_rows_lie(share)} within half an hour of that time of day", share


def _weekday(value: Floats, usual: Floats) -> tuple[str, float]:
    day, days = (np.floor(7.0 * _turns(points) + _ROUNDING).astype(int) % 7 for points in (value, usual))
    share = float(np.mean(days == day))
    return f"a {_DAYS[int(day)]}; {_percent(share)} {'has' if share == 0.0 else 'have'} that weekday", share


def _season(value: Floats, usual: Floats) -> tuple[str, float]:
    share = float(np.mean(_gaps(value, usual) <= _TWO_WEEKS))
    return f"{_rows_lie(share)} within two weeks of that day of the year", share


def _turns(points: Floats) -> Floats:
    """Distances around the circle between points (..., 2), from 0 to 1."""
    return np.asarray(np.arctan2(points[..., 1], points[..., 0]) / math.tau % 1.0)


def _gaps(point: Floats, others: Floats) -> Floats:
    """Distances around the circle, in turns."""
    gaps = np.abs(_turns(others) - _turns(point))
    return np.asarray(np.minimum(gaps, 1.0 - gaps))


def _rows_lie(share: float) -> str:
    return f"{_percent(share)} {'lies' if share == 0.0 else 'lie'}"


def _percent(share: float) -> str:
    if share == 0.0:
        return "no usual row"
    return f"{max(100.0 * share, 0.1):.{0 if share >= 0.01 else 1}f} % of usual rows"


# Words for each part of a date.
PARTS: dict[str, Callable[[Floats, Floats], tuple[str, float]]] = {
    "time elapsed": _elapsed,
    "hour of the day": _clock,
    "day of the week": _weekday,
    "day of the year": _season,
}

# What is odd about a date, in a few words; its side says how late it is.
JUDGEMENTS = {
    "hour of the day": "at an unusual hour",
    "day of the week": "on an unusual weekday",
    "day of the year": "at an unusual time of year",
    "time elapsed": "unusually late",
}
EARLY = "unusually early"


def judged_part(part: str, told: str) -> str:
    """What is odd about a part of a date, in a few words, from the result of :func:`told_part`."""
    return EARLY if told.startswith("earlier") else JUDGEMENTS[part]
