"""People's judgements of single rows, pooled with what a model has learned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.compute.work import Scores
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.committee import FOR_ROWS_LIKE_IT, KINDS, CommitteeScore
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.rebuilt import Rebuilt
from whyodd.network.waist import Decomposition, decompose_rows, offers, once_per_member, score_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# These refer to the former outlierness.
_LOST = frozenset({"consume", "distances", "flip", "splits"})
# Rows like a row are the nearest tenth, as in a committee, and enough that no single one decides.
_LIKE_IT, _FEWEST_LIKE_IT = 0.1, 10
# Usual rows that distances are measured from.
_MOST_USUAL = 1_000
_MOST_LETTERS = 1_000


@dataclass(frozen=True, eq=False)
class Judgement(Rebuilt):
    """One judgement of some rows.

    Attributes
    ----------
    id : int
        Its number in the model, from 1: what ``forget`` takes.
    is_normal : bool
        Whether the rows are accepted as normal; if not, they are confirmed as odd.
    rows : ndarray of shape (k, d)
        The rows as they reach the model.
    note : str
        Why, in free text; up to 1,000 letters.
    date : str
        When, in UTC, for example 2026-01-31T08:05:00+00:00.
    """

    id: int
    is_normal: bool
    rows: Floats
    note: str
    date: str

    def __post_init__(self) -> None:
        if not isinstance(self.id, Integral) or isinstance(self.id, bool) or self.id < 1:
            raise ValueError(f"id={self.id!r}: expected a whole number of at least 1.")
        if not isinstance(self.is_normal, bool):
            raise ValueError(f"is_normal={self.is_normal!r}: expected True or False.")  # noqa: TRY004
        if not isinstance(self.note, str) or len(self.note) > _MOST_LETTERS:
            came = f"{len(self.note):,} letters" if isinstance(self.note, str) else type(self.note).__name__
            raise ValueError(f"Expected note as a text of at most {_MOST_LETTERS:,} letters, got {came}.")
        if not isinstance(self.date, str) or datetime.fromisoformat(self.date).tzinfo is None:
            raise ValueError(f"date={self.date!r}: expected a date with a time zone, in ISO format.")
        self._freeze("rows", None, None)

    @property
    def verdict(self) -> str:
        """The judgement in a word: accepted or rejected."""
        return "accepted" if self.is_normal else "rejected"

    def __repr__(self) -> str:
        told = f": {self.note!r}" if self.note else ""
        return f"<{self.id}: {count_of(len(self.rows))} {self.verdict}, {self.date:.10}{told}>"


@dataclass(frozen=True, eq=False)
class JudgedScore(Rebuilt):
    """A member of the waist with people's judgements of single rows; a third layer, of hard min-pooling.

    Distances are those of the member: in its metric, or for a committee in the scales of its neighbourhoods.
    With a the distance of a row from the nearest accepted row, b from the nearest rejected row, and u from
    what was learned, the mean distance from the nearest tenth of the usual rows,

        o' = o · min(1, a/u) + level · max(0, 1 - b/min(a, u)).

    So an accepted row has outlierness 0, and a row that is nearer to it than to what was learned is less odd
    by as much as it is nearer. A rejected row gains the ``level``, the threshold, so that it is odd; rows
    that are nearer to it than to what is normal gain a part of that. All other rows keep their o to the last
    bit.
    Accepting never raises o', rejecting never lowers it, and the order of judgements does not matter.

    Where an accepted row lowers o, relevance is that of the difference from it. What rejected rows add is
    shared like the rest: a row is odd for the same reasons, only more so.

    Parameters
    ----------
    score : member of the waist
        What was learned.
    judgements : sequence of Judgement
    level : float
        Outlierness above which a row is odd; above 0.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = whyodd.Committee().fit(X)
    >>> told = model.accept([[9.0, 0.0]], note="known to happen")
    >>> model.predict([[9.0, 0.0], [9.0, 0.1], [-9.0, 0.0]])
    array([ 1,  1, -1])
    """

    score: Any
    judgements: tuple[Judgement, ...]
    level: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "judgements", tuple(self.judgements))
        if not self.judgements or not all(isinstance(one, Judgement) for one in self.judgements):
            raise ValueError("Expected judgements with at least one Judgement, got none.")
        if len({one.id for one in self.judgements}) < len(self.judgements):
            raise ValueError("Two judgements have the same id.")
        if not np.isfinite(self.level) or self.level <= 0.0:
            raise ValueError(f"level={self.level!r}: expected an outlierness above 0.")
        for one in self.judgements:
            if one.rows.shape[1] != self.score.n_features:
                raise ValueError(
                    f"Judgement {one.id} has rows of {one.rows.shape[1]} column(s), expected the model's "
                    f"{self.score.n_features}."
                )

    @property
    def capabilities(self) -> frozenset[str]:
        """The member's capabilities that do not treat its outlierness as a function of distances."""
        return frozenset(getattr(self.score, "capabilities", ())) - _LOST

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "score":
            raise AttributeError(f"A JudgedScore has no {name!r}.")
        return getattr(self.score, name)

    def outlierness(self, X: Any, *, own: Indices | None = None, n_jobs: int | None = None) -> Floats:
        """Outlierness o' (n,)."""
        o = score_rows(self.score, X, own=own, n_jobs=n_jobs)
        seen = _seen(self.score, X)
        learned_from = self._ruler.usual.outlierness(seen)
        accepted = self._distance(self._accepted, seen)
        return o * _nearness(accepted, learned_from) + self._added(np.minimum(accepted, learned_from), seen)

    def inlierness(self, X: Any, **keywords: Any) -> Floats:
        """exp(-o') (n,)."""
        return np.asarray(np.exp(-self.outlierness(X, **keywords)))

    def decompose(
        self,
        X: Any,
        *,
        own: Indices | None = None,
        through: LinearMap | None = None,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Decomposition:
        """The parts of o': Σ_i R_i + unexplained = o'."""
        parts = decompose_rows(self.score, X, own=own, through=through, n_jobs=n_jobs, progress=progress)
        seen = _seen(self.score, X)
        normal = self._ruler.usual.outlierness(seen)
        if self._accepted is not None:
            other = decompose_rows(self._accepted, seen, through=through)
            parts = _beside_accepted(parts, other, _nearness(other.outlierness, normal))
            normal = np.minimum(normal, other.outlierness)
        return _with_added(parts, self._added(normal, seen))

    def assign(self, X: Any, consume: Callable[[Any, Any], None] | None = None, **keywords: Any) -> Scores:
        """Scores of each row; ``consume`` is handed the assignments of the member."""
        if consume is not None:
            self.score.assign(X, consume, **keywords)
        parts = self.decompose(X, **keywords)
        return Scores(parts.outlierness, parts.log_inlierness, parts.unexplained, parts.discarded)

    def _added(self, normal: Floats, seen: Any) -> Floats:
        """The outlierness that rejected rows add (n,), at distances ``normal`` from what is normal."""
        rejected = self._distance(self._rejected, seen)
        nearness = 1.0 - _nearness(rejected, normal)
        # A rejected row stays odd even at distance 0 from what is normal; no row is both accepted and
        # rejected.
        nearness[rejected == 0.0] = 1.0
        return self.level * nearness

    def _distance(self, judged_rows: DistanceNetwork | None, seen: Any) -> Floats:
        """Distance (n,) from the nearest of some judged rows; infinite if there are none."""
        return np.full(seen.shape[0], np.inf) if judged_rows is None else judged_rows.outlierness(seen)

    @property
    def _ruler(self) -> Ruler:
        return ruler_of(self.score)

    @cached_property
    def _accepted(self) -> DistanceNetwork | None:
        return self._nearest(is_normal=True)

    @cached_property
    def _rejected(self) -> DistanceNetwork | None:
        return self._nearest(is_normal=False)

    def _nearest(self, *, is_normal: bool) -> DistanceNetwork | None:
        """Distance to the nearest row that was judged so."""
        rows = [one.rows for one in self.judgements if one.is_normal is is_normal]
        return self._ruler.nearest(_seen(self.score, np.concatenate(rows))) if rows else None


def _nearness(distance: Floats, other: Floats) -> Floats:
    """A distance as a part of another one (n,), 1 if it is larger."""
    return np.divide(distance, other, out=np.ones(other.size), where=distance < other)


def _beside_accepted(parts: Decomposition, other: Decomposition, nearness: Floats) -> Decomposition:
    """Less outlierness, by how near an accepted row is, in the shares that the distance from it has."""
    is_nearer = nearness < 1.0
    o, distance = parts.outlierness * nearness, other.outlierness
    factor = np.divide(o, distance, out=np.zeros(o.size), where=distance > 0.0)
    relevance = np.where(is_nearer[:, None], other.relevance * factor[:, None], parts.relevance)
    by_kind = parts.by_kind
    if by_kind is not None:
        of_kinds = np.zeros(by_kind.shape)
        of_kinds[:, :, KINDS.index(FOR_ROWS_LIKE_IT)] = relevance
        by_kind = np.where(is_nearer[:, None, None], of_kinds, by_kind)
    return Decomposition(
        relevance.astype(parts.relevance.dtype, copy=False),
        np.where(is_nearer, other.unexplained * factor, parts.unexplained),
        o,
        np.where(is_nearer, -o, parts.log_inlierness),
        np.where(is_nearer, 0.0, parts.discarded),
        by_kind,
        None if parts.gap is None else np.where(is_nearer, 0.0, parts.gap),
    )


def _with_added(parts: Decomposition, added: Floats) -> Decomposition:
    """A decomposition with more outlierness, in the same shares; without shares it is unexplained."""
    o = parts.outlierness
    factor = 1.0 + np.divide(added, o, out=np.zeros(o.size), where=o > 0.0)
    relevance = (parts.relevance * factor[:, None]).astype(parts.relevance.dtype, copy=False)
    return Decomposition(
        relevance,
        parts.unexplained * factor + np.where(o > 0.0, 0.0, added),
        o + added,
        parts.log_inlierness - added,
        parts.discarded,
        None if parts.by_kind is None else parts.by_kind * factor[:, None, None],
        parts.gap,
    )


@dataclass(frozen=True, eq=False)
class Ruler:
    """A member's way of measuring distances.

    Attributes
    ----------
    metric : LinearMetric, optional
    usual : DistanceNetwork
        Mean distance from the nearest tenth of the usual rows.
    """

    metric: LinearMetric | None
    usual: DistanceNetwork

    def nearest(self, seen: Any) -> DistanceNetwork:
        """Distance from the nearest of some rows."""
        return DistanceNetwork(seen, pooling=Nearest.mean(1), metric=self.metric)


@once_per_member
def ruler_of(score: Any) -> Ruler:
    """A member's way of measuring distances, or a ``ValueError`` if it compares rows with nothing."""
    if getattr(score, "centers", None) is None:
        raise ValueError(
            f"A {type(score).__name__} does not compare rows with others, so it cannot tell which rows are "
            "near an accepted one. Use a whyodd detector, such as Committee, or whyodd.auto."
        )
    metric = _common_metric(score)
    rows = np.unique(
        np.asarray(_seen(score, _usual_rows(score))), axis=0
    )  # copies say nothing about the others
    k = min(max(round(_LIKE_IT * len(rows)), _FEWEST_LIKE_IT), len(rows))
    return Ruler(metric, DistanceNetwork(rows, pooling=Nearest.mean(k), metric=metric))


def _seen(score: Any, X: Any) -> Any:
    """The coordinates in which a member compares rows."""
    return score.scaled(X) if isinstance(score, CommitteeScore) else X


def _common_metric(score: Any) -> LinearMetric | None:
    """One metric for all rows; of components, the root of their mean precision."""
    if isinstance(score, CommitteeScore):
        return LinearMetric(np.diag(score.views[0].usual ** -0.5))
    metric: LinearMetric | ComponentMetric | None = getattr(score, "metric", None)
    if not isinstance(metric, ComponentMetric):
        return metric
    if metric.is_diagonal:
        return LinearMetric(np.diag(np.sqrt(score.weights @ metric.factors**2)))
    precision = np.einsum("m,mki,mkj->ij", score.weights, metric.factors, metric.factors)
    values, vectors = np.linalg.eigh(precision)
    return LinearMetric(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _usual_rows(score: Any) -> Floats:
    """Training rows of a member; for Gaussians, rows drawn from them."""
    centers, random = np.asarray(to_dense(score.centers), dtype=np.float64), np.random.default_rng(0)
    is_of_gaussians = getattr(score, "metric", None) is not None and getattr(score, "rows", None) is None
    if is_of_gaussians and not isinstance(score, CommitteeScore):
        return _drawn(score, centers, random)
    if len(centers) <= _MOST_USUAL:
        return centers
    return centers[np.sort(random.choice(len(centers), _MOST_USUAL, replace=False))]


def can_leave_out(score: Any) -> bool:
    """Whether a member can judge its own centers, each without itself."""
    pooling = getattr(score, "pooling", None)
    n_needed = 1 if pooling is None else pooling.k
    return offers(score, "leave_out") and int(np.count_nonzero(score.weights)) > n_needed


def _drawn(score: Any, centers: Floats, random: np.random.Generator) -> Floats:
    """Rows drawn from the Gaussians that a member is made of."""
    metric: Any = score.metric
    which = random.choice(len(centers), _MOST_USUAL, p=score.weights)
    out = centers[which]
    if isinstance(metric, ComponentMetric) and metric.is_diagonal:
        factors = metric.factors[which]
        spread = np.divide(1.0, factors, out=np.zeros(factors.shape), where=factors > 0.0)
        return np.asarray(out + spread * random.normal(size=out.shape))
    for j in np.unique(which):
        matrix = metric.factors[j] if isinstance(metric, ComponentMetric) else metric.matrix
        noise = random.normal(size=(np.count_nonzero(which == j), len(matrix)))
        out[which == j] += noise @ np.linalg.pinv(matrix).T
    return np.asarray(out)


def learned(network: Any) -> Any:
    """The member without its judgements."""
    return network.score if isinstance(network, JudgedScore) else network


def judged(network: Any, judgements: Sequence[Judgement], threshold: float) -> Any:
    """A member with exactly these judgements; without any, the member itself."""
    if not judgements:
        return learned(network)
    ruler_of(learned(network))
    # Just above the threshold, so that a rejected row is odd whatever it was.
    return JudgedScore(learned(network), tuple(judgements), float(np.nextafter(max(threshold, 0.0), np.inf)))


def count_of(n: int) -> str:
    """A number of rows in words."""
    return "1 row" if n == 1 else f"{n:,} rows"
