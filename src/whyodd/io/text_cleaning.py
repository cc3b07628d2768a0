"""Removes what surrounds the table in a text file: titles, comments, totals, repeated names."""

from __future__ import annotations

import csv
import io
import mmap
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from whyodd.io.table_outline import filled, has_units, header_of, is_number, rows_below, with_units

if TYPE_CHECKING:
    from whyodd.io.table_mistakes import Source

_SEPARATORS = (",", ";", "\t", "|")
# Lines examined to see where the table begins, and bytes to see where it ends.
_SAMPLE_LINES, _TAIL = 200, 1 << 14
# A table begins where this share of the lines below have equally many values.
_FITS = 0.9
_COMMENT = "#"
# Excel's line that declares the separator.
_TOLD = re.compile(r"\s*\"?sep=(.)\"?\s*", re.I)


@dataclass(frozen=True)
class Cleaned:
    """A text table that begins with its names.

    Attributes
    ----------
    source : path or bytes
    sample : str
        Its first lines.
    separator : str, optional
        What separates values, if the file says so or only one explains its lines.
    skipped : int
        Lines before the names that were taken away.
    """

    source: Source
    sample: str
    separator: str | None = None
    skipped: int = 0

    def without_lines(self, lines: int) -> Cleaned:
        """The same without some lines at the beginning."""
        if not lines:
            return self
        content, start = _content(self.source), 0
        for _ in range(lines):
            start = content.find(b"\n", start) + 1 or len(content)
        sample = "".join(self.sample.splitlines(keepends=True)[lines:])
        return replace(self, source=content[start:], sample=sample, skipped=self.skipped + lines)

    def with_names(self, line: str) -> Cleaned:
        """The same with another first line."""
        rest = self.without_lines(1)
        content = line.encode("utf-8") + b"\n" + _content(rest.source)
        return replace(rest, source=content, sample=f"{line}\n{rest.sample}", skipped=rest.skipped - 1)


def with_plain_line_ends(source: Source) -> Source:
    """Lines with the line ends of old Macs converted to common ones."""
    beginning = _beginning(source)
    if b"\n" in beginning or b"\r" not in beginning.rstrip(b"\r"):
        return source
    return _content(source).replace(b"\r", b"\n")


def clean_beginning(source: Source, sample: str, name: str, notes: list[str]) -> Cleaned:
    """Remove everything before the column names, with a note."""
    cleaned = Cleaned(source, sample)
    first = sample.split("\n", 1)[0].rstrip("\r")
    if told := _TOLD.fullmatch(first):
        cleaned = replace(cleaned.without_lines(1), separator=told[1] if told[1] in _SEPARATORS else None)
    cleaned = _without_comments(cleaned, name, notes)
    cleaned = _without_titles(cleaned, name, notes)
    return _with_full_names(cleaned, name, notes)


# ---- comments ---------------------------------------------------------------------------------------------


def _without_comments(cleaned: Cleaned, name: str, notes: list[str]) -> Cleaned:
    lines = cleaned.sample.splitlines()
    count = next((place for place, line in enumerate(lines) if not _is_comment(line)), len(lines))
    if not count or count == len(lines):
        return cleaned
    last = lines[count - 1]
    if last.strip() and _have_as_many_values(last, lines[count]):
        # The names themselves, as NumPy writes them.
        count -= 1
        names = last.lstrip(f"{_COMMENT} ")
        # The sign may be a name itself.
        is_name = not names or names[0] in _SEPARATORS
        cleaned = cleaned.without_lines(count).with_names(last if is_name else names)
    else:
        cleaned = cleaned.without_lines(count)
    if not any(line.strip() for line in lines[:count]):
        return cleaned
    content, more = re.subn(rb"(?m)^#[^\n]*(\n|\Z)", b"", _content(cleaned.source))
    told = sum(bool(line.strip()) for line in lines[:count]) + more
    notes.append(f"{name}: left out {_lines(told)} of comments.")
    if not more:
        return cleaned
    sample = re.sub(r"(?m)^#[^\n]*(\n|\Z)", "", cleaned.sample)
    return replace(cleaned, source=content, sample=sample)


