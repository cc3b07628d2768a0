"""Tables written as text: what separates their values, what types they have, and where they are broken."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    # A file, or what was read from one.
    Source = Path | bytes

# How people write that there is no value; nothing at all is one anyway.
_NOTHING = ["NA", "N/A", "n/a", "na", "null", "NULL", "None", "-"]
_SEPARATORS = (",", ";", "\t", "|")
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
# Bytes and lines that tell the separator.
_SAMPLE_BYTES, _SAMPLE_LINES = 1 << 18, 200
# A separator fits if so many lines have as many values as the first.
_FITS = 0.9
# Rows that tell the types of columns; what comes later may only make them wider. All would take longer than
# everything else.
_TYPED_ROWS = 10_000
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
_TOO_NARROW = re.compile(r"could not parse .* as dtype `([^`]+)` at column .* \(column number (\d+)\)", re.S)
# What Polars adds to a name that comes again.
_TWICE = "_duplicated_0"
NOT_UTF8 = "it is not UTF-8 text"


@dataclass(frozen=True)
class Layout:
    """How a text table is written."""

    separator: str
    decimal_comma: bool = False


def read_text_table(source: Source, name: str, usual: str = ",") -> Any:
    """Polars frame of a text table with names in its first line.

    Parameters
    ----------
    source : path or bytes
    name : str
        What messages call it.
    usual : str, default ","
        What is expected to separate values; another separator is taken if it fits and this one does not.
    """
    import polars as pl

    sample = _sample(source, name)
    layout = layout_of(sample, name, usual)
    # A name such as [a].csv is no pattern.
    options: dict[str, Any] = {
        "separator": layout.separator,
        "decimal_comma": layout.decimal_comma,
        "glob": False,
    }
    names = _checked_names(pl.read_csv(source, n_rows=0, **options).columns, sample, name)
    try:
        frame = _read_with_wide_types(source, names, options)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name} cannot be read: {_reason(error, source, layout.separator)}.") from None
    return _with_stripped_names(_with_numbers(frame))


# ---- what separates values --------------------------------------------------------------------------------


def layout_of(sample: str, name: str, usual: str = ",") -> Layout:
    r"""Layout of a table that begins with ``sample``.

    Examples
    --------
    >>> from whyodd.io.text_tables import layout_of
    >>> layout_of("a;b\n1,5;2\n", "t.csv")
    Layout(separator=';', decimal_comma=True)
    """
    shares = {separator: _agreement(sample, separator) for separator in _SEPARATORS}
    possible = {key: share for key, share in shares.items() if share > 0.0 or (key == usual and share == 0.0)}
    if not possible:
        _check_spaces(sample, name)
        return Layout(usual)
    fitting = [separator for separator, share in possible.items() if share >= _FITS]
    if len(fitting) > 1:
        raise ValueError(
            f"{name} can be read with {_NAMES[fitting[0]]} or with {_NAMES[fitting[1]]} between its values. "
            "Save it as Parquet, or put names that hold such signs in quotation marks."
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


def _check_spaces(sample: str, name: str) -> None:
    """A single column of several words with as many in each line was meant as several columns."""
    counts = {len(line.split()) for line in sample.splitlines()[:_SAMPLE_LINES] if line.strip()}
    if len(counts) == 1 and counts.pop() > 1 and '"' not in sample.partition("\n")[0]:
        raise ValueError(
            f"{name} seems to have spaces between its values, expected {', '.join(_known_separators())}. "
            "Save it with one of these."
        )


def _known_separators() -> list[str]:
    return [_NAMES[separator] for separator in _SEPARATORS]


def _sample(source: Source, name: str) -> str:
    """The first lines, without what is cut off."""
    beginning = source[:_SAMPLE_BYTES] if isinstance(source, bytes) else _first_bytes(source)
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{name} cannot be read: {NOT_UTF8}, but UTF-16. Save it as UTF-8.")
    text = beginning.decode("utf-8-sig", errors="replace")
    is_cut = len(beginning) == _SAMPLE_BYTES and "\n" in text
    return text[: text.rindex("\n") + 1] if is_cut else text


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_SAMPLE_BYTES)


# ---- names ------------------------------------------------------------------------------------------------


def _checked_names(names: list[str], sample: str, name: str) -> list[str]:
    """What Polars takes for names of columns may be something else."""
    if all(map(_is_number, names)):
        raise ValueError(f"The first line of {name} holds numbers, expected names of columns. Add them.")
    if "\ufffd" in sample.partition("\n")[0]:
        raise ValueError(f"{name} cannot be read: {NOT_UTF8}. Save it as UTF-8.")
    for column in names:
        if column.endswith(_TWICE) and column.removesuffix(_TWICE) in names:
            raise ValueError(f"{name} has two columns {column.removesuffix(_TWICE)!r}. Rename one.")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _with_stripped_names(frame: Any) -> Any:
    """Names without the blanks that follow a separator in some files."""
    stripped = [name.strip() for name in frame.columns]
    if len(set(stripped)) == len(stripped):
        frame.columns = stripped
    return frame


# ---- types ------------------------------------------------------------------------------------------------


def _read_with_wide_types(source: Source, names: list[str], options: dict[str, Any]) -> Any:
    """The table, read again with a wider type for a column where a late value does not fit the first ones."""
    import polars as pl

    wider: dict[str, Any] = {}
    while True:
        try:
            return pl.read_csv(
                source,
                null_values=_NOTHING,
                try_parse_dates=True,
                infer_schema_length=_TYPED_ROWS,
                schema_overrides=wider,
                **options,
            )
        except pl.exceptions.ComputeError as error:
            found = _TOO_NARROW.search(str(error))
            if found is None or found[1] == "str":
                raise
            wider[names[int(found[2]) - 1]] = pl.Float64 if found[1].startswith("i") else pl.String


def _with_numbers(frame: Any) -> Any:
    """Columns of texts that are all numbers as numbers: with blanks around them, or with many gaps before."""
    import polars as pl

    for name in frame.select(pl.col(pl.String)).columns:
        first = frame[name].drop_nulls().head(1)
        if len(first) and _is_number(first[0].strip()):
            frame = _with_column_of_numbers(frame, name)
    huge = [name for name, dtype in frame.schema.items() if str(dtype) == "Int128"]
    return frame.with_columns(pl.col(huge).cast(pl.Float64)) if huge else frame


def _with_column_of_numbers(frame: Any, name: str) -> Any:
    import polars as pl

    for dtype in (pl.Int64, pl.Float64):
        try:
            return frame.with_columns(pl.col(name).str.strip_chars().cast(dtype))
        except pl.exceptions.PolarsError:
            continue
    return frame


# ---- what is wrong ----------------------------------------------------------------------------------------


def _reason(error: Exception, source: Source, separator: str) -> str:
    """What is wrong with a text table, in a few words, and where."""
    text = str(error).strip()
    if "utf-8" in text.lower():
        return f"{NOT_UTF8}{_place(_line_of_broken_letters(source))}. Save it as UTF-8"
    if "more fields than defined" in text:
        where = _place(_line_of_long_row(source, separator))
        return f"a row has more values than there are names of columns{where}"
    if "as dtype `str`" in text:
        return "a quotation mark is opened, but never closed"
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def _place(line: int | None) -> str:
    return "" if line is None else f" (line {line})"


def _line_of_broken_letters(source: Source) -> int | None:
    with _opened(source) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return None


def _line_of_long_row(source: Source, separator: str) -> int | None:
    with io.TextIOWrapper(_opened(source), encoding="utf-8", errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=separator)
        expected = len(next(reader))
        return next((reader.line_num for record in reader if len(record) > expected), None)


def _opened(source: Source) -> Any:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
