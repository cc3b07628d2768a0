"""Functions, and models without an adapter, prepared: called with rows, distilled, or sampled."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.adapters.black_boxes import BlackBox
from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.neuralize import verdict_of
from whyodd.adapters.pipelines import split_pipeline, split_reader
from whyodd.adapters.refusals import REFUSALS
from whyodd.compute.points import to_dense
from whyodd.explainers.black_box.calling import Caller
from whyodd.explainers.black_box.distilling import (
    LEAST_R2,
    Plan,
    Survey,
    default_budget,
    distill,
    neighborhood,
)
from whyodd.explainers.black_box.sampling import REPEATS, background_within, rows_per_background, sample
from whyodd.explainers.calibrating import TRAINING
from whyodd.explainers.checks import whole_number
from whyodd.explainers.preparing import PreparedModel
from whyodd.inputs.frames import as_frame
from whyodd.network.black_box.distilled import FunctionScore
from whyodd.network.verdict import AffineScale, Verdict
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from whyodd.explainers.preparing import PreparedRows

    Floats = NDArray[np.float64]

# Shapley values take that many times as many rows as a student.
_SAMPLES = 10
_LEAST_BUDGET = 200
# With fewer rows, the usual distances between values are unknown.
_LEAST_NORMAL = 5
# Normal rows from which the smallest score is estimated.
_SOME = 1_000


def prepare(model: Any, X: Any, normal: Any) -> PreparedModel:
    """A model, or a pipeline that ends in one, ready to prepare rows; if it has no adapter, as a function.

    A model that is explained exactly stays so. What is not is a function of unknown inside, if it scores
    rows, and if there are normal rows: those given, or those that the model keeps.
    """
    try:
        return PreparedModel.of(model)
    except UnsupportedModelError as refused:
        steps, last = split_pipeline(model)
        box = BlackBox.of(last)
        if box is None or find_entry(REFUSALS, last) is not None:  # a row has no score of its own
            raise
        return _as_function(box, split_reader(steps), X, normal, refused)


def is_function(network: Any) -> bool:
    """Whether a member of the waist is a function that has no student yet."""
    return type(network) is FunctionScore


@dataclass(frozen=True)
class _Known:
    """Stands in for the model of a function: the function and its columns."""

    box: BlackBox
    feature_names_in_: Any = None


class _Unread:
    """Placeholder for normal rows that have not been read yet."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"through"})


def _as_function(
    box: BlackBox, steps: tuple[Any, Any], X: Any, normal: Any, refused: UnsupportedModelError
) -> PreparedModel:
    reader, others = steps
    frame = None if others else as_frame(X)
    names = getattr(box.model, "feature_names_in_", None)
    if names is None and frame is not None:
        names = frame.columns
    first = PreparedModel(others, _Known(box, names), _Unread(), reader)
    rows = _normal_rows(first, box, normal, refused)
    kind = None if frame is None else frame.implementation
    ask = Caller(box.score, box.name, None if names is None else tuple(map(str, names)), kind)
    return PreparedModel(others, first.model, FunctionScore(ask, 0.0, neighborhood(rows)), reader)


def _normal_rows(
    prepared: PreparedModel, box: BlackBox, normal: Any, refused: UnsupportedModelError
) -> Floats:
    if normal is None or (isinstance(normal, str) and normal == TRAINING):
        kept = box.kept_rows
        if kept is not None:
            return np.array(kept, dtype=np.float64)
        from whyodd.adapters.registry import ADAPTERS

        if box.model is not None and find_entry(ADAPTERS, box.model) is not None:
            raise UnsupportedModelError(
                f"{refused} Or pass normal=rows, normal rows like X, to explain it from its scores alone."
            ) from refused
        raise UnsupportedModelError(
            f"{box.name} is explained from its scores alone, which do not show what is normal. Pass "
            "normal=rows, normal rows like X."
        ) from refused
    if isinstance(normal, str):
        message = f"normal={normal!r}: expected normal rows, like X, or {TRAINING!r}."
        raise ValueError(message)  # noqa: TRY004 - as for other models
    rows = np.asarray(to_dense(prepared.normal_inputs(normal)), dtype=np.float64)
    if len(rows) < _LEAST_NORMAL:
        raise ValueError(
            f"normal has {len(rows)} row(s), expected at least {_LEAST_NORMAL} to learn from how {box.name} "
            "scores them. Pass more."
        )
    return rows


