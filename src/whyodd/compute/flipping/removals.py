"""The plan of a feature flipping: which columns are removed at which step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Stages = NDArray[np.int32]


@dataclass(frozen=True)
class Removals:
    """Steps 1 to S in which the differences Ψ_ij = x_i - u_ji of columns i become 0, for n rows.

    A column may go in several parts: each is an entry with a stage, and with a gain, what it adds to the
    square of the share of Ψ that is left when it comes back.

    Attributes
    ----------
    stages : ndarray of int of shape (n, entries)
        The step, 1 to S, from which on an entry is gone.
    steps : int
        S.
    columns : ndarray of int of shape (entries,)
        The column of each entry.
    gains : ndarray of shape (n, entries) or (1, entries)
        Those of a column sum to 1.
    """

    stages: Stages
    steps: int
    columns: NDArray[np.intp]
    gains: NDArray[np.float64]

    @classmethod
    def of(cls, stages: NDArray[Any], steps: int) -> Removals:
        """Whole columns: ``stages`` (n, d)."""
        d = stages.shape[1]
        return cls(np.ascontiguousarray(stages, dtype=np.int32), steps, np.arange(d), np.ones((1, d)))

    def of_rows(self, rows: Any) -> Removals:
        """The plan for some rows."""
        gains = self.gains if len(self.gains) == 1 else self.gains[rows]
        return replace(self, stages=self.stages[rows], gains=gains)

    def last_changes(self) -> NDArray[np.intp]:
        """(n, S + 1): the first of 0, ..., S at or after a step that differs from the one after it.

        Going backwards nothing changes between the two: what holds there holds at the step.
        """
        changes = np.zeros((len(self.stages), self.steps + 1), dtype=bool)
        np.put_along_axis(changes, self.stages - 1, True, axis=1)
        changes[:, -1] = True
        places = np.where(changes, np.arange(self.steps + 1), self.steps)
        return np.asarray(np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1])


def stages_of(relevance: NDArray[np.floating], steps: int) -> Stages:
    """(n, v) the step, 1 to ``steps``, in which each of v variables goes: the most relevant first.

    Of equally relevant ones the first goes first. Steps take equally many, as far as that is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.compute.flipping.removals import stages_of
    >>> stages_of(np.array([[0.1, 3.0, 2.0, 0.1]]), 4), stages_of(np.array([[0.1, 3.0, 2.0, 0.1]]), 2)
    (array([[3, 1, 2, 4]], dtype=int32), array([[2, 1, 1, 2]], dtype=int32))
    """
    count = relevance.shape[1]
    order = np.argsort(-relevance, axis=1, kind="stable")
    places = np.empty(order.shape, dtype=np.intp)
    np.put_along_axis(places, order, np.arange(count)[None], axis=1)
    gone = (2 * count * np.arange(steps + 1) + steps) // (2 * steps)  # rounded, in whole numbers
    return np.searchsorted(gone, places, side="right").astype(np.int32)
