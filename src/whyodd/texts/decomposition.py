"""Relevance of terms in bounded memory: all present ones, and the most relevant missing ones."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whyodd.network.waist import Decomposition

# Bytes of dense relevance at a time, and absent terms that are kept of each message.
_BLOCK_BYTES = 1 << 26
_MOST_ABSENT = 100


@dataclass(frozen=True)
class TextParts:
    """The parts of the outlierness of n messages: Σ present + absent + unexplained = o.

    Attributes
    ----------
    present : CSR array of shape (n, d)
        Relevance of the columns that a message has.
    absent_columns, absent_relevance : ndarray of shape (n, k)
        The columns with the most relevance among those that it has not, the largest first.
    absent : ndarray of shape (n,)
        Relevance of all of those.
    absolute : ndarray of shape (n,)
        Σ |R| over all columns.
    unexplained, outlierness : ndarray of shape (n,)
    """

    present: sparse.csr_array
    absent_columns: NDArray[np.intp]
    absent_relevance: NDArray[np.float64]
    absent: NDArray[np.float64]
    absolute: NDArray[np.float64]
    unexplained: NDArray[np.float64]
    outlierness: NDArray[np.float64]

    @classmethod
    def joined(cls, blocks: Sequence[TextParts]) -> TextParts:
        """Parts of the messages of all blocks; absent terms that a block did not keep have relevance 0."""
        width = max(block.absent_columns.shape[1] for block in blocks)
        blocks = [block._widened(width) for block in blocks]
        return cls(
            sparse.csr_array(sparse.vstack([block.present for block in blocks], format="csr")),
            *(np.concatenate([getattr(block, one.name) for block in blocks]) for one in fields(cls)[1:]),
        )

    def _widened(self, width: int) -> TextParts:
        more = ((0, 0), (0, width - self.absent_columns.shape[1]))
        return replace(
            self,
            absent_columns=np.pad(self.absent_columns, more),
            absent_relevance=np.pad(self.absent_relevance, more),
        )

    def __getitem__(self, picked: NDArray[np.intp]) -> TextParts:
        return TextParts(*(getattr(self, field.name)[picked] for field in fields(self)))


def decompose(
    rows: sparse.csr_array,
    own: NDArray[np.intp] | None,
    report: Callable[[int], None] | None,
    decompose_some: Callable[..., Decomposition],
) -> TextParts:
    """Relevance of the columns of CSR rows (n, d), some rows at a time.

    ``decompose_some(rows, own)`` explains them.
    """
    n, d = rows.shape
    size = max(_BLOCK_BYTES // (8 * d), 16)
    blocks = []
    for start in range(0, n, size):
        some = slice(start, min(start + size, n))
        left_out = None if own is None else own[some]
        blocks.append(_block(rows[some], decompose_some(rows[some], left_out)))
        if report is not None:
            report(some.stop)
    return TextParts.joined(blocks)


def _block(rows: sparse.csr_array, parts: Decomposition) -> TextParts:
    relevance: Any = np.array(parts.relevance, dtype=np.float64)
    absolute = np.abs(relevance).sum(axis=1)
    which = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    present = sparse.csr_array((relevance[which, rows.indices], rows.indices, rows.indptr), shape=rows.shape)
    relevance[which, rows.indices] = 0.0
    # The last column is for what was never seen, which cannot be missing.
    k = min(_MOST_ABSENT, rows.shape[1] - 1)
    columns = np.argpartition(-relevance[:, :-1], k - 1, axis=1)[:, :k]
    largest = np.take_along_axis(relevance, columns, axis=1)
    order = np.argsort(-largest, axis=1, kind="stable")
    return TextParts(
        present,
        np.take_along_axis(columns, order, axis=1),
        np.take_along_axis(largest, order, axis=1),
        relevance.sum(axis=1),
        absolute,
        parts.unexplained,
        parts.outlierness,
    )
