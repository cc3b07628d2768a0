"""Packed workbooks, unpacked once before they are read, to check their size and integrity."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.parsers import expat

from whyodd.io.opened_workbook import unreadable

if TYPE_CHECKING:
    from whyodd.io.table_mistakes import Source

# Limits on what a workbook unpacks to, and on cells of a sheet: one cell far away creates all before it.
_LARGEST_UNPACKED = 1 << 30
MOST_CELLS = 50_000_000
_STEP = 1 << 20
_LONGEST_TAG = 1000
# A cell of .xlsx and its address.
_ADDRESS = re.compile(rb"<(?:\w+:)?c\s[^<>]{0,200}?\br\s*=\s*[\"']([A-Z]{1,3})(\d{1,7})[\"']")
# The member of .ods that has all sheets.
_CONTENT = "content.xml"


def check_size(source: Source, name: str) -> None:
    """Refuse a workbook that unpacks to too much memory, or on which the reader would never end."""
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    if not zipfile.is_zipfile(file):
        raise unreadable(name, ValueError("it is not an .xlsx, .xls or .ods file"))
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > _LARGEST_UNPACKED:
                raise too_large(name)
            if any(_spanned(archive, member) > MOST_CELLS for member in members):
                raise too_large(name)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        LookupError,  # an encoding that is none
        UnicodeError,
        expat.ExpatError,
        zlib.error,
    ) as error:
        raise unreadable(name, error) from None


def too_large(name: str) -> ValueError:
    """Say that a workbook exceeds the limits."""
    return ValueError(
        f"{name} is too large: the limit for workbooks is {MOST_CELLS:,} cells and "
        f"{_LARGEST_UNPACKED >> 30} GiB unpacked. Save the sheet as CSV."
    )


def _spanned(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Number of cells up to the last row and column of a member, whose XML is checked on the way.

    Unpacking checks its sum, and that it is as large as declared. Of XML that is cut off the reader would
    never find the end.
    """
    if not member.filename.endswith((".xml", ".rels")):
        return 0
    parser, cells = expat.ParserCreate(), _Cells()
    parser.StartDoctypeDeclHandler = _refuse_definitions
    if member.filename == _CONTENT:
        parser.StartElementHandler = cells.begin
    with archive.open(member) as file:
        rest = b""
        while part := file.read(_STEP):
            parser.Parse(part, False)
            window = rest + part
            for found in _ADDRESS.finditer(window):
                cells.extend(int(found[2]), _number_of(found[1]))
            rest = window[-_LONGEST_TAG:]
    parser.Parse(b"", True)
    return cells.rows * cells.columns


def _refuse_definitions(*_: object) -> None:
    raise expat.ExpatError("it defines XML entities, which no proper workbook does")


@dataclass
class _Cells:
    """Extent of the cells of sheets; those of .ods declare how often they are repeated."""

    rows: int = 0
    columns: int = 0
    row_end: int = 0
    column: int = 0

    def extend(self, row: int, column: int) -> None:
        self.rows, self.columns = max(self.rows, row), max(self.columns, column)

    def begin(self, tag: str, values: dict[str, str]) -> None:
        """An element of .ods."""
        if tag == "table:table":
            self.row_end = 0
        elif tag == "table:table-row":
            self.column = 0
            self.row_end += _times(values.get("table:number-rows-repeated"))
        elif tag in ("table:table-cell", "table:covered-table-cell"):
            self.column += _times(values.get("table:number-columns-repeated"))
            if "office:value-type" in values:
                self.extend(self.row_end, self.column)


def _times(text: str | None) -> int:
    return int(text[:12]) if text is not None and text.isascii() and text.isdigit() else 1


def _number_of(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
