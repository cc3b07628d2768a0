"""Messages as HTML, their words shaded by relevance; all that comes from the data is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from whyodd.explanations.sentences import number, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.texts.explanation import Term, TextExplanation, Word

_SHOWN = 5
_TERMS = 8
_LONGEST = 4000  # characters of a message
# A mid-tone that shades on white and on black alike.
_SHADE = "217,98,43"


def html_view(e: TextExplanation) -> str:
    """One ``<div>`` with the oddest messages: shaded words, then terms that are there and terms missing."""
    title = f"Explanation of {len(e)} message{'' if len(e) == 1 else 's'}"
    shown = e.top(_SHOWN) if len(e) else e
    return (
        "<div style='font-size:13px;line-height:1.6'>"
        f"<div style='font-weight:600;margin-bottom:4px'>{escape(title)}</div>{cards(shown)}</div>"
    )


def cards(e: TextExplanation) -> str:
    """A part of a page for each message, on one scale: the words of a normal message stay pale."""
    limit = max((word.relevance for i in range(len(e)) for word in e.tokens(i)), default=0.0)
    return "".join(_card(e, i, limit) for i in range(len(e)))


def _card(e: TextExplanation, i: int, limit: float) -> str:
    total = float(e.outlierness[i]) or 1.0
    rest = percent(float(e.unexplained[i]) / total)
    return (
        "<div style='border-top:1px solid rgba(128,128,128,.45);padding:6px 0'>"
        f"<div style='opacity:.75'>message {e.rows[i]}, outlierness {number(float(e.outlierness[i]))}</div>"
        f"<div style='white-space:pre-wrap;overflow-wrap:anywhere' dir='auto'>{shaded(e, i, limit)}</div>"
        f"<div>there: {_terms(e.present(i, _TERMS), total)}</div>"
        f"<div>missing: {_terms(e.absent(i, _TERMS), total)}</div>"
        f"<div style='opacity:.75'>{rest} belongs to no single word</div></div>"
    )


def shaded(e: TextExplanation, i: int, limit: float) -> str:
    """Message ``i`` as HTML text, each word with a background as dark as its relevance over ``limit``."""
    parts = pieces(e, i, _LONGEST)
    return "".join(escape(text) if word is None else _shade(word, limit) for text, word in parts)


def pieces(e: TextExplanation, i: int, longest: int) -> list[tuple[str, Word | None]]:
    """Words of message ``i`` and what is between them, in their order; "…" ends one that is longer.

    Together they are the message, or its first ``longest`` characters.
    """
    message, found, done = e.messages[i][:longest], [], 0
    for word in e.tokens(i):
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


def _terms(terms: Sequence[Term], total: float) -> str:
    # On their own, words written from right to left do not carry the numbers around them along.
    shares = [
        f"<bdi>{escape(term.term)}</bdi> {percent(term.relevance / total)}"
        for term in terms
        if term.relevance > 0
    ]
    return ", ".join(shares) or "nothing"
