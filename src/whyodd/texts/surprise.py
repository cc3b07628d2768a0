"""Messages judged by their most surprising words, and compared with others of their length."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from whyodd.models.tail import ScoreDistribution
from whyodd.texts.bags import Bags, sums_by
from whyodd.texts.decomposition import TextParts
from whyodd.texts.length_scale import LengthScale
from whyodd.texts.usage import TermUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from whyodd.texts.tokens import Token

    Floats = NDArray[np.float64]
    Tokens = Sequence[Sequence[Token]]

# s^4: one word with twice the surprise counts as much as sixteen others. So few odd words in a long message
# are found, and one word does not decide alone.
_POWER = 4
_MOST_ABSENT = 100  # missing terms that are kept of each message


@dataclass(frozen=True, eq=False)
class Surprise:
    """o = (Σ_t s_t^4 / n, over what is usual for n terms) to a power: 1 on a usual message of any length.

    s_t is the surprise of term t (:class:`TermUsage`): of which term it is, a_t, and of how it is written,
    b_t, or of an expected term that is missing. Relevance has the proportions of the sum: a_t^4 for the term
    itself, s_t^4 for a missing one. What the writing adds, s_t^4 - a_t^4, belongs to the message and not to
    its words: people who write in capitals do so with any word.

    Attributes
    ----------
    usage : TermUsage
    scale : LengthScale
    distribution : ScoreDistribution
        Outlierness of the messages that were learned, each without itself.
    subwords : bool
        Whether terms are parts of words. Missing ones then mean nothing, and do not count.
    """

    usage: TermUsage
    scale: LengthScale
    distribution: ScoreDistribution
    subwords: bool = False

    @classmethod
    def of(cls, read: Callable[[], Iterable[Tokens]], least: int, *, subwords: bool = False) -> Surprise:
        """Learn messages, of which at least one has a term.

        ``read()`` gives them some at a time; it is called twice, so that they need not all be held as words.
        """
        usage = TermUsage.of(chain.from_iterable(read()), least, subwords=subwords)
        lengths, log_scores = [], []
        for messages in read():
            bags = Bags.of(messages, usage.vocabulary, subwords=subwords)
            raw = _Raw.of(usage, bags, own=True, lacks=not subwords)
            lengths.append(raw.lengths)
            log_scores.append(raw.log_scores)
        n, scores = np.concatenate(lengths), np.concatenate(log_scores)
        scale = LengthScale.of(n[n > 0], scores[n > 0])
        return cls(usage, scale, ScoreDistribution(np.exp(scale.log_outlierness(n, scores))), subwords)

    def outlierness(self, messages: Tokens, *, own: bool = False) -> Floats:
        """Outlierness (n,) of messages; ``own``: training messages, each without itself."""
        return _outlierness(self.scale, self._raw(messages, own))

    def decompose(self, messages: Tokens, *, own: bool = False) -> tuple[TextParts, list[Floats]]:
        """The parts of the outlierness, by terms, and relevance of the words of each message."""
        raw = self._raw(messages, own)
        o = _outlierness(self.scale, raw)
        total = raw.sums
        factor = np.divide(o, total, out=np.zeros_like(o), where=total > 0.0)
        which = raw.which * factor[raw.bags.message]
        how = sums_by(raw.bags.message, raw.how, o.size) * factor
        words = raw.bags.onto_words(which)
        present = _by_column(raw.bags, which, len(self.usage.vocabulary) + 1)
        columns, absent = raw.kept_absent(factor)
        lacking = raw.absent_sums * factor
        parts = TextParts(
            present=present,
            absent_columns=columns,
            absent_relevance=absent,
            absent=lacking,
            absolute=np.asarray(present.sum(axis=1)).ravel() + lacking,
            unexplained=how,
            outlierness=o,
        )
        return parts, np.split(words, raw.bags.token_ends[1:-1])

    def _raw(self, messages: Tokens, own: bool) -> _Raw:
        bags = Bags.of(messages, self.usage.vocabulary, subwords=self.subwords)
        return _Raw.of(self.usage, bags, own=own, lacks=not self.subwords)


@dataclass(frozen=True, eq=False)
class _Raw:
    """Terms of the sum before the comparison with usual messages.

    Attributes
    ----------
    bags : Bags
    which, how : ndarray of shape (entries,)
        a^4, and s^4 - a^4.
    absent : list of (columns, s^4)
        Of each message.
    """

    bags: Bags
    which: Floats
    how: Floats
    absent: list[tuple[NDArray[np.intp], Floats]]

    @classmethod
    def of(cls, usage: TermUsage, bags: Bags, *, own: bool, lacks: bool) -> _Raw:
        a, b = usage.surprises(bags, own=own)
        which = a**_POWER
        nothing = np.empty(0, dtype=np.intp), np.empty(0)
        pairs = zip(bags.ends[:-1], bags.ends[1:], strict=True)
        missing = [usage.missing(bags.columns[start:end]) if lacks else nothing for start, end in pairs]
        return cls(bags, which, (a + b) ** _POWER - which, [(columns, s**_POWER) for columns, s in missing])

    @property
    def lengths(self) -> NDArray[np.intp]:
        return self.bags.lengths

    @property
    def absent_sums(self) -> Floats:
        return np.array([float(parts.sum()) for _, parts in self.absent])

    @property
    def sums(self) -> Floats:
        present = sums_by(self.bags.message, self.which + self.how, self.lengths.size)
        return np.asarray(present + self.absent_sums)

    @property
    def log_scores(self) -> Floats:
        means = self.sums / np.maximum(self.lengths, 1)
        return np.log(means, out=np.full(means.size, -np.inf), where=means > 0.0)

    def kept_absent(self, factor: Floats) -> tuple[NDArray[np.intp], Floats]:
        """The most surprising missing terms, with one width for all messages."""
        width = min(max((columns.size for columns, _ in self.absent), default=0), _MOST_ABSENT)
        columns = np.zeros((factor.size, width), dtype=np.intp)
        relevance = np.zeros((factor.size, width))
        for i, (lacking, parts) in enumerate(self.absent):  # the most frequent, and so most surprising, first
            kept = min(lacking.size, width)
            columns[i, :kept], relevance[i, :kept] = lacking[:kept], parts[:kept] * factor[i]
        return columns, relevance


def _outlierness(scale: LengthScale, raw: _Raw) -> Floats:
    """0 for a message without words, since nothing in it is odd."""
    return np.exp(scale.log_outlierness(raw.lengths, raw.log_scores))


def _by_column(bags: Bags, values: Floats, n_columns: int) -> sparse.csr_array:
    """(n, columns) sums of entries by message."""
    rows = sparse.csr_array((values, bags.columns, bags.ends), shape=(len(bags.ends) - 1, n_columns))
    rows.sum_duplicates()
    return rows
