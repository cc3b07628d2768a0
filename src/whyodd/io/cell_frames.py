"""Columns of single values, as workbooks and databases have them, as a frame."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from whyodd.io.missing_words import NOTHING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_WIDEST = 2**63


def frame_of_cells(
    names: Sequence[str], columns: Sequence[Sequence[Any]], as_written: Collection[str]
) -> Any:
    """Frame of columns whose values may be of several types.

    Parameters
    ----------
    names : sequence of str
        All different.
    columns : sequence of sequences
        Values of each column; None or an empty text is a gap.
    as_written : collection of str
        Columns that stay texts if they are.
    """
    import polars as pl

    series = [
        _series(name, [_plain(cell) for cell in column], name in as_written)
        for name, column in zip(names, columns, strict=True)
    ]
    return pl.DataFrame(series)


def _plain(cell: Any) -> Any:
    """A value of one of a few types; other types of databases become texts."""
    if isinstance(cell, Decimal):
        return float(cell)
    if isinstance(cell, UUID):
        return str(cell)
    if isinstance(cell, str):
        return cell if cell.strip() else None
    if isinstance(cell, int) and not -_WIDEST <= cell < _WIDEST:
        return float(cell)
    return cell


def _series(name: str, cells: list[Any], as_written: bool) -> Any:
    import polars as pl

    kinds = {type(cell) for cell in cells if cell is not None}
    if str in kinds and len(kinds) > 1 and not as_written:
        # Words such as "n/a" among numbers are gaps.
        cells = [None if isinstance(cell, str) and cell.strip() in NOTHING else cell for cell in cells]
        kinds = {type(cell) for cell in cells if cell is not None}
    for fitting, make in _MAKERS:
        if kinds and kinds <= fitting:
            return make(name, cells)
    if not kinds:
        return pl.Series(name, cells, dtype=pl.String)
    return pl.Series(name, [None if cell is None else _written(cell) for cell in cells], dtype=pl.String)


def _of_type(dtype: str) -> Any:
    def make(name: str, cells: list[Any]) -> Any:
        import polars as pl

        return pl.Series(name, cells, dtype=getattr(pl, dtype))

    return make


def _numbers(name: str, cells: list[Any]) -> Any:
    """Whole numbers as integers, even where a workbook stores only floats."""
    import polars as pl

    if all(cell is None or _is_whole(cell) for cell in cells):
        return pl.Series(name, [None if cell is None else int(cell) for cell in cells], dtype=pl.Int64)
    return pl.Series(name, [None if cell is None else float(cell) for cell in cells], dtype=pl.Float64)


def _is_whole(cell: float) -> bool:
    # Beyond 2^53 a decimal number is no count.
    return isinstance(cell, int) or (math.isfinite(cell) and cell == int(cell) and abs(cell) <= 2**53)


def _times(name: str, cells: list[Any]) -> Any:
    import polars as pl

    return pl.Series(name, [None if cell is None else _moment(cell) for cell in cells])


def _moment(cell: dt.date) -> dt.datetime:
    return cell if isinstance(cell, dt.datetime) else dt.datetime.combine(cell, dt.time())


# Types of all values of a column -> how they become one.
_MAKERS: tuple[tuple[set[type], Any], ...] = (
    ({bool}, _of_type("Boolean")),
    ({int, float}, _numbers),
    ({str}, _of_type("String")),
    ({dt.date}, _of_type("Date")),
    ({dt.date, dt.datetime}, _times),
    ({dt.time}, _of_type("Time")),
    ({dt.timedelta}, _of_type("Duration")),
    ({bytes}, _of_type("Binary")),
)


def _written(cell: Any) -> str:
    """A value among texts as people write it: 5, not 5.0."""
    if isinstance(cell, float) and _is_whole(cell):
        return str(int(cell))
    return cell.decode("utf-8", errors="replace") if isinstance(cell, bytes) else str(cell)


def with_dates(frame: Any, as_written: Collection[str] = ()) -> Any:
    """Texts that are all dates as dates, since JSON and SQLite have no type for them."""
    import polars as pl

    for name in frame.select(pl.col(pl.String)).columns:
        for dates in (pl.col(name).str.to_date("%Y-%m-%d"), pl.col(name).str.to_datetime()):
            if name in as_written or frame[name].null_count() == frame.height:
                break
            try:
                frame = frame.with_columns(dates)
                break
            except pl.exceptions.PolarsError:
                continue  # no dates
    return frame
