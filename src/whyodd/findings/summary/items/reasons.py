"""Reasons of images, series and messages in the form that the page uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.explanations.sentences import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.explanations.base import BaseExplanation

REASONS = 8  # of one item
_ROUNDING = 1e-9  # of a sum of shares


def whole(e: BaseExplanation, i: int) -> float:
    """The whole of the shares: the outlierness of item ``i``, or its sum of relevance in other units."""
    return float(e[i].whole[0])


def reason(
    name: str, relevance: float, total: float, *, value: str, expected: str, judgement: str = "unusual"
) -> dict[str, Any]:
    """One reason; a pattern has no direction and no usual range."""
    share = relevance / total
    return {
        "name": name,
        "value": value,
        "expected": expected,
        "direction": 0,
        "judgement": judgement,
        "relevance": relevance,
        "share": share,
        "share_text": percent(share),
        "usual": None,
        "common": None,
        "strip": None,
        "scatter": None,
    }


def others(
    e: BaseExplanation, i: int, reasons: Sequence[dict[str, Any]], count: int
) -> dict[str, Any] | None:
    """The relevance of item ``i`` that is in none of its ``reasons``, but in ``count`` others."""
    if count <= 0:
        return None
    share = explained_share(e, i) - sum(reason["share"] for reason in reasons)
    share = share if abs(share) > _ROUNDING else 0.0
    return {"count": count, "share": share, "share_text": percent(share)}


def explained_share(e: BaseExplanation, i: int) -> float:
    """Share of all relevance of item ``i``."""
    return e.share(i, float(e[i].summed_relevance[0]))


def unexplained(e: BaseExplanation, i: int) -> dict[str, Any] | None:
    """The share of item ``i`` that belongs to no single part; None in other units, or if o is 0."""
    if not e.is_additive or whole(e, i) <= 0.0:
        return None
    share = e.unexplained_share(i)
    return {"share": share, "share_text": percent(share)}
