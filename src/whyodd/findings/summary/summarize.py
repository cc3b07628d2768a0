"""The whole report of findings as one plain dictionary: for the page, the command line and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.explanations.base import EVENTS, IMAGES, TABLE
from whyodd.explanations.sentences import number
from whyodd.findings.summary.histogram import histogram
from whyodd.findings.summary.rows.summarize import summarize_rows
from whyodd.version import __version__

if TYPE_CHECKING:
    from whyodd.automatic.auto import AutoReport
    from whyodd.automatic.kinds import Column
    from whyodd.findings.findings import Findings


def summarize(found: Findings, top: int, checks: bool) -> dict[str, Any]:
    """Numbers, texts, lists and dictionaries, without NaN; texts from the data are not escaped.

    Parameters
    ----------
    found : Findings
    top : int
        Number of items reported in detail.
    checks : bool
        Whether to measure how far to trust the explanation, and to look for the smallest change of each row.
    """
    e, n = found.explanation, len(found)
    told = _told(found, top, checks)
    counts = {"rows": n, "odd": found.n_odd, "explained": len(e), "shown": len(told["anomalies"])}
    return {
        "version": __version__,
        "title": found.title or f"{n:,} {e.kind.noun if n == 1 else e.kind.nouns}",
        "kind": e.kind.name,
        "noun": e.kind.noun,
        "method": e.method,
        "is_additive": e.is_additive,
        "exactness": e.exactness,
        "fidelity": None if e.fidelity is None else dict(e.fidelity),
        "counts": counts,
        "threshold": {
            "value": found.threshold,
            "text": "none" if found.threshold is None else number(found.threshold),
            "source": f"The threshold: {found.threshold_source}.",
        },
        "scores": histogram(found.outlierness, found.threshold),
        "columns": None if found.auto_report is None else _columns(found.auto_report),
        "made_by": found.made_by,
        "compared": None,
        **told,
        "rests_on": _rests_on(found),
        "notes": [*found.notes, *told["notes"], *_exactness_notes(e)],
    }


def _told(found: Findings, top: int, checks: bool) -> dict[str, Any]:
    """The part of the report that a kind of item has for itself: anomalies, rest, groups, trust and so on."""
    kind = found.explanation.kind
    if kind is TABLE:
        return summarize_rows(found, top, checks)
    # A table needs no code for pictures, series and texts.
    if kind is EVENTS:
        from whyodd.findings.summary.items.events import summarize_events

        return summarize_events(found, top, checks)
    from whyodd.findings.summary.items.summarize import summarize_items

    return summarize_items(found, top, checks)


def _rests_on(found: Findings) -> dict[str, Any] | None:
    """The patterns of relevance that recur, the strongest first, and what to check."""
    if found.explanation.kind not in (TABLE, IMAGES):
        return None
    audit = found.audit()
    patterns = [
        {"name": p.name, "share": p.share, "count": len(p), "examples": list(p.examples)}
        for p in audit.patterns
    ]
    return {"note": audit.note, "patterns": patterns}


def _exactness_notes(e: Any) -> list[str]:
    return [f"Relevance is {e.label}."] if e.label else []


def _columns(report: AutoReport) -> dict[str, Any]:
    return {
        "used": [told_column(column) for column in report.columns if column.is_used],
        "set_aside": [told_column(column) for column in report.columns if not column.is_used],
        "model": report.told,
    }


def told_column(column: Column) -> dict[str, Any]:
    """A column's kind, the reason for it, and its values, as a plain dictionary."""
    return {
        "name": column.name,
        "kind": column.kind,
        "used": column.is_used,
        "note": column.note,
        "why": column.why,
        "gaps": column.n_gaps,
        "distinct": column.n_distinct,
        "values": column.values,
    }
