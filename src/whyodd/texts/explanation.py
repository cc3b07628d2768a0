"""The frozen result for messages: which words make each odd, and which are missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.explanations.base import TEXTS, BaseExplanation, Kind, at_least_one, shares
from whyodd.explanations.sentences import Reason, percent
from whyodd.inputs.frames import build_frame
from whyodd.texts.bags import terms_of
from whyodd.texts.notebook import cards
from whyodd.texts.writing import CAPITALS, WRITINGS, writing_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from whyodd.texts.decomposition import TextParts
    from whyodd.texts.tokens import Token
    from whyodd.texts.usage import TermUsage
    from whyodd.texts.vocabulary import Vocabulary

_REASONS = 3
_LONGEST = 30  # characters of a word in a sentence
_TOLD_AS = {
    "unusual": "{} is there, which is unusual",
    "new word": "{} is there, a word that was never seen",
    "missing": "{} is missing",
}
WRITTEN = ("in an unusual way", *WRITINGS)  # descriptions of how words are written
# What is odd about a message: see odd_words.
_HALF, _FEW, _COMMON = 0.5, 5, 0.05
_EXPECTED = 0.9  # share of messages of this length that have a term whose absence is reported
_TOLD_WRITING, _TOLD_SHARE = 0.1, 0.01  # of the outlierness
_LACKED, _LISTED = 2, 2  # missing terms, and words written alike, in a sentence


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
        Its part of the outlierness. If its term occurs several times in the message, the words share it
        equally.
    is_new : bool
        Whether its term was never seen in training.
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
    positions and returns a ``TextExplanation``.

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
        Names of the messages.
    word_relevance : tuple of ndarray, optional
        Relevance of the words of each message, if it does not follow from terms; None for the paper's model.
    usage : TermUsage, optional
        How normal messages use terms; None for the paper's model.
    subwords : bool
        Whether terms are parts of words.
    """

    kind: ClassVar[Kind] = TEXTS
    _per_item: ClassVar[tuple[str, ...]] = (
        "messages",
        "all_tokens",
        "parts",
        "rows",
        "ids",
        "word_relevance",
    )

    messages: tuple[str, ...]
    all_tokens: tuple[tuple[Token, ...], ...]
    parts: TextParts
    rows: NDArray[np.intp]
    vocabulary: Vocabulary
    threshold: float | None = None
    method: str = "dtd"
    ids: tuple[Any, ...] | None = None
    word_relevance: tuple[NDArray[np.float64], ...] | None = None
    usage: TermUsage | None = None
    subwords: bool = False

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
        """Part of o that belongs to missing terms (n,)."""
        return self.parts.absent

    @property
    def summed_relevance(self) -> NDArray[np.float64]:
        """(n,) relevance of all terms, present and missing."""
        return np.asarray(self.parts.present.sum(axis=1)).ravel() + self.parts.absent

    @property
    def _absolute_relevance(self) -> NDArray[np.float64]:
        return self.parts.absolute

    def tokens(self, i: int) -> list[Word]:
        """Words of message ``i`` in their order, each with its place and relevance."""
        i = self._position(i)
        words = self.all_tokens[i]
        if self.word_relevance is not None:
            pairs = zip(words, self.word_relevance[i].tolist(), strict=True)
            return [Word(w.text, w.start, w.end, part, self.count(w) == 0) for w, part in pairs]
        times = Counter(word.term for word in words)
        relevance = self._by_term(i, times)
        known = self.vocabulary.columns
        return [
            Word(w.text, w.start, w.end, relevance[w.term] / times[w.term], w.term not in known)
            for w in words
        ]

    def count(self, word: Token) -> int:
        """Number of normal messages with the term of a word, or with the rarest part of it."""
        usage = self._usage
        return min(usage.count(term) for term in terms_of(word, self.subwords))

    @property
    def _usage(self) -> TermUsage:
        if self.usage is None:
            raise ValueError(
                "The paper's model does not record how often terms occur in normal messages. Leave paper out."
            )
        return self.usage

    def odd_words(self, i: int) -> list[Term]:
        """The few words with most of what is odd about message ``i``, the most relevant first.

        They are the fewest that have half of the relevance of all its words, at most five; each has more than
        a word of a usual message of its length, at least 1 % of the outlierness, and is in fewer than 5 % of
        normal messages. If no word stands out, there are none. With the paper's model, which spreads
        relevance over all words, they are the five most relevant.
        """
        terms = [term for term in self.present(i) if term.relevance > 0.0]
        if self.usage is None:
            return terms[:_FEW]
        words = self.all_tokens[self._position(i)]
        first = {word.term: word for word in reversed(words)}
        # A usual message has outlierness 1, in equal parts 1/n.
        o = float(self.outlierness[self._position(i)])
        least = max(min(1.0 / max(len(terms), 1), _HALF), _TOLD_SHARE * o)
        found: list[Term] = []
        for term in terms[:_FEW]:
            if term.relevance < least or _carry_half(found, terms):
                break
            if self.count(first[term.term]) < _COMMON * self.usage.n_messages:
                found.append(term)
        return found

    def _is_mostly_new(self, i: int) -> bool:
        words = self.all_tokens[self._position(i)]
        return 2 * sum(self.count(word) == 0 for word in words) > len(words)

    def marked(self, i: int) -> list[Word]:
        """Words of message ``i`` as :meth:`tokens`, without the relevance of those that are not odd."""
        words = self.tokens(i)
        if self.usage is None:
            return words
        odd = {term.term for term in self.odd_words(i)}
        terms = (token.term for token in self.all_tokens[self._position(i)])
        return [
            word if term in odd else replace(word, relevance=0.0)
            for word, term in zip(words, terms, strict=True)
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
        if self.usage is not None:
            return self._few_reasons(i)[:k]
        known = self.vocabulary.columns
        found = [
            self._reason(i, term, "unusual" if term.term in known else "new word") for term in self.present(i)
        ]
        found += [self._reason(i, term, "missing") for term in self.absent(i, 100)]
        return sorted(found, key=lambda reason: -reason.relevance)[:k]

    def _few_reasons(self, i: int) -> list[Reason]:
        """The odd words and the writing of words, the largest part first; then missing terms."""
        first = {word.term: word for word in reversed(self.all_tokens[i])}
        found = [self._told_word(i, term, first[term.term]) for term in self.odd_words(i)]
        if self.unexplained_share(i) >= _TOLD_WRITING:
            found.append(self._told_writing(i))
        found.sort(key=lambda reason: -reason.relevance)
        return found + [self._told_missing(i, term) for term in self.lacking(i)]

    def _told_writing(self, i: int) -> Reason:
        count, words, judged = self._strangely_written(i)
        return Reason(
            name=words,
            value="",
            expected="",
            direction=0,
            relevance=float(self.unexplained[i]),
            share=self.unexplained_share(i),
            judged=judged,
            told=f"{words} {'is' if count == 1 else 'are'} written {judged}",
        )

    def _told_word(self, i: int, term: Term, word: Token) -> Reason:
        count, n = self.count(word), self._usage.n_messages
        part = "a part of it is " if self.subwords else ""
        how_rare = f"{part}in {'none' if count == 0 else f'{count:,}'} of {n:,} messages"
        return Reason(
            name=_short(word.text),
            value="there",
            expected="not there",
            direction=0,
            relevance=term.relevance,
            share=self.share(i, term.relevance),
            judged="new word" if count == 0 else "rare word",
            told=how_rare,
        )

    def _told_missing(self, i: int, term: Term) -> Reason:
        share = self._expected_share(i, term.term)
        return Reason(
            name=_short(term.term),
            value="not there",
            expected="there",
            direction=0,
            relevance=term.relevance,
            share=self.share(i, term.relevance),
            judged="missing",
            told=f"missing, though about {percent(share)} of messages of this length have it",
        )

    def lacking(self, i: int) -> list[Term]:
        """Terms that nine of ten normal messages of this length have, and message ``i`` lacks."""
        return [t for t in self.absent(i, 100) if self._expected_share(i, t.term) >= _EXPECTED]

    def _expected_share(self, i: int, term: str) -> float:
        return self._usage.expected_share(term, len({word.term for word in self.all_tokens[i]}))

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
        if self.usage is not None and not self.all_tokens[i]:
            return "the message has no words"
        if self.outlierness[i] <= 0.0:
            return "nothing is odd about this message: its outlierness is 0"
        if self.usage is not None:
            return self._few_told(i, k)
        present = [self._shared(i, term) for term in self.present(i, k) if term.relevance > 0.0]
        absent = [self._shared(i, term) for term in self.absent(i, k)]
        parts = [f"odd for {', '.join(present)}"] if present else []
        parts += [f"it lacks {', '.join(absent)}"] if absent else []
        rest = f"{percent(self.unexplained_share(i))} belongs to no single word"
        return "; ".join([*parts, *([rest] if self.is_additive else [])])

    def _few_told(self, i: int, k: int) -> str:
        """The odd words and their rarity, missing terms, and the writing of words."""
        reasons = [r for r in self._few_reasons(i) if r.judged != "missing"]
        words = [r for r in reasons if r.judged not in WRITTEN][:k]
        parts = [_with_share(r) for r in reasons if r.judged in WRITTEN or r in words]
        parts = parts or ["no word stands out"]
        n_words = len(self.all_tokens[i])
        if self._is_mostly_new(i) and n_words > k:
            new = sum(self.count(word) == 0 for word in self.all_tokens[i])
            parts.append(f"{new} of its {n_words} words were never seen")
        lacking = [f"'{_short(term.term)}'" for term in self.lacking(i)[:_LACKED]]
        parts += (
            [f"it lacks {' and '.join(lacking)}, which most messages of this length have"] if lacking else []
        )
        return "; ".join(parts)

    def _strangely_written(self, i: int) -> tuple[int, str, str]:
        """How many words are written in an unusual way, which ones, and how, if that is known."""
        words, usage = self.all_tokens[i], self._usage
        capitals = sum(writing_of(word.text) == CAPITALS for word in words)
        if 2 * capitals >= len(words):
            return len(words), f"{capitals} of {len(words)} words", WRITINGS[CAPITALS]
        known = {} if self.subwords else {word.term: word for word in reversed(words)}
        strange = [
            word
            for term, word in known.items()
            if usage.count(term) and writing_of(word.text) != usage.usual_writing(term)
        ]
        if not strange:
            return len(words), "words", WRITTEN[0]
        strange.sort(key=lambda word: (usage.writing_share(word.term, writing_of(word.text)), word.start))
        how = writing_of(strange[0].text)
        alike = [_quoted(word.text) for word in strange if writing_of(word.text) == how]
        return len(alike), _listed(alike), WRITINGS[how]

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
        """Relevance of each term of a message; terms never seen share that of their common column."""
        if self.word_relevance is not None:
            summed: Counter[str] = Counter()
            for word, part in zip(self.all_tokens[i], self.word_relevance[i].tolist(), strict=True):
                summed[word.term] += part
            return dict(summed)
        known, row = self.vocabulary.columns, self.parts.present[[i]]
        found = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        new = [term for term in times if term not in known]
        each = found.get(len(self.vocabulary), 0.0) / max(len(new), 1)
        return {term: found[known[term]] if term in known else each for term in times}


def _carry_half(found: Sequence[Term], terms: Sequence[Term]) -> bool:
    return sum(term.relevance for term in found) >= _HALF * sum(term.relevance for term in terms)


def _with_share(reason: Reason) -> str:
    if reason.judged in WRITTEN:
        return f"{reason.told} ({percent(reason.share)})"
    return f"'{reason.name}' ({percent(reason.share)})" + (f": {reason.told}" if reason.told else "")


def _listed(words: Sequence[str]) -> str:
    """The first two of some words, and the number of the others."""
    more = len(words) - _LISTED
    if more > 0:
        return f"{', '.join(words[:_LISTED])} and {more} more word{'s' if more > 1 else ''}"
    return " and ".join(words)


def _quoted(term: str) -> str:
    return f"'{_short(term)}'"


def _short(term: str) -> str:
    return term if len(term) <= _LONGEST else f"{term[: _LONGEST - 1]}…"
