"""All rows of a table scored block by block; the oddest are kept as they reached the model."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from whyodd.compute.points import is_sparse
from whyodd.explainers.explaining import explain_prepared
from whyodd.explainers.own_centers import own_by_training_row
from whyodd.explainers.preparing import PreparedModel
from whyodd.inputs.frames import count_rows, take_rows
from whyodd.network.waist import offers, score_rows
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from whyodd.compute.points import Points
    from whyodd.explainers.groups import Groups
    from whyodd.explanations.table import Explanation

    Indices = NDArray[np.intp]

# Rows held as numbers at once: enough to be fast, few beside a large table.
_BLOCK = 20_000


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Outlierness of all rows of a table, and the data needed to explain some of them.

    The numbers are those of :func:`whyodd.explain` of all rows, but relevance is computed only of the rows
    that are asked for.

    Attributes
    ----------
    reader : PreparedModel
        The model.
    X : array, CSR matrix or data frame of shape (n, d)
        The rows as they were given.
    own : ndarray of int of shape (n,), optional
        The center that is left out for each row, or -1; None if X does not hold the training rows.
    outlierness : ndarray of shape (n,)
    oddest : Oddest
        The oddest rows as they reached the model.
    n_known : int
        Rows that are equal to a training row among the centers, and look normal for that; 0 if such centers
        are left out.
    """

    reader: PreparedModel
    X: Any
    own: Indices | None
    outlierness: NDArray[np.float64]
    oddest: Oddest
    n_known: int = 0

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        *,
        exclude_self: Literal["auto", False] = "auto",
        keep: int = 0,
        progress: bool = False,
        n_jobs: int | None = None,
    ) -> ScoredRows:
        """Score all rows.

        Parameters
        ----------
        model, X, progress, n_jobs
            As for :func:`whyodd.explain`; a model of tables.
        exclude_self : {"auto", False}, default "auto"
            Whether rows that are centers leave those out, if X demonstrably holds the training rows.
        keep : int, default 0
            How many of the oddest rows are kept as they reached the model, to be explained without being
            prepared again.
        """
        reader, n = PreparedModel.of(model), count_rows(X)
        own = _own(reader, X, n) if exclude_self == "auto" else None
        known = set(_keys(reader.network.centers)) if own is None and _knows_rows(reader.network) else set()
        scores, oddest, n_known = np.empty(n), Oddest.none(), 0
        with progress_bar(n, "Scoring rows") if progress else nullcontext() as told:
            for start in range(0, n, _BLOCK):
                rows = np.arange(start, min(start + _BLOCK, n))
                inputs = reader.inputs(take_rows(X, rows))
                left_out = None if own is None else own[rows]
                scores[rows] = score_rows(reader.network, inputs, own=left_out, n_jobs=n_jobs)
                oddest = oddest.joined(rows, inputs, scores, keep)
                n_known += sum(key in known for key in _keys(inputs)) if known else 0
                if told is not None:
                    told(int(rows[-1]) + 1)
        return cls(reader, X, own, scores, oddest, n_known)

    @property
    def threshold(self) -> float | None:
        """Outlierness above which the model calls a row an outlier, if it does."""
        return self.reader.threshold

    @property
    def constants(self) -> dict[str, Any]:
        """Columns that never varied in training, and the value they always had."""
        variables = self.reader.rows(take_rows(self.X, np.zeros(1, dtype=np.intp))).variables
        return {variables.names[place]: value for place, value in variables.constants.items()}

    def explain(
        self,
        rows: ArrayLike,
        *,
        method: str = "dtd",
        groups: Groups | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        ids: tuple[str | None, ...] | None = None,
        progress: bool = False,
    ) -> Explanation:
        """Explain some rows, given by their positions; otherwise as :func:`whyodd.explain`."""
        positions = np.asarray(rows, dtype=np.intp)
        return explain_prepared(
            self.reader.rows(take_rows(self.X, positions), self.oddest.inputs_of(positions)),
            own=None if self.own is None else self.own[positions],
            method=method,
            groups=groups,
            options=options,
            normal_of=self.reader,
            random_state=random_state,
            ids=ids,
            progress=progress,
            rows=positions,
        )


@dataclass(frozen=True, eq=False)
class Oddest:
    """Some rows in the form that reached the model, by their positions in the table.

    Attributes
    ----------
    rows : ndarray of int of shape (k,)
        Ascending.
    inputs : ndarray or CSR matrix of shape (k, columns), or None if there are no rows
    """

    rows: Indices
    inputs: Points | None

    @classmethod
    def none(cls) -> Oddest:
        """Start without rows."""
        return cls(np.empty(0, dtype=np.intp), None)

    def joined(self, rows: Indices, inputs: Points, scores: NDArray[np.float64], keep: int) -> Oddest:
        """The ``keep`` oddest of these rows and further ones, which come after them in the table."""
        if keep == 0:
            return self
        together = np.concatenate([self.rows, rows])
        chosen = np.arange(together.size)
        if together.size > keep:
            chosen = np.sort(np.argpartition(-scores[together], keep - 1)[:keep])
        before, after = chosen[chosen < self.rows.size], chosen[chosen >= self.rows.size] - self.rows.size
        if before.size == 0:
            return Oddest(rows[after], inputs[after])
        earlier: Any = self.inputs
        parts = [earlier[before], inputs[after]]
        stacked = sparse.vstack(parts, format="csr") if is_sparse(inputs) else np.concatenate(parts)
        return Oddest(together[chosen], stacked)

    def inputs_of(self, rows: Indices) -> Points | None:
        """These rows in the form that reached the model; None unless all of them were kept."""
        places = np.searchsorted(self.rows, rows)
        if self.inputs is None or rows.size == 0 or places.max() >= self.rows.size:
            return None
        return self.inputs[places] if bool((self.rows[places] == rows).all()) else None


def _own(reader: PreparedModel, X: Any, n: int) -> Indices | None:
    """The center to leave out for each row, like ``own_centers``, but reads only rows that may be one."""
    network = reader.network
    if not _knows_rows(network) or network.n_rows != n:
        return None
    candidates = reader.inputs(take_rows(X, network.rows))
    every = np.arange(len(network.rows))
    return own_by_training_row(network, candidates, every, transformed=bool(reader.steps))


def _knows_rows(network: Any) -> bool:
    """Whether the centers are training rows."""
    return offers(network, "leave_out") and network.rows is not None


def _keys(points: Points) -> Iterator[bytes]:
    """Rows as bytes, equal for equal rows; nothing for a sparse matrix."""
    if is_sparse(points):
        return iter(())
    return (row.tobytes() for row in np.asarray(points, dtype=np.float64) + 0.0)  # one zero, not also -0
