"""Data as people pass them, turned into a matrix of floats with the names of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from whyodd.inputs.frames import as_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from whyodd.compute.points import Points

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True)
class Matrix:
    """Finite numbers (n, d), dense or CSR, float32 or float64, and the columns' names if there are any."""

    values: Points
    names: tuple[str, ...] | None = None


def as_matrix(
    X: Any, *, dtype: DTypeLike | None = None, what: str = "X", known_as: Sequence[str] | None = None
) -> Matrix:
    """Matrix of an array, a nested list, a CSR matrix or a pandas, Polars or Arrow data frame.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n, d)
        Numbers, all finite; n and d at least 1.
    dtype : float32, float64 or None
        What to compute in; None keeps float32 and takes float64 for everything else.
    what : str
        What to call ``X`` in messages.
    known_as : sequence of str, optional
        What to call its columns there; their own names if None.

    Returns
    -------
    Matrix
        Values that share memory with ``X`` where possible.
    """
    frame = as_frame(X, what=what)
    if frame is not None:
        names = tuple(str(name) for name in frame.columns)
        values: Any = _frame_values(frame, what)
    else:
        names, values = None, _array_values(X, what)
    _check_shape(values, what)
    wanted = _float_type(values.dtype, dtype)
    with np.errstate(over="ignore"):
        values = values.astype(wanted, copy=False)
    _check_finite(values, known_as or names, what)
    return Matrix(values, names)


def require_rows(X: object, what: str = "X") -> None:
    """Raise ``ValueError`` if ``X`` is a single value, or a dict of columns: no table and no list of rows."""
    holds_rows = hasattr(X, "__len__") or hasattr(X, "__array__")
    if not holds_rows or isinstance(X, (str, bytes, dict)):
        remedy = "pandas.DataFrame(X), or a Polars or Arrow frame" if isinstance(X, dict) else "a data frame"
        came = "None" if X is None else type(X).__name__
        raise ValueError(
            f"{what} must be a table of shape (rows, columns), got {came}. Pass {remedy} or an array."
        )


def unmasked(X: Any) -> Any:
    """``X`` with gaps where it is masked: NaN among numbers, None among objects; unmasked input unchanged."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    is_number = X.dtype.kind in "fiub"
    values = np.array(X.data, dtype=np.float64 if is_number else object)
    values[np.ma.getmaskarray(X)] = np.nan if is_number else None
    return values


def _frame_values(frame: nw.DataFrame[Any], what: str) -> NDArray[Any]:
    wrong = [name for name, kind in frame.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
    if wrong:
        kinds = ", ".join(f"'{name}' ({frame.schema[name]})" for name in wrong[:5])
        raise ValueError(
            f"{what} must hold numbers, but these columns do not: {kinds}. "
            "Drop them or encode them as numbers first."
        )
    values = np.asarray(frame.to_numpy())
    # Gaps in columns of nullable integers or booleans come as objects: as floats they are NaN.
    return values if values.dtype.kind in "fiub" else frame.select(nw.all().cast(nw.Float64)).to_numpy()


def _array_values(X: Any, what: str) -> Any:
    if sparse.issparse(X):
        values = sparse.csr_array(X)
        if values.dtype.kind not in "fiub":
            values.data = _numbers_from_objects(values.data, what)
        if not (values.has_canonical_format and values.has_sorted_indices):
            values = values.copy()
            values.sum_duplicates()
        return values
    require_rows(X, what)
    try:
        values = np.asarray(unmasked(X))
    except ValueError as error:
        raise ValueError(f"{what} must be a table with rows of equal length: {error}.") from error
    if values.dtype.kind not in "fiub":
        values = _numbers_from_objects(values, what)
    return values


def _numbers_from_objects(values: NDArray[Any], what: str) -> NDArray[np.float64]:
    expected = f"{what} must hold numbers"
    if values.dtype.kind == "c":
        raise ValueError(f"{expected}, got complex ones. Pass real and imaginary parts as two columns.")
    if values.dtype.kind in "OV" and not any(isinstance(value, str) for value in values.flat):
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    example = next((value for value in values.flat if not isinstance(value, (int, float))), values.flat[0])
    example = str(example) if isinstance(example, np.str_) else example
    raise ValueError(
        f"{expected}, got {example!r} ({type(example).__name__}). Drop such columns or encode them as "
        "numbers first."
    )


def _check_shape(values: Any, what: str) -> None:
    if values.ndim != 2:
        raise ValueError(
            f"{what} must be a table of shape (rows, columns), but has {values.ndim} dimension(s). "
            "Pass a single row as a table of one row: [row], or frame.iloc[[0]] of a data frame."
        )
    if 0 in values.shape:
        n, d = values.shape
        raise ValueError(
            f"{what} must have at least one row and one column, but has {n} row(s) and {d} column(s)."
        )


def _float_type(came: np.dtype[Any], wanted: DTypeLike | None) -> np.dtype[Any]:
    if wanted is None:
        return came if came in FLOATS else np.dtype(np.float64)
    chosen = next(
        (dtype for dtype in FLOATS if wanted is dtype or wanted in (dtype, dtype.name, dtype.type)), None
    )
    if chosen is None:
        raise ValueError(f"dtype={wanted!r}: expected 'float32', 'float64' or None.")
    return chosen


def _check_finite(values: Points, names: Sequence[str] | None, what: str) -> None:
    entries = values.data if sparse.issparse(values) else values
    # One pass without a mask as large as the data: a sum is finite unless a term is not (or it overflowed).
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(entries)):
            return
    finite = np.isfinite(entries)
    if finite.all():
        return
    row, column = _first_not_finite(values, finite)
    kind = (
        "NaN (a missing value)"
        if np.isnan(values[row, column])
        else f"infinity or too large for {values.dtype}"
    )
    name = repr(names[column]) if names else str(column)
    raise ValueError(
        f"{what} must be finite, but row {row}, column {name} is {kind} ({int((~finite).sum())} such "
        "entries in all). Fill them in or drop these rows first."
    )


def _first_not_finite(values: Points, finite: NDArray[np.bool_]) -> tuple[int, int]:
    if sparse.issparse(values):
        entry = int(np.argmin(finite))
        return int(np.searchsorted(values.indptr, entry, side="right") - 1), int(values.indices[entry])
    row, column = np.unravel_index(int(np.argmin(finite)), finite.shape)
    return int(row), int(column)