def _is_comment(line: str) -> bool:
    return not line.strip() or line.startswith(_COMMENT)


def _have_as_many_values(line: str, other: str) -> bool:
    counts = [(len(_values(line, separator)), len(_values(other, separator))) for separator in _SEPARATORS]
    return any(one == two > 1 for one, two in counts)


# ---- titles -----------------------------------------------------------------------------------------------


def _without_titles(cleaned: Cleaned, name: str, notes: list[str]) -> Cleaned:
    separators = _SEPARATORS if cleaned.separator is None else (cleaned.separator,)
    starts = {separator: _start(cleaned.sample, separator) for separator in separators}
    if any(start is not None and start[0] == 0 for start in starts.values()):
        return cleaned
    found = {separator: start for separator, start in starts.items() if start is not None}
    if not found:
        return cleaned
    best = max(found, key=lambda separator: found[separator][1])
    lines, _ = found[best]
    above = [line for line in cleaned.sample.splitlines()[:lines] if line.strip(f" \r{best}")]
    if above:
        notes.append(
            f"{name}: left out {_lines(len(above))} above the column names ({above[0].strip(best)[:40]!r})."
        )
    return replace(cleaned.without_lines(lines), separator=best)


def _start(sample: str, separator: str) -> tuple[int, int] | None:
    """Lines before the names, and the number of columns; None if this is not the separator."""
    reader = csv.reader(io.StringIO(sample), delimiter=separator)
    records, ends = [], [0]
    for record in islice(reader, _SAMPLE_LINES):
        records.append(record)
        ends.append(reader.line_num)
    widths = Counter(len(record) for record in records if len(record) > 1)
    if not widths:
        return None
    width = max(widths, key=lambda width: (widths[width], width))
    # R leaves out a name.
    if width > 2 and _lacks_one_name(records, width) and len(widths) <= 2:
        return 0, width
    header = header_of([record if len(record) == width else [] for record in records])
    last = max(place for place, record in enumerate(records) if len(record) == width)
    below = [len(record) for record in records[header : last + 1] if record]
    # Two lines may agree by chance.
    if sum(count == width for count in below) < _FITS * len(below) or (header and len(below) < 2):
        return None
    return ends[header], width


# ---- names ------------------------------------------------------------------------------------------------


def _lacks_one_name(records: list[list[str]], width: int) -> bool:
    first = next((record for record in records if record), [])
    return len(first) == width - 1 > 0 and filled(first) == len(first) and not any(map(is_number, first))


def _with_full_names(cleaned: Cleaned, name: str, notes: list[str]) -> Cleaned:
    """Add a name if all rows have one value more than names, because R leaves out that of row names."""
    for separator in _SEPARATORS if cleaned.separator is None else (cleaned.separator,):
        records = list(islice(csv.reader(io.StringIO(cleaned.sample), delimiter=separator), _SAMPLE_LINES))
        widths = {len(record) for record in records[1:] if record}
        if len(widths) != 1 or not _lacks_one_name(records, width := widths.pop()) or width < 3:
            continue
        first = cleaned.sample.split("\n", 1)[0].rstrip("\r")
        if all(not record[-1].strip() for record in records[1:] if record):
            return replace(cleaned.with_names(f"{first}{separator}"), separator=separator)
        notes.append(f"{name} has one column name too few: the first column has none and is now 'row name'.")
        return replace(cleaned.with_names(f"row name{separator}{first}"), separator=separator)
    return cleaned


# ---- the end ----------------------------------------------------------------------------------------------


