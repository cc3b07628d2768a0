"""Messages as binary bags of terms, with one column for all terms never seen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Vocabulary:
    """Terms that have columns; the last column is for all others.

    A term that was never seen is a dimension of its own, on which every known message is 0. Of k such terms
    only the distance counts: together they are one column with the value √k, and have equal parts of its
    relevance.
    """

    terms: tuple[str, ...]

    @classmethod
    def of(cls, messages: Iterable[Iterable[str]], least: int) -> Vocabulary:
        """Terms that are in at least ``least`` of the messages, in alphabetical order."""
        counts = Counter(term for terms in messages for term in set(terms))
        return cls(tuple(sorted(term for term, count in counts.items() if count >= least)))

    def __len__(self) -> int:
        return len(self.terms)

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of each term."""
        return {term: column for column, term in enumerate(self.terms)}

    def encode(self, messages: Sequence[Iterable[str]], *, unseen: bool = True) -> sparse.csr_array:
        """(n, terms + 1) 1 for each term of a message, and √k for k terms without columns.

        Those are left out for messages to learn from: ``unseen=False``.
        """
        columns: list[int] = []
        values: list[float] = []
        ends = [0]
        for terms in messages:
            distinct = set(terms)
            known = sorted(self.columns[term] for term in distinct if term in self.columns)
            columns += known
            values += [1.0] * len(known)
            if unseen and len(known) < len(distinct):
                columns.append(len(self))
                values.append((len(distinct) - len(known)) ** 0.5)
            ends.append(len(columns))
        # As scikit-learn's own vectorizers have them: its models take no others.
        parts = np.array(values), np.array(columns, dtype=np.int32), np.array(ends, dtype=np.int32)
        return sparse.csr_array(parts, shape=(len(messages), len(self) + 1))
