"""What changed in a stretch of a series: level, spread, peaks, rhythm, or how channels move together.

Each is a number of a stretch, and is compared with the same number of normal stretches of the same length. It
is reported if it lies beyond nearly all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import distinct_numbers, duration, number
from whyodd.series.windows import cut, thinned, whole_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Share of normal stretches that may lie beyond the limits, on either side.
_RARE = 0.005
_STRETCHES = 1_000  # normal ones to compare with, at most
_NUMBERS = 4_000_000  # in them, at most
# Steps needed to measure how much a channel varies, and how two move together.
_TO_VARY, _TO_MOVE = 4, 16
# Correlation above which two channels are said to move together, or a rhythm is one.
_TOGETHER, _RHYTHM = 0.5, 0.4
_NEARLY = 0.9  # of the highest peak: the period is the first lag that reaches it
_LONGEST_PERIOD = 1_000
_SHORT = 3  # steps of a peak, at most, or an eighth of an event
_CLOSE = 0.999  # of a correlation of 1: beyond it, differences are rounding


@dataclass(frozen=True)
class Change:
    """The change in one channel.

    Attributes
    ----------
    kind : str
        "level", "spread", "spike", "rhythm", "relation", "new value" or "pattern".
    value, usual : float and pair of float
        The number of this stretch, and the limits of normal ones.
    excess : float
        How far it is outside: 1 at the limits, in halves of what lies between them.
    judged : str
        In a few words: "too high".
    told : str
        In a sentence.
    direction : int
        +1 too high, -1 too low, 0 neither.
    """

    kind: str
    value: float
    usual: tuple[float, float]
    excess: float
    judged: str
    told: str
    direction: int = 0


class Normal:
    """Normal stretches of a series, to compare others with.

    Parameters
    ----------
    values : ndarray of shape (G, C)
        The series that was learned, in its own units.
    channels : tuple of str
    is_own : bool, default False
        Whether it is the rest of the series that is judged, not another one.
    step_seconds : float, optional
        Length of a step.
    """

    def __init__(
        self,
        values: Floats,
        channels: tuple[str, ...],
        *,
        is_own: bool = False,
        step_seconds: float | None = None,
    ) -> None:
        self.values, self.channels, self.is_own = values, channels, is_own
        self.step_seconds = step_seconds
        self.never_varied = np.nanmax(values, axis=0) == np.nanmin(values, axis=0)
        self._limits: dict[tuple[Any, ...], tuple[float, float, float]] = {}
        self._relations: dict[tuple[int, int], tuple[Floats, Floats, Floats]] = {}

    def change(self, values: Floats, start: int, stop: int, c: int) -> Change:
        """The main change in channel ``c`` from step ``start`` to before ``stop`` of the values (G', C)."""
        x = values[start:stop, c]
        x = x[np.isfinite(x)]
        if x.size == 0:
            return Change(
                "pattern", np.nan, (np.nan, np.nan), 0.0, "missing", f"{self.channels[c]} is missing"
            )
        if self.never_varied[c]:
            return self._new_value(x, c)
        found = [*self._of_values(x, c), *self._of_rhythm(values, start, stop, c)]
        found += self._of_relations(values, start, stop, c)
        beyond = [change for change in found if change.excess > 1.0]
        return max(beyond, key=lambda change: change.excess) if beyond else self._pattern(x, c)

    def _new_value(self, x: Floats, c: int) -> Change:
        always = float(self.values[np.isfinite(self.values[:, c]), c][0])
        here = float(x[np.abs(x - always).argmax()])
        value, usual = distinct_numbers(here, always)
        name = self.channels[c]
        if value == usual:
            return self._pattern(x, c)
        always_so = "is always" if self.is_own else "never varied in training (always"
        told = f"{name} {always_so} {usual}{' elsewhere' if self.is_own else ')'}, now {value}"
        return Change(
            "new value", here, (always, always), np.inf, "new value", told, int(np.sign(here - always))
        )

    def _of_values(self, x: Floats, c: int) -> list[Change]:
        name, length = self.channels[c], len(x)
        found = []
        level = float(np.median(x))
        low, high, excess = self._outside("level", _median, level, c, length)
        if excess > 1.0:
            here, there = _told(level, (low, high))
            side = 1 if level > high else -1
            judged = "too high" if side > 0 else "too low"
            found.append(
                Change(
                    "level",
                    level,
                    (low, high),
                    excess,
                    judged,
                    f"{name} is {judged}: {here}, usually {there}",
                    side,
                )
            )
        for kind, summit, extreme, side in (
            ("highest", _largest, x.max(), 1),
            ("lowest", _least, x.min(), -1),
        ):
            low, high, excess = self._outside(kind, summit, float(extreme), c, length)
            limits = self._range(c)
            beyond = np.count_nonzero(x > limits[1] if side > 0 else x < limits[0])
            # If many steps are beyond, it is not a peak that is odd.
            is_short = beyond <= max(_SHORT, length // 8)
            if is_short and excess > 1.0 and (extreme > high if side > 0 else extreme < low):
                here, there = _told(float(extreme), limits)
                words = "up to" if side > 0 else "down to"
                told = f"{name} has a {'peak' if side > 0 else 'dip'} {words} {here}, usually {there}"
                # A level that moved has its own words for this.
                found.append(
                    Change(
                        "spike",
                        float(extreme),
                        limits,
                        0.5 * (1.0 + excess),
                        "peak" if side > 0 else "dip",
                        told,
                        side,
                    )
                )
        if length >= _TO_VARY:
            found += self._of_spread(x, c)
        return found

    def _of_spread(self, x: Floats, c: int) -> list[Change]:
        name, spread = self.channels[c], float(x.std())
        tiny = 1e-3 * self._units[c]
        low, high, excess = self._outside(
            "spread", lambda w: np.log(w.std(axis=1) + tiny), float(np.log(spread + tiny)), c, len(x)
        )
        if excess <= 1.0:
            return []
        usual = (_without(low, tiny), _without(high, tiny))
        here, there = _told(spread, usual)
        if np.ptp(x) == 0.0:
            told = f"{name} stands still at {number(float(x[0]))}, usually it varies by {there}"
            return [Change("spread", spread, usual, excess, "stands still", told)]
        much = "too much" if spread > usual[1] else "too little"
        least, most = distinct_numbers(float(x.min()), float(x.max()))
        told = f"{name} varies {much}, from {least} to {most}: by {here} around its mean, usually by {there}"
        return [Change("spread", spread, usual, excess, f"varies {much}", told)]

    def _of_rhythm(self, values: Floats, start: int, stop: int, c: int) -> list[Change]:
        period = self._periods[c]
        if period is None or stop - start < period:
            return []
        start, stop = _widened(start, stop, 2 * period, len(values))
        x = values[start:stop, c]
        if np.isnan(x).any() or len(x) < 2 * period:
            return []
        here = float(_repeats(x[None], period)[0])
        low, high, excess = self._outside(
            f"rhythm {period}",
            lambda w: _stretched(_repeats(w, period)),
            float(_stretched(np.array(here))),
            c,
            len(x),
        )
        if excess <= 1.0 or float(_stretched(np.array(here))) > low:
            return []
        told = f"{self.channels[c]} lost its rhythm of about {self._length(period)}"
        usual = (float(np.tanh(low)), float(np.tanh(high)))
        return [Change("rhythm", here, usual, excess, "lost its rhythm", told)]

    def _of_relations(self, values: Floats, start: int, stop: int, c: int) -> list[Change]:
        """The other channel whose relation to this one is the most unusual."""
        if values.shape[1] == 1:
            return []
        start, stop = _widened(start, stop, _TO_MOVE, len(values))
        x = values[start:stop]
        if np.isnan(x).any() or len(x) < _TO_MOVE:
            return []
        here = _stretched(_correlations(x[None], c)[0])
        low, middle, high = self._usual_relations(c, _quantised(len(x), len(self.values)))
        half = np.maximum((high - low) / 2.0, 1e-3)
        excess = np.abs(here - (low + high) / 2.0) / half
        excess[c] = 0.0
        excess[self.never_varied] = 0.0
        # Only what is worth a sentence: it used to move together, or does so now.
        plain, usual = np.tanh(here), np.tanh(middle)
        excess[(np.abs(usual) < _TOGETHER) & (np.abs(plain) < _TOGETHER)] = 0.0
        other = int(excess.argmax())
        if not excess[other] > 1.0:
            return []
        words = _relation_words(float(plain[other]), float(usual[other]))
        # In one order, whichever of the two was given.
        first, second = (self.channels[each] for each in sorted((c, other)))
        told = f"{first} and {second} {words}"
        limits = (float(np.tanh(low[other])), float(np.tanh(high[other])))
        judged = f"at odds with {self.channels[other]}"
        return [Change("relation", float(plain[other]), limits, float(excess[other]), judged, told)]

    def _pattern(self, x: Floats, c: int) -> Change:
        low, high = float(x.min()), float(x.max())
        where = f"around {number(low)}" if low == high else f"between {number(low)} and {number(high)}"
        return Change(
            "pattern", float(np.median(x)), self._range(c), 0.0, "unusual pattern",
            f"{self.channels[c]} has an unusual pattern {where}",
        )  # fmt: skip

    def _outside(
        self, kind: str, function: Any, here: float, c: int, length: int
    ) -> tuple[float, float, float]:
        """Limits of normal stretches, and how far outside of them a number is: 1 at the limits."""
        size = _quantised(length, len(self.values))
        key = (kind, c, size)
        if key not in self._limits:
            column = self.values[:, [c]]
            starts = thinned(whole_starts(column, size), min(_STRETCHES, max(_NUMBERS // size, 2)))
            if starts.size == 0:
                self._limits[key] = (-np.inf, np.inf, np.inf)
            else:
                numbers = function(cut(column, starts, size))
                low, high = np.quantile(numbers, [_RARE, 1.0 - _RARE])
                floor = 1e-3 * ((self._units[c] or 1.0) if kind in ("level", "highest", "lowest") else 1.0)
                self._limits[key] = (float(low), float(high), max(float(high - low) / 2.0, floor))
        low, high, half = self._limits[key]
        return low, high, abs(here - (low + high) / 2.0) / half if np.isfinite(half) else 0.0

    def _usual_relations(self, c: int, size: int) -> tuple[Floats, Floats, Floats]:
        """Low limit, median and high limit (C,) of the correlation with each, as Fisher's z."""
        if (c, size) not in self._relations:
            n_channels = self.values.shape[1]
            most = min(_STRETCHES, max(_NUMBERS // (size * n_channels), 20))
            starts = thinned(whole_starts(self.values, size), most)
            low, middle, high = (np.full(n_channels, limit) for limit in (-np.inf, 0.0, np.inf))
            if starts.size:
                windows = self.values[starts[:, None] + np.arange(size)]
                numbers = _stretched(_correlations(windows, c))
                low, middle, high = np.quantile(numbers, [_RARE, 0.5, 1.0 - _RARE], axis=0)
            self._relations[c, size] = low, middle, high
        return self._relations[c, size]

    @cached_property
    def _units(self) -> Floats:
        return np.asarray(np.nan_to_num(np.nanstd(self.values, axis=0)))

    def _range(self, c: int) -> tuple[float, float]:
        """Range that nearly all steps of training are in."""
        if ("range", c) not in self._limits:
            low, high = np.nanquantile(self.values[:, c], [_RARE, 1.0 - _RARE])
            self._limits["range", c] = (float(low), float(high), 0.0)
        low, high, _ = self._limits["range", c]
        return low, high

    @cached_property
    def _periods(self) -> list[int | None]:
        return [period_of(column) for column in self.values.T]

    def _length(self, steps: int) -> str:
        return f"{steps} steps" if self.step_seconds is None else duration(steps * self.step_seconds)


def period_of(values: Floats) -> int | None:
    """The period of a channel in steps: the lag of its highest autocorrelation after the first low.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.series.changes import period_of
    >>> period_of(np.sin(2 * np.pi * np.arange(500) / 25))
    25
    """
    x = np.asarray(values, dtype=np.float64)[: 50 * _LONGEST_PERIOD]
    x = np.where(np.isnan(x), np.nanmean(x) if np.isfinite(x).any() else 0.0, x)
    x, n = x - x.mean(), len(x)
    if n < 8 or not x.any():
        return None
    power = np.abs(np.fft.rfft(x, 2 * n)) ** 2
    likeness = np.fft.irfft(power)[: min(n // 3, _LONGEST_PERIOD)]
    likeness = likeness / likeness[0] * n / (n - np.arange(len(likeness)))
    unlike = np.flatnonzero(likeness < 0.0)
    if unlike.size == 0 or unlike[0] + 1 >= len(likeness):
        return None
    after = likeness[unlike[0] :]
    peaks = np.flatnonzero((after[1:-1] >= after[:-2]) & (after[1:-1] > after[2:])) + 1
    if peaks.size == 0 or after[peaks].max() < _RHYTHM:
        return None
    # Its multiples are as good, or better by chance.
    first = peaks[after[peaks] >= _NEARLY * after[peaks].max()][0]
    return int(unlike[0] + first)


def _quantised(length: int, longest: int) -> int:
    """Length of the normal stretches for a comparison: the same length, or up to half of it."""
    size = min(length, max(longest // 4, 1))
    return size if size < 8 else int(2 ** np.floor(np.log2(size)))


def _widened(start: int, stop: int, least: int, length: int) -> tuple[int, int]:
    """At least this many steps, with the same middle where possible."""
    more = max(least - (stop - start), 0)
    start = max(min(start - more // 2, length - (stop - start) - more), 0)
    return start, min(max(start + least, stop), length)


def _median(windows: Floats) -> Floats:
    return np.median(windows, axis=1)


def _largest(windows: Floats) -> Floats:
    return np.asarray(windows.max(axis=1))


def _least(windows: Floats) -> Floats:
    return np.asarray(windows.min(axis=1))


def _repeats(windows: Floats, period: int) -> Floats:
    """Correlation (n,) of each window with itself a period later; 0 for one shorter than a period."""
    if windows.shape[1] <= period + 1:
        return np.zeros(len(windows))
    before, after = windows[:, :-period], windows[:, period:]
    before, after = before - before.mean(axis=1, keepdims=True), after - after.mean(axis=1, keepdims=True)
    return _ratio((before * after).sum(axis=1), (before**2).sum(axis=1) * (after**2).sum(axis=1))


def _correlations(windows: Floats, c: int) -> Floats:
    """Correlation (n, C) of channel ``c`` with each in windows (n, L, C); 0 with a constant one."""
    away = windows - windows.mean(axis=1, keepdims=True)
    size = np.abs(windows).max(axis=1, keepdims=True)
    away = np.where(np.abs(away) <= 1e-12 * size, 0.0, away)
    squares = (away**2).sum(axis=1)
    return _ratio((away * away[:, :, [c]]).sum(axis=1), squares * squares[:, [c]])


def _ratio(products: Floats, squares: Floats) -> Floats:
    return np.divide(products, np.sqrt(squares), out=np.zeros_like(products), where=squares > 0.0)


def _stretched(correlation: Floats) -> Floats:
    """Fisher's z, in which differences near ±1 count as much as they are rare."""
    return np.asarray(np.arctanh(_CLOSE * np.clip(correlation, -1.0, 1.0)))


def _without(log_sum: float, tiny: float) -> float:
    """The spread whose logarithm with ``tiny`` added is given; 0 if only rounding is left."""
    spread = float(np.exp(log_sum)) - tiny
    return spread if spread > 1e-6 * tiny else 0.0


def _relation_words(here: float, usual: float) -> str:
    if abs(usual) >= _TOGETHER:
        if here * usual < 0.0 and abs(here) >= _TOGETHER:
            return "move against each other" if usual > 0 else "move together, usually against each other"
        if abs(here) < abs(usual):
            return "no longer move together" if usual > 0 else "no longer move against each other"
        return "move together more closely than usual"
    return (
        "move together, usually they do not" if here > 0 else "move against each other, usually they do not"
    )


def _told(value: float, usual: tuple[float, float]) -> tuple[str, str]:
    """A value and its usual range, with enough digits to see that it lies outside."""
    nearest = usual[0] if abs(value - usual[0]) < abs(value - usual[1]) else usual[1]
    here, edge = distinct_numbers(value, nearest)
    other = number(usual[1] if nearest == usual[0] else usual[0])
    low, high = (edge, other) if nearest == usual[0] else (other, edge)
    return here, low if low == high else f"{low} to {high}"
