"""Whether a stream still looks like the training rows: the share of odd rows, and columns that moved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betainc, betaincinv

from whyodd.compute.points import to_dense
from whyodd.explanations.comparisons import RARE, span
from whyodd.explanations.sentences import percent, shown, text
from whyodd.scale.usual_rows import ColumnValues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.scale.usual_rows import UsualRows

    Floats = NDArray[np.float64]
    Event = dict[str, Any]

# A stream that does not change raises an alarm with less than this probability, however long it is. One half
# is for chance in the stream, the other for chance in the training rows; odd rows and columns share each
# half.
_FALSE_ALARM = 0.01
_PART = _FALSE_ALARM / 4.0
# Only a change that people would notice counts: twice as many odd rows as the model allows, or a tenth of the
# rows with other values. A committee's usual rows lack the oddest twentieth, less than a tenth.
_TIMES, _MOVED = 2.0, 0.1
# Range of most rows, reported if so many rows have other values that these ranges differ.
_MOST, _FAR = (0.1, 0.9), 0.6


class DriftMonitor:
    """Compares each window of a stream with the rows that a model learned from.

    It reports when something changes, and when it is as usual again, and nothing in between. Bounds hold for
    any distribution (Clopper and Pearson for odd rows; Dvoretzky, Kiefer, Wolfowitz and Massart for numbers;
    Hoeffding for categories and gaps), and together for all windows: the j-th may use 1/(j (j + 1)) of the
    false alarms. They take rows to be independent; where each is like the one before, take longer windows.

    Parameters
    ----------
    usual : UsualRows or callable
        What the rows were like; or a function that makes it of the data of the first window, if the model
        does not know.
    every : int
        Rows in a window.
    """

    def __init__(self, usual: Any, every: int) -> None:
        self.every = every
        self._usual = usual
        self._windows = 0
        self._odd: list[NDArray[np.bool_]] = []
        self._data: list[NDArray[Any]] = []
        self._n_held = 0
        self._changed: set[tuple[str, str]] = set()

    def add(self, is_odd: NDArray[np.bool_] | None, data: Any, rows: Sequence[int]) -> list[Event]:
        """Take in rows; return what changed in the windows that they complete.

        Parameters
        ----------
        is_odd : ndarray of bool of shape (n,), optional
            Whether each row is odd; None if the model does not say.
        data : ndarray of shape (n, d)
            Values as people know them.
        rows : sequence of int
            Number of each row in the stream.
        """
        events, start, values = [], 0, to_dense(data)
        while start < len(values):
            end = min(start + self.every - self._n_held, len(values))
            self._data.append(values[start:end])
            if is_odd is not None:
                self._odd.append(is_odd[start:end])
            self._n_held += end - start
            if self._n_held == self.every:
                events += self._judge(int(rows[end - 1]))
            start = end
        return events

    def _judge(self, last_row: int) -> list[Event]:
        """What changed in the present window, which is then cleared."""
        kinds = {part.dtype for part in self._data}
        data = np.concatenate([part.astype(object) if len(kinds) > 1 else part for part in self._data])
        odd = int(np.concatenate(self._odd).sum()) if self._odd else None
        self._data, self._odd, self._n_held = [], [], 0
        if callable(self._usual):
            self._usual = self._usual(data)
        self._windows += 1
        columns = sorted(self._of_columns(data), key=lambda event: -event["distance"])
        found = [*self._of_odd_rows(odd), *columns]
        return [{"row": last_row, "rows": self.every, **event} for event in found]

    # ---- odd rows -----------------------------------------------------------------------------------------

    def _of_odd_rows(self, odd: int | None) -> list[Event]:
        usual: UsualRows = self._usual
        if odd is None or usual.allowed is None:
            return []
        most = _most_odd(usual.allowed, usual.n_normal)
        share = odd / self.every
        told = {"what": "odd rows", "from": round(usual.allowed, 6), "to": share}
        recent = f"of the last {self.every:,} rows"
        return self._change(
            ("odd rows", ""),
            has_changed=_chance_of(odd, self.every, most) <= _PART * self._level,
            is_usual=share <= most,
            told=told,
            words=f"{percent(share)} {recent} are odd; about {percent(usual.allowed)} of normal rows are.",
            back=f"Only {percent(share)} {recent} are odd: about as usual again.",
        )

    @property
    def _level(self) -> float:
        return 1.0 / (self._windows * (self._windows + 1))

    # ---- columns ------------------------------------------------------------------------------------------

    def _of_columns(self, data: NDArray[Any]) -> list[Event]:
        usual: UsualRows = self._usual
        events: list[Event] = []
        for variable in usual.gaps:
            column = ColumnValues.of(data[:, variable], as_categories=variable in usual.shares)
            events += self._of_gaps(variable, column)
            if variable in usual.shares:
                events += self._of_categories(variable, column)
            elif column.numbers is not None and column.numbers.size:
                events += self._of_numbers(variable, column.numbers)
        return events

    def _bound(self, n_alternatives: int = 1) -> float:
        """How far chance may move shares of a window from those of usual rows, for all columns together."""
        usual: UsualRows = self._usual
        chances = 4.0 * len(usual.gaps) * n_alternatives / _PART  # values and gaps, above and below
        reference = math.sqrt(math.log(chances) / (2.0 * usual.n_rows))
        return reference + math.sqrt(math.log(chances / self._level) / (2.0 * self.every))

    def _of_numbers(self, variable: int, values: Floats) -> list[Event]:
        usual: UsualRows = self._usual
        known, form = usual.numbers[variable], usual.formats.get(variable)
        distance, at = _distance(known, np.sort(values))
        before, after = (np.quantile(part, _MOST, method="nearest").tolist() for part in (known, values))
        name = usual.names[variable]
        was, now = (span(low, high, form=form) for low, high in (before, after))
        recent = f"the last {self.every:,} rows"
        words = f"{name} shifted: most usual rows have {was}, most of {recent} have {now}."
        if distance < _FAR:  # overlapping ranges would not show it
            here, there = (percent(float(np.mean(part <= at))) for part in (values, known))
            words = (
                f"{name} shifted: {here} of {recent} have {shown(at, form)} or less, but {there} of "
                "usual rows."
            )
        return self._change(
            ("numbers", name),
            has_changed=distance > _MOVED + self._bound(),
            is_usual=distance <= _MOVED,
            told={"what": "numbers", "column": name, "from": before, "to": after, "distance": distance},
            words=words,
            back=f"{name} is about as usual again: most of {recent} have {now}.",
        )

    def _of_categories(self, variable: int, column: ColumnValues) -> list[Event]:
        usual: UsualRows = self._usual
        known, name = usual.shares[variable], usual.names[variable]
        other = RARE if RARE in known else ""
        new: dict[str, float] = {}
        for key, share in column.shares.items():
            key = key if key in known else other
            new[key] = new.get(key, 0.0) + share
        changes = {key: new.get(key, 0.0) - known.get(key, 0.0) for key in {*known, *new}}
        most = max(changes, key=lambda key: (abs(changes[key]), key), default="")
        distance = abs(changes.get(most, 0.0))
        before, after = known.get(most, 0.0), new.get(most, 0.0)
        shown = {RARE: "a rare value", "": "a value that usual rows do not have"}.get(most, text(most))
        recent = f"the last {self.every:,} rows"
        return self._change(
            ("categories", name),
            has_changed=distance > _MOVED + self._bound(len(changes) + 1),
            is_usual=distance <= _MOVED,
            told={
                "what": "categories",
                "column": name,
                "value": most,
                "from": before,
                "to": after,
                "distance": distance,
            },
            words=f"{name} changed: {percent(before)} of usual rows have {shown}, but {percent(after)} of "
            f"{recent}.",
            back=f"{name} is about as usual again.",
        )

    def _of_gaps(self, variable: int, column: ColumnValues) -> list[Event]:
        usual: UsualRows = self._usual
        before, after, name = usual.gaps[variable], column.gap_share, usual.names[variable]
        return self._change(
            ("gaps", name),
            has_changed=abs(after - before) > _MOVED + self._bound(),
            is_usual=abs(after - before) <= _MOVED,
            told={
                "what": "gaps",
                "column": name,
                "from": before,
                "to": after,
                "distance": abs(after - before),
            },
            words=f"{name} is missing in {percent(after)} of the last {self.every:,} rows, but in "
            f"{percent(before)} of usual rows.",
            back=f"{name} is missing about as often as usual again: in {percent(after)} of the rows.",
        )

    def _change(
        self,
        key: tuple[str, str],
        *,
        has_changed: bool,
        is_usual: bool,
        told: Event,
        words: str,
        back: str,
    ) -> list[Event]:
        """The events about one subject: it has changed, or is as usual again; nothing in between."""
        if has_changed and key not in self._changed:
            self._changed.add(key)
            return [{"event": "drift", **told, "words": words}]
        if is_usual and key in self._changed:
            self._changed.remove(key)
            return [{"event": "as usual", **told, "words": back}]
        return []


def _most_odd(allowed: float, n_normal: int) -> float:
    """Largest share of odd rows without drift: twice the allowed one, or more if few rows measure it.

    Examples
    --------
    >>> from whyodd.scale.drift import _most_odd
    >>> round(_most_odd(0.01, 100_000), 3), round(_most_odd(0.01, 200), 3)
    (0.02, 0.05)
    """
    seen = allowed * n_normal
    surely = float(betaincinv(seen + 1.0, max(n_normal - seen, 1.0), 1.0 - _PART))
    return min(max(_TIMES * allowed, surely), 1.0)


def _chance_of(count: int, n: int, share: float) -> float:
    """Probability that at least this many of ``n`` rows are odd, if each is with this probability.

    Examples
    --------
    >>> from whyodd.scale.drift import _chance_of
    >>> _chance_of(0, 10, 0.1), round(_chance_of(1, 2, 0.5), 3)
    (1.0, 0.75)
    """
    return 1.0 if count == 0 else float(betainc(count, n - count + 1.0, share))


def _distance(known: Floats, values: Floats) -> tuple[float, float]:
    """Largest gap between shares of two sorted samples up to a value (Kolmogorov, Smirnov), and where."""
    points = np.concatenate([known, values])
    below = [np.searchsorted(part, points, side="right") / part.size for part in (known, values)]
    gaps = np.abs(below[0] - below[1])
    return float(gaps.max()), float(points[gaps.argmax()])
