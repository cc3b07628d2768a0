"""Messages as HTML, their words shaded by relevance; everything from the data is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from whyodd.explanations.sentences import number, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.texts.explanation import Term, TextExplanation, Word

_TERMS = 8
_LONGEST = 4000  # characters of a message
# A mid-tone that shades on white and on black alike.
_SHADE = "217,98,43"


def cards(e: TextExplanation) -> str:
    """HTML for each message, on one scale, so that the words of a normal message stay pale."""
    common = max((word.relevance for i in range(len(e)) for word in e.tokens(i)), default=0.0)
    return "".join(_card(e, i, strongest(e, i, common)) for i in range(len(e)))


def strongest(e: TextExplanation, i: int, common: float) -> float:
    """Relevance with the darkest shade: the largest of the few odd words, else the same for all messages."""
    return common if e.usage is None else max((word.relevance for word in e.marked(i)), default=0.0)


def _card(e: TextExplanation, i: int, limit: float) -> str:
    return (
        "<div style='border-top:1px solid rgba(128,128,128,.45);padding:6px 0'>"
        f"<div style='opacity:.75'>{escape(e.name(i))}, outlierness {number(float(e.outlierness[i]))}</div>"
        f"<div style='white-space:pre-wrap;overflow-wrap:anywhere' dir='auto'>{shaded(e, i, limit)}</div>"
        f"{_all_terms(e, i) if e.usage is None else f'<div>{escape(e.why(i))}</div>'}</div>"
    )


def _all_terms(e: TextExplanation, i: int) -> str:
    rest = f"{percent(e.unexplained_share(i))} belongs to no single word" if e.is_additive else ""
    return (
        f"<div>there: {_terms(e, i, e.present(i, _TERMS))}</div>"
        f"<div>missing: {_terms(e, i, e.absent(i, _TERMS))}</div>"
        f"<div style='opacity:.75'>{rest}</div>"
    )


def shaded(e: TextExplanation, i: int, limit: float) -> str:
    """Message ``i`` as HTML text, each word with a background as dark as its relevance over ``limit``."""
    parts = pieces(e, i, _LONGEST)
    return "".join(escape(text) if word is None else _shade(word, limit) for text, word in parts)


def pieces(e: TextExplanation, i: int, longest: int) -> list[tuple[str, Word | None]]:
    """Words of message ``i`` and the text between them, in order; "…" ends a long one.

    Together they are the message, or its first ``longest`` characters.
    """
    message, found, done = e.messages[i][:longest], [], 0
    for word in e.marked(i):
        if word.end > len(message):
            break
        found += [(message[done : word.start], None), (word.text, word)]
        done = word.end
    end = message[done:] + ("…" if len(e.messages[i]) > longest else "")
    return [(text, word) for text, word in [*found, (end, None)] if text]


def _shade(word: Word, limit: float) -> str:
    strength = min(max(word.relevance, 0.0) / limit, 1.0) if limit > 0.0 else 0.0
    if strength < 0.02:
        return escape(word.text)
    new = ", never seen" if word.is_new else ""
    title = f"{number(word.relevance)}{new}"
    style = f"background:rgba({_SHADE},{0.75 * strength:.2f});border-radius:2px"
    return f"<span style='{style}' title='{title}'>{escape(word.text)}</span>"


def _terms(e: TextExplanation, i: int, terms: Sequence[Term]) -> str:
    # Isolated, so that right-to-left words do not move the numbers around them.
    shares = [
        f"<bdi>{escape(term.term)}</bdi> {percent(e.share(i, term.relevance))}"
        for term in terms
        if term.relevance > 0
    ]
    return ", ".join(shares) or "nothing"
