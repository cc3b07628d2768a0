"""Steps for raw columns that scikit-learn does not have; each keeps columns apart, to be traced."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from whyodd.automatic.rarity import category_counts, surprise
from whyodd.automatic.reading import plain_values, read_columns, without_unit
from whyodd.maths.robust_scales import center_and_scale

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.automatic.reading import RawColumn


def remember_columns(step: Any, X: Any) -> None:
    """Set ``n_features_in_`` and, if all names are text, ``feature_names_in_``."""
    # The columns of an Arrow table are not names.
    names = getattr(X, "column_names", getattr(X, "columns", None))
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
        return np.column_stack([plain_values(column, self.as_text) for column in read_columns(X)])


class PlainNumbers(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Numbers of any type as floats, durations as seconds, NaN for every kind of gap."""

    def fit(self, X: Any, y: None = None) -> PlainNumbers:  # noqa: ARG002
        """Remember the columns of a frame or array (n, k)."""
        remember_columns(self, X)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Floats (n, k)."""
        check_is_fitted(self, "n_features_in_")
        names = getattr(self, "feature_names_in_", None)
        where = ["A numeric column"] * X.shape[1] if names is None else [f"Column {n!r}" for n in names]
        return np.column_stack(list(map(numbers_of, read_columns(X), where)))


class FilledGaps(SimpleImputer):  # type: ignore[misc]  # untyped base
    """Medians in the gaps, and for columns that had any in training a mark: how surprising a gap is there.

    Where there never was a gap, it is filled with a value as far from the median as it is surprising: what
    is missing for the first time is odd, and a row of gaps is not normal because medians are.

    Several gaps are as surprising together as they are alone in sum, S = Σ_i s_i, but no more than that so
    many are missing. The mark of each is then √(s_i S): together they lie S away.

    Parameters
    ----------
    known : tuple of (int, sequence of float), optional
        Number of rows, and the share of them that each column is missing in, if ``fit`` is given only some
        rows; NaN where that is not known.

    Attributes
    ----------
    marks_ : ndarray of shape (marks,)
        s, what marks a gap: -log of the share of rows that have one, at least 1.
    many_ : ndarray of shape (marks + 1,)
        The surprise of this many gaps in a row, or more.
    first_gaps_ : ndarray of shape (k,)
        What fills a gap where there was none.
    """

    known: tuple[int, Sequence[float]] | None = None  # in files of 0.2

    def __init__(self, known: tuple[int, Sequence[float]] | None = None) -> None:
        super().__init__(strategy="median", add_indicator=True)
        self.known = known

    def fit(self, X: Any, y: None = None) -> FilledGaps:
        """Learn medians, scales, and shares of gaps from floats (n, k)."""
        super().fit(X, y)
        gaps = np.isnan(X)
        n, shares = len(X), gaps.mean(axis=0)
        if self.known is not None:
            n, shares = self.known[0], np.where(np.isnan(self.known[1]), shares, self.known[1])
            self.indicator_.features_ = np.flatnonzero(shares > 0.0)
        shares = shares[self.indicator_.features_]
        self.marks_ = np.array([max(surprise(share), 1.0) for share in shares])
        n_gaps = gaps[:, self.indicator_.features_].sum(axis=1)
        n_rows = [int(np.count_nonzero(n_gaps >= k)) for k in range(self.marks_.size + 1)]
        self.many_ = np.array([surprise(max(n, 1) / len(X)) for n in n_rows])
        center, scale = center_and_scale(np.where(gaps, self.statistics_, X))
        self.first_gaps_ = center + surprise(1.0 / (n + 1.0)) * scale
        self.first_gaps_[self.indicator_.features_] = self.statistics_[self.indicator_.features_]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Floats without gaps (n, k), then marks (n, marks)."""
        check_is_fitted(self)
        filled = np.where(np.isnan(X), self.first_gaps_, X)
        surprises = np.isnan(X[:, self.indicator_.features_]) * self.marks_
        together = np.minimum(surprises.sum(axis=1), self.many_[np.count_nonzero(surprises, axis=1)])
        together = np.maximum(together, surprises.max(axis=1, initial=0.0))
        return np.column_stack([filled, np.sqrt(surprises * together[:, np.newaxis])])


