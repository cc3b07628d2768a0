"""Data frames in and out, of any kind, through narwhals."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v1 as nw
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    FramePackage = Literal["pandas", "polars", "pyarrow"]

_FRAME_PACKAGES: tuple[FramePackage, ...] = ("pandas", "polars", "pyarrow")


def as_frame(X: object, *, what: str = "X") -> nw.DataFrame[Any] | None:
    """``X`` as a narwhals frame if it is a pandas, Polars or Arrow frame, else None."""
    if isinstance(X, (np.ndarray, type)):  # arrays, the most frequent case, are spared the search for a frame
        return None
    # Before narwhals looks at them: names of an Arrow table, or of a frame that has an index of names.
    _check_unique(getattr(X, "column_names", None), what)
    if hasattr(X, "iloc"):
        _check_unique(getattr(X, "columns", None), what)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        message = f"{what} is a lazy frame, expected one with data in it. Pass {what}.collect()."
        raise ValueError(message)  # noqa: TRY004 - it is of a kind that we take, but empty-handed
    return frame if isinstance(frame, nw.DataFrame) else None


def count_rows(X: Any) -> int:
    """Number of rows of a table."""
    frame = as_frame(X)
    return int(np.shape(X)[0]) if frame is None else int(frame.shape[0])


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a table, as the same kind of table."""
    frame = as_frame(X)
    if frame is not None:
        return frame[rows].to_native()
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


def _check_unique(names: Iterable[object] | None, what: str) -> None:
    counts = Counter(str(name) for name in ([] if names is None else names))
    if counts and (most := counts.most_common(1)[0])[1] > 1:
        raise ValueError(
            f"{what} has more than one column named {most[0]!r}. Give every column its own name."
        )


def build_frame(columns: Mapping[str, Any], kind: Any) -> Any:
    """Native data frame of the columns.

    Parameters
    ----------
    columns : mapping of str to array or list
        NaN becomes null where the frame knows null.
    kind : narwhals.Implementation or None
        The kind of frame; the first that is installed if None. If there is none the error names the extra.
    """
    frame = nw.from_dict(columns, backend=_installed_kind() if kind is None else kind)
    floats = [nw.col(name) for name, dtype in frame.schema.items() if dtype.is_float()]
    return frame.with_columns(nw.when(~column.is_nan()).then(column) for column in floats).to_native()


def implementation(name: str) -> Any:
    """Kind of data frame by narwhals' name for it, such as PANDAS."""
    return nw.Implementation[name]


@dataclass(frozen=True)
class Moment:
    """A time of pandas as text, to be stored: its value, its unit and its time zone."""

    text: str
    unit: str
    zone: str | None

    @classmethod
    def of(cls, value: Any) -> Moment:
        """From a ``pandas.Timestamp``."""
        return cls(value.isoformat(), value.unit, None if value.tz is None else str(value.tz))

    def timestamp(self) -> Any:
        """The ``pandas.Timestamp``."""
        time = import_module("pandas").Timestamp(self.text).as_unit(self.unit)
        return time if self.zone is None else time.tz_convert(self.zone)


def stored_value(value: Any) -> Any:
    """A value of a data frame as it can be stored."""
    kind = type(value)
    is_time = kind.__name__ == "Timestamp" and kind.__module__.startswith("pandas")
    return Moment.of(value) if is_time else value


def restored_value(value: Any) -> Any:
    """The value that :func:`stored_value` received."""
    return value.timestamp() if isinstance(value, Moment) else value


def _installed_kind() -> FramePackage:
    for package in _FRAME_PACKAGES:
        with suppress(ImportError):
            import_module(package)
            return package
    raise ModuleNotFoundError(
        "to_frame() needs pandas, Polars or PyArrow: none is installed. Run: pip install 'whyodd[pandas]'"
    )
