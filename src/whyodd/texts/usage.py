"""How normal messages use terms, and how surprising a term in another message is, in nats."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whyodd.texts.bags import first_writings
from whyodd.texts.vocabulary import Vocabulary
from whyodd.texts.writing import WRITINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from whyodd.texts.bags import Bags
    from whyodd.texts.tokens import Token

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TermUsage:
    """Number of messages with each term, by how it is written there.

    N is the number of terms of all messages together, each counted once in a message; k of them are the term
    t, and k_w of these are written in the way w. P(w) is the share of terms that are written so. Then

    - which term it is, among terms so written, has the surprise -log P(t | w), where P(t, w) is
      (k / N) (k_w + P(w)) / (k + 1): a name need not be as frequent as a word in small letters to be usual;
    - a term that is new has that of a new one among terms so written, -log(P(new | w) / terms), and at least
      that of a term that was seen once. P(new | w) is the share of them that no other message has (Good,
      1953): names are often new, words in small letters seldom;
    - how a known term is written has the surprise -log P(w | t) = -log((k_w + P(w)) / (k + 1)).

    Each of the two is given the other, as in a pseudo-likelihood (Besag, 1975).

    Attributes
    ----------
    vocabulary : Vocabulary
        The terms that are in at least ``least`` messages.
    counts : ndarray of shape (terms, writings)
        k_w of each.
    by_writing, new_by_writing : ndarray of shape (writings,)
        All N terms by how they are written, and those of them that would be new without their message.
    n_messages, least : int
    """

    vocabulary: Vocabulary
    counts: Counts
    by_writing: Counts
    new_by_writing: Counts
    n_messages: int
    least: int

    @classmethod
    def of(cls, messages: Iterable[Sequence[Token]], least: int, *, subwords: bool = False) -> TermUsage:
        """Usage in messages cut into words; only the counts of each are kept."""
        pairs: Counter[tuple[str, int]] = Counter()
        n_messages = 0
        for words in messages:
            pairs.update(first_writings(words, subwords).items())
            n_messages += 1
        everything = {term: column for column, term in enumerate(sorted({term for term, _ in pairs}))}
        counts = np.zeros((len(everything), len(WRITINGS)), dtype=np.int64)
        for (term, writing), count in pairs.items():
            counts[everything[term], writing] = count
        per_term = counts.sum(axis=1)
        kept = per_term >= least
        return cls(
            vocabulary=Vocabulary(
                tuple(term for term, is_kept in zip(everything, kept, strict=True) if is_kept)
            ),
            counts=counts[kept],
            by_writing=counts.sum(axis=0),
            new_by_writing=counts[per_term <= least].sum(axis=0),
            n_messages=n_messages,
            least=least,
        )

    @cached_property
    def per_term(self) -> Counts:
        """(terms,) number of messages with each term."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def n_terms(self) -> int:
        """Terms of all messages together, N."""
        return int(self.by_writing.sum())

    def count(self, term: str) -> int:
        """Number of normal messages with a term."""
        column = self.vocabulary.columns.get(term)
        return 0 if column is None else int(self.per_term[column])

    def usual_writing(self, term: str) -> int:
        """How a known term is usually written."""
        return int(self.counts[self.vocabulary.columns[term]].argmax())

    def writing_share(self, term: str, writing: int) -> float:
        """Share of the messages with a known term that write it so."""
        counts = self.counts[self.vocabulary.columns[term]]
        return float(counts[writing] / counts.sum())

    def surprises(self, bags: Bags, *, own: bool = False) -> tuple[Floats, Floats]:
        """Surprise of which term each entry is, and of how it is written, both (entries,).

        ``own``: the messages are among those that were counted, and each is judged without itself.
        """
        less = int(own)
        total = self.n_terms - less * np.repeat(bags.lengths, bags.lengths)
        # One more line for terms without a column.
        counts = np.vstack([self.counts, np.zeros((1, len(WRITINGS)), dtype=np.int64)])
        k = counts.sum(axis=1)[bags.columns] - less
        written = counts[bags.columns, bags.writings] - less
        is_new = k < self.least
        k, written = np.where(is_new, 1, k), np.where(is_new, 0, written)
        once = np.log(np.maximum(total, 1))
        share = ((self.by_writing + 0.5) / (self.n_terms + 0.5 * len(WRITINGS)))[bags.writings]
        how = np.where(is_new, 0.0, np.log(k + 1.0) - np.log(written + share))
        known = np.maximum(once - np.log(k) + how + np.log(share), 0.0)
        which = np.where(is_new, np.maximum(self._surprise_of_new[bags.writings], once), known)
        return which, how

    @property
    def _surprise_of_new(self) -> Floats:
        share = (self.new_by_writing + 0.5) / (self.by_writing + 1.0)
        return np.asarray(np.log(max(len(self.vocabulary), 1)) - np.log(share))

    @cached_property
    def _most_frequent(self) -> tuple[NDArray[np.intp], Floats]:
        """Columns by their frequency, the largest first, and log(1 - k/N) of each."""
        order = np.argsort(-self.per_term, kind="stable")
        share = np.minimum(self.per_term[order] / max(self.n_terms, 1), 1.0 - 1e-12)
        return order, np.log1p(-share)

    def expected_share(self, term: str, n: int) -> float:
        """Probability that a known term occurs among n terms."""
        return float(-np.expm1(n * np.log1p(-self.count(term) / (self.n_terms + 1.0))))

    def missing(self, columns: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats]:
        """Terms that are expected in a message with these terms and not there, and how surprising that is.

        A term is missing from n terms with the probability (1 - k/N)^n, and expected if that is below 1/2.
        """
        order, log_other = self._most_frequent
        n = columns.size
        expected = int(np.searchsorted(n * log_other, -np.log(2.0)))
        there = set(columns.tolist())
        lacking = np.array([column not in there for column in order[:expected].tolist()], dtype=bool)
        return order[:expected][lacking], -n * log_other[:expected][lacking]
