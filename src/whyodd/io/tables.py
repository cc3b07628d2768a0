"""Tables from files: CSV, TSV, Parquet, JSON lines, and arrays of numbers."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Ending -> what separates the values of a text table.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_ENDINGS = (*_SEPARATORS, ".parquet", ".jsonl", ".ndjson", ".npy", ".npz")
# How people write that there is no value; nothing at all is one anyway.
_NOTHING = ["NA", "N/A", "n/a", "na", "null", "NULL", "None", "-"]
# What Polars adds to a name that comes again.
_TWICE = "_duplicated_0"
_NOT_UTF8 = "it is not UTF-8 text. Save it as UTF-8"


def read_table(path: Path | str) -> Any:
    """Table of a file as a Polars frame; what kind of file it is, its ending says.

    Parameters
    ----------
    path : path
        ``.csv`` or ``.tsv`` (also ``.gz``) with names in the first line, where a row with fewer values has
        gaps at its end; ``.parquet``, ``.jsonl`` or ``.ndjson``; ``.npy`` or ``.npz`` with one array of
        numbers (n,) or (n, columns).

    Returns
    -------
    polars.DataFrame
        With at least one row; dates are parsed.
    """
    path = Path(path)
    check_table(path)
    with _clear_errors(path):
        frame = _read(path, _ending(path))
    if frame.height == 0:
        raise ValueError(f"{path} has names of columns, but no rows.")
    return frame


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
    _ending(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, expected a file with a table.")
    if not path.exists():
        raise ValueError(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")


def _read(path: Path, ending: str) -> Any:
    pl = polars()
    if ending in _SEPARATORS:
        return _read_text(path, _SEPARATORS[ending])
    if ending == ".parquet":
        return pl.read_parquet(path)
    if ending in (".jsonl", ".ndjson"):
        return _with_dates(pl.read_ndjson(path, infer_schema_length=None))
    array = _only_array(path)
    columns = array.reshape(len(array), -1).T
    names = ["value"] if len(columns) == 1 else [f"channel {c}" for c in range(len(columns))]
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


def _read_text(path: Path, separator: str) -> Any:
    # All rows tell the types of columns: the first decimal point may come late.
    options = {"separator": separator, "null_values": _NOTHING, "infer_schema_length": None}
    frame = polars().read_csv(path, try_parse_dates=True, **options)
    _check_names(frame.columns, path)
    return frame


def _check_names(names: list[str], path: Path) -> None:
    """What Polars takes for names of columns may be something else."""
    if all(map(_is_number, names)):
        raise ValueError(f"The first line of {path} holds numbers, expected names of columns. Add them.")
    if "\ufffd" in "".join(names):
        raise ValueError(f"{path} cannot be read: {_NOT_UTF8}.")
    found = set(";\t|,") & set(names[0])
    if found and (len(names) == 1 or ";" in found):
        raise ValueError(
            f"{path} seems to separate values by {min(found, key=';'.find)!r}, expected ',' in .csv, tabs in "
            ".tsv. Save it with those."
        )
    for name in names:
        if name.endswith(_TWICE) and name.removesuffix(_TWICE) in names:
            raise ValueError(f"{path} has two columns {name.removesuffix(_TWICE)!r}. Rename one.")


def _with_dates(frame: Any) -> Any:
    """Texts that are all dates as dates; JSON has none of its own."""
    pl = polars()
    for name in frame.select(pl.col(pl.String)).columns:
        try:
            frame = frame.with_columns(pl.col(name).str.to_datetime())
        except pl.exceptions.PolarsError:
            continue  # no dates
    return frame


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
    with path.open("rb") as file:
        loaded = np.load(file, allow_pickle=False)  # never executes code from the file
        return {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Errors of the readers in one sentence that names the file."""
    pl = polars()
    try:
        yield
    except pl.exceptions.NoDataError:
        raise ValueError(f"{path} is empty.") from None
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path} cannot be read: {_reason(error)}.") from None
    except OSError as error:
        raise OSError(f"{path} cannot be read: {error.strerror or _reason(error)}.") from None


def _reason(error: Exception) -> str:
    """What is wrong with a file, in a few words."""
    text = str(error).strip()
    if "utf-8" in text.lower():
        return _NOT_UTF8
    if "more fields than defined" in text:
        return "a row has more values than there are names of columns"
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def polars() -> Any:
    """Polars, or one sentence that says how to get it."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading tables needs Polars: it is not installed. Run: pip install 'whyodd[files]'"
        ) from None
    return pl
