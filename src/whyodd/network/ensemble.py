"""Several scores as one: a layer over explained members that passes relevance on to their variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.network.rebuilt import Rebuilt, rows_in_doubles
from whyodd.network.verdict import AffineScale, Scale
from whyodd.network.waist import Decomposition, decompose_rows, offers, score_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap
    from whyodd.network.combinations import Combination
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Part(Rebuilt):
    """One member of an ensemble: what it sees of a row, and how its score becomes comparable.

    Attributes
    ----------
    score : member of the waist
    scale : Scale
        How its own score s follows from its outlierness.
    mean, deviation : float
        z = (s - mean)/deviation is what the ensemble combines.
    columns : ndarray of int of shape (k,), optional
        The variables it sees; all by default.
    through : LinearMap, optional
        It sees these projections of the row instead.
    """

    score: Any
    scale: Scale = field(default_factory=AffineScale)
    mean: float = 0.0
    deviation: float = 1.0
    columns: Indices | None = None
    through: LinearMap | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite([self.mean, self.deviation]).all() and self.deviation > 0.0):
            raise ValueError("The mean of a member's scores must be finite, and their deviation above 0.")
        if self.columns is not None:
            object.__setattr__(self, "columns", np.array(self.columns, dtype=np.intp))

    def check(self, d: int) -> None:
        """Raise a ``ValueError`` unless its columns exist in rows of d variables."""
        seen = np.arange(d) if self.columns is None else self.columns
        fits = seen.ndim == 1 and seen.size > 0 and seen.min() >= 0 and seen.max() < d
        width = seen.size
        if self.through is not None:
            fits, width = fits and self.through.n_inputs == d, self.through.n_outputs
        if not fits or getattr(self.score, "n_features", width) != width:
            raise ValueError(f"Expected members that use columns among the {d} variables, got others.")

    @property
    def least(self) -> float:
        """The smallest z there is, that of o = 0."""
        return float(self.standing(0.0))

    def standing(self, outlierness: Any) -> Floats:
        """Standardised own score z (n,) of its outlierness."""
        return np.asarray((self.scale.score(outlierness) - self.mean) / self.deviation)

    def seen(self, X: Floats) -> Floats:
        """What it sees of rows (n, d)."""
        if self.through is not None:
            return np.asarray(X @ self.through.matrix.toarray().T)
        return X if self.columns is None else X[:, self.columns]

    def map_behind(self, through: LinearMap | None) -> LinearMap | None:
        """The map from variables before another map to what it sees; None where it sees columns."""
        if through is None:
            return self.through
        if self.through is not None:
            return through.then(self.through.matrix)
        return through if self.columns is None else through.then(np.eye(through.n_outputs)[self.columns])

    def expected(self, X: Floats, **keywords: Any) -> Floats:
        """What it expects of the variables it sees in rows (n, d); through a map, the nearest such row."""
        seen = self.seen(X)
        likely = np.asarray(self.score.expected(seen, **keywords))
        return likely if self.through is None else np.asarray(X + (likely - seen) @ self.through.shortest)

    def spread(self, relevance: Floats, d: int) -> Floats:
        """Relevance of what it sees as relevance of all d variables (n, d)."""
        if self.columns is None:
            return relevance
        spread = np.zeros((len(relevance), d))
        for place, column in enumerate(self.columns):  # a column may be there twice
            spread[:, column] += relevance[:, place]
        return spread


class _Contribution(NamedTuple):
    """The share of one part in the outlierness of some rows.

    Attributes
    ----------
    part : Part
    rows : ndarray of int of shape (r,)
    weight : ndarray of shape (r,)
        What its z counts.
    relevance : ndarray of shape (r, d)
    unexplained : ndarray of shape (r,)
    """

    part: Part
    rows: Indices
    weight: Floats
    relevance: Floats
    unexplained: Floats


@dataclass(frozen=True, eq=False)
class EnsembleScore(Rebuilt):
    """Ensemble of scores: o = Σ_k w_k (z_k - z_k,min) + c, relevance R_i = Σ_k w_k (z_k - z_k,min) R_ki/o_k.

    z_k is the standardised own score of part k, z_k,min its value for o_k = 0, and w_k what it counts for the
    row: 1/K of an average, 1 for the largest of a maximum. So a part hands on its share of o in the shares
    R_ki/o_k that its own decomposition has; what it does not explain stays unexplained. Where its score is
    slope·o_k + shift, that is w_k slope R_ki/σ_k; where it is exponential in o_k (forests, support vectors)
    the shares are those of o_k, which conserves as well.

    c = Σ_k w_k z_k,min - floor, with the smallest value ``floor`` that the combination can have: 0 of an
    average. Above 0 it belongs to no variable; below 0 (the largest part starts below another one) all
    shares of the row become smaller by the same factor. The combined score itself is o + floor.

    Parameters
    ----------
    parts : sequence of Part
    combination : Combination
        :class:`Average`, :class:`Maximum` or :class:`LocalSelection`.
    n_features : int
        Number of variables d.

    Examples
    --------
    >>> import whyodd
    >>> from whyodd.network.combinations import Maximum
    >>> from whyodd.network.ensemble import EnsembleScore, Part
    >>> near = [whyodd.DistanceNetwork([[0.0]]), whyodd.DistanceNetwork([[1.0]])]
    >>> parts = [Part(near[0], columns=[0]), Part(near[1], columns=[1])]
    >>> EnsembleScore(parts, Maximum(), n_features=2).decompose([[2.0, 4.0]]).relevance
    array([[0. , 4.5]])
    """

    parts: tuple[Part, ...]
    combination: Combination
    n_features: int
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise ValueError("Expected at least one member for an ensemble, got none.")
        for part in self.parts:
            part.check(self.n_features)
        self.combination.check(len(self.parts), self.n_features)

    @cached_property
    def capabilities(self) -> frozenset[str]:
        """The capabilities that its parts allow."""
        found = {"work"}
        if any(offers(part.score, "expected") for part in self.parts):
            found.add("expected")
        found |= {
            name for name in ("save", "through") if all(offers(part.score, name) for part in self.parts)
        }
        if self.centers is not None:
            found.add("leave_out")
        return frozenset(found)

    @property
    def floor(self) -> float:
        """The smallest combined score there can be, that of o = 0."""
        return self.combination.floor(self._least)

    @cached_property
    def centers(self) -> Floats | None:
        """(m, d) the training rows, if all parts keep all of them, and together all of their columns."""
        kept = [_training_rows(part) for part in self.parts]
        sizes = {None if rows is None else len(rows) for rows in kept}
        if len(sizes) > 1 or None in sizes:
            return None
        found = np.full((sizes.pop() or 0, self.n_features), np.nan)
        for part, rows in zip(self.parts, kept, strict=True):
            found[:, slice(None) if part.columns is None else part.columns] = rows
        return None if np.isnan(found).any() else found

    @property
    def n_centers(self) -> int:
        """Number of training rows that all parts keep."""
        return 0 if self.centers is None else len(self.centers)

    @property
    def n_rows(self) -> int:
        """Number of training rows, if all parts keep them."""
        return self.n_centers

    @property
    def rows(self) -> Indices | None:
        """Which training rows the centers are: all, in their order."""
        return None if self.centers is None else np.arange(self.n_centers)

    def outlierness(self, X: Any, *, own: Indices | None = None, n_jobs: int | None = None) -> Floats:
        """Outlierness o (n,): the combined score over its smallest value."""
        values, _ = rows_in_doubles(X, self.n_features)
        return self._combined(values, self._standings(values, own, n_jobs)).outlierness

    def decompose(
        self,
        X: Any,
        *,
        own: Indices | None = None,
        through: LinearMap | None = None,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Decomposition:
        """What each part has in o, on its variables, or on those before the map ``through``.

        ``own`` (n,): the training row that each row is, and that is left out, or -1.
        """
        values, dtype = rows_in_doubles(X, self.n_features)
        combined = self._combined(values, self._standings(values, own, n_jobs))
        width = self.n_features if through is None else through.n_inputs
        relevance, unexplained = np.zeros((len(values), width)), combined.rest.copy()
        for found in self._contributions(values, combined, own, n_jobs, through):
            relevance[found.rows] += found.relevance
            unexplained[found.rows] += found.unexplained
        if progress is not None:
            progress(len(values))
        return Decomposition(relevance.astype(dtype, copy=False), unexplained, combined.outlierness)

    def expected(self, X: Any, *, own: Indices | None = None, **work: Any) -> Floats:
        """What normal rows have (n, d), according to the parts that find a variable relevant.

        The mean of what they expect, weighted by the relevance that they give it. A variable without
        relevance that no part looks at is expected to be as it is; NaN where one has relevance of parts that
        cannot tell.
        """
        values, _ = rows_in_doubles(X, self.n_features)
        combined = self._combined(values, self._standings(values, own, None))
        total, weights, relevance = np.zeros((3, *values.shape))
        every = np.arange(values.shape[1])
        for found in self._contributions(values, combined, own):
            relevance[found.rows] += np.abs(found.relevance)
            if not offers(found.part.score, "expected"):
                continue
            columns = every if found.part.columns is None else found.part.columns
            keywords = {} if own is None else {"own": np.asarray(own)[found.rows]}
            keywords |= work if offers(found.part.score, "work") else {}
            likely = found.part.expected(values[found.rows], **keywords)
            # Where nothing is relevant, all parts that count decide, with next to no weight.
            tiny = np.finfo(np.float64).tiny * found.weight[:, None]
            say = np.maximum(found.relevance, 0.0)[:, columns] + tiny
            total[np.ix_(found.rows, columns)] += say * likely
            weights[np.ix_(found.rows, columns)] += say
        unknown = np.where(relevance > 0.0, np.nan, values)
        return np.asarray(np.divide(total, weights, out=unknown, where=weights > 0.0))

    @cached_property
    def _least(self) -> Floats:
        return np.array([part.least for part in self.parts])

    def _standings(self, X: Floats, own: Indices | None, n_jobs: int | None) -> Floats:
        """Standardised own scores z (n, K)."""
        found = [
            part.standing(score_rows(part.score, part.seen(X), own=own, n_jobs=n_jobs)) for part in self.parts
        ]
        return np.column_stack(found)

    def _combined(self, X: Floats, standings: Floats) -> _Combined:
        weights = self.combination.weights(X, standings)
        lifted = weights * (standings - self._least)
        constant = weights @ self._least - self.floor
        lift = lifted.sum(axis=1)
        outlierness = lift + constant
        shrunk = np.divide(outlierness, lift, out=np.zeros(len(X)), where=lift != 0.0)
        kept = np.where(constant < 0.0, shrunk, 1.0)
        return _Combined(outlierness, weights, lifted * kept[:, None], np.maximum(constant, 0.0))

    def _contributions(
        self,
        X: Floats,
        combined: _Combined,
        own: Indices | None,
        n_jobs: int | None = None,
        through: LinearMap | None = None,
    ) -> Iterator[_Contribution]:
        for k, part in enumerate(self.parts):
            rows = np.flatnonzero(combined.weights[:, k])
            if not rows.size:
                continue
            found = decompose_rows(
                part.score,
                part.seen(X[rows]),
                own=None if own is None else np.asarray(own)[rows],
                through=part.map_behind(through),
                n_jobs=n_jobs,
            )
            o, lifted = found.outlierness, combined.lifted[rows, k]
            gain = np.divide(lifted, o, out=np.zeros(rows.size), where=o != 0.0)
            relevance = found.relevance * gain[:, None]
            if through is None:
                relevance = part.spread(relevance, X.shape[1])
            yield _Contribution(
                part, rows, combined.weights[rows, k], relevance, np.asarray(found.unexplained * gain)
            )


class _Combined(NamedTuple):
    """Outlierness of rows, and the share of each part in it.

    Attributes
    ----------
    outlierness : ndarray of shape (n,)
    weights : ndarray of shape (n, K)
        What each part counts.
    lifted : ndarray of shape (n, K)
        The share of o that each part hands on.
    rest : ndarray of shape (n,)
        The share of o that no part has.
    """

    outlierness: Floats
    weights: Floats
    lifted: Floats
    rest: Floats


def _training_rows(part: Part) -> Floats | None:
    """(n, k) what a part keeps of all training rows, in their order; None if it does not."""
    score = part.score
    if part.through is not None or not offers(score, "centers", "leave_out") or score.rows is None:
        return None
    is_all = len(score.rows) == score.n_rows and np.array_equal(score.rows, np.arange(score.n_rows))
    return np.asarray(to_dense(score.centers), dtype=np.float64) if is_all else None
