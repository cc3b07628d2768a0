"""A large table: all rows scored block by block, and those that are worth it explained."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from whyodd.compute.points import is_sparse
from whyodd.explainers.explaining import explain_prepared
from whyodd.explainers.own_centers import own_by_training_row
from whyodd.explainers.preparing import PreparedModel
from whyodd.inputs.frames import as_frame
from whyodd.network.waist import offers, score_rows
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from whyodd.compute.points import Points
    from whyodd.explainers.groups import Groups
    from whyodd.explanations.table import Explanation

    Indices = NDArray[np.intp]

# Rows that are held as numbers at a time: enough to be quick, few against a large table.
_BLOCK = 20_000


@dataclass(frozen=True, eq=False)
class Survey:
    """Outlierness of all rows of a table, and a way to explain some of them.

    The numbers are those of :func:`whyodd.explain` of all rows, but no relevance is computed, and no rows
    are converted or held, until they are asked for.

    Attributes
    ----------
    reader : PreparedModel
        The model.
    X : array, CSR matrix or data frame of shape (n, d)
        The rows as they were given.
    own : ndarray of int of shape (n,), optional
        The center that is left out for each row, or -1; None if X does not hold the training rows.
    outlierness : ndarray of shape (n,)
    n_known : int
        Rows that are equal to a training row among the centers, and look normal for that; 0 if such centers
        are left out.
    """

    reader: PreparedModel
    X: Any
    own: Indices | None
    outlierness: NDArray[np.float64]
    n_known: int = 0

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        *,
        exclude_self: Literal["auto", False] = "auto",
        progress: bool = False,
        n_jobs: int | None = None,
    ) -> Survey:
        """Score all rows.

        Parameters
        ----------
        model, X, progress, n_jobs
            As for :func:`whyodd.explain`; a model of tables.
        exclude_self : {"auto", False}, default "auto"
            Whether rows that are centers leave those out, if X demonstrably holds the training rows.
        """
        reader, n = PreparedModel.of(model), count_rows(X)
        own = _own(reader, X, n) if exclude_self == "auto" else None
        known = set(_keys(reader.network.centers)) if own is None and _knows_rows(reader.network) else set()
        scores, n_known = np.empty(n), 0
        with progress_bar(n, "Scoring rows") if progress else nullcontext() as told:
            for start in range(0, n, _BLOCK):
                rows = np.arange(start, min(start + _BLOCK, n))
                inputs = reader.inputs(take_rows(X, rows))
                left_out = None if own is None else own[rows]
                scores[rows] = score_rows(reader.network, inputs, own=left_out, n_jobs=n_jobs)
                n_known += sum(key in known for key in _keys(inputs)) if known else 0
                if told is not None:
                    told(int(rows[-1]) + 1)
        return cls(reader, X, own, scores, n_known)

    @property
    def threshold(self) -> float | None:
        """Outlierness above which the model calls a row an outlier, if it does."""
        return self.reader.threshold

    def explain(
        self,
        rows: ArrayLike,
        *,
        method: str = "dtd",
        groups: Groups | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        progress: bool = False,
    ) -> Explanation:
        """Explain some rows, given by their positions; otherwise as :func:`whyodd.explain`."""
        positions = np.asarray(rows, dtype=np.intp)
        return explain_prepared(
            self.reader.rows(take_rows(self.X, positions)),
            own=None if self.own is None else self.own[positions],
            method=method,
            groups=groups,
            options=options,
            normal_of=self.reader,
            random_state=random_state,
            progress=progress,
            rows=positions,
        )


def count_rows(X: Any) -> int:
    """Number of rows of a table."""
    frame = as_frame(X)
    return int(np.shape(X)[0]) if frame is None else int(frame.shape[0])


def take_rows(X: Any, rows: Indices) -> Any:
    """Some rows of a table, as the same kind of table."""
    frame = as_frame(X)
    if frame is not None:
        return frame[rows, :].to_native()
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


def _own(reader: PreparedModel, X: Any, n: int) -> Indices | None:
    """The center to leave out for each row, as ``own_centers`` has it; reads only rows that may be one."""
    network = reader.network
    if not _knows_rows(network) or network.n_rows != n:
        return None
    candidates = reader.inputs(take_rows(X, network.rows))
    return own_by_training_row(network, candidates, n, transformed=bool(reader.steps))


def _knows_rows(network: Any) -> bool:
    """Whether the centers are training rows."""
    return offers(network, "leave_out") and network.rows is not None


def _keys(points: Points) -> Iterator[bytes]:
    """Rows as bytes, equal for equal rows; none of a sparse matrix."""
    if is_sparse(points):
        return iter(())
    return (row.tobytes() for row in np.asarray(points, dtype=np.float64) + 0.0)  # there is one zero, not two
