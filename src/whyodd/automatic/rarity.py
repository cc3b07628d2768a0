"""How rare values are, in units of their surprise."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Categories count as equally rare if one has at most this many times the rows of the other.
ALIKE = 2


def surprise(share: float) -> float:
    """-log p in nats; for a tail probability p its mean and its standard deviation are at most one.

    So it compares with numbers in units of their scale: what one row in 400 has lies six of them away.
    """
    return float(-np.log(min(share, 1.0)))


class Rarity(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """One number for each category: -log q, where a share q of the rows has one as rare or rarer.

    So two equally likely values, or a hundred, are no surprise, and a country seen once is one. As many new
    rows will have a category never seen as had one of their own (Good and Turing), at least one: that is q.

    Parameters
    ----------
    known : list of Counter or None, optional
        For each column how many rows have each category, if ``fit`` is given only some rows; None where that
        is not known.

    Attributes
    ----------
    categories_, entries_ : list of ndarray
        The categories of each column, and their entries.
    unseen_ : list of float
        The entry of any other category, of each column.
    """

    known: Sequence[Counter[Any] | None] | None = None  # in files of 0.2

    def __init__(self, known: Sequence[Counter[Any] | None] | None = None) -> None:
        self.known = known

    def fit(self, X: Any, y: None = None) -> Rarity:  # noqa: ARG002
        """Count the categories of each column of objects (n, k)."""
        self.n_features_in_ = X.shape[1]
        found = [_entries(counts) for counts in category_counts(X, self.known)]
        self.categories_ = [np.array([*entries, None], dtype=object)[:-1] for entries, _ in found]
        self.entries_ = [np.array(list(entries.values())) for entries, _ in found]
        self.unseen_ = [unseen for _, unseen in found]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Entries (n, k)."""
        check_is_fitted(self)
        tables = [
            dict(zip(values.tolist(), entries.tolist(), strict=True))
            for values, entries in zip(self.categories_, self.entries_, strict=True)
        ]
        columns = zip(X.T.tolist(), tables, self.unseen_, strict=True)
        return np.array([[known.get(value, new) for value in values] for values, known, new in columns]).T


def category_counts(X: Any, known: Sequence[Counter[Any] | None] | None) -> list[Counter[Any]]:
    """How many rows have each category of the columns of X (n, k), or the known counts of more rows."""
    known = [None] * X.shape[1] if known is None else known
    return [Counter(column.tolist()) if of is None else of for column, of in zip(X.T, known, strict=True)]


def _entries(counts: Counter[Any]) -> tuple[dict[Any, float], float]:
    """The entries of the known categories, and of a new one."""
    n = counts.total()
    sizes = np.sort(np.fromiter(counts.values(), dtype=np.intp))
    rows = np.concatenate([[0], np.cumsum(sizes)])

    def entry(count: int) -> float:
        alike = int(np.searchsorted(sizes, ALIKE * count, side="right"))
        return surprise(int(rows[alike]) / n)

    n_own = int(np.count_nonzero(sizes == 1))
    return {value: entry(count) for value, count in counts.items()}, surprise(max(n_own, 1) / (n + 1))
