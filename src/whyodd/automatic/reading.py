"""Raw tables column by column: any frame or array becomes values, gaps and a family per column."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from whyodd.inputs.frames import as_frame, build_frame
from whyodd.inputs.matrices import unmasked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

# The common type of the values of a column; "mixed" values can still be compared as text.
Family = Literal["number", "boolean", "text", "date", "time", "duration", "mixed", "object", "nothing"]

_FAMILIES: tuple[tuple[tuple[type, ...], Family], ...] = (
    ((bool, np.bool_), "boolean"),
    ((dt.timedelta, np.timedelta64), "duration"),
    ((Real, Decimal), "number"),
    ((str,), "text"),
    ((dt.date, np.datetime64), "date"),
    ((dt.time,), "time"),
)
_OF_DTYPE: dict[str, Family] = {
    "b": "boolean", "i": "number", "u": "number", "f": "number", "U": "text", "M": "date", "m": "duration",
}  # fmt: skip
_OBJECTS_AT_A_TIME = 100_000
# pandas marks gaps by objects of its own, which cannot even be compared with themselves.
_GAP_TYPES = frozenset({"NoneType", "NAType", "NaTType"})


@dataclass(frozen=True)
class RawColumn:
    """Values of a column as given.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Numbers, booleans, dates, or objects.
    gaps : ndarray of bool, shape (n,)
        Where there is no value.
    family : str
        What the values have in common.
    example : type or None
        Type of a value that belongs to no family, to name it.
    is_category : bool
        Whether the frame says that the values are categories, numbers among them.
    is_ordered : bool
        Whether it says that they have an order.
    n_whole : int or None
        How many values the whole column has, if these are only some of them.
    has_all : bool
        Whether all its different values are among these.
    """

    values: NDArray[Any]
    gaps: NDArray[np.bool_]
    family: Family
    example: type | None = None
    is_category: bool = False
    is_ordered: bool = False
    n_whole: int | None = None
    has_all: bool = True

    @property
    def n_present(self) -> int:
        """Number of values, repeats included."""
        return int(self.present.size) if self.n_whole is None or not self.has_all else self.n_whole

    @property
    def present(self) -> NDArray[Any]:
        """The values without the gaps."""
        return self.values[~self.gaps]

    def as_floats(self) -> NDArray[np.float64]:
        """Numbers as floats (n,), durations in seconds, NaN in the gaps."""
        if self.family == "duration":
            return _seconds(self.values, self.gaps)
        if self.values.dtype != object:
            return self.values.astype(np.float64)
        floats = np.full(self.values.size, np.nan)
        floats[~self.gaps] = self.present.astype(np.float64)
        return floats


@dataclass(frozen=True)
class RawTable:
    """A table as given, and its columns.

    Attributes
    ----------
    data : data frame or ndarray of shape (n, d)
        What the steps of a pipeline are fitted to.
    keys : tuple of str or int
        What a ``ColumnTransformer`` calls the columns: names, or positions where there are no names.
    n_rows : int
        Number of rows.
    """

    data: Any
    keys: tuple[str | int, ...]
    n_rows: int

    @property
    def columns(self) -> Iterator[RawColumn]:
        """The columns one by one, because texts as objects take several times the memory of the table."""
        return _each_column(self.data)

    @property
    def names(self) -> tuple[str, ...]:
        """What people call the columns."""
        return tuple(key if isinstance(key, str) else f"x{key}" for key in self.keys)

    def rows(self, chosen: NDArray[np.intp]) -> Any:
        """Some rows of the data, as the same kind of frame or array."""
        frame = as_frame(self.data)
        return self.data[chosen] if frame is None else frame[chosen].to_native()


def read_table(data: Any, *, what: str = "frame") -> RawTable:
    """Columns of a pandas, Polars or Arrow frame, of a mapping of columns, or of an array (n, d)."""
    if isinstance(data, dict):
        data = _frame_of(data, what)
    frame = as_frame(data, what=what)
    if frame is None:
        data = _as_array(data, what)
        keys: tuple[str | int, ...] = tuple(range(data.shape[1]))
        shape = data.shape
    else:
        keys, shape = _frame_keys(frame, what), frame.shape
    if 0 in shape:
        raise ValueError(
            f"{what} has {shape[0]} rows and {shape[1]} columns: there is nothing to learn from. "
            "Pass a table with rows and columns."
        )
    return RawTable(data, keys, shape[0])


def read_columns(data: Any) -> list[RawColumn]:
    """Columns of a frame or array (n, k): of a table, or of what a ``ColumnTransformer`` hands to a step."""
    return list(_each_column(data))


def _each_column(data: Any) -> Iterator[RawColumn]:
    frame = as_frame(data)
    if frame is not None:
        yield from (_read_series(frame[:, j]) for j in range(frame.shape[1]))
        return
    array = np.asarray(data)
    yield from (read_values(array[:, j]) for j in range(array.shape[1]))


def read_values(values: NDArray[Any]) -> RawColumn:
    """A column of plain values (n,)."""
    if values.dtype.kind in _OF_DTYPE:
        gaps = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.size, dtype=bool)
        if values.dtype.kind in "mM":
            gaps = np.isnat(values)
        family = _OF_DTYPE[values.dtype.kind] if not gaps.all() else "nothing"
        return RawColumn(values, gaps, family)
    values = values.astype(object)
    gaps = np.fromiter(map(_is_gap, values), dtype=bool, count=values.size)
    return RawColumn(values, gaps, *_family(values[~gaps]))


def _family(present: NDArray[Any]) -> tuple[Family, type | None]:
    types = sorted({type(value) for value in present}, key=str)
    families: set[Family] = set()
    for kind in types:
        family = next((name for classes, name in _FAMILIES if issubclass(kind, classes)), None)
        if family is None:
            return "object", kind
        families.add(family)
    if not families:
        return "nothing", None
    if families == {"boolean", "number"}:  # True counts as 1
        return "number", None
    return (families.pop(), None) if len(families) == 1 else ("mixed", None)


def _is_gap(value: object) -> bool:
    if isinstance(value, (float, np.floating, Decimal)):
        return bool(value != value)  # NaN alone is unequal to itself
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ in _GAP_TYPES


def _read_series(series: nw.Series[Any]) -> RawColumn:
    """Column of a frame; dates with a time zone are read as the clock there shows them."""
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)
    if series.dtype.is_numeric() or series.dtype.is_temporal() or series.dtype == nw.Boolean:
        return read_values(np.asarray(series.to_numpy()))
    column = read_values(_as_objects(series))
    is_category = series.dtype in (nw.Categorical, nw.Enum)
    is_ordered = series.dtype == nw.Enum or (is_category and nw.is_ordered_categorical(series))
    return replace(column, is_category=is_category, is_ordered=is_ordered)


def _seconds(values: NDArray[Any], gaps: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Durations (n,) of any type as seconds, NaN in the gaps."""
    if values.dtype.kind != "m":
        spans = [np.timedelta64("NaT") if gap else v for v, gap in zip(values, gaps, strict=True)]
        values = np.array(spans, dtype="timedelta64[ns]")
    return np.where(gaps, np.nan, values / np.timedelta64(1, "s"))


