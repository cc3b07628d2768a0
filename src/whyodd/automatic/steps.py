"""Steps for raw columns that scikit-learn does not have; each keeps columns apart, to be traced."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from whyodd.automatic.reading import read_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from whyodd.automatic.reading import RawColumn
    from whyodd.automatic.tails import LogScale


def remember_columns(step: Any, X: Any) -> None:
    """Set ``n_features_in_`` and, if all names are text, ``feature_names_in_``."""
    names = getattr(X, "columns", getattr(X, "column_names", None))
    step.n_features_in_ = X.shape[1]
    if names is not None and all(isinstance(name, str) for name in names):
        step.feature_names_in_ = np.array(list(names), dtype=object)


class PlainValues(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Values as plain objects, None for every kind of gap, so that all frames have the same categories.

    Parameters
    ----------
    as_text : bool, default False
        Whether values become text, for columns that hold texts and numbers.
    """

    def __init__(self, as_text: bool = False) -> None:
        self.as_text = as_text

    def fit(self, X: Any, y: None = None) -> PlainValues:  # noqa: ARG002
        """Remember the columns of a frame or array (n, k)."""
        remember_columns(self, X)
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:
        """Objects (n, k)."""
        check_is_fitted(self, "n_features_in_")
        return np.column_stack([_plain_values(column, self.as_text) for column in read_columns(X)])


class PlainNumbers(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Numbers of any type as floats, NaN for every kind of gap."""

    def fit(self, X: Any, y: None = None) -> PlainNumbers:  # noqa: ARG002
        """Remember the columns of a frame or array (n, k)."""
        remember_columns(self, X)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Floats (n, k)."""
        check_is_fitted(self, "n_features_in_")
        names = getattr(self, "feature_names_in_", None)
        where = ["A column of numbers"] * X.shape[1] if names is None else [f"Column {n!r}" for n in names]
        return np.column_stack(list(map(_numbers, read_columns(X), where)))


class Constants(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Columns with one value each: not passed on, but remembered, so that a row that deviates can be told.

    Attributes
    ----------
    values_ : list
        The value of each column.
    """

    def fit(self, X: Any, y: None = None) -> Constants:  # noqa: ARG002
        """Remember the values of a frame or array (n, k)."""
        remember_columns(self, X)
        self.values_ = [_plain(column.present[0]) for column in read_columns(X)]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Nothing (n, 0)."""
        check_is_fitted(self)
        return np.empty((X.shape[0], 0))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """No names."""
        return np.empty(0, dtype=object)


class SimplexEncoder(OneHotEncoder):  # type: ignore[misc]  # untyped base
    """One-hot encoding in which an unseen category is as far from all others as they are from one another.

    One-hot vectors of c categories are corners of a regular simplex with edges of √2. scikit-learn encodes an
    unseen category by 0, at distance 1: nearer to each of them than another one of them would be. Here it is
    one more corner, -t in all entries with (1 + t)² + (c - 1) t² = 2. Parameters and attributes are those of
    the base; ``sparse_output`` must be False.
    """

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Corners of simplices (n, k)."""
        Z = np.array(super().transform(X), dtype=np.float64)
        for block in self._blocks():
            size = block.stop - block.start
            unseen = ~Z[:, block].any(axis=1)
            Z[unseen, block] = -(np.sqrt(1.0 + size) - 1.0) / size
        return Z

    def _blocks(self) -> list[slice]:
        """Columns of each category."""
        rare = getattr(self, "infrequent_categories_", [None] * len(self.categories_))
        sizes = [
            len(values) - (0 if few is None else len(few) - 1)
            for values, few in zip(self.categories_, rare, strict=True)
        ]
        ends = np.cumsum(sizes).tolist()
        return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def log_step(scales: Sequence[LogScale]) -> FunctionTransformer:
    """Step z = asinh((x - center)/unit) with a center and a unit for each column."""
    units = {
        "center": np.array([scale.center for scale in scales]),
        "unit": np.array([scale.unit for scale in scales]),
    }
    return FunctionTransformer(
        to_log_scale,
        from_log_scale,
        kw_args=units,
        inv_kw_args=units,
        feature_names_out="one-to-one",
        check_inverse=False,
    )


def to_log_scale(X: ArrayLike, center: ArrayLike, unit: ArrayLike) -> NDArray[np.float64]:
    """asinh((x - center)/unit) of an array of floats (n, k); NaN stays NaN."""
    return np.asarray(np.arcsinh((np.asarray(X) - np.asarray(center)) / np.asarray(unit)))


def from_log_scale(Z: ArrayLike, center: ArrayLike, unit: ArrayLike) -> NDArray[np.float64]:
    """Inverse, center + unit sinh(z), of an array (n, k)."""
    return np.asarray(np.asarray(center) + np.asarray(unit) * np.sinh(Z))


def _numbers(column: RawColumn, where: str) -> NDArray[np.float64]:
    """Floats (n,); ``where`` begins the sentence on a value that is no finite number."""
    numbers = np.full(column.values.size, np.nan)
    if column.values.dtype.kind in "fiub":
        numbers = column.as_floats()
    else:
        numbers[~column.gaps] = [_as_number(value) for value in column.present]
    wrong = np.isinf(numbers) | (np.isnan(numbers) & ~column.gaps)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{where} has {_plain(column.values[row])!r} in row {row}, expected a finite number. "
            "Make it one or a missing value, or leave such rows out."
        )
    return numbers


def _as_number(value: Any) -> float:
    """The value as a float, NaN if it is none; texts that read as numbers are numbers."""
    if isinstance(value, (dt.date, dt.timedelta, np.datetime64, np.timedelta64)):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _plain_values(column: RawColumn, as_text: bool) -> NDArray[np.object_]:
    values: NDArray[np.object_] = _without_unit(column.values).astype(object)
    if as_text:
        values[:] = [str(value) for value in values]
    values[column.gaps] = None
    return values


def _plain(value: Any) -> Any:
    return _without_unit(value).item() if isinstance(value, np.generic) else value


def _without_unit(values: Any) -> Any:
    """Dates in the one unit in which NumPy makes dates of them, and not whole numbers."""
    return values.astype("datetime64[us]") if values.dtype.kind == "M" else values
