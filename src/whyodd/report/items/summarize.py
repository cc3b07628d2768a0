"""All that a report tells of images, series and messages, as a plain dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.base import at_least_one
from whyodd.explanations.sentences import number
from whyodd.patches.colours import common_limit
from whyodd.patches.places import place_text
from whyodd.report.items.messages import message_item, message_reasons, strongest
from whyodd.report.items.pictures import image_item, image_reasons, room
from whyodd.report.items.reasons import others, unexplained, whole
from whyodd.report.items.series import series_item, series_reasons
from whyodd.report.tables.histogram import histogram
from whyodd.report.tables.panels import (
    conservation_panel,
    is_additive,
    method_of,
    unexplained_panel,
    words_of,
)
from whyodd.texts.explanation import TextExplanation
from whyodd.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whyodd.patches.explanation import PatchExplanation

    Items = PatchExplanation | TextExplanation

# Items that are listed without details.
_LISTED = 500
# What is shown if nothing is above the threshold.
_OUTSIDE_CHOICE = 10


def summarize_items(
    e: Items,
    *,
    threshold: float | None = None,
    title: str | None = None,
    top: int = 50,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Summary of which images, series or messages are odd and why, ready for JSON.

    Parameters
    ----------
    e : PatchExplanation or TextExplanation
    threshold : float, optional
        Outlierness above which an item is odd; by default that of the explanation. Without any all items are
        ranked, and none is called odd.
    title : str, optional
        What the items are called together.
    top : int, default 50
        How many items are told in detail.
    notes : sequence of str
        Further sentences.

    Returns
    -------
    dict
        Of numbers, texts, lists and dictionaries, without NaN; texts from the data are not escaped.
    """
    words = words_of(e)
    if len(e) == 0:
        raise ValueError(f"The explanation has no {words['nouns']}: there is nothing to report.")
    cut = _threshold(e, threshold)
    n_odd = 0 if cut["value"] is None else int(np.count_nonzero(e.outlierness > cut["value"]))
    listed = e[np.argsort(-e.outlierness, kind="stable")[: _n_listed(len(e), n_odd, cut["value"])]]
    shown = listed[: min(at_least_one(top, words["nouns"]), len(listed))]
    rest = listed[len(shown) : len(shown) + _LISTED]
    kind = _Kind.of(e, shown)
    return {
        "version": __version__,
        "kind": kind.name,
        "title": title or f"{len(e):,} {words['noun' if len(e) == 1 else 'nouns']}",
        "method": method_of(e),
        "is_additive": is_additive(e),
        "noun": words["noun"],
        "counts": {"rows": len(e), "odd": n_odd, "explained": len(e), "shown": len(shown)},
        "threshold": cut,
        "scores": histogram(e.outlierness, cut["value"]),
        "usual_source": kind.usual_source,
        "groups": [],
        "anomalies": [_anomaly(shown, i, cut["value"], kind) for i in range(len(shown))],
        "rest": [_line(rest, i, len(shown) + i + 1, kind) for i in range(len(rest))],
        "n_unlisted": len(listed) - len(shown) - len(rest),
        "trust": {"panels": [conservation_panel(e), unexplained_panel(e)], "rows": len(e)},
        "columns": None,
        "notes": [*notes, *_notes(e)],
        "made_by": None,
    }


@dataclass(frozen=True)
class _Kind:
    """What is told of images, series or messages: functions of an explanation and a position in it.

    Attributes
    ----------
    name : str
    item : callable
        The item itself.
    reasons : callable
        Its reasons, and how many parts of the item are in none of them.
    main : callable
        The main reason in words.
    usual_source : str
        What usual means.
    """

    name: str
    item: Callable[[Any, int], dict[str, Any]]
    reasons: Callable[[Any, int], tuple[list[dict[str, Any]], int]]
    main: Callable[[Any, int], str]
    usual_source: str

    @classmethod
    def of(cls, e: Items, shown: Items) -> _Kind:
        """The kind of ``e``; scales are those of all items ``shown`` on the page."""
        if isinstance(shown, TextExplanation):
            limit = strongest(shown)
            return cls("texts", lambda e, i: message_item(e, i, limit), message_reasons, _first_term, "")
        usual = "Usual is the mean outlierness of the windows of training, each without itself."
        if shown.is_series:
            return cls("series", series_item, series_reasons, _first_channel, usual)
        # Of all images, not only of those shown: calm ones look calm.
        limit, each = common_limit(e.relevance), room(len(shown))
        return cls("images", lambda e, i: image_item(e, i, limit, each), image_reasons, _place, usual)


