"""What kind of column it is: how it enters the model, or why it is set aside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from whyodd.automatic.dates import choose_parts, dates_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.automatic.reading import RawColumn, RawTable

Kind = Literal["number", "category", "mixed category", "date", "set aside"]

# With fewer rows that all values differ, or that there are only two, says little.
_ENOUGH_ROWS = 20
# From so many different texts per row on they are names, identifiers or free text.
_ID_SHARE = 0.5
# Squares of larger numbers, and of smaller differences, leave the range of floats.
_LARGEST, _SMALLEST = 1e150, 1e-150
# Beyond it not every whole number is a float.
_LARGEST_WHOLE = 2.0**53
# Values that categories may have as they are; others are told apart as texts.
_LABELS = ("boolean", "number", "text")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?Z?")


@dataclass(frozen=True)
class Column:
    """How a column of the table is used.

    Attributes
    ----------
    name : str
        What people call it.
    key : str or int
        What a ``ColumnTransformer`` calls it.
    kind : str
        How it enters the model; "set aside" if it does not.
    note : str
        Why, where this is not obvious; "" else.
    is_constant : bool
        Whether it is set aside because it has but one value.
    parts : tuple of str
        For dates: what is made of them.
    """

    name: str
    key: str | int
    kind: Kind
    note: str = ""
    is_constant: bool = False
    parts: tuple[str, ...] = ()


def judge_columns(table: RawTable) -> list[Column]:
    """Kind of each column of the table."""
    found = zip(table.names, table.keys, table.columns, strict=True)
    return [Column(name, key, **_judge(column, name)) for name, key, column in found]


def _judge(column: RawColumn, name: str) -> dict[str, Any]:
    """Keywords of a ``Column``."""
    if column.family == "nothing":
        return _aside("it has no values at all")
    if column.family == "mixed" or (column.is_category and column.family not in _LABELS):
        return _judge_labels(column, _distinct([str(value) for value in column.present]), "mixed category")
    if column.family == "object":
        what = "objects" if column.example is None else f"values of type {column.example.__name__}"
        return _aside(f"its cells hold {what}; make numbers, dates, or texts of them")
    if column.family == "duration":
        return _aside("its cells hold durations; make numbers of them, e.g. seconds")
    if column.family == "number" and not column.is_category:
        return _judge_numbers(column, name)
    if (column.family == "date" and not column.is_category) or _holds_written_dates(column):
        return _judge_dates(column, name)
    return _judge_labels(column, _distinct(column.present), "category")


def _judge_labels(column: RawColumn, distinct: set[Any], kind: Kind) -> dict[str, Any]:
    n_present = column.present.size
    if len(distinct) == 1:
        return _judge_constant(column)
    if len(distinct) >= _ID_SHARE * n_present and n_present >= _ENOUGH_ROWS:
        return _aside("most rows have a value of their own (names, free text, numbers as text?)")
    note = "its values are compared as texts" if kind == "mixed category" else ""
    return {"kind": kind, "note": note}


def _judge_constant(column: RawColumn) -> dict[str, Any]:
    value = column.present[0]
    if column.gaps.any():
        kind = "category" if column.family in _LABELS else "mixed category"
        return {"kind": kind, "note": f"it is {value!s} or missing"}
    return _aside(f"it is always {value!s}") | {"is_constant": True}


def _judge_numbers(column: RawColumn, name: str) -> dict[str, Any]:
    numbers = column.as_floats()[~column.gaps]
    _check_range(numbers, column, name)
    # Floats cannot tell large identifiers apart.
    exact = column.present if column.values.dtype.kind in "iu" else numbers
    n_distinct = np.unique(exact).size
    if n_distinct == 1:
        return _judge_constant(column)
    if n_distinct == 2 and numbers.size >= _ENOUGH_ROWS:
        return {"kind": "category", "note": "it has only two values"}
    if n_distinct == numbers.size >= _ENOUGH_ROWS and _counts_rows(exact):
        return _aside(
            "its whole numbers all differ and go up with the rows, or fill a range (an identifier?)"
        )
    if np.abs(numbers).max() > _LARGEST_WHOLE and np.unique(numbers).size < n_distinct:
        return _aside("its whole numbers are too large to be told apart as numbers (an identifier?)")
    return {"kind": "number"}


def _judge_dates(column: RawColumn, name: str) -> dict[str, Any]:
    dates = dates_of(column, name)[~column.gaps]
    if np.unique(dates).size == 1:
        return _judge_constant(column)
    parts = choose_parts(dates)
    if not parts:
        return _aside("its dates go up with the rows and span no full day, week or year to compare")
    return {"kind": "date", "note": f"used: {', '.join(parts)}", "parts": parts}


def _counts_rows(numbers: NDArray[Any]) -> bool:
    """Whether numbers that all differ are identifiers: whole, and increasing or without large holes."""
    if not np.all(numbers == np.floor(numbers)):
        return False
    is_increasing = bool(np.all(numbers[1:] > numbers[:-1]))
    return is_increasing or float(numbers.max()) - float(numbers.min()) < 2.0 * numbers.size


def _check_range(numbers: NDArray[np.float64], column: RawColumn, name: str) -> None:
    beyond = ~(np.abs(numbers) <= _LARGEST)
    if beyond.any():
        at = int(np.flatnonzero(~column.gaps)[np.argmax(beyond)])
        value = numbers[np.argmax(beyond)]
        remedy = "Replace infinite values by missing ones" if np.isinf(value) else "Use another unit"
        raise ValueError(
            f"Column {name!r} holds {value} in row {at}, expected numbers up to {_LARGEST:.0e}. {remedy}, "
            "or drop the column."
        )
    if 0.0 < np.ptp(numbers) < _SMALLEST:
        raise ValueError(
            f"Column {name!r} varies by {np.ptp(numbers):.1g} only, expected {_SMALLEST:.0e} at least. "
            "Use another unit, or drop the column."
        )


def _holds_written_dates(column: RawColumn) -> bool:
    if column.family != "text" or column.is_category:
        return False
    return all(_ISO_DATE.fullmatch(value) is not None for value in column.present)


def _distinct(values: Any) -> set[Any]:
    return set(values.tolist()) if isinstance(values, np.ndarray) else set(values)


def _aside(reason: str) -> dict[str, Any]:
    return {"kind": "set aside", "note": reason}
