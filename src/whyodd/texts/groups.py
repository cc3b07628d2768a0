"""Messages that are odd for the same word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.explanations.groups import ReasonGroup

if TYPE_CHECKING:
    from whyodd.texts.explanation import TextExplanation


def group_by_word(e: TextExplanation) -> list[ReasonGroup]:
    """Messages whose most relevant odd word is the same, at least two; the largest group first."""
    members: dict[tuple[str, str], list[int]] = {}
    for i in range(len(e)):
        for term in e.odd_words(i)[:1]:
            judged = "rare word" if term.term in e.vocabulary.columns else "new word"
            members.setdefault((term.term, judged), []).append(i)
    shared = [(key, found) for key, found in members.items() if len(found) > 1]
    shared.sort(key=lambda one: -len(one[1]))
    return [ReasonGroup((term,), (judged,), np.array(found)) for (term, judged), found in shared]
