"""The detector for one series: how odd each step is to windows of several lengths, and in which channels."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from whyodd.models.tail import ScoreDistribution
from whyodd.network.calibrated import usual_factors
from whyodd.progress import progress_bar
from whyodd.series.bands import Bands, bands_of
from whyodd.series.passes import by_all, by_others, look
from whyodd.series.reading import Series, read_series
from whyodd.series.scales import Units
from whyodd.series.views import Spread, Values
from whyodd.series.windows import covered, covering, mean_over_covering, whole_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whyodd.series.passes import Looks
    from whyodd.series.views import View

    Floats = NDArray[np.float64]
    Scaled = NDArray[np.float32]
    Indices = NDArray[np.intp]

# Lengths of windows: a disturbance, a pattern, a rhythm. Each is four times the one before, so that whatever
# lasts longer than one and shorter than the next is never far from either.
LENGTHS = (8, 32, 128)
# Windows of each length that cover a step.
_DEPTH = 8
# Numbers to compare, at most, before windows stand farther apart: some minutes.
_WORK = 5e11
# Share of normal steps that may be called odd, and the most in one series.
_FALSE_ALARMS, _MOST_FALSE_ALARMS = 0.01, 100.0
# A series must have room for this many windows of a length; otherwise they are shorter.
_ROOM = 8
_FEWEST = 10  # steps
_TO_VARY = 4  # steps in a window, at least, to measure how much channels vary
# Share of the windows, the oddest, that are not learned where a series may hold anomalies.
_LEFT_OUT = 0.05
# Standard deviations of log O beyond which a window is clearly odd, and those of the 0.9 quantile.
_DOUBTLESS, _NINE_TENTHS = 6.0, 1.2816


@dataclass(frozen=True, eq=False)
class StepScores:
    """How odd each row of a series is.

    Attributes
    ----------
    outlierness : ndarray of shape (T,)
        Σ_c relevance: 1 for a usual step. NaN where a gap is too close for any window.
    relevance : ndarray of shape (T, C)
        Part of each channel.
    at_steps : ndarray of shape (T, C)
        Relevance of each channel at each step itself, in units of a usual step: 0 where no window looks. The
        outlierness of a step is that of the windows around it, and reaches further.
    """

    outlierness: Floats
    relevance: Floats
    at_steps: Floats

    @property
    def focus(self) -> Floats:
        """(T,) how much of what makes windows odd lies at each step itself; about 1 at a usual step."""
        return np.asarray(self.at_steps.sum(axis=1))


class SeriesDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # untyped base
    """Outlierness of each step of a series: the mean over the windows of several lengths that cover it.

    For each view v (the values of windows of three lengths, and how far channels vary within those of the
    middle one), the distance of a window to its five nearest normal windows is decomposed onto steps and
    channels (deep Taylor decomposition). The relevance of each channel is divided by what is usual for it on
    normal windows that were not learned, and averaged over the windows that cover a step:

        R_tc = 1/K Σ_v mean_{windows over t} R_vc f_vc,    O_t = Σ_c R_tc

    with factors f_vc that make O 1 on a usual step. Nothing is drawn at random.

    Parameters
    ----------
    windows : int, or sequence of int, optional
        Lengths of windows in steps; 8, 32 and 128 by default, or less for a short series.
    false_alarms : float, optional
        Share of normal steps that may be called odd. By default 0.01, but for a long series about 100 steps:
        nobody looks at thousands of events that chance produces.
    trusted : bool, default False
        Whether the series to learn from is known to be normal. If not, the oddest twentieth of its windows is
        left out.

    Attributes
    ----------
    channels_ : tuple of str
    windows_ : tuple of int
        Lengths in use.
    units_ : Units
        Location and unit of each channel; the unit is 0 if the channel never varied.
    values_ : ndarray of shape (G, C)
        The series that was learned, in these units, in single precision.
    views_ : list of View
        What windows are compared by: their values at each length, and how far channels vary.
    starts_ : list of ndarray
        For each view the first steps of the windows that were learned.
    factors_ : list of ndarray of shape (C,)
        f for each view.
    distribution_ : ScoreDistribution
        The outlierness of training steps, each stretch judged by the others.
    threshold_ : float
        Outlierness that a share of ``false_alarms`` of normal steps exceeds.
    focus_threshold_ : float
        The same for the relevance at a step itself, which decides where events begin and end.
    notes_ : tuple of str
        What was noticed about the series in training.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> rng = np.random.default_rng(0)
    >>> normal = np.sin(np.arange(600) / 5) + rng.normal(scale=0.1, size=600)
    >>> new = np.sin(np.arange(300) / 5) + rng.normal(scale=0.1, size=300)
    >>> new[150:160] += 2
    >>> found = whyodd.SeriesDetector().fit(normal).outlierness(new)
    >>> bool(140 < found.argmax() < 170)
    True
    """

    channels_: tuple[str, ...]
    windows_: tuple[int, ...]
    units_: Units
    values_: NDArray[np.float32]
    views_: list[View]
    starts_: list[Indices]
    factors_: list[Floats]
    distribution_: ScoreDistribution
    threshold_: float
    focus_threshold_: float
    offset_: float
    notes_: tuple[str, ...]
    fingerprint_: str
    time_: str | None

    def __init__(
        self,
        windows: int | Sequence[int] | None = None,
        *,
        false_alarms: float | None = None,
        trusted: bool = False,
    ) -> None:
        self.windows = windows
        self.false_alarms = false_alarms
        self.trusted = trusted

    def fit(
        self,
        series: Any,
        y: None = None,  # noqa: ARG002
        *,
        time: str | None = None,
        progress: bool = False,
    ) -> SeriesDetector:
        """Learn from a normal series: a data frame with a row per step, or an array (T,) or (T, C).

        ``time``: column that holds the time, if that is not clear. ``progress``: show it on standard error.
        """
        self.fit_judge(series, time=time, progress=progress)
        return self

    def fit_judge(self, series: Any, *, time: str | None = None, progress: bool = False) -> StepScores:
        """Learn from a series and judge it, each stretch by the others."""
        data = series if isinstance(series, Series) else read_series(series, time)
        lengths = self._lengths(len(data.values))
        if self.false_alarms is not None and not (
            isinstance(self.false_alarms, Real) and 0.0 < self.false_alarms <= 0.5
        ):
            raise ValueError(
                f"false_alarms={self.false_alarms!r}: expected a share of the steps, above 0 and at most 0.5."
            )
        # An interrupted fit must not leave a model that looks fitted.
        self.__dict__.pop("threshold_", None)
        units = Units.of(data.values)
        if units.never_varied.all():
            raise ValueError(
                "No channel of the series ever varies, so there is nothing to learn from. Pass a series "
                "that varies."
            )
        values = units.scaled(data.values).astype(np.float32)
        lengths = _with_room(values, lengths, data)
        rounds = 1 if self.trusted else 2
        views = _views(values, lengths)
        everything = [whole_starts(values, view.width) for view in views]
        shown = [
            _shown(starts, view.width, values.shape[1])
            for starts, view in zip(everything, views, strict=True)
        ]
        total, learned = rounds * sum(map(len, shown)), everything
        with progress_bar(total, "Learning windows") if progress else nullcontext(_unheard) as told:
            report = _adding(told)
            for _ in range(rounds):
                looks = [
                    look(values, rows, view, by_others(values, starts, view, rows), report)
                    for rows, starts, view in zip(shown, learned, views, strict=True)
                ]
                kept = [_kept(each, self.trusted) for each in looks]
                factors = [_factors(each, some) for each, some in zip(looks, kept, strict=True)]
                learned = [
                    _but_near(starts, each.starts[~some])
                    for starts, each, some in zip(everything, looks, kept, strict=True)
                ]
        scores = _scores(looks, views, factors, data.at, len(values))
        self.channels_, self.time_ = data.channels, time
        self.units_, self.values_, self.windows_, self.views_ = units, values, tuple(lengths), views
        self.starts_, self.factors_, self.notes_ = learned, factors, (*data.notes, *_notes(data, units))
        self.fingerprint_ = data.fingerprint
        normal = np.isfinite(scores.outlierness)
        if not self.trusted:
            normal &= _not_gross(looks, views, factors, len(values))[data.at]
        self.distribution_ = ScoreDistribution(scores.outlierness[normal])
        allowed = self.allowed_in(len(values))
        self.focus_threshold_ = float(np.quantile(scores.focus[normal], 1.0 - allowed))
        self.threshold_ = self.distribution_.threshold(allowed)
        self.offset_ = -self.threshold_
        return scores

    def allowed_in(self, steps: int) -> float:
        """Share of normal steps that may be called odd in a series of ``steps`` steps."""
        if self.false_alarms is not None:
            return float(self.false_alarms)
        return min(_FALSE_ALARMS, _MOST_FALSE_ALARMS / steps)

    def read(self, series: Any, *, time: str | None = None, what: str = "The series") -> Series:
        """Read a series with the channels of the fit, or say in one sentence what is wrong with it."""
        check_is_fitted(self, "threshold_")
        if isinstance(series, Series):
            return series
        time = self.time_ if time is None else time
        return read_series(series, time, what=what, channels=self.channels_)

    def judge(self, series: Any, *, time: str | None = None, progress: bool = False) -> StepScores:
        """How odd each step is, and in which channels; a training series is judged stretch by stretch."""
        data = self.read(series, time=time)
        values = self.units_.scaled(data.values).astype(np.float32)
        shown = [
            _shown(whole_starts(values, view.width), view.width, values.shape[1]) for view in self.views_
        ]
        if not sum(map(len, shown)):
            raise ValueError(
                f"The shortest window needs {min(self.windows_)} consecutive steps without a gap, and the "
                "series has no such stretch. Fill the gaps, or leave out the channel with most of them."
            )
        is_known = data.fingerprint == self.fingerprint_
        total = sum(map(len, shown))
        with progress_bar(total, "Judging windows") if progress else nullcontext(_unheard) as told:
            report = _adding(told)
            looks = []
            for rows, starts, view in zip(shown, self.starts_, self.views_, strict=True):
                by = by_others if is_known and len(rows) else by_all
                networks = by(self.values_, starts, view, rows)
                looks.append(look(values, rows, view, networks, report))
        return _scores(looks, self.views_, self.factors_, data.at, len(values))

    def outlierness(self, series: Any) -> Floats:
        """O (T,) of each step: 1 for a usual one; NaN where a gap is too close for any window."""
        return self.judge(series).outlierness

    def p_values(self, series: Any) -> Floats:
        """Share (T,) of normal steps that are at least as odd as each step."""
        return self.p_values_of(self.outlierness(series))

    def p_values_of(self, outlierness: Floats) -> Floats:
        """Share of normal steps that are at least as odd; NaN stays NaN."""
        check_is_fitted(self, "threshold_")
        return np.where(np.isnan(outlierness), np.nan, self.distribution_.p_values(outlierness))

    def score_samples(self, series: Any) -> Floats:
        """Minus the outlierness (T,), as in scikit-learn."""
        return -self.outlierness(series)

    def decision_function(self, series: Any) -> Floats:
        """Threshold minus outlierness (T,): negative for odd steps."""
        return self.score_samples(series) - self.offset_

    def predict(self, series: Any) -> NDArray[np.int64]:
        """-1 for odd steps, +1 for all others (T,)."""
        return np.where(self.decision_function(series) < 0.0, -1, 1)

    def bands(self, series: Any, start: int, stop: int) -> Bands:
        """Relevance by frequency: which periods make the rows from ``start`` to before ``stop`` odd.

        It looks at the windows that cover these rows, with the length nearest to theirs.
        """
        data = self.read(series)
        if not 0 <= start < stop <= len(data):
            raise ValueError(
                f"start={start!r}, stop={stop!r}: expected the first row and the one after the last, of "
                f"{len(data)} rows."
            )
        first, last = int(data.at[start]), int(data.at[stop - 1])
        lengths = np.array(self.windows_)
        k = int(np.abs(np.log(lengths / (last - first + 1))).argmin())
        values = self.units_.scaled(data.values).astype(np.float32)
        return bands_of(
            values,
            (first, last + 1),
            int(lengths[k]),
            (self.values_, self.starts_[k]),
            self.factors_[k],
            data.fingerprint == self.fingerprint_,
        )

    def _lengths(self, steps: int) -> list[int]:
        if steps < _FEWEST:
            many = "1 step" if steps == 1 else f"{steps} steps"
            raise ValueError(f"The series has {many}, expected at least {_FEWEST} to learn from.")
        if self.windows is None:
            most = steps // _ROOM
            return [width for width in LENGTHS if width <= most] or [max(most, 1)]
        given = list(self.windows) if isinstance(self.windows, Iterable) else [self.windows]
        for width in given:
            if not isinstance(width, Integral) or isinstance(width, bool) or int(width) < 1:
                raise ValueError(f"windows={self.windows!r}: expected lengths of at least 1 step.")
            if 2 * int(width) > steps:
                raise ValueError(
                    f"The series has {steps} steps, fewer than two windows of {width}. Use a shorter window."
                )
        if not given:
            raise ValueError("windows is empty: expected at least one length.")
        return sorted({int(width) for width in given})


def _with_room(values: Scaled, lengths: Sequence[int], data: Series) -> list[int]:
    """Lengths with enough windows without gaps to learn from, and to judge, in all parts of the series."""
    kept = []
    for width in lengths:
        starts = whole_starts(values, width)
        # Each fifth of the windows is judged by those of the others that share no step with it.
        if starts.size >= 2 and starts[-1] - starts[0] >= 2 * width:
            kept.append(width)
    if not kept:
        missing = np.isnan(data.given).mean(axis=0)
        worst = int(missing.argmax())
        raise ValueError(
            f"The series has no two windows of {lengths[0]} consecutive steps without gaps: "
            f"{data.channels[worst]!r} lacks {missing[worst]:.0%} of its values. Fill the gaps, leave that "
            "channel out, or use shorter windows."
        )
    return kept


def _views(values: Scaled, lengths: Sequence[int]) -> list[View]:
    """Values at all lengths, and how far channels vary at the middle one."""
    middle = lengths[len(lengths) // 2]
    views: list[View] = [Values(width) for width in lengths]
    if middle >= _TO_VARY:
        starts = covering(whole_starts(values, middle), middle, max(middle // _DEPTH, 1))
        views.append(Spread.of(values, starts, middle))
    return views


def _shown(starts: Indices, width: int, n_channels: int) -> Indices:
    """Windows to judge: enough that a few cover each step, fewer for a very long series."""
    return covering(starts, width, stride_of(starts.size, width, n_channels))


def stride_of(n_steps: int, width: int, n_channels: int) -> int:
    """Steps between judged windows: an eighth of their width, or up to all of it to save time."""
    stride = max(width // _DEPTH, 1)
    work = float(n_steps) * 4_000 * (width * n_channels + 100)  # search, beside the products
    while stride < width and work / stride > _WORK:
        stride *= 2
    return min(stride, width)


def note_on_strides(n_steps: int, widths: Sequence[int], n_channels: int) -> list[str]:
    """A note on a series that is too long for the usual density of windows."""
    wide = [width for width in widths if stride_of(n_steps, width, n_channels) > max(width // _DEPTH, 1)]
    if not wide:
        return []
    told = ", ".join(
        f"those of {width} every {stride_of(n_steps, width, n_channels)} steps" for width in wide
    )
    return [f"The series is long, so windows are spaced further apart to save time ({told})."]


def _kept(looks: Looks, trusted: bool) -> NDArray[np.bool_]:
    """Which windows count as normal: all, or all but the oddest."""
    if trusted:
        return np.ones(len(looks.starts), dtype=bool)
    sums = looks.relevance.sum(axis=1)
    return np.asarray(sums <= np.quantile(sums, 1.0 - _LEFT_OUT))


def _factors(looks: Looks, kept: NDArray[np.bool_]) -> Floats:
    relevance = looks.relevance[kept]
    if not relevance.any():  # every window has an exact copy elsewhere
        relevance = np.ones_like(relevance)
    return usual_factors(relevance, relevance.sum(axis=1))[0]


def _not_gross(
    looks: Sequence[Looks], views: Sequence[View], factors: Sequence[Floats], length: int
) -> NDArray[np.bool_]:
    """Which steps (G,) count as normal: those that no clearly odd window covers.

    One strong anomaly makes hundreds of steps around it odd, which would hide the weaker ones. Beyond doubt
    is what is further from the median of log O than six times its spread, judged by the median and the tenth
    above it: what is normal is hardly ever.
    """
    gross = np.zeros(length, dtype=bool)
    for each, view, factor in zip(looks, views, factors, strict=True):
        logs = np.log(np.maximum((each.relevance * factor).sum(axis=1), 1e-12))
        middle, high = np.quantile(logs, [0.5, 0.9])
        far = each.starts[logs > middle + _DOUBTLESS * (high - middle) / _NINE_TENTHS]
        gross |= covered(far, view.width, length) > 0
    # If little else is left, all steps count as normal.
    return ~gross if 2 * np.count_nonzero(gross) < length else np.ones(length, dtype=bool)


def _but_near(starts: Indices, left_out: Indices) -> Indices:
    """Drop windows closer to one left out than judged windows are to one another."""
    if left_out.size == 0:
        return starts
    places = np.clip(np.searchsorted(left_out, starts), 1, max(left_out.size - 1, 1))
    nearest = np.minimum(
        np.abs(starts - left_out[np.minimum(places, left_out.size - 1)]),
        np.abs(starts - left_out[places - 1]),
    )
    apart = max(int(np.median(np.diff(starts))), 1)
    return np.asarray(starts[nearest >= apart])


def _scores(
    looks: Sequence[Looks], views: Sequence[View], factors: Sequence[Floats], at: Indices, length: int
) -> StepScores:
    """Means over the windows that cover a step, then over the available views."""
    shape = (length, looks[0].relevance.shape[1])
    sums, at_steps, counts = np.zeros(shape), np.zeros(shape), np.zeros((length, 1))
    for each, view, factor in zip(looks, views, factors, strict=True):
        folded = mean_over_covering(each.relevance * factor, each.starts, view.width, length)
        known = np.isfinite(folded[:, 0])
        sums[known] += folded[known]
        at_steps += each.at_steps * (
            view.width * factor
        )  # a usual step has one part in `width` of its window
        counts[:, 0] += known
    relevance = np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0)[at]
    return StepScores(relevance.sum(axis=1), relevance, (at_steps / np.maximum(counts, 1))[at])


def _notes(data: Series, units: Units) -> list[str]:
    if not units.never_varied.any():
        return []
    names = [name for name, still in zip(data.channels, units.never_varied, strict=True) if still]
    told = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return [f"Never varied in training, so any other value is odd: {told}."]


def _unheard(done: int) -> None:
    """Report no progress."""


def _adding(report: Callable[[int], None]) -> Callable[[int], None]:
    done = 0

    def add(more: int) -> None:
        nonlocal done
        done += more
        report(done)

    return add
