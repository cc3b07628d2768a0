"""The frozen result for messages: which words make each odd, and which are missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.explanations.base import TEXTS, BaseExplanation, Kind, at_least_one, shares
from whyodd.explanations.sentences import Reason, percent
from whyodd.inputs.frames import build_frame
from whyodd.texts.notebook import cards

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from whyodd.texts.decomposition import TextParts
    from whyodd.texts.tokens import Token
    from whyodd.texts.vocabulary import Vocabulary

_REASONS = 3
_LONGEST = 30  # characters of a word in a sentence
_TOLD_AS = {
    "unusual": "{} is there, which is unusual",
    "new word": "{} is there, a word that was never seen",
    "missing": "{} is missing",
}


@dataclass(frozen=True)
class Word:
    """A word of a message and its relevance.

    Attributes
    ----------
    text : str
        The word as it was written.
    start, end : int
        Where it is: ``message[start:end] == text``.
    relevance : float
        Its part of the outlierness. If its term is in the message several times they share equally.
    is_new : bool
        Whether its term is none of those that were learned.
    """

    text: str
    start: int
    end: int
    relevance: float
    is_new: bool


@dataclass(frozen=True)
class Term:
    """A term and its relevance."""

    term: str
    relevance: float


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanation(BaseExplanation):
    """Outlierness of n messages, decomposed onto words: Σ present + absent + unexplained = o.

    Made by :meth:`whyodd.TextModel.explain`. ``e[i]`` takes a message, a slice, a mask or an array of
    positions and gives a ``TextExplanation`` again.

    Attributes
    ----------
    messages : tuple of str
        What was explained.
    all_tokens : tuple of tuple of Token
        Words of each message.
    parts : TextParts
        Relevance of present terms (sparse), the largest of absent ones, and sums.
    rows : ndarray of shape (n,)
        Position of each message among those that were given.
    vocabulary : Vocabulary
    threshold : float or None
        Outlierness above which the model calls a message an outlier.
    method : str
        How it was explained. Where relevance is not in units of the outlierness, ``unexplained`` is NaN.
    ids : tuple, optional
        What people call the messages.
    """

    kind: ClassVar[Kind] = TEXTS
    _per_item: ClassVar[tuple[str, ...]] = ("messages", "all_tokens", "parts", "rows", "ids")

    messages: tuple[str, ...]
    all_tokens: tuple[tuple[Token, ...], ...]
    parts: TextParts
    rows: NDArray[np.intp]
    vocabulary: Vocabulary
    threshold: float | None = None
    method: str = "dtd"
    ids: tuple[Any, ...] | None = None

    @property
    def outlierness(self) -> NDArray[np.float64]:
        """Outlierness o of each message (n,)."""
        return self.parts.outlierness

    @property
    def unexplained(self) -> NDArray[np.float64]:
        """Part of o that belongs to no single term (n,)."""
        return self.parts.unexplained

    @property
    def relevance(self) -> sparse.csr_array:
        """Relevance of the terms of each message, (n, terms + 1): the last column is for unseen ones."""
        return self.parts.present

    @property
    def absent_relevance(self) -> NDArray[np.float64]:
        """Part of o that belongs to terms that are missing (n,)."""
        return self.parts.absent

    @property
    def summed_relevance(self) -> NDArray[np.float64]:
        """(n,) relevance of all terms, of those that are there and of those that are missing."""
        return np.asarray(self.parts.present.sum(axis=1)).ravel() + self.parts.absent

    @property
    def _absolute_relevance(self) -> NDArray[np.float64]:
        return self.parts.absolute

    def tokens(self, i: int) -> list[Word]:
        """Words of message ``i`` in their order, each with its place and relevance."""
        i = self._position(i)
        words = self.all_tokens[i]
        times = Counter(word.term for word in words)
        relevance = self._by_term(i, times)
        known = self.vocabulary.columns
        return [
            Word(w.text, w.start, w.end, relevance[w.term] / times[w.term], w.term not in known)
            for w in words
        ]

    def present(self, i: int, k: int | None = None) -> list[Term]:
        """Terms of message ``i`` by their relevance, the largest first; at most ``k``."""
        i = self._position(i)
        relevance = self._by_term(i, Counter(word.term for word in self.all_tokens[i]))
        ranked = sorted(relevance.items(), key=lambda entry: -entry[1])
        return [Term(term, part) for term, part in ranked[:k]]

    def absent(self, i: int, k: int = 10) -> list[Term]:
        """Terms that message ``i`` lacks, by their relevance, the largest first; at most ``k``, up to 100."""
        i = self._position(i)
        pairs = zip(self.parts.absent_columns[i], self.parts.absent_relevance[i], strict=True)
        found = [Term(self.vocabulary.terms[c], float(part)) for c, part in pairs if part > 0.0]
        return found[:k]

    def reasons(self, i: int, k: int | None = None) -> list[Reason]:
        """Words of message ``i`` and terms that it lacks, the most relevant first; at most ``k``."""
        i, k = self._position(i), None if k is None else at_least_one(k, "reasons")
        known = self.vocabulary.columns
        found = [
            self._reason(i, term, "unusual" if term.term in known else "new word") for term in self.present(i)
        ]
        found += [self._reason(i, term, "missing") for term in self.absent(i, 100)]
        return sorted(found, key=lambda reason: -reason.relevance)[:k]

    def _reason(self, i: int, term: Term, judged: str) -> Reason:
        value, expected = ("not there", "there") if judged == "missing" else ("there", "not there")
        return Reason(
            name=term.term,
            value=value,
            expected=expected,
            direction=0,
            relevance=term.relevance,
            share=self.share(i, term.relevance),
            judged=judged,
            told=_TOLD_AS[judged].format(_quoted(term.term)),
        )

    def why(self, i: int = 0, k: int = _REASONS) -> str:
        """Which words make message ``i`` odd and which are missing, in one sentence."""
        i = self._position(i)
        if self.outlierness[i] <= 0.0:
            return "nothing is odd about this message: its outlierness is 0"
        present = [self._shared(i, term) for term in self.present(i, k) if term.relevance > 0.0]
        absent = [self._shared(i, term) for term in self.absent(i, k)]
        parts = [f"odd for {', '.join(present)}"] if present else []
        parts += [f"it lacks {', '.join(absent)}"] if absent else []
        rest = f"{percent(self.unexplained_share(i))} belongs to no single word"
        return "; ".join([*parts, *([rest] if self.is_additive else [])])

    def _shared(self, i: int, term: Term) -> str:
        return f"{_quoted(term.term)} ({percent(self.share(i, term.relevance))})"

    def to_frame(self) -> Any:
        """Tidy data frame with a line for each word, its place, and its part of the outlierness."""
        lines = [(i, word) for i in range(len(self)) for word in self.tokens(i)]
        o, relevance = self.outlierness, np.array([word.relevance for _, word in lines], dtype=np.float64)
        columns = {
            "row": np.array([self.rows[i] for i, _ in lines], dtype=np.int64),
            "token": [word.text for _, word in lines],
            "start": np.array([word.start for _, word in lines], dtype=np.int64),
            "end": np.array([word.end for _, word in lines], dtype=np.int64),
            "is_new": np.array([word.is_new for _, word in lines], dtype=bool),
            "relevance": relevance,
            "share": shares(relevance, self.whole[[i for i, _ in lines]]),
            "outlierness": np.array([o[i] for i, _ in lines]),
        }
        return build_frame(columns, None)

    def _plain(self) -> dict[str, Any]:
        return {"messages": [self._message(i) for i in range(len(self))]}

    def _html(self, shown: TextExplanation) -> str:
        return cards(shown)

    def _message(self, i: int) -> dict[str, Any]:
        return {
            "row": int(self.rows[i]),
            "text": self.messages[i],
            "outlierness": float(self.outlierness[i]),
            "unexplained": float(self.unexplained[i]) if self.is_additive else None,  # JSON has no NaN
            "absent_relevance": float(self.absent_relevance[i]),
            "tokens": [vars(word) for word in self.tokens(i)],
            "absent": [vars(term) for term in self.absent(i)],
        }

    def _by_term(self, i: int, times: Counter[str]) -> dict[str, float]:
        """Relevance of each term of a message; terms that were never seen share that of their column."""
        known, row = self.vocabulary.columns, self.parts.present[[i]]
        found = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        new = [term for term in times if term not in known]
        each = found.get(len(self.vocabulary), 0.0) / max(len(new), 1)
        return {term: found[known[term]] if term in known else each for term in times}


def _quoted(term: str) -> str:
    return f"'{term}'" if len(term) <= _LONGEST else f"'{term[: _LONGEST - 1]}…'"
