"""Pairs of variables that depend on each other: usual values in an unusual combination."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import xlogy

from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Average number of rows in a cell of a pair's table, and the most values of each column.
_ROWS_PER_CELL, _MOST_BINS = 15, 12
# A pair counts if its dependence exceeds chance by this many standard errors.
_STANDARD_ERRORS = 3.0
# Pairs kept per variable; and up to how many pairs all are examined.
_KEPT, _ALL_PAIRS = 3, 5_000


@dataclass(frozen=True, eq=False)
class Pairs:
    """Surprise of two values together, beyond the surprise of each alone.

    Each variable is cut into bins that hold equally many rows. Of a pair (i, k) whose bins hold c rows
    together, where e would be expected if they were independent, the surprise is max(0, log (e + 1)/(c + 1)):
    R_i and R_k have half of it each, summed over the pairs.

    Parameters
    ----------
    edges : array of shape (bins - 1, d)
        Where bins end, ascending.
    pairs : array of int of shape (p, 2)
        Variables that depend on each other.
    counts, chance : arrays of shape (p, bins, bins)
        Rows in each cell, and how many there would be if the two were independent.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"leave_out", "save"})

    edges: Floats
    pairs: Indices
    counts: Floats
    chance: Floats

    @classmethod
    def of(cls, X: Floats, owner: Indices) -> Pairs:
        """The pairs of columns (n, d) that depend on each other most.

        ``owner`` (d,): the variable that each column belongs to; columns of one variable are no pair.
        """
        n, d = X.shape
        n_bins = int(np.clip(np.sqrt(n / _ROWS_PER_CELL), 2, _MOST_BINS))
        edges = np.quantile(X, np.arange(1, n_bins) / n_bins, axis=0, method="inverted_cdf")
        bins = _bins(edges, X)
        shares = np.stack([np.bincount(bins[:, i], minlength=n_bins) for i in range(d)]) / n
        found, tables = [], []
        for i, k in _candidates(bins, owner):
            cells = np.bincount(bins[:, i] * n_bins + bins[:, k], minlength=n_bins**2)
            table = cells.reshape(n_bins, n_bins).astype(np.float64)
            gain = _dependence(table, shares[i], shares[k], n)
            if gain > 0.0:
                found.append((gain, i, k))
                tables.append(table)
        best = np.argsort([-gain for gain, _, _ in found], kind="stable")[: _KEPT * d]
        pairs = np.array([found[b][1:] for b in best], dtype=np.intp).reshape(-1, 2)
        counts = np.array([tables[b] for b in best]).reshape(-1, n_bins, n_bins)
        chance = n * shares[pairs[:, 0], :, None] * shares[pairs[:, 1], None, :]
        return cls(edges, pairs, counts, chance)

    def outlierness(self, X: Any, **keywords: Any) -> Floats:
        """Surprise of all pairs (n,)."""
        return self.decompose(X, **keywords).outlierness

    def decompose(self, X: Any, own: Indices | None = None) -> Decomposition:
        """Surprise by variable (n, d); rows with an ``own`` of at least 0 are among those counted."""
        surprise = self.surprise(X, own)
        parts = np.zeros((self.edges.shape[1], len(surprise)))
        for place, (i, k) in enumerate(self.pairs):
            half = 0.5 * surprise[:, place]
            parts[i] += half
            parts[k] += half
        relevance = np.ascontiguousarray(parts.T)
        return Decomposition(relevance, np.zeros(len(surprise)), relevance.sum(axis=1))

    def surprise(self, X: Any, own: Indices | None = None) -> Floats:
        """Surprise of each pair (n, p)."""
        bins = _bins(self.edges, np.asarray(X, dtype=np.float64))
        learned = (
            np.zeros(len(bins), dtype=np.intp) if own is None else (np.asarray(own) >= 0).astype(np.intp)
        )
        out = np.empty((len(self.pairs), len(bins)))
        for place, (i, k) in enumerate(self.pairs):
            out[place] = self._surprises[place][learned, bins[:, i], bins[:, k]]
        return out.T

    @cached_property
    def _surprises(self) -> Floats:
        """Surprise (p, 2, bins, bins) at each cell, and without one of the rows that were counted in it."""
        seen = self.counts[:, None] - np.arange(2.0)[:, None, None]
        return np.maximum(np.log((self.chance[:, None] + 1.0) / (np.maximum(seen, 0.0) + 1.0)), 0.0)

    def partner(
        self, X: Floats, columns: Indices, own: Indices | None, known: Floats
    ) -> tuple[int, Indices] | None:
        """The column that fits worst with some columns of a row (1, d), and known rows like it there."""
        mine = np.isin(self.pairs, columns)
        # Some columns do not form a pair: a number and the mark of its gaps belong together.
        surprise = np.where(mine.sum(axis=1) == 1, self.surprise(X, own)[0], 0.0)
        if surprise.size == 0 or surprise.max() <= 0.0:
            return None
        place = int(surprise.argmax())
        other = int(self.pairs[place][~mine[place]][0])
        edges = self.edges[:, [other]]
        alike = np.flatnonzero(_bins(edges, known[:, [other]]) == _bins(edges, X[:, [other]]))
        return other, alike


def _bins(edges: Floats, X: Floats) -> Indices:
    """Bin of each value (n, d)."""
    columns = [np.searchsorted(edge, x, side="left") for edge, x in zip(edges.T, X.T, strict=True)]
    return np.column_stack(columns)


def _candidates(bins: Indices, owner: Indices) -> Indices:
    """Pairs of columns (p, 2) to look at: all, or those whose ranks go together most."""
    d = bins.shape[1]
    pairs: Indices = np.column_stack(np.tril_indices(d, -1))
    pairs = pairs[owner[pairs[:, 0]] != owner[pairs[:, 1]]]
    if len(pairs) <= _ALL_PAIRS:
        return np.asarray(pairs)
    centered = bins - bins.mean(axis=0)
    norms = np.sqrt((centered**2).sum(axis=0))
    together = np.abs(centered.T @ centered) / np.maximum(np.outer(norms, norms), 1e-12)
    strongest = np.argsort(-together[pairs[:, 0], pairs[:, 1]], kind="stable")
    return np.asarray(pairs[strongest[:_ALL_PAIRS]])


def _dependence(table: Floats, rows: Floats, columns: Floats, n: int) -> float:
    """Mutual information of two binned variables in nats, less what chance gives; 0 if it may be chance.

    2 n times the information of independent variables has a χ² distribution.
    """
    chance = n * np.outer(rows, columns)
    information = float(xlogy(table, table / np.maximum(chance, 1e-12)).sum()) / n
    freedom = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
    if freedom == 0:
        return 0.0
    is_clear = 2.0 * n * information - freedom > _STANDARD_ERRORS * np.sqrt(2.0 * freedom)
    return information - freedom / (2.0 * n) if is_clear else 0.0
