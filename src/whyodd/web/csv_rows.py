"""Findings and marks as CSV whose cells no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_COLUMNS = ("rank", "row", "id", "outlierness", "why", "mark", "note")
# First letters of a formula in a spreadsheet, also after spaces.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "|", "%")


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """A line for each row, in UTF-8 with a byte order mark, which Excel needs.

    Examples
    --------
    >>> from whyodd.web.csv_rows import as_csv
    >>> row = dict(rank=1, row=7, id="=1+1", outlierness=2.5, why="amount", verdict="fine", note=None)
    >>> print(as_csv([row]).lstrip(chr(0xFEFF)).splitlines()[1])
    1,7,'=1+1,2.5,amount,fine,
    """
    text = io.StringIO()
    text.write("\ufeff")
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for row in rows:
        values = (
            row["rank"],
            row["row"],
            row["id"],
            row["outlierness"],
            row["why"],
            row["verdict"],
            row["note"],
        )
        writer.writerow([guarded(value) for value in values])
    return text.getvalue()


def guarded(value: Any) -> Any:
    """Put a quote before a text that looks like a formula, as spreadsheets do."""
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.lstrip(" \u00a0").startswith(_FORMULAS) else value
