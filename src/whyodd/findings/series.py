"""What is odd in one series: when, in which channels, and what changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.automatic.written import with_values
from whyodd.explanations.sentences import number, percent
from whyodd.findings.findings import Findings
from whyodd.findings.rarity import how_odd
from whyodd.findings.thresholds import Limit
from whyodd.inputs.frames import as_frame, build_frame
from whyodd.series.detector import SeriesDetector, note_on_strides
from whyodd.series.explanation import SeriesExplanation
from whyodd.series.reading import read_series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from whyodd.series.detector import StepScores
    from whyodd.series.reading import Series

_WITHOUT_TIME, _TIME, _UTC = "step", "time", "time (UTC)"
# Share of the steps: if more are in events, the series has changed as a whole.
_MANY = 0.1
# Stretches as odd as the oddest one that chance produces: with fewer, chance does not explain it.
_BY_CHANCE = 0.05
_TOLD = 3  # channels


@dataclass(frozen=True, eq=False, repr=False)
class SeriesFindings(Findings):
    """How odd each step of a series is, where oddness begins, and the events: runs of odd steps, and why.

    Items are the rows of the series, in the order of time; ``explanation`` is of the events.

    Attributes
    ----------
    series : Series
        The series that was judged.
    scores : StepScores
        Relevance of each channel at each step.
    """

    threshold: float
    p_value: NDArray[np.float64] = field(kw_only=True)
    n_normal: int = field(kw_only=True)
    model: SeriesDetector = field(kw_only=True)
    series: Series = field(kw_only=True)
    scores: StepScores = field(kw_only=True)

    @cached_property
    def explanation(self) -> SeriesExplanation:
        """Explanation of all events, the oddest first, or of the oddest place if no step is odd."""
        assert self.series is not None
        assert self.scores is not None
        return SeriesExplanation.of(self.model, self.series, self.scores, float(self.threshold or 0.0))

    @cached_property
    def is_odd(self) -> NDArray[np.bool_]:
        """(T,) whether each step is in an event.

        Windows reach beyond the odd steps in them: steps beside an event are above the threshold, too, but
        not part of it.
        """
        e, inside = self.explanation, np.zeros(len(self), dtype=bool)
        for event, outlierness in zip(e.events, e.outlierness, strict=True):
            inside[event.start : event.stop] |= bool(outlierness > e.threshold)
        return inside

    @property
    def n_events(self) -> int:
        """Number of events above the threshold."""
        return int(np.count_nonzero(self.explanation.outlierness > self.threshold))

    @property
    def headline(self) -> str:
        """How many events there are, in one sentence."""
        cut = f"the threshold {number(self.threshold)} ({self.threshold_source})"
        steps = f"{len(self):,} steps"
        if self.n_odd == 0:
            return f"None of {steps} is above {cut}."
        events = "1 event" if self.n_events == 1 else f"{self.n_events:,} events"
        return f"{events}, {self.n_odd:,} of {steps}, above {cut}."

    def explain(self, rows: ArrayLike, **options: Any) -> SeriesExplanation:  # noqa: ARG002
        """Explanation of the events that hold some of these steps, given by their positions."""
        wanted = np.zeros(len(self), dtype=bool)
        wanted[np.asarray(rows, dtype=np.intp)] = True
        e = self.explanation
        return e[[i for i, event in enumerate(e.events) if wanted[event.start : event.stop].any()]]

    def how_odd(self, i: int = 0) -> str | None:
        """How odd the ``i``-th event is, in words."""
        row = int(self.explanation.rows[i])
        return how_odd(float(self.outlierness[row]), float(self.p_value[row]), self.n_normal, "step")

    def steps(self) -> dict[str, Any]:
        """Columns with a value per step: time, outlierness, p_value, is_odd, relevance of each channel."""
        first = _WITHOUT_TIME if self.series.times is None else _UTC if self.series.is_utc else _TIME
        times = np.arange(len(self)) if self.series.times is None else self.series.times
        told = {first: times, "outlierness": self.outlierness, "p_value": self.p_value, "is_odd": self.is_odd}
        channels = {
            name if name not in told else f"{name} (relevance)": self.scores.relevance[:, c]
            for c, name in enumerate(self.series.channels)
        }
        return {**told, **channels}

    def to_frame(self) -> Any:
        """Data frame with a line per step: time, outlierness, p_value, is_odd, relevance of each channel."""
        return build_frame(self.steps(), None if self.table is None else self.table.kind)


def find_in_series(
    series: Any,
    train: Any = None,
    *,
    model: SeriesDetector | None = None,
    share: float | None = None,
    false_alarms: float | None = None,
    windows: int | Sequence[int] | None = None,
    time: str | None = None,
    name: str = "The series",
    train_name: str = "The series to learn from",
    progress: bool = False,
    **more: Any,
) -> SeriesFindings:
    """Find the odd events of a series, and why they are odd: ``whyodd series`` as a function.

    Parameters
    ----------
    series : data frame, or array of shape (T,) or (T, C)
        The series to judge, a row per step. A column of dates holds the time.
    train : data frame or array, optional
        A normal series to learn from, with the same channels; by default ``series`` itself, each stretch
        judged by the others, with its oddest windows left out.
    model : SeriesDetector, optional
        A fitted model to use instead of learning.
    share : float, optional
        Share of the training steps to call odd.
    false_alarms : float, optional
        Share of normal steps that may be called odd; 0.01 by default, but for a long series about 100 steps.
    windows : int or sequence of int, optional
        Lengths of windows; 8, 32 and 128 steps by default.
    time : str, optional
        Column that holds the time, if that is not clear.
    name, train_name : str
        What to call the series in messages.
    progress : bool, default False
        Show progress on standard error.
    **more
        Further attributes of :class:`whyodd.Findings`: title, made_by, notes.

    Returns
    -------
    SeriesFindings

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.findings.series import find_in_series
    >>> rng = np.random.default_rng(0)
    >>> values = np.sin(np.arange(900) / 5) + rng.normal(scale=0.1, size=900)
    >>> values[500:520] = 3
    >>> found = find_in_series(values)
    >>> found.explanation.names[0], found.why(0)
    ('steps 500 to 519', 'value ...')
    """
    if train is not None and model is not None:
        raise ValueError("train cannot be used with model, which has already learned. Pass one of them.")
    if model is not None and windows is not None:
        raise ValueError("windows cannot be used with model, which has its own. Pass one of them.")
    if model is not None and not isinstance(model, SeriesDetector):
        message = (
            f"The model is a {type(model).__name__}, expected a fitted whyodd.SeriesDetector. Fit one, or "
            "save one with whyodd series --save."
        )
        raise ValueError(message)
    limit = Limit(share, false_alarms)
    notes: list[str] = list(more.pop("notes", ()))
    if model is not None:
        data = model.read(_values(series), time=time, what=name)
        notes += data.notes
        scores = model.judge(data, progress=progress)
    else:
        model = SeriesDetector(windows, false_alarms=false_alarms, trusted=train is not None)
        own = (series, name) if train is None else (train, train_name)
        data, scores = _learned(model, *own, time, progress)
        notes += model.notes_
        if train is not None:
            data = model.read(_values(series), time=time, what=name)
            notes += data.notes
            scores = model.judge(data, progress=progress)
    threshold, source = _threshold(model, limit, len(data))
    notes += note_on_strides(len(data.values), model.windows_, len(data.channels))
    p_values = model.p_values_of(scores.outlierness)
    found = SeriesFindings(
        outlierness=scores.outlierness,
        p_value=p_values,
        # Neighbouring steps are alike, so only as many count as there are windows.
        n_normal=max(model.distribution_.scores.size // min(model.windows_), 1),
        threshold=threshold,
        threshold_source=source,
        explainer=lambda rows, **options: None,  # noqa: ARG005 - `explain` has its own way
        n_explained=0,
        model=model,
        series=data,
        scores=scores,
        **more,
    )
    told = replace(found, notes=(*_notes(found, name, model), *notes))
    told.__dict__["explanation"] = found.explanation  # once for both
    return told


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are used.

    Attributes
    ----------
    time : str, optional
        The one that holds the time.
    columns, drop : tuple of str
        The only channels; those that are none.
    """

    time: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


