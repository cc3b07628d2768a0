"""Non-Euclidean distances to neighbours, divided among the terms they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.maths.term_metrics import terms_of
from whyodd.network.rebuilt import Rebuilt, rows_in_doubles
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.maths.hard_poolings import Pooling
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class NeighborDistances(Rebuilt):
    """Pooled distances to the k nearest rows: R_i = Σ_j Δ_j t_ij / Σ_l t_lj, with terms t of the distance.

    As a distance network with hard pooling, but a neighbour's part Δ_j of the outlierness goes to variables
    by the terms of another metric, |x_i - u_i|^p of Minkowski's instead of squares. They are in
    ``whyodd.maths.term_metrics``.

    Parameters
    ----------
    centers : array of shape (m, d)
        All training rows.
    pooling : Pooling
        What the distances to the k nearest make; ``Nearest`` or ``LocalReach``.
    metric : str
        As scikit-learn calls it.
    p : float, optional
        Of Minkowski's metric.

    Examples
    --------
    >>> from whyodd.maths.hard_poolings import Nearest
    >>> from whyodd.network.neighbor_distances import NeighborDistances
    >>> score = NeighborDistances([[0.0, 0.0], [9.0, 9.0]], Nearest.kth(1), "manhattan")
    >>> score.decompose([[1.0, -3.0]]).relevance
    array([[1., 3.]])
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "leave_out", "save"})

    centers: Floats
    pooling: Pooling
    metric: str
    p: float | None = None
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        self._freeze("centers", None, None)
        self.pooling.check(self.n_centers)
        if terms_of(self.metric, self.p) is None:
            raise ValueError(f"The metric {self.metric!r} is not a sum of terms, one for each variable.")

    @property
    def n_centers(self) -> int:
        """Number of training rows."""
        return len(self.centers)

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return int(self.centers.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.n_centers

    @property
    def rows(self) -> Indices:
        """Which training rows the centers are: all, in their order."""
        return np.arange(self.n_centers)

    def outlierness(self, X: Any, *, own: Indices | None = None) -> Floats:
        """Outlierness o (n,), as the pooling has it."""
        values, _ = rows_in_doubles(X, self.n_features)
        return self.pooling.outlierness(*self._neighbors(values, own))

    def decompose(self, X: Any, *, own: Indices | None = None) -> Decomposition:
        """Each neighbour's part, divided among the terms of its distance.

        ``own`` (n,): the center that each row is, and that is left out, or -1.
        """
        values, dtype = rows_in_doubles(X, self.n_features)
        distances, neighbors = self._neighbors(values, own)
        explained = self.pooling.explained(distances, neighbors)
        relevance, unexplained = np.zeros(values.shape), self.pooling.unexplained(distances, neighbors)
        for delta, center in zip(explained.T, neighbors.T, strict=True):
            terms = self._terms(values, self.centers[center])
            total = terms.sum(axis=1)
            relevance += (
                np.divide(delta, total, out=np.zeros(len(values)), where=total > 0.0)[:, None] * terms
            )
        return Decomposition(
            relevance.astype(dtype, copy=False),
            unexplained,
            self.pooling.outlierness(distances, neighbors),
        )

    def expected(self, X: Any, *, own: Indices | None = None) -> Floats:
        """Mean of the neighbours (n, d), by what they count."""
        values, _ = rows_in_doubles(X, self.n_features)
        _, neighbors = self._neighbors(values, own)
        return np.asarray(np.einsum("k,nkd->nd", self.pooling.assignment(), self.centers[neighbors]))

    @property
    def _terms(self) -> Callable[[Floats, Floats], Floats]:
        found = terms_of(self.metric, self.p)
        assert found is not None  # checked when it was made
        return found

    @cached_property
    def _search(self) -> Any:
        p = {} if self.p is None else {"p": self.p}
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(metric=self.metric, **p).fit(self.centers)

    def _neighbors(self, X: Floats, own: Indices | None) -> tuple[Floats, Indices]:
        """Distances (n, k), ascending, and the centers they are to."""
        k = self.pooling.k
        if own is None:
            found: tuple[Floats, Indices] = self._search.kneighbors(X, k)
            return found
        if k >= self.n_centers:
            raise ValueError(f"{k} neighbours besides the row itself need {k + 1} training rows. Lower k.")
        distances, neighbors = self._search.kneighbors(X, k + 1)
        is_own = neighbors == np.asarray(own)[:, None]
        # Rows that are not their own neighbours (because of copies) lose the farthest one.
        is_own[~is_own.any(axis=1), -1] = True
        return distances[~is_own].reshape(len(X), k), neighbors[~is_own].reshape(len(X), k)
