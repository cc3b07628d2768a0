"""Tables from files: CSV, TSV, Parquet, JSON, and arrays of numbers."""

from __future__ import annotations

import gzip
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Ending -> what usually separates the values of a text table.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ","}
_JSON = (".jsonl", ".ndjson", ".json")
_PACKED = tuple(f"{ending}.gz" for ending in (*_SEPARATORS, *_JSON))
_ENDINGS = (*_SEPARATORS, ".parquet", *_JSON, ".npy", ".npz", *_PACKED)
# In place of the name of a file.
STANDARD_INPUT = Path("-")
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"


def read_table(path: Path | str) -> Any:
    """Table of a file as a Polars frame; what kind of file it is, its ending says.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv`` or ``.txt`` with names in the first line and commas, semicolons, tabs or bars
        between values, whichever fits; a row with fewer values has gaps at its end. ``.jsonl`` or
        ``.ndjson`` with an object per line, ``.json`` with an array of objects; all these also ``.gz``.
        ``.parquet``. ``.npy`` or ``.npz`` with one array of numbers (n,) or (n, columns). "-" is standard
        input: CSV, JSON or Parquet, as its first bytes say.

    Returns
    -------
    polars.DataFrame
        With at least one row; dates are parsed.
    """
    path = Path(path)
    check_table(path)
    name = table_name(path)
    with _clear_errors(name):
        frame = _read_input(name) if path == STANDARD_INPUT else _read(path, _ending(path), name)
    if frame.height == 0:
        raise ValueError(f"{name} has names of columns, but no rows.")
    return frame


def table_name(path: Path) -> str:
    """What messages call a table."""
    return "Standard input" if path == STANDARD_INPUT else str(path)


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


def _read(path: Path, ending: str, name: str) -> Any:
    pl = polars()
    if ending == ".parquet":
        return pl.read_parquet(path, glob=False)  # a name such as [a].parquet is no pattern
    if ending in (".npy", ".npz"):
        return _frame_of_array(_only_array(path))
    kind = ending.removesuffix(".gz")
    # A pipe can be read only once.
    source = path if kind == ending and path.is_file() else _unpacked(path.read_bytes())
    return _read_json(source, kind) if kind in _JSON else _read_text(source, name, _SEPARATORS[kind])


def _read_input(name: str) -> Any:
    content = sys.stdin.buffer.read()
    if content.startswith(_PARQUET):
        return polars().read_parquet(content)
    content = _unpacked(content)
    first = content[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if not first and not content.strip():
        raise ValueError(f"{name} is empty.")
    if first in (b"{", b"["):
        return _read_json(content, ".json")
    return _read_text(content, name, ",")


def _unpacked(content: bytes) -> bytes:
    return gzip.decompress(content) if content.startswith(_GZIP) else content


def _read_text(source: Path | bytes, name: str, usual: str) -> Any:
    from whyodd.io.text_tables import read_text_table

    polars()
    return read_text_table(source, name, usual)


def _read_json(source: Path | bytes, kind: str) -> Any:
    """Objects one per line, or, where that is allowed, as one array."""
    pl = polars()
    content = source if isinstance(source, bytes) else source.read_bytes()
    if kind == ".json" and content[:1000].lstrip().startswith(b"["):
        return _with_dates(pl.read_json(content, infer_schema_length=None))
    return _with_dates(pl.read_ndjson(content, infer_schema_length=None))


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
    except (EOFError, zlib.error):
        raise ValueError(f"{name} cannot be read: it is damaged or cut short.") from None
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name} cannot be read: {_reason(error)}.") from None
    except OSError as error:
        raise OSError(f"{name} cannot be read: {error.strerror or _reason(error)}.") from None


def _reason(error: Exception) -> str:
    """What is wrong with a file, in a few words."""
    text = str(error).strip()
    if "utf-8" in text.lower():
        return "it is not UTF-8 text. Save it as UTF-8"
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def polars() -> Any:
    """Polars, or one sentence that says how to get it."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading tables needs Polars: it is not installed. Run: pip install 'whyodd[files]'"
        ) from None
    return pl
