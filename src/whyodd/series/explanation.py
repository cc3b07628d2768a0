"""The frozen result for one series: its events, their times, their channels, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.explanations.base import EVENTS, BaseExplanation, Kind, at_least_one
from whyodd.explanations.sentences import Reason, number, percent
from whyodd.inputs.frames import build_frame
from whyodd.series.changes import Normal
from whyodd.series.events import find_events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.series.changes import Change
    from whyodd.series.detector import SeriesDetector, StepScores
    from whyodd.series.events import Event
    from whyodd.series.reading import Series

    Floats = NDArray[np.float64]

_CHANNELS = 3  # reported for an event
# Channels of an event with a smaller share, or with less than half of the first one's, are not reported.
_WORTH_TELLING = 0.1
_MOST = 0.5  # of an event: if the reported channels have less, the sentence says that there are others


@dataclass(frozen=True, eq=False, repr=False)
class SeriesExplanation(BaseExplanation):
    """Events of one series, the oddest first: Σ_c relevance = outlierness.

    Made by :func:`whyodd.findings.series.find_in_series`. ``e[i]`` takes an event, a slice, a mask or an
    array of positions and returns a ``SeriesExplanation``.

    Attributes
    ----------
    events : tuple of Event
        First and last row of each, its peak and its oddest row.
    relevance : ndarray of shape (n, C)
        The outlierness of each event, divided onto channels by their relevance at its own rows.
    outlierness : ndarray of shape (n,)
        The largest of its rows. 1 is usual.
    unexplained : ndarray of shape (n,)
        0: all of it belongs to channels.
    rows : ndarray of shape (n,)
        The oddest row of each event.
    ids : tuple of str
        When each event is.
    series : Series
        The series itself.
    scores : StepScores
        How odd each row of it is.
    model : SeriesDetector
    normal : Normal
        What events are compared with to say what changed.
    threshold : float
    """

    _per_item: ClassVar[tuple[str, ...]] = (
        *("events", "relevance", "outlierness", "unexplained", "rows", "ids"),
    )

    events: tuple[Event, ...]
    relevance: Floats
    outlierness: Floats
    unexplained: Floats
    rows: NDArray[np.intp]
    ids: tuple[str, ...]
    series: Series
    scores: StepScores
    model: SeriesDetector
    normal: Normal
    threshold: float
    method: str = "dtd"

    @classmethod
    def of(
        cls, model: SeriesDetector, series: Series, scores: StepScores, threshold: float
    ) -> SeriesExplanation:
        """Events of a series that was judged."""
        gap = model.windows_[len(model.windows_) // 2]
        events = find_events(scores, threshold, model.focus_threshold_, gap)
        rows = np.array([event.oddest for event in events], dtype=np.intp)
        relevance = np.array([_parts(scores, event) for event in events])
        raw = model.units_.raw(model.values_.astype(np.float64))
        is_own = series.fingerprint == model.fingerprint_
        if is_own:
            _leave_out(raw, series, events)
        return cls(
            events=tuple(events),
            relevance=relevance,
            outlierness=relevance.sum(axis=1),
            unexplained=np.zeros(len(events)),
            rows=rows,
            ids=tuple(span_text(series, event) for event in events),
            series=series,
            scores=scores,
            model=model,
            normal=Normal(raw, model.channels_, is_own=is_own, step_seconds=series.step_seconds),
            threshold=threshold,
        )

    @property
    def kind(self) -> Kind:
        """Events, in words."""
        return EVENTS

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return self.series.channels

    @property
    def summed_relevance(self) -> Floats:
        """(n,) relevance of all channels."""
        return np.asarray(self.relevance.sum(axis=1))

    @property
    def mean_shares(self) -> Floats:
        """(C,) share of each channel, the mean over the events."""
        whole = np.where(self.outlierness > 0.0, self.outlierness, 1.0)
        return np.asarray((self.relevance / whole[:, None]).mean(axis=0))

    def by_channel(self, i: int) -> dict[str, float]:
        """Relevance of each channel of event ``i``, the largest first."""
        return {self.channels[c]: float(self.relevance[i, c]) for c in self._order(self._position(i))}

    def by_band(self, i: int) -> dict[str, float]:
        """Share of each band of periods in what makes event ``i`` odd: level, slow and fast waves."""
        event = self.events[self._position(i)]
        return self.model.bands(self.series, event.start, event.stop).shares

    def change(self, i: int, channel: str) -> Change:
        """What changed in a channel during event ``i``."""
        return self._changes(self._position(i), self.channels.index(channel))

    def reasons(self, i: int, k: int | None = None) -> list[Reason]:
        """Channels of event ``i``, the most relevant first, and what changed in each; at most ``k``."""
        i = self._position(i)
        order = self._order(i)[: None if k is None else at_least_one(k, "reasons")]
        return [self._reason(i, c) for c in order if self.relevance[i, c] > 0.0]

    def why(self, i: int = 0, k: int = _CHANNELS) -> str:
        """What changed during event ``i``, in one sentence with its ``k`` main channels."""
        i = self._position(i)
        reasons = self.reasons(i, k)
        if not reasons:
            return "nothing is odd about it"
        if len(self.channels) == 1:
            return reasons[0].words
        least = min(_WORTH_TELLING, reasons[0].share / 2.0)
        told = [each for n, each in enumerate(reasons) if n == 0 or each.share >= least]
        shares: dict[str, float] = {}
        for each in told:  # two channels may say the same about each other
            shares[each.words] = shares.get(each.words, 0.0) + each.share
        parts = [f"{words} ({percent(share)})" for words, share in shares.items()]
        more = int(np.count_nonzero(self.relevance[i] > 0.0)) - len(told)
        if more > 1 and sum(shares.values()) < _MOST:
            parts.append(f"{more} other channels have the rest")
        return "; ".join(parts)

    def table(self) -> dict[str, list[Any]]:
        """A line for each event, by column: when it is, how odd, in which channels, and what changed."""
        p = self.model.p_values_of(self.outlierness)
        when = [[self._time(row) for row in (e.start, e.stop - 1, e.peak)] for e in self.events]
        return {
            "event": list(range(1, len(self) + 1)),
            "start": [each[0] for each in when],
            "end": [each[1] for each in when],
            "peak": [each[2] for each in when],
            "first_row": [event.start for event in self.events],
            "last_row": [event.stop - 1 for event in self.events],
            "outlierness": self.outlierness.tolist(),
            "p_value": p.tolist(),
            "channels": [self._shares(i) for i in range(len(self))],
            "why": [self.why(i) for i in range(len(self))],
        }

    def to_frame(self) -> Any:
        """Data frame with a line for each event (pandas, or another installed package)."""
        return build_frame(self.table(), None)

    def _plain(self) -> dict[str, Any]:
        table = self.table()
        lines = [dict(zip(table, line, strict=True)) for line in zip(*table.values(), strict=True)]
        for i, line in enumerate(lines):
            line["relevance"] = self.by_channel(i)
        return {"channels": list(self.channels), "events": lines}

    def _html(self, shown: SeriesExplanation) -> str:
        cell = "style='padding:2px 14px 2px 0;text-align:left;vertical-align:top'"
        head = "".join(f"<th {cell}>{title}</th>" for title in ("event", "outlierness", "why"))
        lines = [
            f"<tr><td {cell}>{escape(shown.name(i))}</td>"
            f"<td {cell}>{number(float(shown.outlierness[i]))}</td>"
            f"<td {cell}>{escape(shown.why(i))}</td></tr>"
            for i in range(len(shown))
        ]
        return f"<table><tr>{head}</tr>{''.join(lines)}</table>"

    def _order(self, i: int) -> NDArray[np.intp]:
        """Channels, the most relevant first; first of all those that never varied in training and do now."""
        moved = self.normal.never_varied & (self.relevance[i] > 0.0)
        return np.lexsort((-self.relevance[i], ~moved))

    def _reason(self, i: int, c: int) -> Reason:
        change = self._changes(i, c)
        return Reason(
            name=self.channels[c],
            value=change.value,
            expected=float(np.mean(change.usual)),
            direction=change.direction,
            relevance=float(self.relevance[i, c]),
            share=self.share(i, float(self.relevance[i, c])),
            never_varied=change.kind == "new value",
            kind=change.kind,
            judged=change.judged,
            told=change.told,
        )

    def _changes(self, i: int, c: int) -> Change:
        event = self.events[i]
        key = (event.start, event.stop, c)
        if key not in self._known_changes:
            at = self.series.at
            start, stop = int(at[event.start]), int(at[event.stop - 1]) + 1
            self._known_changes[key] = self.normal.change(self.series.values, start, stop, c)
        return self._known_changes[key]

    @cached_property
    def _known_changes(self) -> dict[tuple[int, int, int], Change]:
        return {}

    def _shares(self, i: int) -> str:
        names = [(self.channels[c], self.share(i, float(self.relevance[i, c]))) for c in self._order(i)]
        return ", ".join(f"{name} {percent(share)}" for name, share in names[:_CHANNELS] if share > 0.0)

    def _time(self, row: int) -> Any:
        return row if self.series.times is None else self.series.when(row)


def _parts(scores: StepScores, event: Event) -> Floats:
    """Outlierness of the oddest row of an event (C,), by the relevance of channels at all of its rows."""
    sums = scores.at_steps[event.start : event.stop].sum(axis=0)
    if not sums.sum() > 0.0:
        return np.asarray(np.nan_to_num(scores.relevance[event.oddest]))
    whole = np.nan_to_num(scores.outlierness[event.oddest])
    return np.asarray(whole * sums / sums.sum())


def _leave_out(raw: Floats, series: Series, events: Sequence[Event]) -> None:
    """Drop the steps of events from the normal values, unless little else is left."""
    steps = [np.arange(series.at[event.start], series.at[event.stop - 1] + 1) for event in events]
    odd = np.unique(np.concatenate(steps))
    if 2 * odd.size <= len(raw):
        raw[odd] = np.nan


def span_text(series: Series, event: Event) -> str:
    """When an event is: its first and its last step."""
    first, last = series.when(event.start), series.when(event.stop - 1)
    zone = " (UTC)" if series.is_utc else ""
    if first == last:
        return f"{first}{zone}"
    if series.times is None:
        return f"steps {event.start} to {event.stop - 1}"
    # The same day is written once.
    day, _, clock = last.partition(" ")
    return f"{first} to {clock if clock and first.startswith(f'{day} ') else last}{zone}"
