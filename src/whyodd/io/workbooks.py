"""Sheets of workbooks: .xlsx and .ods by calamine, .xls by xlrd."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from whyodd.io.chosen_part import choose_part
from whyodd.io.old_workbooks import SIGNATURE, open_old_workbook
from whyodd.io.opened_workbook import OpenedWorkbook, unreadable
from whyodd.io.quiet_readers import quiet
from whyodd.io.sheet_tables import frame_of_rows, holds_table
from whyodd.io.table_kinds import first_bytes

if TYPE_CHECKING:
    from whyodd.io.reading import Reading
    from whyodd.io.table_mistakes import Source

# What a workbook may unpack to, and how many cells a sheet may span: one cell far away makes all before it.
_LARGEST_UNPACKED = 1 << 30
_MOST_CELLS = 50_000_000
_STEP = 1 << 20
_ADDRESS = re.compile(rb'<c r="([A-Z]{1,3})(\d{1,7})"')
_REPEATED = re.compile(rb'table:number-(?:rows|columns)-repeated="(\d{1,9})"[^>]*office:value')


def read_workbook(source: Source, reading: Reading) -> Any:
    """A sheet of a workbook: values, not formulas."""
    if first_bytes(source).startswith(SIGNATURE):
        return frame_of_rows(_chosen_rows(open_old_workbook(source, reading.name), reading), reading)
    calamine = _calamine()
    _check_size(source, reading.name)
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
            "Reading workbooks needs python-calamine: it is not installed. Run: pip install 'whyodd[files]'"
        ) from None
    return python_calamine


def _opened(book: Any, calamine: Any, name: str) -> OpenedWorkbook:
    def rows(part: str) -> list[list[Any]]:
        sheet = book.get_sheet_by_name(part)
        if sheet.height * sheet.width > _MOST_CELLS:
            raise _too_large(name)
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


# ---- sizes ------------------------------------------------------------------------------------------------


def _check_size(source: Source, name: str) -> None:
    """Refuse what unpacks to more than memory should hold, before it does."""
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    if not zipfile.is_zipfile(file):
        raise unreadable(name, ValueError("it is neither .xlsx, .xls nor .ods"))
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > _LARGEST_UNPACKED:
                raise _too_large(name)
            for member in members:
                _check_member(archive, member, name)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        LookupError,  # an encoding that is none
        expat.ExpatError,
        zlib.error,
    ) as error:
        raise unreadable(name, error) from None


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> None:
    """Unpack a member once: its size as declared, its XML whole, its cells not too far away.

    The reader would never come to the end of XML that is cut off.
    """
    if not member.filename.endswith((".xml", ".rels")):
        return
    rows, columns, repeated, rest = 0, 0, 0, b""
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_definitions
    with archive.open(member) as file:
        while part := file.read(_STEP):
            parser.Parse(part, False)
            window = rest + part
            for found in _ADDRESS.finditer(window):
                columns, rows = max(columns, _number_of(found[1])), max(rows, int(found[2]))
            repeated = max([repeated, *(int(number) for number in _REPEATED.findall(window))])
            rest = window[-64:]
    parser.Parse(b"", True)
    if rows * columns > _MOST_CELLS or repeated > _MOST_CELLS:
        raise _too_large(name)


def _refuse_definitions(*_: object) -> None:
    raise expat.ExpatError("it defines entities, which no workbook does")


def _number_of(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _too_large(name: str) -> ValueError:
    return ValueError(
        f"{name} is too large for a workbook: at most {_MOST_CELLS:,} cells and "
        f"{_LARGEST_UNPACKED >> 30} GiB unpacked are read. Save the sheet as CSV."
    )
