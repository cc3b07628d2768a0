"""Dates as numbers: where in the day, the week and the year they lie, and how far along in time."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from whyodd.automatic.rarity import Rarity, surprise
from whyodd.automatic.reading import read_columns
from whyodd.automatic.steps import remember_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.automatic.reading import RawColumn

    Dates = NDArray[np.datetime64]

_DAY = 86_400.0
_SECONDS = "datetime64[s]"
CLOCK, WEEK = "hour of the day", "day of the week"
# Cycle -> (its length in seconds, and the time span in seconds above which a column shows all of it).
_CYCLES = {
    CLOCK: (_DAY, _DAY),
    WEEK: (7.0 * _DAY, 7.0 * _DAY),
    "day of the year": (365.2425 * _DAY, 365.0 * _DAY),
}
# Hours, weekdays and months, among which dates may be rare.
_SLOTS = {CLOCK: 24, WEEK: 7, "day of the year": 12}
_ROUNDING = 1e-6  # tolerance for the start of a slot
_ELAPSED = "time elapsed"
_CLOCK_TIME = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d+)?)?")
_NO_DAY = dt.date(1970, 1, 1)


def choose_parts(dates: Dates) -> tuple[str, ...]:
    """Which parts of a column's dates (n,) to compare; the rows are in order, with at least two dates.

    Cycles that the dates go through at least once. Time elapsed only if it does not go up with the rows: if
    it does, the table is a record of what came when, and any new row is later than all of them.
    """
    seconds = dates.astype(_SECONDS).astype(np.float64)
    span = np.ptp(seconds)
    parts = [] if np.all(np.diff(seconds) >= 0.0) else [_ELAPSED]
    for name, (_, needed) in _CYCLES.items():
        if span >= needed and (name != CLOCK or np.any(seconds % _DAY != 0.0)):
            parts.append(name)
    return tuple(parts)


def dates_of(column: RawColumn, name: str = "") -> Dates:
    """Dates (n,) to the second, NaT in the gaps, of dates, times, or texts such as 2024-02-29T12:30."""
    if column.values.dtype.kind == "M":
        return column.values.astype(_SECONDS)
    dates = np.full(column.values.size, np.datetime64("NaT"), dtype=_SECONDS)
    try:
        plain = [_without_zone(value) for value in column.present]
        dates[~column.gaps] = np.array(plain, dtype="datetime64[us]").astype(_SECONDS)
    except (ValueError, TypeError) as error:
        where = f"Column {name!r}" if name else "A column of dates"
        raise ValueError(
            f"{where} holds a value that is not a date ({error}). Expected dates, or texts such as "
            "2024-02-29T12:30. Correct it, or leave such rows out."
        ) from error
    return dates


def _without_zone(value: Any) -> Any:
    """The date as the clock in its time zone shows it."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, str) and _CLOCK_TIME.fullmatch(value):
        value = dt.time.fromisoformat(value)
    if isinstance(value, dt.time):  # a time without a day
        return dt.datetime.combine(_NO_DAY, value.replace(tzinfo=None))
    return value.removesuffix("Z") if isinstance(value, str) else value


class DateParts(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Numbers of one column of dates, comparable with standardised columns.

    A cycle gives a point on a circle of radius 1 (cosine and sine; variance 1 in all if spread evenly): 23:00
    is near 01:00. Time elapsed is standardised. A missing date lies in the middle of all circles, at the mean
    time, and the last number marks it: -log of the share of rows that have none. Before it come numbers that
    say how rare the hour, the weekday and the month are: a Sunday is near Monday on the circle, and yet new.

    Parameters
    ----------
    parts : sequence of str
        Of "time elapsed", "hour of the day", "day of the week", "day of the year".

    Attributes
    ----------
    mean_, scale_ : float
        Of the time elapsed, in seconds since 1970.
    has_gaps_ : bool
        Whether missing dates are marked; files of 0.1 may not.
    mark_ : float
        What marks them.
    rarity_ : Rarity or None
        How rare hours, weekdays and months are, of the cycles in use.
    """

    # For files of 0.1.
    mark_: float = 1.0
    rarity_: Rarity | None = None

    def __init__(self, parts: tuple[str, ...] = (_ELAPSED,)) -> None:
        self.parts = parts

    def fit(self, X: Any, y: None = None) -> DateParts:  # noqa: ARG002
        """Learn mean and scale of the time elapsed from a frame or array (n, 1)."""
        remember_columns(self, X)
        seconds = self._seconds(X)
        self.has_gaps_ = True
        n_gaps = int(np.isnan(seconds).sum())
        self.mark_ = max(surprise(max(n_gaps, 1) / (seconds.size + 1.0)), 1.0)
        self.rarity_ = Rarity().fit(_slots(seconds, self._cycles)) if self._cycles else None
        self.mean_ = float(np.nanmean(seconds))
        self.scale_ = float(np.nanstd(seconds)) or 1.0
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Numbers (n, k) of the dates in a frame or array (n, 1)."""
        check_is_fitted(self)
        seconds = self._seconds(X)
        numbers: list[NDArray[np.float64]] = []
        for part in self.parts:
            if part == _ELAPSED:
                numbers.append((seconds - self.mean_) / self.scale_)
            else:
                angle = 2.0 * np.pi * seconds / _CYCLES[part][0]
                numbers += [np.cos(angle), np.sin(angle)]
        gaps = np.isnan(seconds)
        columns = [np.where(gaps, 0.0, column) for column in numbers]
        if self.rarity_ is not None:
            rare = self.rarity_.transform(_slots(seconds, self._cycles))
            columns += [np.where(gaps, 0.0, column) for column in rare.T]
        columns += [self.mark_ * gaps] * self.has_gaps_
        return np.column_stack(columns).astype(np.float64)

    @property
    def shown_parts(self) -> list[str]:
        """The part that each number shows; the last says that the date is missing."""
        of_cycles = [part for part in self.parts for _ in range(1 if part == _ELAPSED else 2)]
        rare = [] if self.rarity_ is None else self._cycles
        return [*of_cycles, *rare, *["missing"] * self.has_gaps_]

    @property
    def n_marks(self) -> int:
        """How many of the last numbers are marks, in units of surprise."""
        return (0 if self.rarity_ is None else len(self._cycles)) + int(self.has_gaps_)

    @property
    def _cycles(self) -> list[str]:
        return [part for part in self.parts if part in _CYCLES]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the numbers: column and part."""
        given = getattr(self, "feature_names_in_", ["x0"]) if input_features is None else input_features
        waves = {part: iter(("cos", "sin", "rarity")) for part in self.parts if part != _ELAPSED}
        ends = [f"{part} ({next(waves[part])})" if part in waves else part for part in self.shown_parts]
        return np.array([f"{given[0]}: {end}" for end in ends], dtype=object)

    def _seconds(self, X: Any) -> NDArray[np.float64]:
        """Seconds since 1970 (n,), NaN in the gaps."""
        (column,) = read_columns(X)
        dates = dates_of(column)
        return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def _slots(seconds: NDArray[np.float64], cycles: list[str]) -> NDArray[np.object_]:
    """The hour, weekday or month (n, k) of each cycle as a whole number, -1 in the gaps."""
    found = []
    for cycle in cycles:
        length, n_slots = _CYCLES[cycle][0], _SLOTS[cycle]
        slots = np.floor(n_slots * (np.nan_to_num(seconds) / length % 1.0) + _ROUNDING) % n_slots
        found.append(np.where(np.isnan(seconds), -1.0, slots).astype(int).astype(object))
    return np.column_stack(found)