def _threshold(e: Items, given: float | None) -> dict[str, Any]:
    """The one that was given, or that of the explanation if it has one."""
    own = getattr(e, "threshold", None)
    value = own if given is None else float(given)
    if value is None:
        source = (
            f"The model has no threshold for {words_of(e)['nouns']}: they are ranked by their outlierness."
        )
        return {"value": None, "text": "none", "source": source}
    if not np.isfinite(value):
        raise ValueError(f"threshold={given!r}: expected a number, such as 1.5.")
    source = (
        "The threshold is the model's own." if given is None else "The threshold was chosen for this report."
    )
    return {"value": float(value), "text": number(float(value)), "source": source}


def _n_listed(n: int, n_odd: int, threshold: float | None) -> int:
    return n if threshold is None else n_odd or _OUTSIDE_CHOICE


def _anomaly(e: Items, i: int, threshold: float | None, kind: _Kind) -> dict[str, Any]:
    reasons, beside = kind.reasons(e, i) if whole(e, i) > 0.0 else ([], 0)
    return {
        **_head(e, i, i + 1),
        "times": float(e.outlierness[i]) / threshold if threshold is not None and threshold > 0.0 else None,
        "why": e.why(i),
        "reasons": reasons,
        "others": others(e, i, reasons, beside),
        "unexplained": unexplained(e, i),
        "neighbors": [],
        "change": None,
        "change_missing": None,
        "item": kind.item(e, i),
    }


def _line(e: Items, i: int, rank: int, kind: _Kind) -> dict[str, Any]:
    return {**_head(e, i, rank), "main": kind.main(e, i) if whole(e, i) > 0.0 else "nothing is odd about it"}


def _head(e: Items, i: int, rank: int) -> dict[str, Any]:
    row, outlierness = int(e.rows[i]), float(e.outlierness[i])
    own = None if e.ids is None else e.ids[i]
    return {
        "rank": rank,
        "row": row,
        "id": own,
        "name": f"{words_of(e)['noun']} {row}" if own is None else own,
        "outlierness": outlierness,
        "outlierness_text": number(outlierness),
        "group": None,
    }


def _place(e: PatchExplanation, i: int) -> str:
    return place_text(e.strangest(i), e.items[i])


def _first_channel(e: PatchExplanation, i: int) -> str:
    place = _place(e, i)
    return place if len(e.channels) == 1 else f"{next(iter(e.by_channel(i)))}, {place}"


def _first_term(e: TextExplanation, i: int) -> str:
    first = message_reasons(e, i)[0][:1]
    return " ".join(f"{reason['name']} {reason['judgement']}" for reason in first)


def _notes(e: Items) -> list[str]:
    """What a reader should know of how these numbers came about."""
    if isinstance(e, TextExplanation):
        return []
    words, found = words_of(e), []
    if len({data.shape for data in e.data}) > 1:
        found.append(
            f"The {words['nouns']} differ in size. Outlierness is the sum over all windows, so that large "
            "ones have more of it."
        )
    if n_twins := sum(twin is not None for twin in e.twins):
        found.append(
            f"{n_twins:,} of the {words['nouns']} were in training, and were compared without themselves."
        )
    if e.model.prepare is not None:
        found.append(
            f"The model prepares {words['nouns']} first: relevance is that of what it makes of them."
        )
    return found