def find_in_file(
    path: Path, chosen: Columns | None = None, *, model: SeriesDetector | None = None, **options: Any
) -> SeriesFindings:
    """Find the odd events of the series in a file; options as of :func:`find_in_series`."""
    chosen, notes = chosen or Columns(), list(options.pop("notes", ()))
    return find_in_series(
        _read(path, chosen, notes, model),
        model=model,
        time=chosen.time,
        name=str(path),
        title=path.name,
        notes=notes,
        **options,
    )


def learn_from_file(
    path: Path,
    chosen: Columns | None = None,
    *,
    windows: int | Sequence[int] | None = None,
    false_alarms: float | None = None,
    progress: bool = False,
) -> tuple[SeriesDetector, list[str]]:
    """Learn the series in a file, which is known to be normal; return the model and its notes."""
    chosen, notes = chosen or Columns(), list[str]()
    model = SeriesDetector(windows, false_alarms=false_alarms, trusted=True)
    _learned(model, _read(path, chosen, notes, None), str(path), chosen.time, progress)
    return model, [*notes, *model.notes_]


def _read(path: Path, chosen: Columns, notes: list[str], model: SeriesDetector | None) -> Any:
    from whyodd.io.tables import read_table

    return _chosen(with_values(read_table(path, notes=notes)), path, chosen, notes, model)


