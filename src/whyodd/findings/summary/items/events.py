"""Events of a series for the page: the whole series with all events, and each one close up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number, percent
from whyodd.findings.summary.items.reasons import REASONS, others, reason
from whyodd.findings.summary.items.series import Thinning
from whyodd.findings.summary.panels import conservation_panel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.findings.findings import Findings
    from whyodd.series.explanation import SeriesExplanation

_LISTED = 500  # events without details
_DRAWN = 6  # channels of the whole series
_BINS = 1_000  # of the whole series: the page can be zoomed
_LABELS = 400  # points in time that the page can name
_AROUND = 48  # steps that are shown at least beside an event
_DIGITS = 5
_SHADED = 300  # events, at most, behind the whole series


def summarize_events(found: Findings, top: int, checks: bool) -> dict[str, Any]:  # noqa: ARG001
    """Cards of the oddest events, lines for the others, and the series as a whole."""
    e: SeriesExplanation = found.odd
    shown, rest = e[: min(top, len(e))], e[min(top, len(e)) :][:_LISTED]
    n_events = len(e) if found.n_odd else 0
    steps = f"{len(found):,} steps"
    lead = f"None of {steps} is odd. The oddest place is shown anyway."
    if n_events:
        events = "1 event" if n_events == 1 else f"{n_events:,} events"
        share = percent(found.n_odd / len(found))
        take = "it takes" if n_events == 1 else "they take"
        lead = f"{events} in {steps}: {take} {found.n_odd:,} of them ({share})."
    return {
        "lead": lead,
        "counts": {"rows": len(found), "odd": found.n_odd, "explained": len(e), "shown": len(shown)},
        "scored": "step",
        "timeline": _timeline(e, n_events),
        "usual_source": "Usual means the range of nearly all normal stretches of the same length.",
        "groups": [],
        "anomalies": [_anomaly(found, shown, i) for i in range(len(shown))],
        "rest": [{**_head(rest, i, len(shown) + i + 1), "main": rest.why(i)} for i in range(len(rest))],
        "n_unlisted": len(e) - len(shown) - len(rest),
        "trust": {"panels": [conservation_panel(e)], "rows": len(e)},
        "notes": [],
    }


def _head(e: SeriesExplanation, i: int, rank: int) -> dict[str, Any]:
    outlierness = float(e.outlierness[i])
    return {
        "rank": rank,
        "row": int(e.rows[i]),
        "id": None,
        "name": e.names[i],
        "outlierness": outlierness,
        "outlierness_text": number(outlierness),
        "group": None,
    }


def _anomaly(found: Findings, e: SeriesExplanation, i: int) -> dict[str, Any]:
    reasons, total = [], float(e.outlierness[i])
    for each in e.reasons(i, REASONS):
        told = reason(
            each.name, each.relevance, total or 1.0, value="", expected="", judgement=each.judged or "unusual"
        )
        reasons.append({**told, "direction": each.direction})
    beside = int(np.count_nonzero(e.relevance[i] > 0.0)) - len(reasons)
    threshold = float(found.threshold or 0.0)
    return {
        **_head(e, i, i + 1),
        "times": total / threshold if threshold > 0.0 else None,
        "how_odd": found.how_odd(i),
        "why": e.why(i),
        "reasons": reasons,
        "others": others(e, i, reasons, beside),
        "unexplained": None,
        "neighbors": [],
        "similar": None,
        "context": None,
        "change": None,
        "change_missing": None,
        "item": _near(e, i),
    }


def _near(e: SeriesExplanation, i: int) -> dict[str, Any]:
    """The channels of an event with the most relevance, from a little before it to a little after."""
    event, n = e.events[i], len(e.series)
    beside = max(event.stop - event.start, _AROUND)
    start, stop = max(event.start - beside, 0), min(event.stop + beside, n)
    thin = _thinned(stop - start, 200)
    order = np.argsort(-e.relevance[i], kind="stable")[:REASONS]
    chosen = [c for c in order if e.relevance[i, c] > 0.02 * e.outlierness[i]] or order[:1]
    heat = e.scores.at_steps[start:stop]
    bands = ", ".join(f"{name} {percent(share)}" for name, share in _bands(e, i).items() if share >= 0.1)
    return {
        "type": "series",
        "channels": [
            {
                "name": e.channels[c],
                "values": _rounded(thin.values(e.series.given[start:stop, c])),
                "relevance": _rounded(thin.sums(heat[:, c])),
            }
            for c in chosen
        ],
        "from": e.series.when(start),
        "to": e.series.when(stop - 1),
        "caption": f"Darker means more relevant.{f' By frequency: {bands}.' if bands else ''}",
    }


def _bands(e: SeriesExplanation, i: int) -> dict[str, float]:
    try:
        return e.by_band(i)
    except ValueError:  # a gap is too close
        return {}


def _timeline(e: SeriesExplanation, n_events: int) -> dict[str, Any]:
    n = len(e.series)
    thin = _thinned(n, _BINS)
    chosen = np.argsort(-e.mean_shares, kind="stable")[:_DRAWN]
    lines = [("outlierness", np.log10(np.maximum(e.scores.outlierness, 1e-2)))]
    lines += [(e.channels[c], e.series.given[:, c]) for c in chosen]
    channels = [{"name": name, "values": _rounded(thin.values(values))} for name, values in lines]
    rows = np.linspace(0, n - 1, min(n, _LABELS)).astype(np.intp)
    return {
        "channels": channels,
        "more": len(e.channels) - len(chosen),
        "threshold": float(np.log10(max(e.threshold, 1e-2))),
        "events": [
            {"rank": rank, "start": event.start / n, "stop": event.stop / n, "name": e.names[rank - 1]}
            for rank, event in enumerate(e.events[:_SHADED], start=1)
            if rank <= n_events
        ],
        "labels": [e.series.when(row) for row in rows],
    }


def _thinned(n: int, bins: int) -> Thinning:
    starts = (
        np.arange(n) if n <= 2 * bins else np.unique(np.linspace(0, n, bins, endpoint=False).astype(np.intp))
    )
    return Thinning(starts, n)


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None for value in values.tolist()]