def clean_rest(
    cleaned: Cleaned, separator: str, name: str, notes: list[str], *, has_end: bool = True
) -> tuple[Cleaned, list[str] | None]:
    """Remove lines below the names that are not rows; add units to the names if a line has them.

    ``has_end``: whether the table ends here, perhaps in totals and footnotes.
    """
    records = list(islice(csv.reader(io.StringIO(cleaned.sample), delimiter=separator), 50))
    names = None
    if len(records) > 2 and has_units(records[0], records[1], records[2:]):
        first = cleaned.sample.split("\n", 1)[0].rstrip("\r")
        names = with_units(records[0], records[1])
        cleaned = cleaned.without_lines(1).with_names(first)
        notes.append(f"{name}: the line below the names holds units, which are now part of the names.")
    cleaned = _without_repeated_names(cleaned, name, notes)
    if not has_end:
        return cleaned, names
    return _without_end(cleaned, separator, len(records[0]) if records else 0, name, notes), names


def _without_repeated_names(cleaned: Cleaned, name: str, notes: list[str]) -> Cleaned:
    line = cleaned.sample.split("\n", 1)[0].rstrip("\r")
    needle = f"\n{line}".encode()
    if not line.strip() or line.count('"') % 2 or not _holds(cleaned.source, needle):
        return cleaned
    pattern = re.compile(b"\n" + re.escape(line.encode()) + rb"(?=\r?\n|\r?\Z)")
    content, times = pattern.subn(b"", _content(cleaned.source))
    if not times:
        return cleaned
    notes.append(
        f"{name}: the line of names is repeated {times} time{'s' * (times > 1)}; the repeats were left out."
    )
    sample = re.sub(rf"\n{re.escape(line)}(?=\r?\n|\r?\Z)", "", cleaned.sample)
    return replace(cleaned, source=content.replace(b"\r\r\n", b"\r\n"), sample=sample)


def _without_end(cleaned: Cleaned, separator: str, width: int, name: str, notes: list[str]) -> Cleaned:
    tail = _tail(cleaned.source)
    if tail.endswith(b"\r\n\r\n") or (width > 1 and tail.endswith(b"\n\n")):
        # Polars reads empty lines as rows; in a single column an empty line is a missing value.
        cleaned = replace(cleaned, source=_content(cleaned.source).rstrip(b"\r\n") + b"\n")
        tail = _tail(cleaned.source)
    lines = tail.split(b"\n")
    # The first is the names, or cut.
    texts = [line.decode("utf-8", errors="replace").rstrip("\r").replace("\r", " ") for line in lines[1:]]
    if any(text.count('"') % 2 for text in texts):
        return cleaned
    records = [_values(text, separator) for text in texts]
    while records and not filled(records[-1]):
        records.pop()
    below = rows_below(records, width)
    if not below:
        return cleaned
    first = len(records) - below
    kept = len(b"\n".join(lines[: 1 + first])) + 1
    content = _content(cleaned.source)
    told = [text for text in texts[first : len(records)] if text.strip(f" {separator}")]
    notes.append(
        f"{name}: left out {_lines(len(told))} below the rows, a total or a footnote "
        f"({told[0].strip(separator)[:40]!r})."
    )
    cut = len(content) - len(tail) + kept
    # A short file is all in the sample.
    size = len(cleaned.sample.encode("utf-8"))
    sample = cleaned.sample if size <= cut else content[:cut].decode("utf-8", errors="replace")
    return replace(cleaned, source=content[:cut], sample=sample)


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


# ---- bytes ------------------------------------------------------------------------------------------------


def _values(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _content(source: Source) -> bytes:
    return source if isinstance(source, bytes) else source.read_bytes()


def _beginning(source: Source) -> bytes:
    if isinstance(source, bytes):
        return source[: 1 << 20]
    with source.open("rb") as file:
        return file.read(1 << 20)


def _tail(source: Source) -> bytes:
    if isinstance(source, bytes):
        return source[-_TAIL:]
    with source.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - _TAIL))
        return file.read()


def _holds(source: Source, needle: bytes) -> bool:
    if isinstance(source, bytes):
        return needle in source
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(needle) >= 0
