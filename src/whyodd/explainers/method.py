"""The interface of explanation methods: a task in, relevance out."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.compute.points import to_dense
from whyodd.compute.work import Scores
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.calibrated import CalibratedScore
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.lifted import LiftedScore
from whyodd.network.waist import Decomposition, offers, score_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.maths.linear_maps import LinearMap
    from whyodd.maths.metrics import Metric

    Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to explain, and what to compare them with.

    Attributes
    ----------
    network : DistanceNetwork, or other member of the waist
    X : ndarray or CSR matrix of shape (n, d)
        The rows as they reach the network.
    own : ndarray of int of shape (n,), optional
        The center to leave out for each row, or -1.
    through : LinearMap, optional
        Linear map that made X of other variables, whose relevance is asked for.
    given : ndarray of shape (N, d), optional
        Normal rows that were given for comparison.
    back : ndarray of shape (k, d), optional
        Takes what reaches the model to the variables of this task, where they are not the same.
    random : numpy.random.Generator
    n_jobs : int, optional
        Threads; all cores if None.
    report : callable
        To be called with the number of rows done.
    """

    network: Any
    X: Points
    own: NDArray[np.intp] | None = None
    through: LinearMap | None = None
    given: Floats | None = None
    back: Floats | None = None
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    n_jobs: int | None = None
    report: Callable[[int], None] = lambda _: None

    @property
    def normal(self) -> Floats:
        """(N, d) normal rows to compare with: those given, else the centers."""
        if self.given is not None:
            return np.asarray(self.given)
        if not offers(self.network, "centers"):
            raise UnsupportedModelError(_lacks("centers", self.network))
        return np.asarray(to_dense(self.network.centers))

    @property
    def weights(self) -> NDArray[np.float64]:
        """(N,) weights of the normal rows: α for centers, equal for given rows."""
        if self.given is None:
            return np.asarray(self.network.weights)
        return np.full(len(self.given), 1.0 / len(self.given))

    @property
    def metric(self) -> Metric | None:
        """How the network measures distances; None for the plain distance."""
        return getattr(self.network, "metric", None)

    @cached_property
    def scores(self) -> Scores:
        """Outlierness and log-inlierness of the rows."""
        if offers(self.network, "centers"):
            scores: Scores = self.network.assign(self.X, own=self.own, n_jobs=self.n_jobs)
            return scores
        o = score_rows(self.network, self.X, own=self.own, n_jobs=self.n_jobs)
        return Scores(o, -o, np.zeros(o.size), np.zeros(o.size))

    def outlierness(self, points: Floats, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Outlierness of points (k, d), each without the own center of the row (k,) that it varies."""
        own = None if self.own is None else self.own[rows]
        return score_rows(self.network, points, own=own, n_jobs=self.n_jobs)

    def in_variables(self) -> Task:
        """The same task in the variables before the linear map, in which the map is part of the distance.

        Differences ζ are those of the shortest δ = B⁺ζ. What no variable reaches comes last, as variables of
        its own, so that distances stay as they are.
        """
        rows = np.asarray(to_dense(self.X))
        if self.through is None:
            return replace(self, X=rows)
        back = np.hstack([to_dense(self.through.shortest), to_dense(self.through.outside)])
        ahead = np.hstack([to_dense(self.through.gradient), to_dense(self.through.outside)])
        network = _before_its_map(self.network, ahead, back)
        given = None if self.given is None else self.given @ back
        return replace(self, network=network, X=rows @ back, through=None, given=given, back=back)

    @property
    def n_inputs(self) -> int:
        """How many variables reach the model."""
        return int(self.X.shape[1]) if self.back is None else len(self.back)

    def lifted(self, points: Floats) -> Floats:
        """Points (k, n_inputs) as they reach the model, in the variables of this task."""
        return points if self.back is None else points @ self.back


def _before_its_map(network: Any, ahead: Floats, back: Floats) -> Any:
    """A member of the waist in the variables before a map."""
    measured = network.score if isinstance(network, CalibratedScore) else network
    if not offers(measured, "distances"):
        return LiftedScore(network, ahead, back)
    return _lifted(network, np.asarray(to_dense(network.centers)) @ back, ahead)


def _lifted(network: Any, centers: Floats, matrix: Floats) -> Any:
    """The network of other centers, whose differences a matrix makes those of its own."""
    if isinstance(network, CalibratedScore):
        return network.before_its_map(_lifted(network.score, centers, matrix))
    keywords: dict[str, Any] = {"metric": _before(network.metric, matrix), "offset": network.offset}
    if network.pooling is None:
        keywords |= {"log_weights": network.log_weights, "kernel": network.kernel}
    else:
        keywords |= {"pooling": network.pooling}
    return DistanceNetwork(centers, **keywords)


def _before(metric: Metric | None, matrix: Floats) -> Metric:
    """The metric after a matrix."""
    if metric is None:
        return LinearMetric(matrix)
    if isinstance(metric, LinearMetric):
        return LinearMetric(metric.matrix @ matrix)
    factors = metric.factors[:, :, None] * matrix if metric.is_diagonal else metric.factors @ matrix
    return ComponentMetric(factors)


@dataclass(frozen=True)
class Method:
    """A way to explain outlierness.

    Attributes
    ----------
    relevance : callable
        ``relevance(task, **options)`` gives (n, d), the relevance of the variables of ``task.network``.
    is_additive : bool
        Whether relevance is in units of the outlierness, so that o - Σ_i R_i is what is left unexplained.
    needs : frozenset of str
        What a member of the waist must offer to be explained in this way. Normal rows that are given stand
        for its centers, and for what it expects.
    root : callable, optional
        For relevance that is a square: what is squared, (n, d). Over windows of images and series it is
        this that adds up.
    on_item : callable, optional
        For relevance of a whole image or series (*shape, C): ``on_item(values, random)``.
    extra : str, optional
        Extra of the package that must be installed.
    exactness : str, default "exact"
        How to take relevance that adds up: "sampled" if it has an error.
    """

    relevance: Callable[..., Floats]
    is_additive: bool = False
    needs: frozenset[str] = frozenset()
    root: Callable[..., Floats] | None = None
    on_item: Callable[..., Floats] | None = None
    extra: str | None = None
    exactness: str = "exact"

    @property
    def compares_with_normal(self) -> bool:
        """Whether it compares with the given normal rows."""
        return True

    @property
    def shared_options(self) -> tuple[str, ...]:
        """Names of the options that ``explain`` takes for it."""
        return ("normal",) if self.compares_with_normal else ()

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options it takes."""
        return tuple(inspect.signature(self.relevance).parameters)[1:]

    def exactness_of(self, network: Any) -> str:
        """The exactness of its relevance for a member of the waist."""
        del network
        return self.exactness if self.is_additive else "ranking"

    def check_options(self, name: str, options: Mapping[str, Any]) -> None:
        """Raise a ``ValueError`` for an option that the method does not have."""
        known = (*self.options, *self.shared_options)
        unknown = [option for option in options if option not in known]
        if unknown:
            takes = ", ".join(map(repr, known)) or "none"
            raise ValueError(f"method={name!r} has no option {unknown[0]!r}. It takes: {takes}.")

    def check_model(self, name: str, network: Any, *, has_normal: bool = False) -> None:
        """Raise an ``UnsupportedModelError`` for a member of the waist that lacks what the method needs."""
        needs = self.needs - _NORMAL_ROWS_DO if has_normal else self.needs
        for need in sorted(needs):
            if not offers(network, need):
                raise UnsupportedModelError(
                    f"method={name!r} does not work with this model. {_lacks(need, network)}"
                )

    def decompose(self, task: Task, options: Mapping[str, Any]) -> Decomposition:
        """Relevance of the variables before ``task.through``, beside the outlierness."""
        scores = task.scores  # first, since this reports rows that are too far away for any method
        n_variables = task.X.shape[1] if task.through is None else task.through.n_inputs
        with np.errstate(over="ignore", invalid="ignore"):
            relevance = self.relevance(task.in_variables(), **options)[:, :n_variables]
            relevance = relevance.astype(task.X.dtype, copy=False)
        _check_representable(relevance)
        return measured(scores, relevance, self.is_additive)


# Stand-ins for capabilities that a member of the waist lacks.
_NORMAL_ROWS_DO = frozenset({"centers", "expected"})
_LACKS = {
    "centers": "keeps no normal rows. Pass some as options={'normal': rows}, or choose 'dtd'.",
    "distances": "measures no distances to normal rows. Leave method out, or choose 'dtd'.",
    "expected": "has no expected rows. Pass normal ones as options={'normal': rows}, or choose 'dtd'.",
    "splits": "has no trees whose splits isolate rows. Leave method out, or choose 'dtd'.",
}


def _lacks(need: str, network: object) -> str:
    return f"A {type(network).__name__} {_LACKS[need]}"


def _check_representable(relevance: Floats) -> None:
    is_finite = np.isfinite(relevance).all(axis=1)
    if not is_finite.all():
        raise OverflowError(
            f"The relevance of row {int(np.argmin(is_finite))} of X exceeds the largest {relevance.dtype}. "
            "Check the row's values, or scale the columns before fitting."
        )


def measured(scores: Scores, relevance: Floats, is_additive: bool) -> Decomposition:
    """Relevance beside the outlierness; what it leaves unexplained, NaN if it has other units."""
    o = scores.outlierness
    rest = o - relevance.sum(axis=1, dtype=np.float64) if is_additive else np.full(o.shape, np.nan)
    return Decomposition(relevance, rest, o, scores.log_inlierness, scores.discarded)
