"""What kind of column it is: how it enters the model, or why it is set aside."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from whyodd.automatic.dates import CLOCK, choose_parts, dates_of
from whyodd.automatic.values_told import told_values
from whyodd.inputs.copies import first_copies, repeated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whyodd.automatic.reading import RawColumn, RawTable
    from whyodd.automatic.whole import Whole

Kind = Literal[
    "number",
    "count",
    "code",
    "category",
    "ordered category",
    "yes/no",
    "date",
    "time of day",
    "duration",
    "free text",
    "identifier",
    "constant",
    "other",
]
# How a column enters the model.
Use = Literal["number", "category", "mixed category", "date", "nothing"]

# With fewer rows, it means little that all values differ, or that there are only two.
ENOUGH_ROWS = 20
# With this many distinct texts per row, or rows with a text of their own, they are names or free text.
_ID_SHARE, _OWN_SHARE = 0.5, 0.25
# Average number of rows per code: identifiers name one row each, codes name many.
_ROWS_PER_CODE = 5
# The last word of a column's name, where whole numbers in it name things.
_CODE_NAMES = frozenset(
    {
        *("id", "ids", "code", "zip", "plz", "postcode", "nr", "no", "type", "kind", "group", "category"),
        *("store", "shop", "branch", "region", "department", "dept", "station", "area", "district"),
        *("machine", "account"),
    }
)
# Average words of a text above which it is prose, and how many texts are examined.
_PROSE_WORDS, _TEXTS_READ = 4.0, 1_000
# Squares of larger numbers, and of smaller differences, leave the range of floats.
_LARGEST, _SMALLEST = 1e150, 1e-150
# Above this, not every whole number is a float.
_LARGEST_WHOLE = 2.0**53
# Values that categories may have as they are; others are compared as texts.
LABELS = ("boolean", "number", "text")
_YES_NO = (
    {"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"}, {"ja", "nein"}, {"oui", "non"}, {"on", "off"},
)  # fmt: skip
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
        What it is.
    note : str
        What was done with it and why, where this is not obvious; "" else.
    is_constant : bool
        Whether it is set aside because it has but one value.
    parts : tuple of str
        For dates: what is made of them.
    used_as : str
        How it enters the model; "nothing" if it does not. "" in files of 0.1, whose kind says it.
    why : str
        Why it is of this kind.
    n_gaps, n_distinct : int
        How many values are missing, and how many different ones there are.
    values : str
        Its range, or some of its values.
    """

    name: str
    key: str | int
    kind: str
    note: str = ""
    is_constant: bool = False
    parts: tuple[str, ...] = ()
    used_as: str = ""
    why: str = ""
    n_gaps: int = 0
    n_distinct: int = 0
    values: str = ""

    @property
    def is_used(self) -> bool:
        """Whether it enters the model."""
        return self.used_as != "nothing" and self.kind != "set aside"


def judge_columns(
    table: RawTable, types: Mapping[str, str] | None = None, whole: Whole | None = None
) -> list[Column]:
    """Kind of each column of the table; ``types`` are the kinds that people say columns have.

    ``whole`` is what the table is a sample of, if it is one.
    """
    from whyodd.automatic.overruling import checked_types, judge_as  # it asks for the rules below

    given = checked_types(types, table.names)
    table = _once(table)
    columns = []
    for name, key, sampled in zip(table.names, table.keys, table.columns, strict=True):
        known = None if whole is None else whole.columns.get(key)
        column = sampled if known is None else known.completed(sampled)
        found = judge_as(column, name, given[name]) if name in given else judge(column, name)
        distinct, values = told_values(column, are_labels="category" in found["used_as"])
        n_gaps = int(column.gaps.sum()) if known is None else known.n_gaps
        columns.append(Column(name, key, **found, n_gaps=n_gaps, n_distinct=distinct, values=values))
    return columns


def _once(table: RawTable) -> RawTable:
    """The table without copies, if every row occurs equally often; else the table."""
    first = first_copies(table.data)
    chosen = np.unique(first)
    if repeated(first) == 1 or chosen.size < ENOUGH_ROWS:
        return table
    return replace(table, data=table.rows(chosen), n_rows=chosen.size)


