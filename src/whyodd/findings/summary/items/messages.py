"""A message for the page: its words with their strength, and its missing terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.explanations.sentences import VISIBLE, percent
from whyodd.findings.summary.items.reasons import REASONS, reason, whole
from whyodd.report.text import LONGEST
from whyodd.texts.explanation import WRITTEN
from whyodd.texts.notebook import pieces
from whyodd.texts.notebook import strongest as strongest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whyodd.explanations.sentences import Reason
    from whyodd.texts.explanation import TextExplanation

_LONGEST = 5_000  # characters of a message
_PALE = 0.02  # A strength below it cannot be seen.


def strongest(e: TextExplanation) -> float:
    """The largest absolute relevance of any word of all messages; it has strength 1."""
    return max((abs(word.relevance) for i in range(len(e)) for word in e.tokens(i)), default=0.0)


def message_item(e: TextExplanation, i: int, limit: float) -> dict[str, Any]:
    """Message ``i`` with its words as strong as their relevance over ``limit``."""
    total = whole(e, i)
    absent = [] if total <= 0.0 else e.absent(i, REASONS) if e.usage is None else e.lacking(i)[:REASONS]
    limit = strongest_of(e, i, limit)
    strengths = (
        (text, 0.0 if word is None else _strength(word.relevance, limit))
        for text, word in pieces(e, i, _LONGEST)
    )
    return {
        "type": "text",
        "tokens": _joined(strengths),
        "absent": [{"term": t.term, "share_text": _share_text(e, t.relevance / total)} for t in absent],
        "caption": _caption(e, i),
    }


def message_reasons(e: TextExplanation, i: int) -> tuple[list[dict[str, Any]], int]:
    """Terms that message ``i`` has or lacks, by their relevance, and how many others there are."""
    total, known = whole(e, i), e.vocabulary.columns
    present = e.present(i)
    if e.usage is not None:
        few = [_few(one, total) for one in e.reasons(i, REASONS)]
        return few, len(present) - sum(one["judgement"] not in ("missing", *WRITTEN) for one in few)
    found = [
        reason(
            term.term,
            term.relevance,
            total,
            value="there",
            expected="not there",
            judgement="unusual" if term.term in known else "new word",
        )
        for term in present
    ]
    found += [
        reason(t.term, t.relevance, total, value="not there", expected="there", judgement="missing")
        for t in e.absent(i, REASONS)
    ]
    found.sort(key=lambda one: -one["relevance"])
    n_new = sum(term.term not in known for term in present)
    shown = found[:REASONS]
    return shown, len(known) + n_new - len(shown)


def _few(one: Reason, total: float) -> dict[str, Any]:
    """A word, with its rarity in the place of the expected value."""
    told = {"missing": ("not there", "there"), **dict.fromkeys(WRITTEN, (one.told or "", "as usual"))}
    value, expected = told.get(one.judged or "", ("there", one.told or ""))
    name = one.name if one.judged in WRITTEN else f"'{one.name}'"
    return reason(
        name, one.relevance, total, value=value, expected=expected, judgement=one.judged or "unusual"
    )


def _share_text(e: TextExplanation, share: float) -> str:
    """The share of a missing term; "" if it rounds to nothing beside few odd words."""
    return percent(share) if e.usage is None or share >= VISIBLE else ""


def _strength(relevance: float, limit: float) -> float:
    strength = round(relevance / limit, 3) if limit > 0.0 else 0.0
    return strength if abs(strength) >= _PALE else 0.0


def _joined(parts: Iterable[tuple[str, float]]) -> list[dict[str, Any]]:
    """Tokens for the page; words without strength stay together, up to what a page shows in full."""
    tokens: list[dict[str, Any]] = [{"text": "", "strength": 0.0}]
    for text, strength in _in_short(parts):
        last = tokens[-1]
        if last["strength"] == strength == 0.0 and len(last["text"]) + len(text) <= LONGEST:
            last["text"] += text
        else:
            tokens.append({"text": text, "strength": strength})
    return [token for token in tokens if token["text"]]


def _in_short(parts: Iterable[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """The same in pieces short enough for a page to show in full."""
    for text, strength in parts:
        for start in range(0, len(text), LONGEST):
            yield text[start : start + LONGEST], strength


def _caption(e: TextExplanation, i: int) -> str:
    length = len(e.messages[i])
    if length == 0:
        return "The message is empty."
    cut = f"The first {_LONGEST:,} of {length:,} characters. " if length > _LONGEST else ""
    if e.usage is not None:
        return f"{cut}Only the few oddest words are marked." if e.odd_words(i) else cut
    return f"{cut}A darker word is more relevant, on one scale for all messages."
