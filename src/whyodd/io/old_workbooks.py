"""Excel's old workbooks, .xls, by xlrd, which is plain Python: a damaged file is an error, nothing worse."""

from __future__ import annotations

import datetime as dt
import io
import struct
from typing import TYPE_CHECKING, Any

from whyodd.io.opened_workbook import OpenedWorkbook, unreadable

if TYPE_CHECKING:
    from whyodd.io.table_mistakes import Source

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# What xlrd raises where a file is damaged, beside its own errors.
_DAMAGED: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)


def open_old_workbook(source: Source, name: str) -> OpenedWorkbook:
    """Sheets of an .xls file."""
    try:
        import xlrd
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading .xls files needs xlrd, which is not installed. Run: pip install 'whyodd[files]'"
        ) from None
    content = source if isinstance(source, bytes) else source.read_bytes()
    try:
        book = xlrd.open_workbook(file_contents=content, logfile=io.StringIO())
        sheets = {sheet.name: _rows(sheet, book.datemode, xlrd) for sheet in book.sheets()}
        visible = [sheet.name for sheet in book.sheets() if sheet.visibility == 0]
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, *_DAMAGED) as error:
        raise unreadable(name, error) from None
    return OpenedWorkbook(list(sheets), visible, sheets.__getitem__)


def _rows(sheet: Any, date_mode: int, xlrd: Any) -> list[list[Any]]:
    rows = []
    for r in range(sheet.nrows):
        cells = zip(sheet.row_types(r), sheet.row_values(r), strict=True)
        row = [_cell(kind, value, date_mode, xlrd) for kind, value in cells]
        rows.append(row + [""] * (sheet.ncols - len(row)))
    return rows


def _cell(kind: int, value: Any, date_mode: int, xlrd: Any) -> Any:
    """Value of a cell; errors such as #DIV/0! are gaps."""
    if kind == xlrd.XL_CELL_BOOLEAN:
        return bool(value)
    if kind == xlrd.XL_CELL_DATE:
        return _moment(value, date_mode, xlrd)
    return value if kind in (xlrd.XL_CELL_TEXT, xlrd.XL_CELL_NUMBER) else ""


def _moment(value: float, date_mode: int, xlrd: Any) -> Any:
    """A date, a time, or both, depending on the number."""
    moment = xlrd.xldate_as_datetime(value, date_mode)
    if 0.0 <= value < 1.0:
        return moment.time()
    return moment.date() if moment.time() == dt.time() else moment
