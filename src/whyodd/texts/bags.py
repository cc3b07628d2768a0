"""Messages as bags of terms that remember their words and how those were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyodd.texts.writing import writing_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.texts.tokens import Token
    from whyodd.texts.vocabulary import Vocabulary

    Indices = NDArray[np.intp]

_GRAM = 5  # letters of a part of a word: as many as most stems have
_EDGE = " "  # begins and ends a word; no word holds it


def terms_of(token: Token, subwords: bool) -> list[str]:
    """The terms of a word: itself, or all runs of five letters of it, its edges counted.

    Examples
    --------
    >>> from whyodd.texts.bags import terms_of
    >>> from whyodd.texts.tokens import Tokenizer
    >>> word, = Tokenizer(None)("morron")
    >>> terms_of(word, subwords=True)
    [' morr', 'morro', 'orron', 'rron ']
    """
    if not subwords:
        return [token.term]
    padded = f"{_EDGE}{token.term}{_EDGE}"
    return [padded[start : start + _GRAM] for start in range(max(len(padded) - _GRAM + 1, 1))]


def first_writings(words: Sequence[Token], subwords: bool) -> dict[str, int]:
    """The distinct terms of a message, each with how its first word is written."""
    found: dict[str, int] = {}
    for word in words:
        for term in terms_of(word, subwords):
            if term not in found:
                found[term] = writing_of(word.text)
    return found


@dataclass(frozen=True, eq=False)
class Bags:
    """The distinct terms of n messages, one after the other: entry e of all is a term of one message.

    Attributes
    ----------
    ends : ndarray of int of shape (n + 1,)
        Entries of message i are ends[i] to ends[i + 1].
    columns : ndarray of int of shape (entries,)
        Column of the term, or one more than the last for a term that is no column.
    writings : ndarray of int of shape (entries,)
        How its first word in the message is written.
    token_ends : ndarray of int of shape (n + 1,)
        The same as ``ends`` for words.
    links : ndarray of int of shape (links, 2)
        Word and entry, for each word and each of its terms.
    """

    ends: Indices
    columns: Indices
    writings: Indices
    token_ends: Indices
    links: Indices

    @classmethod
    def of(
        cls, messages: Sequence[Sequence[Token]], vocabulary: Vocabulary, *, subwords: bool = False
    ) -> Bags:
        """Bags of messages that are cut into words."""
        known, new = vocabulary.columns, len(vocabulary)
        ends, token_ends = [0], [0]
        columns: list[int] = []
        writings: list[int] = []
        links: list[tuple[int, int]] = []
        for words in messages:
            entries: dict[str, int] = {}
            for place, word in enumerate(words, start=token_ends[-1]):
                for term in terms_of(word, subwords):
                    if term not in entries:
                        entries[term] = len(columns)
                        columns.append(known.get(term, new))
                        writings.append(writing_of(word.text))
                    links.append((place, entries[term]))
            ends.append(len(columns))
            token_ends.append(token_ends[-1] + len(words))
        return cls(
            np.array(ends, dtype=np.intp),
            np.array(columns, dtype=np.intp),
            np.array(writings, dtype=np.intp),
            np.array(token_ends, dtype=np.intp),
            np.array(links, dtype=np.intp).reshape(-1, 2),
        )

    @property
    def lengths(self) -> Indices:
        """(n,) number of distinct terms."""
        return np.diff(self.ends)

    @property
    def message(self) -> Indices:
        """(entries,) the message of each entry."""
        return np.repeat(np.arange(len(self.ends) - 1), self.lengths)

    def onto_words(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(words,) of what entries have: words share equally what belongs to a term of all of them."""
        words, entries = self.links[:, 0], self.links[:, 1]
        times = np.bincount(entries, minlength=len(self.columns))
        return sums_by(words, (values / times)[entries], int(self.token_ends[-1]))


def sums_by(places: Indices, values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """(n,) sums of the values of each place."""
    return np.bincount(places, weights=values, minlength=n).astype(np.float64, copy=False)
