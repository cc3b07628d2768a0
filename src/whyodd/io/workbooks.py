"""Sheets of workbooks: .xlsx and .ods by calamine, .xls by xlrd."""

from __future__ import annotations

import io
from contextlib import closing
from typing import TYPE_CHECKING, Any

from whyodd.io.chosen_part import choose_part
from whyodd.io.old_workbooks import SIGNATURE, open_old_workbook
from whyodd.io.opened_workbook import OpenedWorkbook, unreadable
from whyodd.io.quiet_readers import quiet
from whyodd.io.sheet_tables import frame_of_rows, holds_table
from whyodd.io.table_kinds import first_bytes
from whyodd.io.workbook_sizes import MOST_CELLS, check_size, too_large

if TYPE_CHECKING:
    from whyodd.io.reading import Reading
    from whyodd.io.table_mistakes import Source


def read_workbook(source: Source, reading: Reading) -> Any:
    """A sheet of a workbook: values, not formulas."""
    if first_bytes(source).startswith(SIGNATURE):
        return frame_of_rows(_chosen_rows(open_old_workbook(source, reading.name), reading), reading)
    calamine = _calamine()
    check_size(source, reading.name)
    try:
        file = io.BytesIO(source) if isinstance(source, bytes) else str(source)
        with quiet(), closing(calamine.load_workbook(file)) as book:
            rows = _chosen_rows(_opened(book, calamine, reading.name), reading)
    except (calamine.CalamineError, OSError, OverflowError) as error:
        raise unreadable(reading.name, error) from None
    except BaseException as error:
        # A damaged file makes the reader panic, which is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise unreadable(reading.name, error) from None
    return frame_of_rows(rows, reading)


def _calamine() -> Any:
    try:
        import python_calamine
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading workbooks needs python-calamine, which is not installed. Run: pip install "
            "'whyodd[files]'"
        ) from None
    return python_calamine


def _opened(book: Any, calamine: Any, name: str) -> OpenedWorkbook:
    def rows(part: str) -> list[list[Any]]:
        sheet = book.get_sheet_by_name(part)
        if sheet.height * sheet.width > MOST_CELLS:
            raise too_large(name)
        cells: list[list[Any]] = sheet.to_python(skip_empty_area=True)
        return cells

    sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
    visible = [sheet.name for sheet in sheets if sheet.visible == calamine.SheetVisibleEnum.Visible]
    return OpenedWorkbook([sheet.name for sheet in sheets], visible, rows)


def _chosen_rows(book: OpenedWorkbook, reading: Reading) -> list[list[Any]]:
    if reading.sheet is not None:
        return book.rows(choose_part(reading.sheet, book.there, [], reading.name, "sheet"))
    sheets = {part: book.rows(part) for part in book.visible}
    full = [part for part, rows in sheets.items() if holds_table(rows)]
    return sheets[choose_part(None, book.there, full, reading.name, "sheet")]
