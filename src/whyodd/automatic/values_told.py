"""The values of a column in a few words: a range, or some of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import all_digits, duration, number, text

if TYPE_CHECKING:
    from whyodd.automatic.reading import RawColumn

_SHOWN = 3  # values, the most frequent first
_LONGEST = 30  # characters of each


def told_values(column: RawColumn, *, are_labels: bool) -> tuple[int, str]:
    """Number of distinct values of a column, and its range, or its most frequent labels."""
    if column.family in ("nothing", "object"):
        return 0, ""
    values = column.present
    if are_labels or column.is_category or column.family in ("text", "boolean", "mixed"):
        return _most_frequent(values)
    if column.family == "duration":
        seconds = np.unique(column.as_floats()[~column.gaps])
        return seconds.size, _range(duration(float(seconds[0])), duration(float(seconds[-1])))
    if column.family == "number":
        # Floats cannot distinguish large whole numbers.
        exact = values if values.dtype.kind in "iu" else column.as_floats()[~column.gaps]
        found = np.unique(exact)
        return found.size, _range(number(float(found[0])), number(float(found[-1])))
    moments = np.unique(values) if values.dtype.kind == "M" else sorted(set(values), key=str)
    return len(moments), _range(_moment(moments[0]), _moment(moments[-1]))


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _most_frequent(values: Any) -> tuple[int, str]:
    are_numbers = values.dtype.kind in "iuf"
    counts = Counter(values.tolist() if are_numbers else map(str, values))
    first = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_SHOWN]
    shown = ", ".join(all_digits(float(value)) if are_numbers else text(_short(value)) for value, _ in first)
    return len(counts), shown + (", …" if len(counts) > _SHOWN else "")


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"


def _moment(value: Any) -> str:
    """A date or time as it is written, without a time of day that is midnight."""
    written = str(np.datetime_as_string(value, unit="s")) if isinstance(value, np.datetime64) else str(value)
    return written.replace("T", " ").removesuffix(" 00:00:00")
