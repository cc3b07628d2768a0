"""A function's student: which rows it learns from, and how well it knows the function."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whyodd.explainers.black_box.drawing import Drawn, mixed, moved
from whyodd.explainers.black_box.students import LARGEST, Candidates, Lesson, Offered, fit_student
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import LinearMetric
from whyodd.maths.robust_scales import center_and_scale
from whyodd.network.black_box.distilled import DistilledScore, FunctionScore
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.explainers.black_box.calling import Caller
    from whyodd.network.black_box.student import Student

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Report = Callable[[int], None]

# Normal rows that are learned, and rows to explain that are mixed with them, at most.
_MOST_NORMAL, _MOST_SOURCES = 1_000, 50
# With fewer rows to explain normal ones are mixed as well, so that the student sees more than these.
_LEAST_SOURCES = 20
# Mixtures of each row: this many, and two for each variable.
_MIXTURES, _PER_VARIABLE = 80, 2
_MOST_ROWS = 20_000
# Numbers in the table that weights are fitted to: rows times candidates.
_MOST_NUMBERS = 30_000_000
# Share of moved rows in the budget; one in this many sources, or rows, is to choose and one to judge with.
_MOVED, _ONE_IN = 0.1, 5
# With fewer rows to explain, some mixtures of each are held out, since no row can be.
_FEW = 5
# Below this the student misses more of the function than it explains.
LEAST_R2 = 0.5


def default_budget(n: int, d: int) -> int:
    """How many rows a function is called with, besides the n rows to explain."""
    sources = max(_LEAST_SOURCES, min(n, _MOST_SOURCES))
    rows = _MOST_NORMAL + sources * (_MIXTURES + _PER_VARIABLE * d)
    return int(min(rows / (1.0 - _MOVED), _MOST_ROWS, max(2_000, _MOST_NUMBERS // (8 * d + 120))))


class Plan(NamedTuple):
    """How many rows of which kind a function is called with.

    Attributes
    ----------
    n : int
        Rows to explain.
    n_normal, n_moved : int
        Normal rows, and small moves of them.
    n_sources, n_mixtures : int
        Rows that are mixed with normal ones, and mixtures of each.
    """

    n: int
    n_normal: int
    n_moved: int
    n_sources: int
    n_mixtures: int

    @classmethod
    def within(cls, budget: int, n: int, n_normal: int) -> Plan:
        """For n rows to explain and ``n_normal`` normal ones, within a budget besides the rows to explain."""
        n_normal = min(_MOST_NORMAL, n_normal, max(budget // 3, 1))
        n_moved = int(_MOVED * budget)
        n_sources = max(_LEAST_SOURCES, min(n, _MOST_SOURCES))
        return cls(n, n_normal, n_moved, n_sources, (budget - n_normal - n_moved) // n_sources)

    @property
    def total(self) -> int:
        """All of them."""
        return self.n + self.n_normal + self.n_moved + self.n_sources * self.n_mixtures


def neighborhood(normal: Floats) -> DistanceNetwork:
    """Normal rows for comparisons in words: the nearest tenth, in robust scales."""
    scale = center_and_scale(normal)[1]
    k = max(1, min(20, len(normal) // 10))
    return DistanceNetwork(normal, pooling=Nearest.mean(k), metric=LinearMetric(np.diag(1.0 / scale)))


@dataclass(frozen=True)
class Survey:
    """A function's scores of all rows that it was called with.

    Attributes
    ----------
    drawn : Drawn
    scores : ndarray of shape (k,)
    normal : ndarray of shape (m, d)
        The normal rows among them.
    n_explained : int
        How many sources of mixtures are rows to explain; all others are normal rows.
    """

    drawn: Drawn
    scores: Floats
    normal: Floats
    n_explained: int

    @classmethod
    def of(
        cls, ask: Caller, X: Floats, normal: Floats, plan: Plan, random: np.random.Generator, report: Report
    ) -> Survey:
        """Call the function with the rows to explain (n, d), and with rows around them."""
        chosen = random.permutation(len(normal))[: plan.n_normal]
        normal = normal[np.sort(chosen)]
        scale = center_and_scale(normal)[1]
        told = _Counted(report)
        scores = ask(X, "row to explain", told.next(len(X)))
        sources, n_explained = _sources(X, scores, normal, plan.n_sources, random)
        around = [Drawn(normal, np.full(len(normal), -1)), moved(normal, scale, plan.n_moved, random)]
        mixtures = [mixed(x, s, normal, scale, plan.n_mixtures, random) for s, x in enumerate(sources)]
        parts = [Drawn.joined(around), Drawn.joined(mixtures)]
        of_parts = [
            ask(part.rows, what, told.next(len(part.rows)))
            for part, what in zip(parts, ("normal row", "mixture with normal row"), strict=True)
        ]
        some = np.sort(random.permutation(len(X))[:_MOST_NORMAL])
        drawn = Drawn.joined([Drawn(X[some], np.full(some.size, -1)), *parts])
        return cls(drawn, np.concatenate([scores[some], *of_parts]), normal, n_explained)

    @cached_property
    def outlierness(self) -> Floats:
        """(k,) above the smallest score."""
        return np.asarray(self.scores - self.scores.min())

    @cached_property
    def weights(self) -> Floats:
        """(k,) weights of squared errors: the mixtures of each row together have the same weight.

        In units of their variance, and at least of that of the normal rows.
        """
        o, source = self.outlierness, self.drawn.source
        least = o[source < 0].std()
        spread = np.full(o.shape, least)
        for s in range(source.max() + 1):
            spread[source == s] = max(o[source == s].std(), least)
        return np.asarray(1.0 / np.maximum(spread / (o.max() or 1.0), 1e-9) ** 2)

    def parted(self, random: np.random.Generator) -> tuple[Mask, Mask]:
        """Rows (k,) to choose and to judge with: all mixtures of some of the rows to explain.

        Of few rows to explain some mixtures of each. Of normal rows, and their mixtures, some choose.
        """
        source = self.drawn.source
        if self.n_explained >= _FEW:
            turn = random.permutation(self.n_explained) % _ONE_IN
            of_rows = turn[np.clip(source, 0, self.n_explained - 1)]
        else:
            of_rows = random.permutation(source.size) % _ONE_IN
        is_mixture = (source >= 0) & (source < self.n_explained)
        chooses = np.where(is_mixture, of_rows == 0, random.random(source.size) < 0.5 / _ONE_IN)
        return chooses, is_mixture & (of_rows == 1)


class _Counted:
    """Progress of several parts, reported as one."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self.report, self.done = report, 0

    def next(self, size: int) -> Callable[[int], None]:
        """The report of the next part, which has ``size`` rows."""
        before, self.done = self.done, self.done + size
        return lambda done: self.report(before + done)


