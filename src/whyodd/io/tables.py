"""Tables from files: text, JSON, Parquet, Arrow, workbooks, databases, and arrays of numbers."""

from __future__ import annotations

import csv
import io
import os
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from whyodd.io.cell_frames import with_dates
from whyodd.io.databases import read_duckdb, read_sqlite
from whyodd.io.encodings import as_utf8
from whyodd.io.quiet_readers import quiet
from whyodd.io.reading import Reading
from whyodd.io.table_kinds import ending_of, first_bytes, kind_of
from whyodd.io.table_mistakes import arrow_mistake, first_words, json_mistake, parquet_mistake
from whyodd.io.unpacking import unpacked
from whyodd.io.workbooks import read_workbook

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import NDArray

    from whyodd.io.table_mistakes import Source

# Ending -> what usually separates the values of a text table.
_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
# In place of the name of a file.
STANDARD_INPUT = Path("-")
_MARK = b"\xef\xbb\xbf"


def read_table(
    path: Path | str,
    as_written: Collection[str] = (),
    *,
    encoding: str | None = None,
    sheet: str | None = None,
    table: str | None = None,
    notes: list[str] | None = None,
) -> Any:
    """Table of a file as a Polars frame; its first bytes show the kind of file, or else its ending.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv`` or ``.txt`` with commas, semicolons, tabs or bars between values, whichever fits; a
        row with fewer values has gaps at its end. ``.jsonl`` or ``.ndjson`` with an object per line,
        ``.json`` with an array of objects; all these also ``.gz`` and ``.zst``. ``.parquet``; ``.arrow``,
        ``.feather`` or ``.ipc``. Workbooks: ``.xlsx``, ``.xls``, ``.ods``. Databases: ``.sqlite``, ``.db``,
        ``.duckdb``. ``.npy`` or ``.npz`` with one array of numbers (n,) or (n, columns). "-" is standard
        input.
    as_written : collection of str, optional
        Columns that name rows: in text 007 is no 7, and no number is rounded.
    encoding : str, optional
        Of text and JSON, such as "cp1252"; by default found from the file.
    sheet, table : str, optional
        Name or number, from 1, of a workbook's sheet or a database's table; by default the only one with
        rows.
    notes : list of str, optional
        Gains what people should know: an encoding that was found, lines that were left out, names changed.

    Returns
    -------
    polars.DataFrame
        With at least one row; dates are parsed.
    """
    frame = read_rows(path, as_written, encoding=encoding, sheet=sheet, table=table, notes=notes)
    if frame.height == 0:
        raise ValueError(f"{table_name(Path(path))} has column names but no rows. Add rows.")
    return frame


def read_rows(
    path: Path | str,
    as_written: Collection[str] = (),
    *,
    encoding: str | None = None,
    sheet: str | None = None,
    table: str | None = None,
    notes: list[str] | None = None,
) -> Any:
    """The same for a table that may have no rows."""
    path = Path(path)
    check_table(path)
    name = table_name(path)
    notes = [] if notes is None else notes
    reading = Reading(name, tuple(as_written), ending_of(path), encoding, sheet, table, notes)
    with clear_errors(name):
        source = _source(path, name)
        source = unpacked(source, first_bytes(source), name)
        if not isinstance(source, Path) and not source:
            raise ValueError(f"{name} is empty.")
        kind = kind_of(source, reading.ending, name)
        _tell_unused(kind, reading)
        frame = READERS[kind](source, reading)
    if frame.width == 0:
        raise ValueError(f"{name} has no columns.")
    return _with_known_types(frame, as_written)


# Option -> the kinds of files that it is for.
_OPTIONS = {
    "encoding": ("text", "lines", "json"),
    "sheet": ("workbook",),
    "table": ("sqlite", "duckdb"),
}


def _tell_unused(kind: str, reading: Reading) -> None:
    for option, kinds in _OPTIONS.items():
        if getattr(reading, option) is not None and kind not in kinds:
            reading.notes.append(
                f"{reading.name}: --{option} does not apply to this kind of file and was not used."
            )


def _with_known_types(frame: Any, as_written: Collection[str]) -> Any:
    """Whole numbers beyond 64 bits as floats, since no array can hold them."""
    pl = polars()
    # By name: older versions of Polars have no UInt128.
    huge = [name for name, kind in frame.schema.items() if str(kind) in ("Int128", "UInt128")]
    return frame.with_columns(pl.col([name for name in huge if name not in as_written]).cast(pl.Float64))


def table_name(path: Path) -> str:
    """The name of a table in messages."""
    return "Standard input" if path == STANDARD_INPUT else shown(str(path))


def shown(name: str) -> str:
    """Name of a file as printable text, since some names contain bytes that are not letters."""
    return os.fsencode(name).decode("utf-8", errors="replace")


def check_table(path: Path) -> None:
    """Raise an error if there is no file that looks like a table; a quick check before reading."""
    if path == STANDARD_INPUT:
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder, expected a file with a table.")
    if not path.exists():
        raise ValueError(f"There is no file {path}.")
    # Pipes have no size.
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")


