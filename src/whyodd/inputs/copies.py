"""Rows that are equal to others of their table, or equal but for rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.compute.row_hashes import row_hashes
from whyodd.inputs.frames import as_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.intp]

# Numbers that differ by less than this part of their standard deviation are equal up to rounding; in a single
# column that may be chance.
_ROUNDING, _FEWEST_COLUMNS = 1e-4, 2


def first_copies(X: Any) -> Ints:
    """The first row (n,) that each row equals; itself where that cannot be decided.

    Parameters
    ----------
    X : data frame or array of shape (n, d)
        Cells that are no plain values, such as lists, cannot be compared.
    """
    frame = as_frame(X)
    try:
        hashes = _of_array(X) if frame is None else _of_frame(frame)
    except TypeError:  # a cell that has no hash
        hashes = np.arange(X.shape[0])
    _, first, same = np.unique(hashes, return_index=True, return_inverse=True)
    return np.asarray(first[same.ravel()])


def first_near_copies(X: Any) -> Ints:
    """The same for rows that are equal up to rounding of their numbers."""
    frame = as_frame(X)
    schema = {} if frame is None else frame.schema
    # Columns of pandas may have numbers as names, which cannot be asked for.
    floats = [name for name, kind in schema.items() if isinstance(name, str) and kind.is_float()]
    if frame is None or len(floats) < _FEWEST_COLUMNS:
        return first_copies(X)
    scales = {name: _ROUNDING * (frame[name].std() or 0.0) for name in floats}
    rounded = [(nw.col(name) / scale).round(0) for name, scale in scales.items() if scale > 0.0]
    return first_copies(frame.with_columns(*rounded).to_native())


def copy_counts(first: Ints) -> Ints:
    """How many rows are equal to each row (n,), itself among them, given ``first_copies``."""
    return np.asarray(np.bincount(first, minlength=first.size)[first])


def repeated(first: Ints) -> int:
    """How often every row occurs; 1 if rows do not all occur equally often."""
    counts = copy_counts(first)
    return int(counts[0]) if bool(np.all(counts == counts[0])) else 1


def _of_frame(frame: nw.DataFrame[Any]) -> NDArray[Any]:
    """A number for each row, the same for equal ones; hashes take far less memory than the rows."""
    if frame.implementation.is_pyarrow():
        return _of_columns([frame[name].to_numpy() for name in frame.columns])
    if frame.implementation.is_polars():
        return np.asarray(frame.to_native().hash_rows().to_numpy())
    from pandas.util import hash_pandas_object

    return np.asarray(hash_pandas_object(frame.to_native(), index=False).to_numpy())


def _of_array(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return np.asarray(row_hashes(array.astype(np.float64)))
    return _of_columns([array[:, j] for j in range(array.shape[1])])


def _of_columns(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Places of the rows in their order; NaN equals NaN."""
    same = np.zeros(columns[0].size, dtype=np.intp)
    for column in columns:
        # NumPy would turn cells that are lists into an array of more dimensions.
        plain = np.array([str(cell) for cell in column]) if column.dtype == object else column
        _, codes = np.unique(plain, return_inverse=True)
        _, same = np.unique(same * (codes.max() + 1) + codes, return_inverse=True)
    return same
