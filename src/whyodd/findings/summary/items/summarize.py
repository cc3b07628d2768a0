"""The report of images, series and messages, as a plain dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyodd.explanations.base import IMAGES
from whyodd.explanations.sentences import number
from whyodd.findings.summary.items.judged_images import first_region, judged_item, judged_reasons
from whyodd.findings.summary.items.messages import message_item, message_reasons, strongest
from whyodd.findings.summary.items.pictures import image_item, image_reasons, room
from whyodd.findings.summary.items.reasons import others, unexplained, whole
from whyodd.findings.summary.items.series import series_item, series_reasons
from whyodd.findings.summary.panels import (
    conservation_panel,
    rests_on_panel,
    unexplained_panel,
)
from whyodd.images import ImageExplanation
from whyodd.patches.colours import common_limit
from whyodd.patches.places import place_text
from whyodd.texts.explanation import WRITTEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.findings.findings import Findings
    from whyodd.patches.explanation import PatchExplanation
    from whyodd.texts.explanation import TextExplanation

    Items = PatchExplanation | TextExplanation

# Items that are listed without details.
_LISTED = 500


def summarize_items(found: Findings, top: int, checks: bool) -> dict[str, Any]:  # noqa: ARG001
    """Cards of the oddest images, series or messages, and lines for the others."""
    e, listed, threshold = found.explanation, found.odd, found.threshold
    shown = listed[: min(top, len(listed))]
    rest = listed[len(shown) : len(shown) + _LISTED]
    kind = _TELLERS[e.kind.name](e, shown)
    return {
        "usual_source": kind.usual_source,
        "groups": [],
        "anomalies": [
            {**_anomaly(shown, i, threshold, kind), "how_odd": found.how_odd(i)} for i in range(len(shown))
        ],
        "rest": [_line(rest, i, len(shown) + i + 1, kind) for i in range(len(rest))],
        "n_unlisted": len(listed) - len(shown) - len(rest),
        "trust": {"panels": [conservation_panel(e), unexplained_panel(e), *_rests_on(found)], "rows": len(e)},
        "notes": kind.notes,
    }


def _rests_on(found: Findings) -> list[dict[str, Any]]:
    """Pictures have comparable places; times of series and words of messages are not comparable."""
    return [rests_on_panel(found.audit())] if found.explanation.kind is IMAGES else []


@dataclass(frozen=True)
class _Teller:
    """The report of one kind of items: functions of an explanation and a position in it.

    Attributes
    ----------
    item : callable
        The item itself.
    reasons : callable
        Its reasons, and how many parts of the item are in none of them.
    main : callable
        The main reason in words.
    usual_source : str
        What usual means.
    notes : list of str
        What a reader should know of how these numbers came about.
    """

    item: Callable[[Any, int], dict[str, Any]]
    reasons: Callable[[Any, int], tuple[list[dict[str, Any]], int]]
    main: Callable[[Any, int], str]
    usual_source: str
    notes: list[str]


def _of_images(e: Any, shown: Any) -> _Teller:
    if isinstance(e, ImageExplanation):
        each = room(len(shown))
        return _Teller(
            lambda e, i: judged_item(e, i, each),
            judged_reasons,
            first_region,
            _USUAL_IMAGE,
            _notes_on_sizes(e),
        )
    # From all images, not only those shown, so that calm ones look calm.
    limit, each = common_limit(e.relevance), room(len(shown))
    return _Teller(
        lambda e, i: image_item(e, i, limit, each), image_reasons, _place, _WINDOWS, _notes_on_windows(e)
    )


def _of_series(e: PatchExplanation, shown: PatchExplanation) -> _Teller:  # noqa: ARG001
    return _Teller(series_item, series_reasons, _first_channel, _WINDOWS, _notes_on_windows(e))


def _of_messages(e: TextExplanation, shown: TextExplanation) -> _Teller:
    limit = strongest(shown)
    usual = "" if e.usage is None else "Usual means the median of normal messages of similar length."
    return _Teller(lambda e, i: message_item(e, i, limit), message_reasons, _first_term, usual, [])


_USUAL_IMAGE = "Usual means the mean of the normal images, each judged by a model of the others."
_WINDOWS = "Usual means the mean outlierness of the training windows, each judged without itself."
# Kind of item -> functions that report it, given all items and those shown.
_TELLERS: dict[str, Callable[[Any, Any], _Teller]] = {
    "images": _of_images,
    "series": _of_series,
    "texts": _of_messages,
}


def _anomaly(e: Items, i: int, threshold: float | None, kind: _Teller) -> dict[str, Any]:
    reasons, beside = kind.reasons(e, i) if whole(e, i) > 0.0 else ([], 0)
    told_rest = WRITTEN if getattr(e, "usage", None) is not None else ()
    return {
        **_head(e, i, i + 1),
        "times": float(e.outlierness[i]) / threshold if threshold is not None and threshold > 0.0 else None,
        "how_odd": None,
        "why": e.why(i),
        "reasons": reasons,
        "others": others(e, i, [one for one in reasons if one["judgement"] not in told_rest], beside)
        if reasons
        else None,
        # A part that belongs to no single word may be a reason, too: the writing of words.
        "unexplained": None if any(one["judgement"] in told_rest for one in reasons) else unexplained(e, i),
        "neighbors": [],
        "similar": None,
        "context": None,
        "change": None,
        "change_missing": None,
        "item": kind.item(e, i),
    }


def _line(e: Items, i: int, rank: int, kind: _Teller) -> dict[str, Any]:
    return {**_head(e, i, rank), "main": kind.main(e, i) if whole(e, i) > 0.0 else "nothing is odd about it"}


def _head(e: Items, i: int, rank: int) -> dict[str, Any]:
    row, outlierness = int(e.rows[i]), float(e.outlierness[i])
    own = None if e.ids is None else e.ids[i]
    return {
        "rank": rank,
        "row": row,
        "id": own,
        "name": e.names[i],
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
    if not first:
        return "no word stands out"
    return " ".join(f"{reason['name']} {reason['judgement']}" for reason in first)


def _notes_on_sizes(e: ImageExplanation) -> list[str]:
    sizes = {data.shape[:2] for data in e.data}
    if len(sizes) == 1:
        return []
    return ["The images differ in size. Outlierness follows the oddest place, whatever the size."]


def _notes_on_windows(e: PatchExplanation) -> list[str]:
    nouns, found = e.kind.nouns, []
    if len({data.shape for data in e.data}) > 1:
        found.append(
            f"The {nouns} differ in size. Outlierness is the sum over all windows, so larger ones have more "
            "of it."
        )
    if n_twins := sum(twin is not None for twin in e.twins):
        found.append(
            f"{n_twins:,} of the {nouns} were in the training data. Each of these was judged without itself."
        )
    if e.model.prepare is not None:
        found.append(f"The model prepares {nouns} first: relevance refers to the prepared {nouns}.")
    return found