def _sources(
    X: Floats, scores: Floats, normal: Floats, count: int, random: np.random.Generator
) -> tuple[Floats, int]:
    """Rows to mix with normal ones, and how many of them are to be explained: these come first.

    Of many rows to explain half are the oddest, half any others.
    """
    order = np.argsort(-scores, kind="stable")
    oddest, others = order[: count // 2], random.permutation(order[count // 2 :])
    chosen = np.concatenate([oddest, others])[:count]
    more = normal[random.integers(0, len(normal), count - chosen.size)]
    return np.concatenate([X[chosen], more]), int(chosen.size)


def distill(
    score: FunctionScore, survey: Survey, random: np.random.Generator, *, by_variable: bool
) -> DistilledScore:
    """The function with a student of it, and the fidelity of the student.

    Parameters
    ----------
    score : FunctionScore
    survey : Survey
        What the function says.
    random : numpy.random.Generator
    by_variable : bool
        Whether the student may have terms of single variables; not behind a map that mixes them.

    Returns
    -------
    DistilledScore
        Its fidelity is that of a student that has not seen rows to judge by; the student itself has seen all.
    """
    o, rows = survey.outlierness, survey.drawn.rows
    if not o.max() > 0.0:
        raise ValueError(
            f"The function gives all {o.size:,} rows the same score: there is nothing to explain. "
            "Pass a function whose scores vary."
        )
    if o.max() > LARGEST:
        raise ValueError(
            f"The function gives scores from {survey.scores.min():.3g} to {survey.scores.max():.3g}, too "
            "far apart to learn from. Pass their logarithm, or check the values of the rows."
        )
    chooses, judges = survey.parted(random)
    lesson = Lesson(rows, o, survey.weights, ~chooses & ~judges, chooses)
    offered = Offered.of(Candidates.of(survey.normal, by_variable=by_variable), rows)
    pupil = fit_student(offered, lesson, survey.normal)
    fidelity = _fidelity(pupil, rows[judges], o[judges], survey.weights[judges])
    student = fit_student(offered, replace(lesson, is_fitted=~chooses), survey.normal)
    return DistilledScore(
        score.function, score.low, score.neighborhood, score.verdict, student=student, fidelity=fidelity
    )


def _fidelity(student: Student, rows: Floats, o: Floats, weights: Floats) -> dict[str, float]:
    """Rank correlation and R²; in R² every row to explain has the same weight."""
    from scipy.stats import ConstantInputWarning, spearmanr

    guesses = student.outlierness(rows)
    whole = (weights * (o - np.average(o, weights=weights)) ** 2).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantInputWarning)
        ranks = float(spearmanr(guesses, o).statistic)
    return {
        "rank_correlation": ranks if np.isfinite(ranks) else 0.0,
        "r2": float(1.0 - (weights * (o - guesses) ** 2).sum() / whole) if whole > 0.0 else 0.0,
        "rows": float(len(rows)),
    }