class Constants(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Columns with one value each: not passed on, but remembered, so that different values can be reported.

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
        for block in self.blocks():
            size = block.stop - block.start
            unseen = ~Z[:, block].any(axis=1)
            Z[unseen, block] = -(np.sqrt(1.0 + size) - 1.0) / size
        return Z

    def blocks(self) -> list[slice]:
        """Columns of each category."""
        rare = getattr(self, "infrequent_categories_", [None] * len(self.categories_))
        sizes = [
            len(values) - (0 if few is None else len(few) - 1)
            for values, few in zip(self.categories_, rare, strict=True)
        ]
        ends = np.cumsum(sizes).tolist()
        return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


class SurpriseEncoder(SimplexEncoder):
    """One-hot encoding in units of surprise: a category with a share p of the rows has the entry √(-2 log p).

    So its squared distance from another one is at least -2 log p, as that of a number z standard deviations
    from the mean is z². An unseen category is as far from all others as one that was seen once.

    Parameters
    ----------
    known : list of Counter or None, optional
        For each column how many rows have each category, if ``fit`` is given only some rows; None where that
        is not known. All others are those of the base.

    Attributes
    ----------
    entries_ : ndarray of shape (k,)
        The entry of each category.
    unseen_ : float
        √(2 log n), the distance of an unseen category.
    """

    known: Sequence[Counter[Any] | None] | None = None  # in files of 0.2

    def __init__(
        self,
        *,
        handle_unknown: str = "error",
        max_categories: int | None = None,
        sparse_output: bool = False,
        known: Sequence[Counter[Any] | None] | None = None,
    ) -> None:
        super().__init__(
            handle_unknown=handle_unknown, max_categories=max_categories, sparse_output=sparse_output
        )
        self.known = known

    def fit(self, X: Any, y: None = None) -> SurpriseEncoder:
        """Learn the categories and their shares from objects (n, columns)."""
        if self.known is None:
            super().fit(X, y)
            totals, n = OneHotEncoder.transform(self, X).sum(axis=0), np.array(len(X))
        else:
            totals, n = self._fit_counts(category_counts(X, self.known))
        self.entries_ = np.sqrt(-2.0 * np.log(np.clip(totals, 1.0, None) / n))
        self.unseen_ = float(np.sqrt(2.0 * np.log(n.max() + 1.0)))
        return self

    def _fit_counts(self, counts: list[Counter[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Learn the categories; the rows that each entry counts (k,), and the rows of its column (k,)."""
        orders = [_most_frequent_first(of) for of in counts]
        # The base class keeps the most frequent categories: these count twice, all others once.
        most = max(map(len, orders)) if self.max_categories is None else self.max_categories - 1
        columns = [order + order[:most] for order in orders]
        rows = np.empty((max(map(len, columns)), len(columns)), dtype=object)
        weights = np.zeros(rows.shape)
        for j, (order, column) in enumerate(zip(orders, columns, strict=True)):
            rows[:, j] = column + column[:1] * (len(rows) - len(column))
            weights[: len(order), j] = [counts[j][value] for value in order]
        super().fit(rows)
        seen, blocks = OneHotEncoder.transform(self, rows), self.blocks()
        totals = [weights[:, j] @ seen[:, block] for j, block in enumerate(blocks)]
        sizes = [block.stop - block.start for block in blocks]
        return np.concatenate(totals), np.repeat(weights.sum(axis=0), sizes)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Entries (n, k)."""
        Z = np.array(OneHotEncoder.transform(self, X), dtype=np.float64)
        for block in self.blocks():
            unseen = ~Z[:, block].any(axis=1)
            Z[:, block] *= self.entries_[block]
            Z[unseen, block] = -self.unseen_ / np.sqrt(block.stop - block.start)
        return Z


def _most_frequent_first(counts: Counter[Any]) -> list[Any]:
    return sorted(counts, key=lambda value: (-counts[value], str(value)))


def numbers_of(column: RawColumn, where: str) -> NDArray[np.float64]:
    """Floats (n,), durations in seconds; ``where`` begins the sentence about a value that is not finite."""
    numbers = np.full(column.values.size, np.nan)
    if column.values.dtype.kind in "fiub" or column.family == "duration":
        numbers = column.as_floats()
    else:
        numbers[~column.gaps] = [_as_number(value) for value in column.present]
    wrong = np.isinf(numbers) | (np.isnan(numbers) & ~column.gaps)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{where} has {_plain(column.values[row])!r} in row {row}, expected a finite number. Replace it "
            "by a number or a missing value, or leave such rows out."
        )
    return numbers


def _as_number(value: Any) -> float:
    """The value as a float, also from a text that reads as a number; NaN for anything else."""
    if isinstance(value, (dt.date, dt.timedelta, np.datetime64, np.timedelta64)):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _plain(value: Any) -> Any:
    return without_unit(value).item() if isinstance(value, np.generic) else value
