"""What is wrong with a file that should hold a table, in a few words, and where."""

from __future__ import annotations

import csv
import io
import json
import math
import mmap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    # A file, or what was read from one.
    Source = Path | bytes

_NO_TEXT = "not text, or damaged. Save it as CSV"
DAMAGED = "it is damaged or cut short. Get it again"
# How files begin that are no text tables, whatever their names say.
_OTHER_KINDS = {
    b"<!doctype": "it is a web page. Download the table itself",
    b"<html": "it is a web page. Download the table itself",
    b"%PDF": "it is a PDF. Save the table as CSV",
    b"<?xml": "it is XML. Save it as CSV or as a workbook",
    b"{\\rtf": "it is a text document. Save the table as CSV",
}
_LONGEST = 100  # letters of a reader's message
LONGEST_LINE = 1 << 24  # bytes of the first line that may be names


# ---- texts ------------------------------------------------------------------------------------------------


def check_is_text(source: Source, beginning: bytes, name: str) -> None:
    """Error if a file that should hold a text table is of another kind."""
    for signature, words in _OTHER_KINDS.items():
        if beginning[: len(signature)].lower() == signature.lower():
            raise ValueError(f"{name} cannot be read: {words}.")
    if _holds_zero_bytes(source):
        raise ValueError(f"{name} cannot be read: it holds zero bytes, so it is {_NO_TEXT}.")
    if not beginning.removeprefix(b"\xef\xbb\xbf").strip():
        raise ValueError(f"{name} is empty.")
    if len(beginning) >= LONGEST_LINE:
        raise ValueError(f"{name} cannot be read: its first line is too long for column names. Add them.")


def _holds_zero_bytes(source: Source) -> bool:
    if isinstance(source, bytes):
        return b"\0" in source
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"\0") >= 0


def text_mistake(error: Exception, source: Source, separator: str, skipped: int = 0) -> str:
    """The problem Polars had with a text table of which some lines were skipped."""
    text = str(error)
    if "more fields than defined" in text:
        where = _place(_line_of_long_row(source, separator), skipped)
        return f"a row has more values than there are column names{where}. Correct it, or add names"
    if "as dtype `str`" in text or "CSV malformed" in text:
        where = _place(_line_of_open_quote(source, separator), skipped)
        return (
            f"a quotation mark is never closed, or stands inside a value{where}. Correct it, or save the "
            "table as Parquet"
        )
    return first_words(error)


def _place(line: int | None, skipped: int = 0) -> str:
    return "" if line is None else f" (line {line + skipped})"


def _line_of_long_row(source: Source, separator: str) -> int | None:
    with _as_text(source) as text:
        reader = csv.reader(text, delimiter=separator)
        expected = len(next(reader))
        return next((reader.line_num for record in reader if len(record) > expected), None)


def _line_of_open_quote(source: Source, separator: str) -> int | None:
    """Where the row begins whose quotation marks do not match."""
    with _as_text(source) as text:
        reader = csv.reader(text, delimiter=separator, strict=True)
        began = 1
        try:
            for record in reader:
                if any('"' in value and not value.startswith('"') for value in record):
                    return began
                began = reader.line_num + 1
        except csv.Error:
            return began
    return None


def _opened(source: Source) -> Any:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _as_text(source: Source) -> io.TextIOWrapper:
    return io.TextIOWrapper(_opened(source), encoding="utf-8", errors="replace", newline="")


# ---- other files ------------------------------------------------------------------------------------------


def json_mistake(error: Exception, content: bytes, is_array: bool) -> str:
    """The problem Polars had with JSON objects, in one array or one per line."""
    text = content.decode("utf-8")
    if is_array:
        return _mistake_in_array(text)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not _is_object(line):
            return f'line {number} is not a JSON object, such as {{"a": 1, "b": null}}. Correct it'
    return first_words(error)


def _mistake_in_array(text: str) -> str:
    try:
        _parsed(text)
    except json.JSONDecodeError as broken:
        return f"it is not valid JSON{_place(broken.lineno)}. Correct it"
    except (ValueError, RecursionError):
        pass
    return 'it is not an array of objects, such as [{"a": 1, "b": null}]. Correct it'


def _is_object(line: str) -> bool:
    try:
        return isinstance(_parsed(line), dict)
    except (ValueError, RecursionError):
        return False


def _parsed(text: str) -> Any:
    """Check JSON by the standard, without NaN and infinite numbers, which Python's reader accepts."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(text)
    return float(text)


def parquet_mistake(error: BaseException) -> str:
    """The problem Polars had with a Parquet file."""
    return f"it is not a Parquet file, or it is damaged or cut short ({first_words(error)}). Get it again"


def arrow_mistake(error: BaseException) -> str:
    """The problem Polars had with an Arrow file."""
    return (
        f"it is not a readable Arrow file, or it is damaged or cut short ({first_words(error)}). Get it again"
    )


def first_words(error: BaseException) -> str:
    """A reader's message, cut to one line."""
    text = str(error).strip()
    line = text.splitlines()[0] if text else type(error).__name__
    return line[:_LONGEST].rstrip(". ")
