"""Tables from files: CSV, TSV, Parquet, JSON, and arrays of numbers."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from whyodd.io.table_mistakes import DAMAGED, NOT_UTF8, first_words, json_mistake, parquet_mistake

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

# Ending -> what usually separates the values of a text table.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ","}
_JSON = (".jsonl", ".ndjson", ".json")
_PACKED = tuple(f"{ending}.gz" for ending in (*_SEPARATORS, *_JSON))
_ENDINGS = (*_SEPARATORS, ".parquet", *_JSON, ".npy", ".npz", *_PACKED)
# In place of the name of a file.
STANDARD_INPUT = Path("-")
_GZIP, _PARQUET, _MARK = b"\x1f\x8b", b"PAR1", b"\xef\xbb\xbf"


def read_table(path: Path | str, as_written: Collection[str] = ()) -> Any:
    """Table of a file as a Polars frame; what kind of file it is, its ending says.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv`` or ``.txt`` with names in the first line and commas, semicolons, tabs or bars
        between values, whichever fits; a row with fewer values has gaps at its end. ``.jsonl`` or
        ``.ndjson`` with an object per line, ``.json`` with an array of objects; all these also ``.gz``.
        ``.parquet``. ``.npy`` or ``.npz`` with one array of numbers (n,) or (n, columns). "-" is standard
        input: CSV, JSON or Parquet, as its first bytes say.
    as_written : collection of str, optional
        Columns that name rows: in text 007 is no 7, and no number is rounded.

    Returns
    -------
    polars.DataFrame
        With at least one row; dates are parsed.
    """
    path = Path(path)
    check_table(path)
    name = table_name(path)
    with _clear_errors(name):
        if path == STANDARD_INPUT:
            frame = _read_input(name, as_written)
        else:
            frame = _read(path, _ending(path), name, as_written)
    if frame.width == 0:
        raise ValueError(f"{name} has no columns.")
    if frame.height == 0:
        raise ValueError(f"{name} has names of columns, but no rows.")
    return _with_known_types(frame, as_written)


def _with_known_types(frame: Any, as_written: Collection[str]) -> Any:
    """Whole numbers beyond 64 bits as decimal ones: no array can hold them."""
    pl = polars()
    huge = [name for name in frame.columns if frame[name].dtype in (pl.Int128, pl.UInt128)]
    return frame.with_columns(pl.col([name for name in huge if name not in as_written]).cast(pl.Float64))


def table_name(path: Path) -> str:
    """What messages call a table."""
    return "Standard input" if path == STANDARD_INPUT else shown(str(path))


def shown(name: str) -> str:
    """Name of a file as a text that can be written: some are bytes that are no letters."""
    return os.fsencode(name).decode("utf-8", errors="replace")


def _ending(path: Path) -> str:
    name = path.name.lower()
    for ending in _ENDINGS:
        if name.endswith(ending):
            return ending
    raise ValueError(
        f"{path}: cannot tell from its name what kind of table it is. Known endings: {', '.join(_ENDINGS)}."
    )


def check_table(path: Path) -> None:
    """Error if there is no file that looks like a table; quick, before anything is read."""
    if path == STANDARD_INPUT:
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder, expected a file with a table.")
    if not path.exists():
        raise ValueError(f"There is no file {path}.")
    _ending(path)
    # Pipes have no size.
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")


def _read(path: Path, ending: str, name: str, as_written: Collection[str]) -> Any:
    if ending == ".parquet":
        return _read_parquet(path if _is_plain(path) else path.read_bytes(), name)
    if ending in (".npy", ".npz"):
        return _frame_of_array(_only_array(path))
    kind = ending.removesuffix(".gz")
    source = path if kind == ending and _is_plain(path) else _unpacked(path.read_bytes())
    if kind in _JSON:
        return _read_json(source, kind, name)
    return _read_text(source, name, _SEPARATORS[kind], as_written)


def _is_plain(path: Path) -> bool:
    """Whether others may read a file by its name: a pipe is read once, and Polars wants names in UTF-8."""
    return path.is_file() and os.fsencode(path) == str(path).encode("utf-8", errors="replace")


def _read_input(name: str, as_written: Collection[str]) -> Any:
    if sys.stdin is None:
        raise ValueError(f"{name} is closed. Name a file, or pipe a table into this command.")
    content = sys.stdin.buffer.read()
    if content.startswith(_PARQUET):
        return _read_parquet(content, name)
    content = _unpacked(content)
    first = content[:1000].removeprefix(_MARK).lstrip()[:1]
    if first in (b"{", b"["):
        return _read_json(content, ".json", name)
    return _read_text(content, name, ",", as_written)


def _read_parquet(source: Path | bytes, name: str) -> Any:
    pl = polars()
    try:
        return pl.read_parquet(source, glob=False)  # a name such as [a].parquet is no pattern
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{name} cannot be read: {parquet_mistake(error)}.") from None


def _unpacked(content: bytes) -> bytes:
    return gzip.decompress(content) if content.startswith(_GZIP) else content


def _read_text(source: Path | bytes, name: str, usual: str, as_written: Collection[str]) -> Any:
    from whyodd.io.text_tables import read_text_table

    polars()
    return read_text_table(source, name, usual, as_written)


def _read_json(source: Path | bytes, kind: str, name: str) -> Any:
    """Objects one per line, or, where that is allowed, as one array."""
    pl = polars()
    content = (source if isinstance(source, bytes) else source.read_bytes()).removeprefix(_MARK)
    is_array = kind == ".json" and content[:1000].lstrip().startswith(b"[")
    read = pl.read_json if is_array else pl.read_ndjson
    try:
        return _with_dates(read(content, infer_schema_length=None))
    except pl.exceptions.NoDataError:
        raise
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name} cannot be read: {json_mistake(error, content, is_array)}.") from None


def _with_dates(frame: Any) -> Any:
    """Texts that are all dates as dates; JSON has none of its own."""
    pl = polars()
    for name in frame.select(pl.col(pl.String)).columns:
        try:
            frame = frame.with_columns(pl.col(name).str.to_datetime())
        except pl.exceptions.PolarsError:
            continue  # no dates
    return frame


def _frame_of_array(array: NDArray[Any]) -> Any:
    columns = array.reshape(len(array), -1).T
    names = ["value"] if len(columns) == 1 else [f"channel {c}" for c in range(len(columns))]
    return polars().DataFrame(dict(zip(names, columns, strict=True)))


def _only_array(path: Path) -> NDArray[Any]:
    try:
        arrays = _arrays(path)
    except (ValueError, EOFError, BadZipFile):
        raise ValueError(f"{path} cannot be read: it holds no arrays of numbers.") from None
    if len(arrays) != 1:
        raise ValueError(f"{path} holds {len(arrays)} arrays, expected one: {', '.join(arrays)}.")
    array = next(iter(arrays.values()))
    if array.ndim not in (1, 2) or array.size == 0 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{path} holds an array of shape {array.shape} and type {array.dtype}, expected numbers: (n,) or "
            "(n, columns)."
        )
    return array


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    import numpy as np  # here, since the command line asks for help without it

    with path.open("rb") as file:
        loaded = np.load(file, allow_pickle=False)  # never executes code from the file
        return {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """Errors of the readers in one sentence that names the file."""
    pl = polars()
    try:
        yield
    except pl.exceptions.NoDataError:
        raise ValueError(f"{name} is empty.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{name} cannot be read: {DAMAGED}.") from None
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name} cannot be read: {_reason(error)}.") from None
    except OSError as error:
        raise OSError(f"{name} cannot be read: {error.strerror or first_words(error)}.") from None


def _reason(error: Exception) -> str:
    return f"{NOT_UTF8}. Save it as UTF-8" if "utf-8" in str(error).lower() else first_words(error)


def polars() -> Any:
    """Polars, or one sentence that says how to get it."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading tables needs Polars: it is not installed. Run: pip install 'whyodd[files]'"
        ) from None
    return pl
