"""How an ensemble combines several scores into one: the weight of each for a row."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from whyodd.network.rebuilt import Rebuilt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


class Combination(Protocol):
    """A combination of K standardised scores: Σ_k w_k z_k, with weights w ≥ 0 that sum to 1 in each row."""

    def check(self, n_scores: int, n_features: int) -> None:
        """Raise a ``ValueError`` unless it suits K scores of rows with d variables."""

    def weights(self, X: Floats, standings: Floats) -> Floats:
        """What each score counts (n, K) for rows X (n, d) with the scores ``standings`` (n, K)."""

    def floor(self, least: Floats) -> float:
        """A lower bound of the combination, from the smallest values of the scores (K,)."""


@dataclass(frozen=True, eq=False)
class Average(Rebuilt):
    """Weighted mean Σ_k w_k z_k.

    Parameters
    ----------
    counts : array of shape (K,)
        w_k ≥ 0; they sum to 1.
    """

    counts: Floats

    def __post_init__(self) -> None:
        if abs(self._freeze("counts", None, low=0.0).sum() - 1.0) > 1e-9:
            raise ValueError("The weights of an average must sum to 1.")

    def check(self, n_scores: int, n_features: int) -> None:  # noqa: ARG002
        """Raise a ``ValueError`` unless there is a weight for each score."""
        if self.counts.size != n_scores:
            raise ValueError(f"An average needs {n_scores} weights, got {self.counts.size}.")

    def weights(self, X: Floats, standings: Floats) -> Floats:  # noqa: ARG002
        """The same for each row."""
        return np.broadcast_to(self.counts, standings.shape)

    def floor(self, least: Floats) -> float:
        """Σ_k w_k z_k,min."""
        return float(self.counts @ least)


@dataclass(frozen=True)
class Maximum:
    """max_k z_k: the largest score alone counts, the first of several."""

    def check(self, n_scores: int, n_features: int) -> None:
        """A maximum suits all."""

    def weights(self, X: Floats, standings: Floats) -> Floats:  # noqa: ARG002
        """1 for the largest."""
        chosen = np.zeros(standings.shape)
        chosen[np.arange(len(standings)), standings.argmax(axis=1)] = 1.0
        return chosen

    def floor(self, least: Floats) -> float:
        """max_k z_k,min."""
        return float(least.max())


# Each is searched for all rows; LSCP has 20.
_MOST_SUBSPACES = 1000


@dataclass(frozen=True, eq=False)
class LocalSelection(Rebuilt):
    """Mean of the scores that are competent near the row, after LSCP.

    The region of a row are the training rows that are among its nearest in more than half of several
    subspaces. Each score is compared there with the largest of all, by correlation, and those in the fullest
    bin of a histogram of these correlations are averaged.

    Parameters
    ----------
    rows : array of shape (m, d)
        Training rows.
    standings : array of shape (m, K)
        Their standardised scores.
    subspaces : sequence of arrays of int
        Columns in which neighbours are searched.
    neighbors : int
        How many, in each subspace.
    bins : int
        Of the histogram.

    Notes
    -----
    Zhao et al., "LSCP: locally selective combination in parallel outlier ensembles", 2019.
    """

    rows: Floats
    standings: Floats
    subspaces: tuple[Indices, ...]
    neighbors: int
    bins: int

    def __post_init__(self) -> None:
        m, d = self._freeze("rows", None, None).shape
        n_scores = self._freeze("standings", m, None).shape[1]
        object.__setattr__(self, "subspaces", tuple(np.array(one, dtype=np.intp) for one in self.subspaces))
        if not 2 <= self.neighbors <= m or not 1 <= self.bins <= n_scores:
            raise ValueError(
                f"A local selection needs 2 to {m} neighbours and 1 to {n_scores} bins, got "
                f"{self.neighbors} and {self.bins}."
            )
        if not 0 < len(self.subspaces) <= _MOST_SUBSPACES or any(
            one.ndim != 1 or not one.size or one.min() < 0 or one.max() >= d for one in self.subspaces
        ):
            raise ValueError(
                f"A local selection needs 1 to {_MOST_SUBSPACES} subspaces among its {d} columns."
            )

    def check(self, n_scores: int, n_features: int) -> None:
        """Raise a ``ValueError`` unless it knows the scores of rows like these."""
        known = self.standings.shape[1], self.rows.shape[1]
        if known != (n_scores, n_features):
            raise ValueError(
                f"A local selection needs {n_scores} scores of rows with {n_features} variables, "
                f"but has {known[0]} with {known[1]}."
            )

    def weights(self, X: Floats, standings: Floats) -> Floats:
        """Equal weights for the competent scores, 0 for the others."""
        from sklearn.neighbors import KDTree

        searched = [KDTree(self.rows[:, one]).query(X[:, one], k=self.neighbors)[1] for one in self.subspaces]
        counts = np.array([self._competent(_region(near)) for near in np.stack(searched, axis=1)])
        return np.asarray(counts / counts.sum(axis=1, keepdims=True)).reshape(standings.shape)

    def floor(self, least: Floats) -> float:
        """min_k z_k,min, since any score may be the only competent one."""
        return float(least.min())

    def _competent(self, region: list[int]) -> Floats:
        """How often each score is selected (K,)."""
        local = self.standings[region]
        from scipy.stats import ConstantInputWarning, pearsonr

        largest = local.max(axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantInputWarning)  # a missing correlation counts as 0
            found = np.nan_to_num([pearsonr(largest, scores)[0] for scores in local.T])
        filled, edges = np.histogram(found, bins=self.bins)
        fullest = np.flatnonzero(filled == filled.max())
        # A correlation on the edge of two bins is in both.
        inside = (found >= edges[fullest, None]) & (found <= edges[fullest + 1, None])
        return np.asarray(inside.sum(axis=0), dtype=np.float64)


def _region(near: Indices) -> list[int]:
    """Training rows that are near in more than half of the subspaces (S, k), or as often as two rows are."""
    times = Counter(near.ravel().tolist())
    enough = len(near) // 2
    while True:
        region = [row for row, count in times.items() if count > enough]
        if len(region) > 1:
            return region
        enough -= 1