def learned(
    rows: PreparedRows,
    prepared: PreparedModel,
    *,
    explains: bool,
    budget: int | None,
    random: np.random.Generator,
    progress: bool,
) -> PreparedRows:
    """The same rows before anything was learned about the function.

    Parameters
    ----------
    rows : PreparedRows
        Those to explain.
    prepared : PreparedModel
        Of :func:`prepare`.
    explains : bool
        Whether it is to explain itself, by a student or by samples; else it only scores.
    budget : int, optional
        Rows to ask it about, beside those to explain.
    random : numpy.random.Generator
    progress : bool
        Show progress and the cost.
    """
    score: FunctionScore = prepared.network
    ask: Caller = score.function  # type: ignore[assignment]
    X = np.asarray(to_dense(rows.inputs), dtype=np.float64)
    normal = np.asarray(to_dense(score.centers))
    n, d = X.shape
    ask.probe(normal)
    model = prepared.model.box.model
    if not explains:
        ask.tell_cost(n, aloud=progress)
        seen = np.concatenate([ask(X, "row to explain"), ask(normal[:_SOME], "normal row")])
        return _before(rows, _judged(score, model, seen))
    allowed = default_budget(n, d) if budget is None else whole_number("budget", budget, _LEAST_BUDGET)
    plan = Plan.within(allowed, n, len(normal))
    ask.tell_cost(n + plan.total, aloud=progress)
    with _bar(plan.total, f"Asking {ask.name}", progress) as report:
        survey = Survey.of(ask, X, normal, plan, random, report)
    score = _judged(score, model, survey.scores)
    distilled = distill(score, survey, random, by_variable=rows.through is None)
    r2 = distilled.r2
    if r2 >= LEAST_R2:
        return _before(rows, distilled)
    background = background_within(_SAMPLES * allowed if budget is None else allowed, n, d)
    missing = _missing(rows, background)
    if background is None or missing is not None:
        warnings.warn(
            f"The student model reproduces only {max(r2, 0.0):.0%} of the variation in the scores of "
            f"{ask.name}, and Shapley values could not be sampled instead: {missing}.",
            stacklevel=3,
        )
        return _before(rows, distilled)
    ask.tell_cost(n + rows_per_background(n, d) * background, aloud=progress)
    with _bar(n * REPEATS, "Sampling Shapley values", progress) as report:
        return _before(rows, sample(score, X, background, random, report))


def _missing(rows: PreparedRows, background: int | None) -> str | None:
    """Why sampling is impossible; None if it is possible."""
    if rows.through is not None:
        return "a step before it mixes columns"
    if background is None:
        return "that takes a larger budget, or fewer rows"
    if find_spec("shap") is None:
        return "that needs shap, run: pip install 'whyodd[shap]'"
    return None


def _judged(score: FunctionScore, model: Any, seen: Floats) -> FunctionScore:
    """The function above the smallest score seen, with what its model says about its scores."""
    low = float(min(seen.min(), np.min(getattr(model, "decision_scores_", seen))))
    scale = AffineScale(shift=low)
    return replace(score, low=low, verdict=Verdict(scale) if model is None else verdict_of(model, scale))


def _before(rows: PreparedRows, score: FunctionScore) -> PreparedRows:
    threshold = None if score.verdict is None else score.verdict.threshold
    return replace(rows, network=score, threshold=threshold)


def _bar(total: int, doing: str, progress: bool) -> AbstractContextManager[Callable[[int], None]]:
    return progress_bar(total, doing) if progress else nullcontext(lambda _: None)
