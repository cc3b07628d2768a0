"""Panels on how much an explanation accounts for, and on the part without a single reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.conservation import conservation_gap, unexplained_share
from whyodd.explanations.sentences import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.evaluation.audit import Audit
    from whyodd.explanations.base import BaseExplanation

    Doubles = NDArray[np.float64]

# Sums of some hundred single-precision numbers round by 1e-6 or so. A thousandth is more than that, but still
# does not show in the page's whole percentages.
_CONSERVED, _INVISIBLE = 1e-6, 1e-3
# Up to a quarter, the reasons explain at least three times what they leave open; beyond a half, less than
# they leave open.
_LITTLE, _HALF = 0.25, 0.5
_OTHER_UNITS = (
    "The method {method} ranks the reasons, but its relevance does not add up to the outlierness: shares "
    "refer to the sum of the relevance. Explain with 'dtd' for parts that add up."
)
_ADDS_UP = (
    "The relevance of all {parts}, plus the part that belongs to no single one, adds up to the outlierness. "
    "The figure is the largest difference in any {noun}."
)
_ADVICE = {
    "good": "Nothing was lost or invented.",
    "fair": "The difference is too small to show in this page's percentages.",
    "poor": (
        "Part of the outlierness is lost or invented. Do not rely on the shares, and report this as a bug."
    ),
}
_NO_SINGLE = (
    "In a typical {noun}, {share} of the outlierness belongs to no single {part}, but to the {noun} "
    "as a whole."
)
_OPEN = {
    "good": "The reasons cover most of what makes it odd.",
    "fair": "The reasons cover the larger part, but not everything.",
    "poor": (
        "The reasons cover the smaller part: do not judge by them alone. If the model has a bandwidth, a "
        "smaller one reduces this part."
    ),
}

_ENOUGH = 5  # items; with fewer, even all at one of ten columns may be chance
_PARTS = "Each bar is a part of the outlierness above usual."
_RESTS_ON = {
    "table": "No one or two columns decide most of what is odd.",
    "images": "Most of what is odd is not at the border, and not at the same place in most images.",
}


def conservation_panel(e: BaseExplanation) -> dict[str, Any]:
    """Whether relevance and the unexplained part sum to the outlierness: the largest gap of any row."""
    title = "Parts add up"
    if not e.is_additive:
        return panel(title, "does not apply", "unknown", _OTHER_UNITS.format(method=e.method))
    gaps = conservation_gap(e)
    if gaps.size == 0:
        return panel(title, "nothing to check", "unknown", "Nothing was explained.")
    gap = float(gaps.max())
    verdict = _verdict(gap, _CONSERVED, _INVISIBLE)
    return panel(
        title,
        f"gap {gap:.0e}" if gap else "no gap",
        verdict,
        f"{_ADDS_UP.format(noun=e.kind.noun, parts=e.kind.parts)} {_ADVICE[verdict]}",
    )


def unexplained_panel(e: BaseExplanation) -> dict[str, Any]:
    """How much of the outlierness belongs to no single variable, pixel, time step or word: the median."""
    title = "Explained by single reasons"
    if not e.is_additive:
        return panel(title, "does not apply", "unknown", _OTHER_UNITS.format(method=e.method))
    shares = unexplained_share(e)[np.asarray(e.outlierness) > 0.0]
    if shares.size == 0:
        return panel(
            title, "nothing to check", "unknown", "Nothing is odd: there is no outlierness to explain."
        )
    share = float(np.median(shares))
    verdict, kind = _verdict(share, _LITTLE, _HALF), e.kind
    bars = [_bar(f"single {kind.parts}", 1.0 - share), _bar(f"no single {kind.part}", share)]
    sentence = _NO_SINGLE.format(share=percent(share), noun=kind.noun, part=kind.part)
    return panel(title, percent(1.0 - share), verdict, f"{sentence} {_OPEN[verdict]}", bars)


def rests_on_panel(audit: Audit) -> dict[str, Any]:
    """The patterns of relevance that recur, and whether most of the detection rests on one of them."""
    title, kind = "What the detection rests on", audit.kind
    if not audit.patterns:
        return panel(title, "nothing to check", "unknown", f"Nothing stands out in any {kind.noun}.")
    main = audit.patterns[0]
    bars = [_bar(f"{pattern.name} ({kind.count(len(pattern))})", pattern.share) for pattern in audit.patterns]
    value = f"{main.name}: {percent(main.share)}"
    if audit.note is not None:
        return panel(title, value, "fair", audit.note, bars)  # it may be the right reason
    if audit.n_items < _ENOUGH:
        few = f"{kind.count(audit.n_items)} looked at: too few to distinguish a pattern from chance."
        return panel(title, value, "unknown", few, bars)
    return panel(title, value, "good", f"{_PARTS} {_RESTS_ON[kind.name]}", bars)


def panel(
    title: str, value: str, verdict: str, sentence: str, bars: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """One panel in the form that the page uses."""
    return {"title": title, "value_text": value, "verdict": verdict, "sentence": sentence, "bars": bars}


def _verdict(value: float, good: float, fair: float) -> str:
    return "good" if value <= good else "fair" if value <= fair else "poor"


def _bar(label: str, value: float) -> dict[str, Any]:
    return {"label": label, "value": value, "value_text": percent(value)}