def _source(path: Path, name: str) -> Source:
    """A file that others may read by its path, or the bytes of one that cannot be read twice."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise ValueError(f"{name} is closed. Pass a file, or pipe a table into this command.")
        return sys.stdin.buffer.read()
    # Polars wants names in UTF-8.
    is_plain = path.is_file() and os.fsencode(path) == str(path).encode("utf-8", errors="replace")
    return path if is_plain else path.read_bytes()


def _read_parquet(source: Source, reading: Reading) -> Any:
    pl = polars()
    try:
        with quiet():
            return pl.read_parquet(source, glob=False)  # a name such as [a].parquet is no pattern
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{reading.name} cannot be read: {parquet_mistake(error)}.") from None


def _read_arrow(source: Source, reading: Reading) -> Any:
    """An Arrow file, also called Feather, or an Arrow stream."""
    pl = polars()
    read = pl.read_ipc if first_bytes(source).startswith(b"ARROW1") else pl.read_ipc_stream
    content = source if isinstance(source, bytes) else source.read_bytes()
    try:
        with quiet():
            return read(content)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"{reading.name} cannot be read: {arrow_mistake(error)}.") from None


def _read_text(source: Source, reading: Reading) -> Any:
    from whyodd.io.text_tables import read_text_table

    polars()
    source = as_utf8(source, reading.name, reading.encoding, reading.notes)
    usual = _SEPARATORS.get(reading.ending, ",")
    return read_text_table(source, reading.name, usual, reading.as_written, reading.notes)


def _read_json(source: Source, reading: Reading) -> Any:
    """Objects as one array, or one per line."""
    content = _json_bytes(source, reading)
    is_array = content[:1000].lstrip().startswith(b"[")
    return _parsed_json(content, is_array, reading)


def _read_lines(source: Source, reading: Reading) -> Any:
    return _parsed_json(_json_bytes(source, reading), False, reading)


def _json_bytes(source: Source, reading: Reading) -> bytes:
    source = as_utf8(source, reading.name, reading.encoding, reading.notes)
    return (source if isinstance(source, bytes) else source.read_bytes()).removeprefix(_MARK)


def _parsed_json(content: bytes, is_array: bool, reading: Reading) -> Any:
    pl = polars()
    read = pl.read_json if is_array else pl.read_ndjson
    try:
        return with_dates(read(content, infer_schema_length=None))
    except pl.exceptions.NoDataError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(
            f"{reading.name} cannot be read: {json_mistake(error, content, is_array)}."
        ) from None


def parsed_text(
    content: bytes, name: str, ending: str, as_written: Collection[str], notes: list[str] | None
) -> Any:
    """Polars frame of a piece of a UTF-8 text table that starts with the column names."""
    from whyodd.io.text_tables import read_text_table

    with clear_errors(name):
        usual = _SEPARATORS.get(ending, ",")
        return read_text_table(content, name, usual, as_written, notes, has_end=False)


def parsed_lines(content: bytes, name: str) -> Any:
    """Polars frame of some lines of JSON in UTF-8."""
    with clear_errors(name):
        return _parsed_json(content.removeprefix(_MARK), False, Reading(name))


def _frame_of_array(array: NDArray[Any]) -> Any:
    columns = array.reshape(len(array), -1).T
    names = ["value"] if len(columns) == 1 else [f"channel {c}" for c in range(len(columns))]
    return polars().DataFrame(dict(zip(names, columns, strict=True)))


def _read_array(source: Source, reading: Reading) -> Any:
    return _frame_of_array(_only_array(source, reading.name))


def _only_array(source: Source, name: str) -> NDArray[Any]:
    try:
        arrays = _arrays(source)
    except (
        ValueError,
        EOFError,
        BadZipFile,
        NotImplementedError,
        zlib.error,
        TokenError,
        SyntaxError,
        OSError,
    ):
        raise ValueError(f"{name} cannot be read: it holds no arrays of numbers.") from None
    if any(isinstance(array, bytes) for array in arrays.values()):
        raise ValueError(f"{name} cannot be read: it holds no arrays of numbers.")
    if len(arrays) != 1:
        raise ValueError(
            f"{name} holds {len(arrays)} arrays, expected one: {', '.join(arrays)}. Save one alone."
        )
    array = next(iter(arrays.values()))
    if array.ndim not in (1, 2) or array.size == 0 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} holds an array of shape {array.shape} and type {array.dtype}, expected numbers: (n,) or "
            "(n, columns)."
        )
    return array


def _arrays(source: Source) -> dict[str, NDArray[Any]]:
    import numpy as np  # here, since the command line's help does not need it

    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        loaded = np.load(file, allow_pickle=False)  # never executes code from the file
        return {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)


# Kind of file -> its reader.
READERS: dict[str, Callable[[Source, Reading], Any]] = {
    "text": _read_text,
    "lines": _read_lines,
    "json": _read_json,
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "workbook": read_workbook,
    "sqlite": read_sqlite,
    "duckdb": read_duckdb,
    "array": _read_array,
}


@contextmanager
def clear_errors(name: str) -> Iterator[None]:
    """Errors of the readers, as one sentence that names the file."""
    pl = polars()
    try:
        yield
    except pl.exceptions.NoDataError:
        raise ValueError(f"{name} is empty.") from None
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name} cannot be read: {first_words(error)}.") from None
    except csv.Error as error:
        raise ValueError(f"{name} cannot be read: {first_words(error)}.") from None
    except OSError as error:
        raise OSError(f"{name} cannot be read: {error.strerror or first_words(error)}.") from None


def polars() -> Any:
    """Polars, or one sentence on how to install it."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading tables needs Polars, which is not installed. Run: pip install 'whyodd[files]'"
        ) from None
    return pl
