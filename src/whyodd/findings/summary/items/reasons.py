"""Reasons of images, series and messages as the page takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import percent
from whyodd.findings.summary.panels import is_additive
from whyodd.texts.explanation import TextExplanation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.patches.explanation import PatchExplanation

REASONS = 8  # of one item
_ROUNDING = 1e-9  # of a sum of shares


def whole(e: PatchExplanation | TextExplanation, i: int) -> float:
    """What shares are of: the outlierness of item ``i``, or its sum of relevance in other units."""
    if isinstance(e, TextExplanation) or e.is_additive:
        return float(e.outlierness[i])
    return float(np.abs(e.relevance[i]).sum())


def reason(
    name: str, relevance: float, total: float, *, value: str, expected: str, judgement: str = "unusual"
) -> dict[str, Any]:
    """One reason; there is no direction in a pattern, and no usual range of it."""
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
    }


def others(
    e: PatchExplanation | TextExplanation, i: int, reasons: Sequence[dict[str, Any]], count: int
) -> dict[str, Any] | None:
    """The part of the relevance of item ``i`` that is in none of its ``reasons``, but in ``count`` others."""
    if count <= 0 or not reasons:
        return None
    share = explained_share(e, i) - sum(reason["share"] for reason in reasons)
    share = share if abs(share) > _ROUNDING else 0.0
    return {"count": count, "share": share, "share_text": percent(share)}


def explained_share(e: PatchExplanation | TextExplanation, i: int) -> float:
    """Share of all relevance of item ``i``."""
    relevance = float(np.sum(e.relevance[[i]] if isinstance(e, TextExplanation) else e.relevance[i]))
    relevance += float(e.absent_relevance[i]) if isinstance(e, TextExplanation) else 0.0
    return relevance / whole(e, i)


def unexplained(e: PatchExplanation | TextExplanation, i: int) -> dict[str, Any] | None:
    """The share of item ``i`` that belongs to no single part; None in other units, or of no outlierness."""
    if not is_additive(e) or whole(e, i) <= 0.0:
        return None
    share = float(e.unexplained[i]) / whole(e, i)
    return {"share": share, "share_text": percent(share)}
