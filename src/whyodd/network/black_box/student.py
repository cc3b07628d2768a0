"""A student of a scoring function: a weighted sum of scores that decompose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.network.waist import Decomposition, decompose_rows, offers, score_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.float64]

# In scales: where a bounded term treats a value as infinitely far away.
_END = 4.0
# How many levels of a member's usual outlierness it takes until a bent one ends: at once, and later.
_SOON, _LATE = 1.0, 4.0


@dataclass(frozen=True, eq=False)
class Terms:
    """Sum over variables: R_i = Σ_b w_ib φ_b(x_i), of shapes φ_b ≥ 0, four above the center and four below.

    Of z = (x - center)/scale on its side, else 0: z, z², 1 - exp(-z²/(2·4)), which ends, and the surprise
    -log of the share of normal rows that are at least as far out.

    Parameters
    ----------
    center, scale : array of shape (d,)
    values : array of shape (n, d)
        Normal values of each column, ascending.
    weights : array of shape (d, 8)
        w ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.black_box.student import Terms
    >>> weights = np.zeros((2, 8))
    >>> weights[:, 0] = [3.0, 1.0]
    >>> Terms([0.0, 0.0], [1.0, 2.0], np.zeros((1, 2)), weights).decompose([[2.0, -2.0]]).relevance
    array([[6., 0.]])
    """

    center: Floats
    scale: Floats
    values: Floats
    weights: Floats

    def __post_init__(self) -> None:
        for name in ("center", "scale", "values", "weights"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))

    def shapes(self, X: Any) -> Floats:
        """φ_b(x_i) (n, d, 8)."""
        values = np.asarray(X, dtype=np.float64)
        Z = (values - self.center) / self.scale
        n, total = len(self.values), len(self.values) + 1.0
        sides = []
        for sign in (1.0, -1.0):
            z = np.maximum(sign * Z, 0.0)
            sides += [z, z * z, -np.expm1(-z * z / (2.0 * _END))]
        columns = range(values.shape[1])
        below = np.column_stack([np.searchsorted(self.values[:, i], values[:, i]) for i in columns])
        upto = np.column_stack([np.searchsorted(self.values[:, i], values[:, i], "right") for i in columns])
        sides += [-np.log((n - below + 1.0) / total), -np.log((upto + 1.0) / total)]
        return np.stack(sides, axis=2)

    def outlierness(self, X: Any) -> Floats:
        """Sum of the terms (n,)."""
        return self.decompose(X).outlierness

    def decompose(self, X: Any) -> Decomposition:
        """The terms of each variable (n, d)."""
        with np.errstate(over="ignore", invalid="ignore"):  # squares that are too large have no weight
            parts = self.shapes(X) * self.weights
        relevance = np.where(self.weights > 0.0, parts, 0.0).sum(axis=2)
        return Decomposition(relevance, np.zeros(len(relevance)), relevance.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Bent:
    """A function h of another score s: o = h(s) = Σ_b w_b φ_b(s), R_i = h(s)/s · (R_i of s).

    Functions of a score have its reasons: shares stay as they are. The shapes are s, s², and two that end,
    1 - exp(-s/l) and 1 - exp(-s/(4 l)).

    Parameters
    ----------
    score : member of the waist
    level : float
        l, a usual s.
    weights : array of shape (4,)
        w ≥ 0.

    Examples
    --------
    >>> import whyodd
    >>> from whyodd.maths.hard_poolings import Nearest
    >>> from whyodd.network.black_box.student import Bent
    >>> distance = whyodd.DistanceNetwork([[0.0, 0.0]], pooling=Nearest.kth(1))
    >>> Bent(distance, 1.0, [0.0, 1.0, 0.0, 0.0]).decompose([[3.0, 4.0]]).relevance
    array([[ 9., 16.]])
    """

    score: Any
    level: float
    weights: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.array(self.weights, dtype=np.float64))

    def shapes(self, s: Floats) -> Floats:
        """φ_b(s) (n, 4)."""
        ends = [-np.expm1(-s / (times * self.level)) for times in (_SOON, _LATE)]
        return np.column_stack([s, s * s, *ends])

    def outlierness(self, X: Any) -> Floats:
        """h(s) (n,)."""
        return self._bend(score_rows(self.score, X))

    def decompose(
        self, X: Any, *, through: LinearMap | None = None, n_jobs: int | None = None
    ) -> Decomposition:
        """Relevance of the score, as large as h(s)."""
        parts = decompose_rows(self.score, X, through=through, n_jobs=n_jobs)
        s = parts.outlierness
        o = self._bend(s)
        factor = np.divide(o, s, out=np.zeros(s.shape), where=s > 0.0)
        return Decomposition(parts.relevance * factor[:, None], parts.unexplained * factor, o)

    def _bend(self, s: Floats) -> Floats:
        used = self.weights > 0.0
        with np.errstate(over="ignore"):
            return np.asarray(self.shapes(s)[:, used] @ self.weights[used])


@dataclass(frozen=True, eq=False)
class Student:
    """Weighted sum of scores, fitted to a function: o ≈ b + Σ_k h_k(s_k) + Σ_i terms of x_i.

    Relevance is that of the parts. The intercept b belongs to no variable.

    Parameters
    ----------
    intercept : float
        b, of any sign.
    parts : tuple of Bent
    terms : Terms, optional
        None behind a map that mixes columns.

    Examples
    --------
    >>> import whyodd
    >>> from whyodd.maths.hard_poolings import Nearest
    >>> from whyodd.network.black_box.student import Bent, Student
    >>> distance = whyodd.DistanceNetwork([[0.0, 0.0]], pooling=Nearest.kth(1))
    >>> student = Student(0.5, (Bent(distance, 1.0, [2.0, 0.0, 0.0, 0.0]),))
    >>> parts = student.decompose([[3.0, 4.0]])
    >>> parts.relevance, parts.unexplained, parts.outlierness
    (array([[3.6, 6.4]]), array([0.5]), array([10.5]))
    """

    intercept: float
    parts: tuple[Bent, ...]
    terms: Terms | None = None

    @property
    def capabilities(self) -> frozenset[str]:
        """Supports a linear map if all of its parts do."""
        goes = self.terms is None and all(offers(part.score, "through") for part in self.parts)
        return frozenset({"save", "through"} if goes else {"save"})

    def outlierness(self, X: Any) -> Floats:
        """The student's prediction of the outlierness (n,)."""
        return self.decompose(X).outlierness

    def decompose(
        self, X: Any, *, through: LinearMap | None = None, n_jobs: int | None = None
    ) -> Decomposition:
        """Relevance of all parts together."""
        n, d = np.shape(X)[0], np.shape(X)[1] if through is None else through.n_inputs
        relevance, rest = np.zeros((n, d)), np.full(n, float(self.intercept))
        if self.terms is not None:
            relevance += self.terms.decompose(X).relevance
        for part in self.parts:
            found = part.decompose(X, through=through, n_jobs=n_jobs)
            relevance += found.relevance
            rest += found.unexplained
        return Decomposition(relevance, rest, relevance.sum(axis=1) + rest)