def _learned(
    model: SeriesDetector, series: Any, name: str, time: str | None, progress: bool
) -> tuple[Series, StepScores]:
    """Learn from a series; return it as read, and how odd its steps are."""
    data = read_series(_values(series), time, what=name)
    try:
        return data, model.fit_judge(data, time=time, progress=progress)
    except ValueError as error:
        raise ValueError(f"{name}: {_first_lower(str(error))}") from None


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _values(series: Any) -> Any:
    """A table with all texts read that stand for values, such as times."""
    frame = as_frame(series)
    has_texts = frame is not None and any(kind == nw.String for kind in frame.schema.values())
    return with_values(series) if has_texts else series


def _threshold(model: SeriesDetector, limit: Limit, steps: int) -> tuple[float, str]:
    known = model.distribution_
    if limit.share is not None:
        source = f"{number(100 * limit.share)} % of the training steps exceed it"
        return float(np.quantile(known.scores, 1.0 - limit.share)), source
    allowed = model.allowed_in(steps) if limit.false_alarms is None else limit.false_alarms
    return known.threshold(allowed), f"about {number(100 * allowed, 2)} % of normal steps exceed it"


def _notes(found: SeriesFindings, name: str, model: SeriesDetector) -> Iterator[str]:
    """Notes: whether all of it changed, whether chance explains it, and which steps have no score."""
    known = np.isfinite(found.outlierness)
    n, odd = int(known.sum()), found.n_odd
    e = found.explanation
    if odd > _MANY * n:
        most = np.argsort(-e.mean_shares, kind="stable")[:_TOLD]
        where = ", ".join(f"{e.channels[c]} {percent(e.mean_shares[c])}" for c in most)
        yield (
            f"{name}: {percent(odd / n)} of the steps are in events: either the whole series has changed "
            f"since training, or much of it is odd. Most affected: {where}."
        )
    elif odd and float(np.nanmin(found.p_value)) * n / min(model.windows_) > _BY_CHANCE:
        yield (
            f"{name}: chance alone produces stretches as odd as these. They are the oddest ones, but "
            "nothing needs to be wrong with them."
        )
    if lost := len(known) - n:
        yield f"{name}: {lost:,} of {len(known):,} steps are too close to gaps for any window: no score."


def _chosen(frame: Any, path: Path, chosen: Columns, notes: list[str], model: SeriesDetector | None) -> Any:
    """The requested columns; a note lists those that hold no numbers."""
    clock = () if chosen.time is None else (chosen.time,)
    _check_known(frame.columns, (*chosen.columns, *chosen.drop, *clock), path)
    kept = [name for name in chosen.columns or frame.columns if name not in chosen.drop]
    dates = frame.select(_selector("date") | _selector("datetime")).columns
    clocks = {chosen.time} if chosen.time else set(dates)
    numbers = set(frame.select(_selector("numeric") | _selector("boolean")).columns)
    no_numbers = [name for name in kept if name not in numbers | clocks]
    if no_numbers and chosen.columns:
        raise ValueError(
            f"Column {no_numbers[0]!r} of {path} holds no numbers, expected numbers. Leave it out of "
            "--columns."
        )
    if no_numbers and model is None:
        notes.append(f"{path}: ignored columns without numbers: {', '.join(no_numbers)}.")
    if not [name for name in kept if name in numbers - clocks]:
        raise ValueError(f"{path} has no numeric column to use. It has: {', '.join(frame.columns)}.")
    # The time need not be among the channels that are asked for.
    told = [name for name in frame.columns if name in clocks and name not in (*kept, *chosen.drop)]
    return frame.select([*told, *(name for name in kept if name not in no_numbers)])


def _selector(kind: str) -> Any:
    from whyodd.io.tables import polars

    return getattr(polars().selectors, kind)()


def _check_known(columns: Sequence[str], asked: Sequence[str], path: Path) -> None:
    for name in asked:
        if name not in columns:
            raise ValueError(f"{path} has no column {name!r}. It has: {', '.join(columns)}.")
