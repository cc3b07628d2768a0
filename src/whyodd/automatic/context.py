"""Context columns: where rows lie in their context, and how to say it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.automatic.dates import CLOCK, WEEK, dates_of
from whyodd.automatic.reading import plain_values
from whyodd.automatic.steps import numbers_of
from whyodd.explanations.given import CONTEXT
from whyodd.explanations.sentences import short_name, shown, text
from whyodd.inputs.near_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.automatic.kinds import Column
    from whyodd.automatic.reading import RawColumn
    from whyodd.inputs.written import Written

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

_NOTE = "each row is compared with rows that are alike in it"
_DAY, _HOUR, _NO_HOUR = 86_400.0, 3_600.0, 24
_THURSDAY = 3  # the weekday of the first second of 1970
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NO_WEEKDAY = len(_WEEKDAYS)
NO_DAY = np.iinfo(np.int64).min  # the day of a row without a date
_MIDDLE = 0.5  # the rank that stands for a gap
# Context coordinates of dates that have these parts.
_KINDS_OF_DATES = {
    (True, True): "time of day and weekday",
    (True, False): "time of day",
    (False, True): "weekday",
}


def context_names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of context columns, each once; a single name may be given as a string."""
    names = (given,) if isinstance(given, str) else tuple(given or ())
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"given={given!r}: expected column names, for example ['machine', 'time'].")
    return tuple(dict.fromkeys(names))


def with_context(columns: Sequence[Column], given: Sequence[str]) -> list[Column]:
    """The columns, with those ``given`` turned into context; an error names a column that cannot be."""
    names = [column.name for column in columns]
    for name in given:
        if name not in names:
            raise ValueError(f"There is no column {name!r} to use as context.{did_you_mean(name, names)}")
    # First, in the given order, since the first count most.
    by_name = {column.name: column for column in columns}
    found = [_as_context(by_name[name]) for name in given]
    found += [column for column in columns if column.name not in given]
    if not any(column.is_used and column.used_as != CONTEXT for column in found):
        raise ValueError(
            f"given lists {', '.join(map(repr, given))}, which leaves no column to judge. List fewer "
            "columns, or add some that vary."
        )
    return found


def in_context(columns: Sequence[Column]) -> str:
    """What rows are compared with, as an addition to the model's name; "" without context."""
    names = [short_name(column.name) for column in columns if column.used_as == CONTEXT]
    return f", each row among rows alike in {listed(names)}" if names else ""


