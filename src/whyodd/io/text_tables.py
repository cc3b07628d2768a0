"""Tables written as text: their separator, the types of their columns, and where they are damaged."""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from whyodd.io.column_names import clean_names
from whyodd.io.missing_words import NOTHING
from whyodd.io.table_mistakes import LONGEST_LINE, check_is_text, text_mistake
from whyodd.io.text_cleaning import clean_beginning, clean_rest, with_plain_line_ends

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from whyodd.io.table_mistakes import Source

_SEPARATORS = (",", ";", "\t", "|")
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# Separators of other programs.
_UNKNOWN_SEPARATORS = {None: "spaces", ":": "colons", "^": "carets", "~": "tildes"}
# Bytes and lines that decide the separator.
_SAMPLE_BYTES, _SAMPLE_LINES = 1 << 18, 200
# A separator fits if this share of the lines have as many values as the first.
_FITS = 0.9
# Rows that decide the types of columns; later ones may only make them wider. Reading all would take longer
# than everything else.
_TYPED_ROWS = 10_000
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
_TOO_NARROW = re.compile(r"could not parse .* as dtype `([^`]+)` at column .* \(column number (\d+)\)", re.S)
# Digits that may start with a zero, such as postal codes: 01067 is not 1067.
_ZERO_FIRST = re.compile(r"0\d+")
# Dates that Polars would read with the day first whatever the others say, times that it would move to another
# zone, and times of day: they are read later, when all values of the column are known.
_UNCLEAR_DATE = re.compile(
    r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b.*|\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[T ].*(?:Z|[+-]\d\d:?\d\d)"
    r"|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?"
)
# Dates that are clear, with or without a time.
_CLEAR_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ].*)?")
_LONE_RETURN = re.compile(r"\r(?!\n)")


@dataclass(frozen=True)
class Layout:
    """How a text table is written."""

    separator: str
    decimal_comma: bool = False


def read_text_table(
    source: Source,
    name: str,
    usual: str = ",",
    as_written: Collection[str] = (),
    notes: list[str] | None = None,
    *,
    has_end: bool = True,
) -> Any:
    """Polars frame of a text table.

    Parameters
    ----------
    source : path or bytes
        Text in UTF-8.
    name : str
        What messages call it.
    usual : str, default ","
        What is expected to separate values; another separator is taken if it fits and this one does not.
    as_written : collection of str, optional
        Columns whose values stay as they are written: 007 is no 7.
    notes : list of str, optional
        Gains what was left out around the table, and names that were changed.
    has_end : bool, default True
        Whether the table ends here: then totals and footnotes are left out.
    """
    import polars as pl

    notes = [] if notes is None else notes
    source = with_plain_line_ends(source)
    cleaned = clean_beginning(source, _sample(source, name), name, notes)
    layout = layout_of(cleaned.sample, name, usual, cleaned.separator)
    cleaned, with_units = clean_rest(cleaned, layout.separator, name, notes, has_end=has_end)
    source, sample = cleaned.source, cleaned.sample
    # A name such as [a].csv is not a pattern.
    options: dict[str, Any] = {
        "separator": layout.separator,
        "decimal_comma": layout.decimal_comma,
        "glob": False,
    }
    known = pl.read_csv(source, n_rows=0, **options).columns
    written = _first_record(sample, layout.separator, known) if with_units is None else with_units
    names = _checked_names(written, name, notes)
    as_written = {*as_written, *_matching(sample, layout.separator, names, _ZERO_FIRST)}
    texts = as_written | _matching(sample, layout.separator, names, _UNCLEAR_DATE)
    wide = {column: pl.String for column, shown in zip(known, names, strict=True) if shown in texts}
    try:
        frame = _read_with_wide_types(source, known, wide, options)
    except pl.exceptions.PolarsError as error:
        mistake = text_mistake(error, source, layout.separator, cleaned.skipped)
        raise ValueError(f"{name} cannot be read: {mistake}.") from None
    frame.columns = names
    return _with_dates(_with_numbers(_without_nothing(frame, written), as_written), texts)


def _without_nothing(frame: Any, written: list[str]) -> Any:
    """The frame without columns that have neither a name nor a value: separators at the ends of lines."""
    pairs = zip(written, frame.columns, strict=True)
    nothing = [name for text, name in pairs if not text.strip() and frame[name].null_count() == frame.height]
    return frame.drop(nothing) if frame.height else frame


# ---- what separates values --------------------------------------------------------------------------------


def layout_of(sample: str, name: str, usual: str = ",", told: str | None = None) -> Layout:
    r"""Layout of a table that begins with ``sample``; the separator may be given.

    Examples
    --------
    >>> from whyodd.io.text_tables import layout_of
    >>> layout_of("a;b\n1,5;2\n", "t.csv")
    Layout(separator=';', decimal_comma=True)
    """
    if told is not None:
        return Layout(told, told != "," and _has_decimal_commas(sample, told))
    shares = {separator: _agreement(sample, separator) for separator in _SEPARATORS}
    possible = {key: share for key, share in shares.items() if share > 0.0 or (key == usual and share == 0.0)}
    if not possible:
        _check_other_separators(sample, name)
        return Layout(usual)
    fitting = [separator for separator, share in possible.items() if share >= _FITS]
    if len(fitting) > 1:
        raise ValueError(
            f"{name} fits {_NAMES[fitting[0]]} and {_NAMES[fitting[1]]} as the separator, expected only "
            "one. Save it as Parquet, or quote the names that contain one of them."
        )
    best = max(possible, key=lambda separator: (possible[separator], separator == usual))
    return Layout(best, best != "," and _has_decimal_commas(sample, best))


