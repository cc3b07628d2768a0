"""Bytes of a stream as lines, and lines as records."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from whyodd.io.missing_words import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Record = dict[str, Any]

LineFormat = Literal["jsonl", "csv"]
# Longer lines are refused: a stream that has lost its line ends must not fill the memory.
LONGEST_LINE = 1_000_000
_SEPARATORS = (",", ";", "\t", "|")
_GAPS = frozenset({"", *NOTHING})
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The part of a too long line that is kept, to show it.
_KEPT = 1_000


class BadLineError(ValueError):
    """A line is not a record; says why."""


@dataclass(frozen=True)
class Line:
    """A line of a stream.

    Attributes
    ----------
    number : int
        Counted from 1, empty lines and a header too.
    content : bytes
        Without its end; of a line that is too long only the beginning.
    is_whole : bool
        Whether that is all of it.
    """

    number: int
    content: bytes
    is_whole: bool = True


class LineCutter:
    r"""Cuts bytes into lines, however many arrive at a time; empty lines are counted and left out.

    Examples
    --------
    >>> from whyodd.scale.lines import LineCutter
    >>> cutter = LineCutter()
    >>> [line.content for part in (b"a", b"b\r\n\nc") for line in cutter.feed(part)]
    [b'ab']
    >>> [(line.number, line.content) for line in cutter.rest()]
    [(3, b'c')]
    """

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self.longest = longest
        self._begun = b""
        self._is_too_long = False
        self._number = 0

    def feed(self, data: bytes) -> list[Line]:
        """Lines that these bytes complete."""
        *ended, begun = (self._begun + data).split(b"\n")
        lines = [line for content in ended if (line := self._ended(content)) is not None]
        if len(begun) > self.longest:
            self._is_too_long = True
            begun = begun[:_KEPT]
        self._begun = begun
        return lines

    def rest(self) -> list[Line]:
        """The last line, if it has no line end."""
        content, self._begun = self._begun, b""
        line = self._ended(content)
        return [] if line is None else [line]

    def _ended(self, content: bytes) -> Line | None:
        self._number += 1
        if self._number == 1:
            content = content.removeprefix(_BYTE_ORDER_MARK)
        is_whole = not self._is_too_long and len(content) <= self.longest
        self._is_too_long = False
        if not is_whole:
            return Line(self._number, content[:_KEPT], is_whole=False)
        content = content.removesuffix(b"\r")
        return Line(self._number, content) if content.strip() else None


class LineReader:
    """Reads lines as records: of JSON lines objects, of CSV cells by the names in the header.

    Parameters
    ----------
    form : {"jsonl", "csv"}, optional
        Told from the first line by default.
    header : sequence of str, optional
        Names of the columns of CSV without a header line.
    columns : sequence of str
        Names that the model knows: they show what separates the names in a header.
    """

    def __init__(
        self, form: LineFormat | None = None, *, header: Sequence[str] = (), columns: Sequence[str] = ()
    ) -> None:
        self.form = form
        self._header = tuple(header)
        self._columns = tuple(columns)
        self._separator: str | None = None
        self._parse: Callable[[bytes], Record] | None = None

    @property
    def is_text(self) -> bool:
        """Whether all values are texts, as cells of CSV are."""
        return self.form == "csv"

    def is_header(self, line: Line) -> bool:
        """Whether a line holds column names; the first line decides how all are read."""
        if self._parse is not None:
            return False
        if self.form is None:
            self.form = "jsonl" if line.content.lstrip().startswith(b"{") else "csv"
        if self.form == "jsonl":
            self._parse = _json_record
            return False
        self._parse = self._csv_record
        if self._header:
            self._separator = _separator(line.content, len(self._header))
            return False
        self._header, self._separator = _read_header(line, self._columns)
        return True

    def record(self, line: Line) -> Record:
        """The record of a line after the first, or a :class:`BadLineError`."""
        if not line.is_whole:
            raise BadLineError(f"the line is longer than {LONGEST_LINE:,} bytes")
        if self._parse is None:
            self.is_header(line)
        return self._parse(line.content)  # type: ignore[misc]

    def _csv_record(self, content: bytes) -> Record:
        cells = list(_cells(_decoded(content), self._separator or ","))
        if len(cells) != len(self._header):
            raise BadLineError(f"expected {len(self._header)} cells, got {len(cells)}")
        return dict(zip(self._header, cells, strict=True))


def _json_record(content: bytes) -> Record:
    try:
        record = _LOADS(content)
    except ValueError:
        record = _json_of_python(content)
    if not isinstance(record, dict):
        raise BadLineError(f"expected an object in braces, got {_JSON_NAMES.get(type(record), 'a value')}")
    return record


_JSON_NAMES = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}


def _json_of_python(content: bytes) -> Any:
    """JSON that may contain NaN and Infinity, as Python and others write it."""
    try:
        value = json.loads(_decoded(content))
        json.dumps(value, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
    except UnicodeEncodeError:
        raise BadLineError("it contains half of a surrogate pair, which is not a character") from None
    except RecursionError:
        raise BadLineError("it is nested too deeply") from None
    except BadLineError:
        raise
    except ValueError as error:
        raise BadLineError(f"it is not JSON ({error})") from None
    return value


def _loads() -> Callable[[bytes], Any]:
    """The fastest installed reader of JSON."""
    try:
        import orjson
    except ModuleNotFoundError:
        return _json_of_python
    return orjson.loads


_LOADS = _loads()


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLineError(f"byte {error.start + 1} is not valid UTF-8") from None


def _cells(text: str, separator: str) -> Iterator[str | None]:
    """Cells of a line; None for words that stand for a missing value."""
    if '"' not in text:
        cells = text.split(separator)
    else:
        try:
            (cells,) = csv.reader([text], delimiter=separator, strict=True)
        except (csv.Error, ValueError) as error:
            raise BadLineError(f"its quotation marks do not match ({error})") from None
    return (None if (plain := cell.strip()) in _GAPS else plain for cell in cells)


def _separator(content: bytes, n_cells: int) -> str:
    """The separator that gives this many cells in a first line; a comma if none does."""
    text = content.decode("utf-8", errors="replace")
    fitting = [sign for sign in _SEPARATORS if text.count(sign) + 1 == n_cells]
    return fitting[0] if fitting else ","


def _read_header(line: Line, columns: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Names in a header, and the separator: the one that gives most of the known names."""
    text = _decoded(line.content)
    known = set(columns)

    def n_known(separator: str) -> int:
        return len(known & {cell for cell in _cells(text, separator) if cell is not None})

    separator = max(_SEPARATORS, key=n_known)
    names = tuple(cell or "" for cell in _cells(text, separator))
    if not n_known(separator):
        raise ValueError(
            f"The first line, {text[:60]!r}, is neither JSON nor a header with columns of the model "
            f"({', '.join(map(repr, list(columns)[:5]))}...). Name the columns with --header a,b,c, or pass "
            "--format jsonl if JSON follows."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"The header {text[:60]!r} has the same name twice. Give every column its own name.")
    return names, separator