def listed(parts: Sequence[str]) -> str:
    """Parts as a list in words: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _as_context(column: Column) -> Column:
    if column.is_constant:
        note = f"{column.note}, so all rows are alike in it"
        return replace(column, is_constant=False, note=note)
    kind = context_kind(column)
    if kind is None:
        why = column.note if not column.is_used else "its dates span no full day or week"
        raise ValueError(
            f"Column {column.name!r} cannot be a context: {why}. Choose columns in which rows are alike, or "
            "set its kind with types."
        )
    other = [part for part in column.note.split("; ") if part and not part.startswith("used: ")]
    note = "; ".join([*other, f"context ({kind}): {_NOTE}"])
    return replace(column, used_as=CONTEXT, parts=(kind,), note=note)


def context_kind(column: Column) -> str | None:
    """How a column serves as context; None if it cannot."""
    if column.used_as == "date":
        return _KINDS_OF_DATES.get((CLOCK in column.parts, WEEK in column.parts))
    return column.used_as if column.is_used else None


# ---- where rows lie in a context ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Place:
    """Where rows lie in one context column: a code that must be equal, and a point that must be near.

    Categories and weekdays are codes. Numbers are points by their rank, and times of day on a circle, both of
    length 1. What is missing has a code of its own.

    Attributes
    ----------
    kind : str
        "category", "mixed category", "number", "time of day", "weekday" or "time of day and weekday".
    known : ndarray
        Categories (objects) or numbers (floats, ascending) of training, each once.
    ranks : ndarray
        Of the numbers.
    """

    kind: str
    known: NDArray[Any]
    ranks: Floats

    @classmethod
    def learned(cls, kind: str, column: RawColumn) -> Place:
        """From a column."""
        if kind.endswith("category"):
            values = dict.fromkeys(plain_values(column, kind != "category").tolist())
            return cls(kind, np.array([*values, None], dtype=object)[:-1], np.empty(0))
        if kind == "number":
            numbers = numbers_of(column, "A column of context")
            known, sizes = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
            return cls(kind, known, (np.cumsum(sizes) - 0.5 * sizes) / max(sizes.sum(), 1))
        return cls(kind, np.empty(0), np.empty(0))

    @property
    def is_dated(self) -> bool:
        """Whether the column has dates."""
        return self.kind.startswith("time of day") or self.kind == "weekday"

    def of(self, column: RawColumn) -> tuple[Indices, Floats]:
        """Codes (n, levels), -1 for categories not seen before, and points (n, c).

        A time of day is near others, but those of the same hour come first.
        """
        if self.kind.endswith("category"):
            place = {value: code for code, value in enumerate(self.known.tolist())}
            values = plain_values(column, self.kind != "category").tolist()
            found = np.array([place.get(value, -1) for value in values], dtype=np.intp)
            return found[:, np.newaxis], np.empty((found.size, 0))
        if self.kind == "number":
            numbers = numbers_of(column, "A column of context")
            gaps = np.isnan(numbers)
            ranks = np.interp(np.where(gaps, 0.0, numbers), self.known, self.ranks)
            return gaps.astype(np.intp)[:, np.newaxis], np.where(gaps, _MIDDLE, ranks)[:, np.newaxis]
        seconds = _seconds(column)
        gaps = np.isnan(seconds)
        codes: list[Indices] = []
        points = np.empty((seconds.size, 0))
        if "weekday" in self.kind:
            codes.append(np.where(gaps, _NO_WEEKDAY, _weekdays(np.nan_to_num(seconds))))
        if "time of day" in self.kind:
            codes.append(np.where(gaps, _NO_HOUR, np.nan_to_num(seconds) % _DAY // _HOUR).astype(np.intp))
            angle = 2.0 * np.pi * np.nan_to_num(seconds) / _DAY
            circle = np.column_stack([np.cos(angle), np.sin(angle)]) / (2.0 * np.pi)
            points = np.where(gaps[:, np.newaxis], 0.0, circle)
        return np.column_stack(codes), points

    def words(self, column: RawColumn, name: str, form: Written | None) -> list[str]:
        """The value in words: "machine 'B7'", "load 23.5", "a Sunday at 03:00"."""
        called = short_name(name)
        if self.kind.endswith("category") or self.kind == "number":
            values = plain_values(column, self.kind == "mixed category").tolist()
            if self.kind == "number":
                numbers = numbers_of(column, "A column of context").tolist()
                told = [shown(number, form) for number in numbers]
            else:
                told = [text(value, form) for value in values]
            return [
                f"missing {called}" if gap else f"{called} {words}"
                for words, gap in zip(told, column.gaps.tolist(), strict=True)
            ]
        seconds = _seconds(column).tolist()
        return [f"missing {called}" if np.isnan(when) else self._when(when) for when in seconds]

    def _when(self, seconds: float) -> str:
        day = f"a {_WEEKDAYS[int(_weekdays(np.array(seconds)))]}"
        minutes = int(seconds % _DAY // 60)
        clock = f"{minutes // 60:02d}:{minutes % 60:02d}"
        return {"weekday": day, "time of day": clock}.get(self.kind, f"{day} at {clock}")


def _seconds(column: RawColumn) -> Floats:
    dates = dates_of(column)
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def days(column: RawColumn) -> Indices:
    """The day of each date, counted from 1970; ``NO_DAY`` where it is missing."""
    seconds = _seconds(column)
    gaps = np.isnan(seconds)
    return np.where(gaps, NO_DAY, np.floor(np.where(gaps, 0.0, seconds) / _DAY)).astype(np.intp)


def _weekdays(seconds: Floats) -> Indices:
    """Days of the week, 0 is Monday."""
    return np.asarray((np.floor(seconds / _DAY).astype(np.intp) + _THURSDAY) % len(_WEEKDAYS))
