"""Several ways to explain the same rows, judged side by side in one table."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.agreement import rank_correlation
from whyodd.evaluation.causes import mean_and_error
from whyodd.evaluation.conservation import conservation_gap, unexplained_share
from whyodd.evaluation.flipping import area, flip, flip_explanation
from whyodd.evaluation.localisation import average_precision, hit_rate, roc_auc
from whyodd.evaluation.patch_flipping import has_windows
from whyodd.evaluation.stability import Probe
from whyodd.explainers.checks import keywords
from whyodd.explainers.explaining import explain, explain_prepared, explains_items, own_centers_of
from whyodd.explainers.preparing import PreparedModel
from whyodd.explainers.registry import find_method
from whyodd.inputs.frames import as_frame, build_frame
from whyodd.network.waist import offers
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Rows for stability and continuity: each is explained many times.
_PROBED_ROWS = 20
_MOVES, _SCALE, _STEPS = 5, 0.01, 16


@dataclass(frozen=True, eq=False)
class Judged:
    """An explanation, and the information needed to judge it.

    Attributes
    ----------
    model : fitted model
    X : rows or items
        What was explained.
    explanation : Explanation or PatchExplanation
    reference : Explanation or PatchExplanation
        The explanation by deep Taylor decomposition.
    mask : array or list of arrays, optional
        What is to blame.
    options : mapping
        Keywords of the method.
    random_state : int, optional
    """

    model: Any
    X: Any
    explanation: Any
    reference: Any
    mask: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    random_state: int | None = None

    @cached_property
    def probe(self) -> Probe:
        """A few of the rows, evenly spread, to be moved."""
        n = len(self.explanation)
        some = np.unique(np.linspace(0, n - 1, min(n, _PROBED_ROWS)).astype(int))
        shared: dict[str, Any] = {"options": self.options, "random_state": self.random_state}
        return Probe.around(self.explanation[some], self.model, self.X, **shared)


@dataclass(frozen=True)
class Metric:
    """A way to judge an explanation.

    Attributes
    ----------
    judge : callable
        ``judge(judged)`` gives a number for each row or item; NaN where there is none.
    higher_is_better : bool or None
        None where it is neither.
    needs_mask : bool
        Whether it compares with a mask of what is to blame.
    needs_table : bool
        Whether it is for rows of tables only, not for images and series.
    needs_flip : bool
        Whether it takes variables away, which not every model of tables offers.
    has_error : bool
        Whether the table also gives the standard error of the mean.
    """

    judge: Callable[[Judged], Floats]
    higher_is_better: bool | None
    needs_mask: bool = False
    needs_table: bool = False
    needs_flip: bool = False
    has_error: bool = False


def _area(judged: Judged) -> Floats:
    e = judged.explanation
    if has_windows(judged.model):
        return area(flip(judged.model, judged.X, e))
    return area(flip_explanation(e, {"": e})[""])


def _stability(judged: Judged) -> Floats:
    return judged.probe.stability(_SCALE, _MOVES, judged.random_state).mean


def _largest_jump(judged: Judged) -> Floats:
    if len(judged.explanation) < 2:
        return np.array([np.nan])  # nowhere to walk to
    return judged.probe.continuity(_STEPS).largest_jump


METRICS: dict[str, Metric] = {
    "area": Metric(_area, higher_is_better=False, needs_flip=True, has_error=True),
    "conservation_gap": Metric(lambda j: conservation_gap(j.explanation), higher_is_better=False),
    "unexplained": Metric(lambda j: unexplained_share(j.explanation), higher_is_better=False),
    "stability": Metric(_stability, higher_is_better=False, needs_table=True),
    "largest_jump": Metric(_largest_jump, higher_is_better=False, needs_table=True),
    "agreement": Metric(lambda j: rank_correlation(j.explanation, j.reference), higher_is_better=None),
    "roc_auc": Metric(
        lambda j: roc_auc(j.explanation, j.mask), higher_is_better=True, needs_mask=True, has_error=True
    ),
    "average_precision": Metric(
        lambda j: average_precision(j.explanation, j.mask),
        higher_is_better=True,
        needs_mask=True,
        has_error=True,
    ),
    "hit_rate_100": Metric(
        lambda j: hit_rate(j.explanation, j.mask, 1.0), higher_is_better=True, needs_mask=True, has_error=True
    ),
    "hit_rate_150": Metric(
        lambda j: hit_rate(j.explanation, j.mask, 1.5), higher_is_better=True, needs_mask=True, has_error=True
    ),
}


def compare(
    model: Any,
    X: Any,
    methods: Sequence[str] = ("dtd", "sensitivity", "nearest", "mean", "random"),
    *,
    metrics: Sequence[str] | None = None,
    mask: Any = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> Any:
    """Compare explanation methods on the same rows: a line for each method, a column for each metric.

    Parameters
    ----------
    model : fitted model, Pipeline, DistanceNetwork or PatchModel
        What :func:`whyodd.explain` takes.
    X : array, CSR matrix, data frame or items
        Rows to explain; images or series for a ``PatchModel``.
    methods : sequence of str
        Names of ``whyodd.explainers.EXPLAINERS``; by default the paper's.
    metrics : sequence of str, optional
        Names of ``whyodd.evaluation.METRICS``; all that apply by default. "stability" and "largest_jump"
        explain 20 of the rows many times: leave them out for a slow method.
    mask : array of bool of shape (n, d), or list of arrays, optional
        What is to blame in each row or item, for the metrics that compare with it.
    options : mapping of str to dict, optional
        Keywords of single methods, such as ``{"mvn": {"regularization": 1.0}}``.
    random_state : int, optional
        Seed.
    progress : bool, default False
        Show a progress bar, on standard error.

    Returns
    -------
    data frame
        Of the kind of X, else pandas: "method", and the mean of each metric over all rows where it is
        defined. NaN or null if it is defined for none, such as conservation for a method in units of its own.
        A column "..._error" has the standard error of the mean.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = whyodd.KernelDensity(sigma=0.5).fit(X)
    >>> table = compare(model, X + [4, 0, 0], ["dtd", "random"], metrics=["area"], random_state=0)
    >>> table.round(2)
       method  area  area_error
    0     dtd  0.31        0.01
    1  random  0.45        0.02
    """
    methods = _checked_names(methods, "methods", "['dtd', 'nearest']")
    settings = _checked_options(options, methods)
    chosen = _choose(metrics, model, mask)
    frame = None if has_windows(model) else as_frame(X)
    with progress_bar(len(methods), "Comparing methods") if progress else nullcontext() as told:
        lines: list[dict[str, Any]] = []
        explain_by = _explainer(model, X, random_state)
        reference = explain_by("dtd", settings.get("dtd", {}))
        for name in methods:
            own = settings.get(name, {})
            e = reference if name == "dtd" else explain_by(name, own)
            judged = Judged(model, X, e, reference, mask, own, random_state)
            lines.append({"method": name, **_line(judged, chosen)})
            if told is not None:
                told(len(lines))
    columns = {column: [line[column] for line in lines] for column in lines[0]}
    return build_frame(columns, None if frame is None else frame.implementation)


def _explainer(model: Any, X: Any, random_state: int | None) -> Callable[[str, Mapping[str, Any]], Any]:
    """Explain the same rows by any method; they are prepared once."""
    if explains_items(model):
        return lambda name, own: explain(model, X, method=name, options=own, random_state=random_state)
    prepared = PreparedModel.of(model)
    rows = prepared.rows(X)
    shared: dict[str, Any] = {"own": own_centers_of(rows, "auto"), "normal_of": prepared}
    return lambda name, own: explain_prepared(
        rows, method=name, options=own, random_state=random_state, **shared
    )


def _line(judged: Judged, chosen: Mapping[str, Metric]) -> dict[str, float]:
    line = {}
    for name, metric in chosen.items():
        line[name], error = mean_and_error(metric.judge(judged))
        if metric.has_error:
            line[f"{name}_error"] = error
    return line


def _choose(metrics: Sequence[str] | None, model: Any, mask: Any) -> dict[str, Metric]:
    """The requested metrics, or all that apply."""
    if explains_items(model) and not has_windows(model):
        raise TypeError(
            f"compare() expected a model of tables, images or series, got {type(model).__name__}. Pass "
            "one of these."
        )
    lacks = {name: _lacking(metric, model, mask) for name, metric in METRICS.items()}
    if metrics is None:
        return {name: metric for name, metric in METRICS.items() if lacks[name] is None}
    metrics = _checked_names(metrics, "metrics", "['area', 'stability']")
    for name in metrics:
        if name not in METRICS:
            raise ValueError(f"metric {name!r} is unknown. Choose among: {', '.join(map(repr, METRICS))}.")
        if lacks[name] is not None:
            raise ValueError(f"metric {name!r} {lacks[name]}.")
    return {name: METRICS[name] for name in metrics}


def _lacking(metric: Metric, model: Any, mask: Any) -> str | None:
    if metric.needs_mask and mask is None:
        return "compares with the true causes: pass them as mask"
    if metric.needs_table and has_windows(model):
        return "works only for table rows. Leave it out for images and series"
    if metric.needs_flip and not has_windows(model) and not offers(PreparedModel.of(model).network, "flip"):
        return f"removes variables, which {type(model).__name__} does not support. Leave it out"
    return None


def _checked_names(names: Any, what: str, example: str) -> list[str]:
    found = [] if names is None or isinstance(names, str) else list(names)
    if not found:
        raise ValueError(f"{what}={names!r}: expected a list of names, {example}.")
    return found


def _checked_options(
    options: Mapping[str, Mapping[str, Any]] | None, methods: Sequence[str]
) -> Mapping[str, Mapping[str, Any]]:
    settings = {name: keywords(given) for name, given in keywords(options).items()}
    unused = [name for name in settings if name not in methods]
    if unused:
        raise ValueError(
            f"options has keywords for {unused[0]!r}, which is not among the methods. "
            "Pass {method: {keyword: value}} for methods that are."
        )
    # All names at once, before the work on the first.
    for name in methods:
        find_method(name).check_options(name, settings.get(name, {}))
    return settings