def judge(column: RawColumn, name: str) -> dict[str, Any]:
    """Keywords of a ``Column``, by the rules on what its values have in common."""
    if column.family == "nothing":
        return aside("constant", "it has no values at all")
    if column.is_category and column.family not in LABELS:
        return judge_labels(column)
    if column.family == "object":
        what = "objects" if column.example is None else f"values of type {column.example.__name__}"
        return aside("other", f"its cells hold {what}; convert them to numbers, dates or texts")
    if column.family in ("number", "duration") and not column.is_category:
        return _judge_numbers(column, name)
    if column.family in ("date", "time") or _holds_written_dates(column):
        return judge_dates(column, name)
    return judge_labels(column)


def judge_labels(column: RawColumn, kind: Kind | None = None) -> dict[str, Any]:
    """Values treated as categories; as a ``kind`` if it is known."""
    is_plain = column.family in LABELS
    distinct = different(column.present if is_plain else [str(value) for value in column.present])
    if len(distinct) == 1:
        return judge_constant(column)
    if kind is None and (names := _judge_names(column, distinct)):
        return names
    found, why = _kind_of_labels(column, distinct) if kind is None else (kind, "")
    note = "" if is_plain else "its values are compared as texts"
    return _used(found, "category" if is_plain else "mixed category", why or note, note)


def _judge_names(column: RawColumn, distinct: set[Any]) -> dict[str, Any] | None:
    """Names, identifiers and free text: most rows have their own value, or the texts are prose."""
    n = column.n_present
    if n < ENOUGH_ROWS:
        return None
    n_own = 2 * len(distinct) - n  # at least this many values occur once
    if n_own < _OWN_SHARE * n and len(distinct) > _OWN_SHARE * n:
        n_own = sum(count == 1 for count in Counter(map(str, column.present)).values())
    if len(distinct) < _ID_SHARE * n and n_own < _OWN_SHARE * n:
        return None
    if column.family == "text" and _words(distinct) >= _PROSE_WORDS:
        return aside("free text", "its texts are sentences, not values; use whyodd text to compare messages")
    return aside("identifier", "nearly every row has a different value (names, free text, numbers as text?)")


def _kind_of_labels(column: RawColumn, distinct: set[Any]) -> tuple[Kind, str]:
    if column.is_ordered:
        return "ordered category", "the frame marks its values as ordered; they are treated as categories"
    if column.family == "boolean":
        return "yes/no", "true or false"
    if column.family == "text" and {value.strip().casefold() for value in distinct} in _YES_NO:
        return "yes/no", "texts that say yes or no"
    if column.family == "text" and _have_one_form(distinct):
        return "code", "short texts with digits, all in one format, that several rows share"
    if column.family == "number":
        return "category", "the frame marks its numbers as categories"
    return "category", "texts that several rows share"


def judge_constant(column: RawColumn) -> dict[str, Any]:
    """A column with one value, and perhaps gaps."""
    value = column.present[0]
    if column.gaps.any():
        use: Use = "category" if column.family in LABELS else "mixed category"
        return _used("category", use, f"it is {value!s} or missing", f"it is {value!s} or missing")
    return aside("constant", f"it is always {value!s}") | {"is_constant": True}


def _judge_numbers(column: RawColumn, name: str) -> dict[str, Any]:
    numbers = column.as_floats()[~column.gaps]
    check_range(numbers, column, name)
    # Floats cannot distinguish large identifiers.
    exact = column.present if column.values.dtype.kind in "iu" else numbers
    n_distinct = np.unique(exact).size
    if n_distinct == 1:
        return judge_constant(column)
    if column.family == "duration":
        return _used("duration", "number", "lengths of time, compared in seconds")
    if n_distinct == 2 and column.n_present >= ENOUGH_ROWS:
        is_yes_no = set(numbers.tolist()) == {0.0, 1.0}
        kind: Kind = "yes/no" if is_yes_no else "category"
        return _used(kind, "category", "it has only two values", "it has only two values")
    is_whole = bool(np.all(numbers == np.floor(numbers)))
    if not is_whole:
        return _used("number", "number", "numbers that are not all whole")
    return _judge_whole_numbers(column, exact, numbers, n_distinct, name)