def plain_values(column: RawColumn, as_text: bool) -> NDArray[np.object_]:
    """Values as plain objects (n,), None in the gaps; as texts if so asked."""
    values: NDArray[np.object_] = without_unit(column.values).astype(object)
    if as_text:
        values[:] = [str(value) for value in values]
    values[column.gaps] = None
    return values


def without_unit(values: Any) -> Any:
    """Dates in the one unit that NumPy turns into dates, not into whole numbers."""
    return values.astype("datetime64[us]") if values.dtype.kind == "M" else values


def _as_objects(series: nw.Series[Any]) -> NDArray[np.object_]:
    """Values as objects; equal texts share one object, since categories repeat millions of times."""
    values = np.empty(len(series), dtype=object)
    known: dict[str, str] = {}
    for start in range(0, len(series), _OBJECTS_AT_A_TIME):
        part = series[start : start + _OBJECTS_AT_A_TIME].to_list()
        if series.dtype == nw.String and len(known) <= max(start, 1) // 2:  # not if most differ
            part = [known.setdefault(value, value) if value.__class__ is str else value for value in part]
        values[start : start + len(part)] = np.fromiter(part, dtype=object, count=len(part))
    return values


def _frame_keys(frame: nw.DataFrame[Any], what: str) -> tuple[str | int, ...]:
    names = frame.columns
    is_text = [isinstance(name, str) for name in names]
    if all(is_text):
        return tuple(names)
    if any(is_text):
        odd = names[is_text.index(False)]
        raise ValueError(
            f"{what} has a column name that is not text ({odd!r} is of type {type(odd).__name__}), expected "
            "text for every name. Convert them: frame.columns = frame.columns.map(str)."
        )
    return tuple(range(len(names)))  # as scikit-learn does: such names are not remembered


def _frame_of(columns: Mapping[Any, Any], what: str) -> Any:
    for name, values in columns.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise ValueError(
                f"{what} has {values!r} ({type(values).__name__}) for the column {name!r}, expected a list "
                "of values. Pass a dict of columns, all with the same number of rows."
            )
    sizes = {str(name): len(values) for name, values in columns.items()}
    if len(sizes) < len(columns):
        raise ValueError(f"{what} has several columns with the same name. Give every column its own name.")
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name!r} {size}" for name, size in list(sizes.items())[:5])
        raise ValueError(
            f"{what} has columns of different lengths ({counts}). Give all the same number of rows."
        )
    return build_frame({str(name): values for name, values in columns.items()}, None)


def _as_array(data: Any, what: str) -> NDArray[Any]:
    if sparse.issparse(data):
        raise ValueError(
            f"{what} is a sparse matrix, expected a table of raw columns. Pass {what}.toarray(), "
            "or fit a model such as whyodd.OneClassSVM to it."
        )
    data = unmasked(data)
    # NumPy would turn rows of numbers and texts into text only.
    array = data if isinstance(data, np.ndarray) else np.array(data, dtype=object)
    if array.ndim != 2:
        raise ValueError(
            f"{what} must be a table (rows, columns), got {type(data).__name__} of shape {array.shape}. "
            "Pass a data frame, a dict of columns or a two-dimensional array."
        )
    return array