def _agreement(sample: str, separator: str) -> float:
    """Share of the lines with as many values as the first; negative if that has only one."""
    counts = [len(record) for record in _records(io.StringIO(sample), separator) if record]
    if not counts or counts[0] < 2:
        return -1.0
    return sum(count == counts[0] for count in counts[1:]) / len(counts[1:]) if counts[1:] else 1.0


def _records(lines: Any, separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(2**31 - 1)  # a quotation mark that is not closed makes one long value
    return islice(csv.reader(lines, delimiter=separator), _SAMPLE_LINES)


def _has_decimal_commas(sample: str, separator: str) -> bool:
    cells = [cell.strip() for record in _records(io.StringIO(sample), separator) for cell in record]
    has_points = any(map(_DECIMAL_POINT.fullmatch, cells))
    return not has_points and any(map(_DECIMAL_COMMA.fullmatch, cells))


def _check_other_separators(sample: str, name: str) -> None:
    """Error if a single column has equally many parts in each line: several columns were meant."""
    lines = [line for line in sample.splitlines()[:_SAMPLE_LINES] if line.strip()]
    for separator, words in _UNKNOWN_SEPARATORS.items():
        counts = {len(line.split(separator)) for line in lines}
        if len(counts) == 1 and counts.pop() > 1 and '"' not in lines[0]:
            known = ", ".join(_NAMES[separator] for separator in _SEPARATORS)
            raise ValueError(
                f"{name} seems to separate its values with {words}, expected {known}. Save it with one of "
                "these."
            )


def _sample(source: Source, name: str) -> str:
    """The first lines, without an incomplete one."""
    beginning = _first_bytes(source)
    check_is_text(source, beginning, name)
    text = _LONE_RETURN.sub(" ", beginning.decode("utf-8-sig", errors="replace"))
    is_cut = len(beginning) >= _SAMPLE_BYTES and "\n" in text
    return text[: text.rindex("\n") + 1] if is_cut else text


def _first_bytes(source: Source) -> bytes:
    """Some bytes, or as many as the first line needs."""
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        beginning = file.read(_SAMPLE_BYTES)
        return beginning if b"\n" in beginning else beginning + file.readline(LONGEST_LINE)


def _matching(sample: str, separator: str, names: list[str], pattern: re.Pattern[str]) -> set[str]:
    """Columns with cells of some pattern."""
    found: set[str] = set()
    for record in islice(_records(io.StringIO(sample), separator), 1, None):
        pairs = zip(names, record, strict=False)
        found |= {column for column, cell in pairs if pattern.fullmatch(cell.strip())}
    return found


# ---- names ------------------------------------------------------------------------------------------------


def _first_record(sample: str, separator: str, known: list[str]) -> list[str]:
    """Names as they are written, because Polars renames the second of two equal ones."""
    record = next((record for record in _records(io.StringIO(sample), separator) if record), [])
    return record if len(record) == len(known) else known


def _checked_names(names: list[str], name: str, notes: list[str]) -> list[str]:
    """Names that all differ; a column without a name is named by its place."""
    if all(map(_is_number, names)):
        raise ValueError(f"The first line of {name} holds numbers, expected column names. Add them.")
    return clean_names(names, name, notes)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- types ------------------------------------------------------------------------------------------------


def _read_with_wide_types(
    source: Source, names: list[str], wide: dict[str, Any], options: dict[str, Any]
) -> Any:
    """The table, read again with a wider type for any column that a late value does not fit."""
    import polars as pl

    while True:
        try:
            return pl.read_csv(
                source,
                null_values=NOTHING,
                infer_schema_length=_TYPED_ROWS,
                schema_overrides=wide,
                **options,
            )
        except pl.exceptions.ComputeError as error:
            found = _TOO_NARROW.search(str(error))
            if found is None or found[1] == "str":
                raise
            wide[names[int(found[2]) - 1]] = pl.Float64 if found[1].startswith("i") else pl.String


def _with_numbers(frame: Any, as_written: Collection[str]) -> Any:
    """Text columns whose values are all numbers as numbers: padded by blanks, or after many gaps."""
    import polars as pl

    for name in frame.select(pl.col(pl.String)).columns:
        first = frame[name].drop_nulls().head(1)
        if len(first) and _is_number(first[0].strip()):
            number = _exact_numbers if name in as_written else _with_column_of_numbers
            frame = number(frame, name)
    return frame


def _exact_numbers(frame: Any, name: str) -> Any:
    """Whole numbers in plain form: without leading zeros, signs or exponents."""
    import polars as pl

    numbers = frame[name].cast(pl.Int64, strict=False)
    return frame.with_columns(numbers) if numbers.cast(pl.String).equals(frame[name]) else frame


def _with_column_of_numbers(frame: Any, name: str) -> Any:
    import polars as pl

    for dtype in (pl.Int64, pl.Float64):
        try:
            return frame.with_columns(pl.col(name).str.strip_chars().cast(dtype))
        except pl.exceptions.PolarsError:
            continue
    return frame


def _with_dates(frame: Any, texts: Collection[str]) -> Any:
    """Text columns whose values are all unambiguous dates as dates.

    Polars would look for dates in all texts, at length.
    """
    import polars as pl

    for name in frame.select(pl.col(pl.String)).columns:
        first = frame[name].drop_nulls().head(1)
        if name not in texts and len(first) and (found := _CLEAR_DATE.fullmatch(first[0])):
            read = pl.col(name).str.to_date if found[1] is None else pl.col(name).str.to_datetime
            with suppress(pl.exceptions.PolarsError):
                frame = frame.with_columns(read())
    return frame