def _judge_whole_numbers(
    column: RawColumn, exact: NDArray[Any], numbers: NDArray[np.float64], n_distinct: int, name: str
) -> dict[str, Any]:
    word, n = _code_word(name), column.n_present
    if n_distinct == n >= ENOUGH_ROWS and (word or _counts_rows(exact, column.n_whole or n)):
        called = f", and its name ends in {word!r}" if word else " and go up with the rows, or fill a range"
        return aside("identifier", f"all its whole numbers differ{called}")
    if np.abs(numbers).max() > _LARGEST_WHOLE and np.unique(numbers).size < n_distinct:
        return aside("identifier", "its whole numbers are too large to distinguish as numbers")
    if word and n_distinct * _ROWS_PER_CODE <= n and n >= ENOUGH_ROWS:
        why = f"whole numbers that repeat, and its name ends in {word!r}: codes, not amounts"
        return _used("code", "category", why, why)
    if numbers.min() >= 0.0:
        return _used("count", "number", "whole numbers, none below 0")
    return _used("number", "number", "whole numbers, some below 0")


def judge_dates(column: RawColumn, name: str, *, only_clock: bool = False) -> dict[str, Any]:
    """Dates, whose parts are compared; for times of day, or on request, only the time of day."""
    dates = dates_of(column, name)[~column.gaps]
    if np.unique(dates).size == 1:
        return judge_constant(column)
    if only_clock or column.family == "time":
        why = "times of day; 23:00 is near 01:00"
        return _used("time of day", "date", why) | {"parts": (CLOCK,)}
    parts = choose_parts(dates)
    if not parts:
        why = "its dates increase row by row and span no full day, week or year to compare"
        return aside("date", why)
    used = f"used: {', '.join(parts)}"
    return _used("date", "date", f"dates; {used}", used) | {"parts": parts}


def _used(kind: Kind, use: Use, why: str, note: str = "") -> dict[str, Any]:
    return {"kind": kind, "used_as": use, "why": why, "note": note}


def aside(kind: Kind, why: str) -> dict[str, Any]:
    """Keywords of a ``Column`` that does not enter the model."""
    return {"kind": kind, "used_as": "nothing", "why": why, "note": why}


def _code_word(name: str) -> str:
    """The last word of a name if it suggests a code: "id" for "Store ID" and "storeId"."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", name)
    last = words[-1].casefold() if words else ""
    return last if last in _CODE_NAMES else ""


def _words(texts: set[str]) -> float:
    """Words of a text, on average."""
    some = [len(text.split()) for _, text in zip(range(_TEXTS_READ), texts, strict=False)]
    return float(np.mean(some))


def _have_one_form(texts: set[str]) -> bool:
    """Whether texts contain digits and have the same shape, such as A-101 and B-207."""
    forms = {re.sub(r"\d", "0", re.sub(r"[^\W\d_]", "a", text)) for text in texts}
    return len(forms) == 1 and "0" in forms.pop()


def _counts_rows(numbers: NDArray[Any], n: int) -> bool:
    """Whether whole numbers that all differ are identifiers: increasing, or without large gaps.

    ``n`` is how many the column has. These may be a sample of m: in a range of m²/10, five pairs of m random
    numbers would be equal on average, so that it says something that none is.
    """
    is_increasing = bool(np.all(numbers[1:] > numbers[:-1]))
    extent = float(numbers.max()) - float(numbers.min())
    return is_increasing or extent < min(2.0 * n, numbers.size**2 / 10.0)


def check_range(numbers: NDArray[np.float64], column: RawColumn, name: str) -> None:
    """Refuse numbers whose squares, or whose differences, exceed floats."""
    beyond = ~(np.abs(numbers) <= _LARGEST)
    if beyond.any():
        at = int(np.flatnonzero(~column.gaps)[np.argmax(beyond)])
        value = numbers[np.argmax(beyond)]
        remedy = "Replace infinite values by missing ones" if np.isinf(value) else "Use another unit"
        where = f" in row {at}" if column.n_whole is None else ""
        raise ValueError(
            f"Column {name!r} holds {value}{where}, expected numbers up to {_LARGEST:.0e}. {remedy}, "
            "or drop the column."
        )
    if 0.0 < np.ptp(numbers) < _SMALLEST:
        raise ValueError(
            f"Column {name!r} varies by only {np.ptp(numbers):.1g}, expected at least {_SMALLEST:.0e}. Use "
            "another unit, or drop the column."
        )


def _holds_written_dates(column: RawColumn) -> bool:
    if column.family != "text" or column.is_category:
        return False
    return all(_ISO_DATE.fullmatch(value) is not None for value in column.present)


def different(values: Any) -> set[Any]:
    """The distinct values."""
    return set(values.tolist()) if isinstance(values, np.ndarray) else set(values)
