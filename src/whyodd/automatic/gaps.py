"""Gaps among numbers: filled, and marked by how surprising they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from whyodd.maths.robust_scales import center_and_scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# How far from the median, in scales, a gap is filled that never was there: as odd as a gross value.
_NEVER_MISSING = 8.0


class FilledNumbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Gaps filled by the median, and for each column that had any a mark in units of surprise.

    The mark of a gap is √(-2 log p), p being the share of rows that have a gap there, or that have as many
    gaps as its row has, whichever is less: else a row of gaps would look normal, since all that it is filled
    with is. Where no row had a gap there is no mark; a gap there is filled by a gross value.

    Attributes
    ----------
    fill_ : ndarray of shape (k,)
        What gaps are filled with.
    marked_ : ndarray of int of shape (m,)
        Columns that had gaps.
    shares_ : ndarray of shape (m,)
        The shares of rows that have these gaps.
    shares_of_counts_ : ndarray of shape (m + 1,)
        The share of rows that have at least so many gaps.
    """

    def fit(self, X: Any, y: None = None) -> FilledNumbers:  # noqa: ARG002
        """Learn from floats (n, k) with NaN in the gaps; no column has gaps only."""
        values = np.asarray(X, dtype=np.float64)
        gaps = np.isnan(values)
        self.n_features_in_ = values.shape[1]
        self.marked_ = np.flatnonzero(gaps.any(axis=0))
        n, m = len(values) + 1.0, self.marked_.size
        self.shares_ = gaps.sum(axis=0)[self.marked_] / n
        counts = np.bincount(gaps.sum(axis=1), minlength=m + 1)
        self.shares_of_counts_ = np.maximum(np.cumsum(counts[::-1])[::-1], 1.0) / n
        self.fill_ = np.nanmedian(values, axis=0)
        whole = np.flatnonzero(~gaps.any(axis=0))
        if whole.size:
            center, scale = center_and_scale(values[:, whole])
            self.fill_[whole] = center + _NEVER_MISSING * scale
        return self

    def transform(self, X: Any) -> Floats:
        """Numbers and marks (n, k + m)."""
        check_is_fitted(self)
        values = np.asarray(X, dtype=np.float64)
        gaps = np.isnan(values)
        marked = gaps[:, self.marked_]
        as_many = self.shares_of_counts_[marked.sum(axis=1)]
        marks = np.sqrt(-2.0 * np.log(np.minimum(self.shares_, as_many[:, None])))
        return np.column_stack([np.where(gaps, self.fill_, values), marked * marks])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns, and of the marks."""
        given = [f"x{i}" for i in range(self.n_features_in_)] if input_features is None else input_features
        return np.array([*given, *(f"{given[i]}: missing" for i in self.marked_)], dtype=object)
