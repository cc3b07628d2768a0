"""Sheets of workbooks: Excel's .xlsx and .xls, and .ods."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from whyodd.io.cell_frames import frame_of_cells
from whyodd.io.chosen_part import choose_part
from whyodd.io.column_names import clean_names
from whyodd.io.compound_files import SIGNATURE, has_endless_chain
from whyodd.io.table_kinds import first_bytes
from whyodd.io.table_mistakes import first_words
from whyodd.io.table_outline import filled, has_units, header_of, rows_below, with_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.io.reading import Reading
    from whyodd.io.table_mistakes import Source

# What a workbook may unpack to, and how many cells a sheet may span: one cell far away makes all before it.
_LARGEST_UNPACKED = 1 << 30
_MOST_CELLS = 50_000_000
_STEP = 1 << 20
_ADDRESS = re.compile(rb'<c r="([A-Z]{1,3})(\d{1,7})"')
_REPEATED = re.compile(rb'table:number-(?:rows|columns)-repeated="(\d{1,9})"[^>]*office:value')
# Rows that tell where the table begins.
_SAMPLE = 200


def read_workbook(source: Source, reading: Reading) -> Any:
    """A sheet of a workbook: values, not formulas."""
    calamine = _calamine()
    _check_size(source, reading.name)
    book = None
    try:
        book = calamine.load_workbook(io.BytesIO(source) if isinstance(source, bytes) else str(source))
        rows = _chosen_rows(book, calamine, reading)
    except (calamine.CalamineError, OSError, OverflowError) as error:
        raise _unreadable(reading.name, error) from None
    except ValueError:
        raise
    except BaseException as error:
        # A damaged file makes the reader panic, which is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise _unreadable(reading.name, error) from None
    finally:
        if book is not None:
            book.close()
    return _frame_of_rows(rows, reading)


def _unreadable(name: str, error: BaseException) -> ValueError:
    return ValueError(
        f"{name} cannot be read: it is no workbook, or damaged, or locked by a password "
        f"({first_words(error)}). Get it again, or save it as CSV."
    )


def _calamine() -> Any:
    try:
        import python_calamine
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading workbooks needs python-calamine: it is not installed. Run: pip install 'whyodd[files]'"
        ) from None
    return python_calamine


def _chosen_rows(book: Any, calamine: Any, reading: Reading) -> list[list[Any]]:
    there, sheets = [], {}
    for sheet in book.sheets_metadata:
        if sheet.typ == calamine.SheetTypeEnum.WorkSheet:
            there.append(sheet.name)
            if sheet.visible == calamine.SheetVisibleEnum.Visible and reading.sheet is None:
                sheets[sheet.name] = _rows(book, sheet.name, reading.name)
    full = [part for part, rows in sheets.items() if _holds_table(rows)]
    part = choose_part(reading.sheet, there, full, reading.name, "sheet")
    return sheets[part] if part in sheets else _rows(book, part, reading.name)


def _rows(book: Any, part: str, name: str) -> list[list[Any]]:
    sheet = book.get_sheet_by_name(part)
    if sheet.height * sheet.width > _MOST_CELLS:
        raise _too_large(name)
    rows: list[list[Any]] = sheet.to_python(skip_empty_area=True)
    return rows


def _holds_table(rows: Sequence[Sequence[Any]]) -> bool:
    return sum(any(cell != "" for cell in row) for row in rows) > 1


def _frame_of_rows(rows: list[list[Any]], reading: Reading) -> Any:
    """The table among the cells of a sheet."""
    name, notes = reading.name, reading.notes
    texts = [_texts(row) for row in rows[:_SAMPLE]]
    header = header_of(texts)
    if any(map(filled, texts[:header])):
        shown = next(cell for row in texts for cell in row if cell)[:40]
        notes.append(f"{name}: {_lines(header)} above the names of columns left out ({shown!r}).")
    # A column is there if it has a name or a value below.
    kept = [c for c in range(len(rows[0]) if rows else 0) if any(row[c] != "" for row in rows[header:])]
    names = [texts[header][c] for c in kept]
    body = [[row[c] for c in kept] for row in rows[header + 1 :]]
    if body and has_units(names, _texts(body[0]), [_texts(row) for row in body[1:_SAMPLE]]):
        names = with_units(names, _texts(body[0]))
        body = body[1:]
        notes.append(f"{name}: the line below the names holds units, now part of the names.")
    body = _without_below(body, len(kept), reading)
    body = [row for row in body if any(cell != "" for cell in row)]
    columns = list(zip(*body, strict=True)) if body else [()] * len(kept)
    if not names:
        raise ValueError(f"{name} is empty.")
    return frame_of_cells(clean_names(names, name, notes), columns, reading.as_written)


def _without_below(body: list[list[Any]], width: int, reading: Reading) -> list[list[Any]]:
    last = [_texts(row) for row in body[-_SAMPLE:]]
    while last and not filled(last[-1]):
        last.pop()
        body = body[:-1]
    below = rows_below(last, width)
    if below:
        shown = next(cell for row in last[-below:] for cell in row if cell)[:40]
        reading.notes.append(
            f"{reading.name}: {_lines(below)} below the rows, a total or a footnote, left out ({shown!r})."
        )
    return body[: len(body) - below]


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _texts(row: Sequence[Any]) -> list[str]:
    return [_text(cell) for cell in row]


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


# ---- sizes ------------------------------------------------------------------------------------------------


def _check_size(source: Source, name: str) -> None:
    """Refuse what unpacks to more than memory should hold, before it does."""
    if first_bytes(source).startswith(SIGNATURE):
        if has_endless_chain(source if isinstance(source, bytes) else source.read_bytes()):
            raise _unreadable(name, ValueError("its sectors do not fit together"))
        return
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    if not zipfile.is_zipfile(file):
        raise _unreadable(name, ValueError("it is neither .xlsx, .xls nor .ods"))
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
        zlib.error,
    ) as error:
        raise _unreadable(name, error) from None


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> None:
    """Unpack a member once: its size must be what is declared, and its cells not too far away."""
    is_sheet = member.filename.startswith("xl/worksheets/") or member.filename == "content.xml"
    rows, columns, repeated = 0, 0, 0
    with archive.open(member) as file:
        rest = b""
        while part := file.read(_STEP):
            if is_sheet:
                window = rest + part
                for found in _ADDRESS.finditer(window):
                    columns, rows = max(columns, _number_of(found[1])), max(rows, int(found[2]))
                repeated = max([repeated, *(int(n) for n in _REPEATED.findall(window))])
                rest = window[-64:]
    if rows * columns > _MOST_CELLS or repeated > _MOST_CELLS:
        raise _too_large(name)


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
