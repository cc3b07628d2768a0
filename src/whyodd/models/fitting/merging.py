"""Equal rows merged into one with their weights added: the same problem, in an order of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import canonical, is_sparse
from whyodd.compute.row_hashes import row_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points


@dataclass(frozen=True)
class MergedRows:
    """Distinct rows with positive weights, and how to return to the given rows.

    Attributes
    ----------
    rows : ndarray or CSR array of shape (k, d)
        The distinct rows.
    weights : ndarray of shape (k,) or None
        Their weights; None if every row given counts once and no two are equal.
    """

    rows: Points
    weights: NDArray[np.float64] | None
    _first: NDArray[np.intp] | None = None
    _which: NDArray[np.intp] | None = None
    _given: NDArray[np.float64] | None = None

    def spread(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients of the distinct rows (k,) shared out to the rows given (n,), by weight."""
        if self.weights is None or self._which is None or self._given is None:
            return alpha
        return np.where(self._given > 0.0, alpha[self._which] * self._given / self.weights[self._which], 0.0)

    def rows_of(self, kinds: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
        """The rows given that some of the distinct rows are: the first of each, ascending, and the others.

        The others (c, 2) come with the place of the first one; None if there are none.
        """
        if self._first is None or self._which is None or self._given is None:
            return np.sort(kinds), None
        kinds = kinds[np.argsort(self._first[kinds])]
        rows = self._first[kinds]
        place = np.full(self._first.size, -1, dtype=np.intp)
        place[kinds] = np.arange(kinds.size)
        of_rows = place[self._which]
        is_copy = (of_rows >= 0) & (self._given > 0.0)
        is_copy[rows] = False
        members = np.flatnonzero(is_copy)
        return rows, np.column_stack([members, of_rows[members]]) if members.size else None

    def which(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The distinct row that each of some of the rows given is."""
        return rows if self._which is None else self._which[rows]

    def gather(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients of the rows given (n,) added up for the distinct rows (k,)."""
        if self.weights is None or self._which is None:
            return alpha
        return np.asarray(np.bincount(self._which, alpha, self.weights.size), dtype=np.float64)


def merge_equal_rows(X: Points, sample_weight: NDArray[np.float64] | None = None) -> MergedRows:
    """Merge equal rows of X (n, d), and drop those without weight.

    Rows with weights, and rows repeated instead, give the very same result, whatever their order.
    """
    X = canonical(X)
    hashes = row_hashes(X)
    if sample_weight is None:
        ordered = np.sort(hashes)
        if (ordered[1:] != ordered[:-1]).all():
            return MergedRows(X, None)
        first, which = _distinct(X, hashes)
        weights = np.bincount(which, minlength=first.size).astype(np.float64)
        return MergedRows(X[first], weights, first, which, np.ones(X.shape[0]))
    used = np.flatnonzero(sample_weight > 0.0)
    first, which = _distinct(X[used], hashes[used])
    all_which = np.zeros(X.shape[0], dtype=np.intp)
    all_which[used] = which
    weights = np.asarray(np.bincount(which, sample_weight[used], first.size), dtype=np.float64)
    first = used[first]
    return MergedRows(X[first], weights, first, all_which, sample_weight)


def _distinct(X: Points, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the first row of each kind, in an order of values alone, and the kind of each row."""
    if not is_sparse(X):
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        is_new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        first, which = order[is_new], np.empty(order.size, dtype=np.intp)
        which[order] = np.cumsum(is_new) - 1
        copies = np.flatnonzero(first[which] != np.arange(order.size))
        if not np.array_equal(X[copies], X[first[which[copies]]]):  # two rows with one hash
            _, first, which = np.unique(X, axis=0, return_index=True, return_inverse=True)
        return first, which.ravel()
    keys = [_sparse_key(X, i) for i in range(X.shape[0])]
    kinds = {key: kind for kind, key in enumerate(sorted(set(keys)))}
    which = np.array([kinds[key] for key in keys], dtype=np.intp)
    _, first = np.unique(which, return_index=True)
    return first, which


def _sparse_key(X: Points, i: int) -> tuple[bytes, bytes]:
    part = slice(X.indptr[i], X.indptr[i + 1])
    return X.indices[part].tobytes(), X.data[part].tobytes()
