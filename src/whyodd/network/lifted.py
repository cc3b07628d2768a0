"""A member of the waist in the variables before a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.maths.linear_maps import LinearMap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.network.waist import Decomposition

    Floats = NDArray[np.float64]

_STAYS = frozenset({"expected", "leave_out", "work"})


@dataclass(frozen=True, eq=False)
class LiftedScore:
    """The score of rows after a matrix: o(y) = o(B y).

    Parameters
    ----------
    score : member of the waist
        With the capability "through".
    ahead : array of shape (k, d)
        B, of rank k: every row that reaches the score is made of some y.
    back : array of shape (k, d)
        (B⁺)ᵀ: ``X @ back`` are the shortest y that make the rows X.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.lifted import LiftedScore
    >>> from whyodd.network.sums.terms import RobustDeviations, TermsScore
    >>> score = TermsScore(RobustDeviations([1.0], [2.0]))
    >>> lifted = LiftedScore(score, np.array([[3.0, 4.0]]), np.array([[0.12, 0.16]]))
    >>> lifted.outlierness(np.array([[1.0, 2.0]])), lifted.expected(np.array([[1.0, 2.0]]))
    (array([5.]), array([[0.12, 0.16]]))
    """

    score: Any
    ahead: NDArray[np.floating]
    back: NDArray[np.floating]

    @property
    def capabilities(self) -> frozenset[str]:
        """The member's capabilities that a map does not affect."""
        return frozenset(self.score.capabilities) & _STAYS

    @property
    def n_features(self) -> int:
        """Number of variables d before the map."""
        return int(self.ahead.shape[1])

    def outlierness(self, X: Any, **keywords: Any) -> Floats:
        """Outlierness (n,) of rows (n, d)."""
        return np.asarray(self.score.outlierness(self._made(X), **keywords))

    def decompose(self, X: Any, **keywords: Any) -> Decomposition:
        """Relevance of the variables before the map (n, d)."""
        parts: Decomposition = self.score.decompose(self._made(X), through=LinearMap(self.ahead), **keywords)
        return parts

    def expected(self, X: Any, **keywords: Any) -> Floats:
        """(n, d) the shortest rows that map to what the score expects."""
        return np.asarray(self.score.expected(self._made(X), **keywords) @ self.back)

    def _made(self, X: Any) -> Floats:
        return np.asarray(X, dtype=np.float64) @ self.ahead.T
