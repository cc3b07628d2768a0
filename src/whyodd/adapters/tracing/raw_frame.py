"""What people pass to a pipeline: its columns in the order of the fit, and their values to show."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from whyodd.adapters.tracing.encoders import python_value
from whyodd.explanations.sentences import is_missing
from whyodd.inputs.frames import as_frame
from whyodd.inputs.matrices import require_rows, unmasked
from whyodd.inputs.near_names import renamed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

_NAMES_IN_A_MESSAGE = 10


def match_columns(X: Any, fitted_names: Sequence[str] | None, *, unread: Collection[str] = ()) -> Any:
    """``X`` as the first step of the pipeline wants it: the fitted columns in the fitted order.

    Parameters
    ----------
    X : array, CSR matrix, data frame, or sequence of texts or dicts
        Columns of a frame that were not there in the fit are left out, as a label often is. An Arrow table
        becomes a pandas or Polars frame, which scikit-learn takes.
    fitted_names : sequence of str or None
        The pipeline's ``feature_names_in_``. With None, it was fitted on an array, and the columns of a frame
        count by position. With names, the columns of an array do.
    unread : collection of str
        Fitted columns that no step looks at (``Trace.unread``): where missing they are filled with nulls.
    """
    frame = as_frame(X)
    if fitted_names is None:
        # Steps would take what is under a mask.
        return unmasked(X) if frame is None else _frame_values(frame, missing=np.nan)
    names = [str(name) for name in fitted_names]
    if frame is None:
        return _named(X, names)
    lacking = [name for name in names if name not in set(frame.columns)]
    _check_there([name for name in lacking if name not in unread], frame.columns, names)
    if frame.implementation.is_pyarrow():
        frame = nw.from_native(_as_taken_by_sklearn(frame), eager_only=True)
    if frame.columns == names:  # rows of a stream come one by one, so work is avoided
        return frame.to_native()
    nulls = [nw.lit(None, dtype=nw.String).alias(name) for name in lacking]
    return frame.with_columns(*nulls).select(names).to_native()


def raw_values(X: Any) -> tuple[tuple[str, ...], Any]:
    """Names and values of the raw columns, to be shown beside their relevance.

    Parameters
    ----------
    X : array, CSR matrix, data frame, or sequence of texts or dicts

    Returns
    -------
    names : tuple of str
        x0, x1, … if there are none; "text" for a sequence of texts or dicts.
    values : ndarray or CSR matrix of shape (n, d)
        Floats with NaN where missing, if all columns are numbers; else objects with None where missing.
    """
    frame = as_frame(X)
    if frame is not None:
        return tuple(map(str, frame.columns)), _frame_values(frame, missing=None)
    if sparse.issparse(X):
        return _numbered(X.shape[1]), X
    require_rows(X)
    X = unmasked(X)
    values = X if isinstance(X, np.ndarray) else _object_array(X)
    if values.ndim == 1:
        return ("text",), values.astype(object)[:, np.newaxis]
    return _numbered(values.shape[1]), _plain(values)


def raw_names(X: Any) -> tuple[str, ...]:
    """Names of the raw columns, as :func:`raw_values` has them; the values of a frame are not touched."""
    frame = as_frame(X)
    return raw_values(X)[0] if frame is None else tuple(map(str, frame.columns))


def listed(names: Sequence[Any]) -> str:
    """Names in quotes, the first few of them."""
    shown = ", ".join(repr(name) for name in names[:_NAMES_IN_A_MESSAGE])
    more = len(names) - _NAMES_IN_A_MESSAGE
    return f"{shown} and {more} more" if more > 0 else shown


def _numbered(n_columns: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(n_columns))


def _check_there(missing: Sequence[str], given: Sequence[str], fitted: Sequence[str]) -> None:
    if missing:
        raise ValueError(
            f"X has {len(given)} columns, the pipeline was fitted on {len(fitted)}: "
            f"missing {listed(missing)}. Pass the columns used in fit."
            f"{renamed(missing, given, fitted)}"
        )


def _frame_values(frame: nw.DataFrame[Any], *, missing: Any) -> NDArray[Any]:
    """Values by position: floats if all columns are numbers, else objects."""
    kinds = set(frame.schema.values())
    if kinds == {nw.Float64()}:
        return np.asarray(frame.to_numpy(), dtype=np.float64)
    if all(kind.is_numeric() for kind in kinds):
        return np.asarray(frame.select(nw.all().cast(nw.Float64)).to_numpy(), dtype=np.float64)
    values = np.empty(frame.shape, dtype=object)
    for place, name in enumerate(frame.columns):
        values[:, place] = _shown_values(frame[name], missing)
    return values


def _shown_values(series: nw.Series[Any], missing: Any) -> list[Any]:
    """Values of a column, with what stands for a missing one."""
    if series.dtype.is_float():
        floats = np.asarray(series.to_numpy(), dtype=np.float64)
        found: list[Any] = floats.tolist()
        for place in np.flatnonzero(np.isnan(floats)).tolist():
            found[place] = missing
        return found
    values = series.to_list()
    if missing is None and set(map(type, values)) <= {bool, int, str, type(None)}:
        return values
    return [_shown(value, missing) for value in values]


def _shown(value: Any, missing: Any) -> Any:
    if is_missing(value):
        return missing
    return float(value) if isinstance(value, Decimal) else value


def _object_array(X: Any) -> NDArray[Any]:
    """Rows of lists as objects, so that numbers beside strings stay numbers; texts and dicts as they are."""
    rows = list(X)
    if rows and all(isinstance(row, (str, dict)) for row in rows):
        values = np.empty(len(rows), dtype=object)
        values[:] = rows
        return values
    return np.array(rows, dtype=object)


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    flat = np.empty(values.size, dtype=object)
    flat[:] = [_shown(python_value(value), None) for value in values.flat]
    plain = flat.reshape(values.shape)
    numeric = all(value is None or _is_number(value) for value in plain.flat)
    return plain.astype(np.float64) if numeric else plain


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _named(X: Any, names: Sequence[str]) -> Any:
    """An array with the names of the fit; its columns count by position."""
    if sparse.issparse(X):
        raise ValueError(
            "X is a sparse matrix, but the pipeline was fitted on a data frame. "
            f"Pass a data frame with the columns used in fit: {listed(names)}."
        )
    _, values = raw_values(X)
    if np.ndim(X) != 2 or values.shape[1] != len(names):
        came = f"{np.ndim(X)} dimension(s)" if np.ndim(X) != 2 else f"{values.shape[1]} columns"
        raise ValueError(
            f"X has {came}, the pipeline was fitted on a data frame with {len(names)} columns: "
            f"{listed(names)}. Pass a data frame with these."
        )
    columns = {name: _column(values[:, place]) for place, name in enumerate(names)}
    return nw.from_dict(columns, backend=_package_sklearn_takes("an array")).to_native()


def _column(values: NDArray[Any]) -> Any:
    plain = _plain(values)
    return plain if plain.dtype.kind == "f" else plain.tolist()


def _as_taken_by_sklearn(frame: nw.DataFrame[Any]) -> Any:
    """An Arrow table as a Polars frame, which need not be copied, or else as one of pandas."""
    _package_sklearn_takes("an Arrow table")
    with suppress(ModuleNotFoundError):
        return frame.to_polars()
    return frame.to_pandas()


def _package_sklearn_takes(what: str) -> Literal["pandas", "polars"]:
    packages: tuple[Literal["pandas", "polars"], ...] = ("pandas", "polars")
    for package in packages:
        with suppress(ImportError):
            import_module(package)
            return package
    raise ModuleNotFoundError(
        f"The pipeline was fitted on a data frame, but X is {what}. scikit-learn needs a pandas or Polars "
        "frame, and neither package is installed. Run: pip install 'whyodd[pandas]'"
    )
