"""A third layer: views of the same row, pooled by summing relevance over its usual size."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.compute.work import Scores
from whyodd.inputs.matrices import as_matrix
from whyodd.maths.metrics import LinearMetric
from whyodd.maths.robust_scales import soften
from whyodd.network.waist import Decomposition, decompose_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.compute.flipping.removals import Removals
    from whyodd.network.distance_network import DistanceNetwork

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# In what way a value is odd, as the view that finds it says.
IN_ITSELF, FOR_ROWS_LIKE_IT, DOES_NOT_GO_WITH = "in itself", "for rows like it", "does not go with"
KINDS = (IN_ITSELF, FOR_ROWS_LIKE_IT, DOES_NOT_GO_WITH)
# Rows processed together: their relevance in all views is in memory at once.
_BLOCK = 4_096


@dataclass(frozen=True, eq=False)
class View:
    """One member of a committee, in scaled units.

    Attributes
    ----------
    name : str
        What it looks at.
    kind : str
        In what way a variable is odd that it finds relevant, one of ``KINDS``.
    score : member of the waist
        What it finds, without a rest: Σ_i R_i = o.
    usual : ndarray of shape (d,)
        Usual relevance of each variable.
    weight : float
        What R_i over its usual size counts.
    """

    name: str
    kind: str
    score: Any
    usual: Floats
    weight: float

    def relevance(
        self,
        Z: Floats,
        own: Indices | None,
        n_jobs: int | None = None,
        consume: Callable[[Any, Any], None] | None = None,
    ) -> Floats:
        """Its contribution to each variable (n, d); ``consume`` receives its assignments."""
        parts = decompose_rows(self.score, Z, own=own, n_jobs=n_jobs, consume=consume).relevance
        return np.asarray(parts * (self.weight / self.usual))


@dataclass(frozen=True, eq=False)
class CommitteeScore:
    """Committee of views: R_i = Σ_k w_k R_ki / ū_ki, and o = Σ_i R_i, which is 1 on a usual row.

    Made by :class:`whyodd.Committee`. The rows it was learned from are its centers: what a row is compared
    with in words are the nearest tenth of them.

    Attributes
    ----------
    views : tuple of View
        The first one compares with neighbours.
    center, scale : ndarray of shape (d,)
        z = (x - center)/scale is what the views see, softened where it is far from 0.
    centers : ndarray of shape (m, d)
        The rows that were learned from, as they were.
    rows : ndarray of int of shape (m,)
        Which training rows these are.
    usual : ndarray of shape (u, d)
        Rows that define what is usual, in words: those looked at without the oddest twentieth.
    extent : ndarray of shape (2, d)
        The smallest and the largest value of each column in training.
    n_rows : int
        How many training rows there were.
    copies : ndarray of int of shape (c, 2)
        Other training rows that are equal to a center, and the center.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {
            *("centers", "consume", "copies", "expected", "flip", "kinds", "leave_out", "neighbors"),
            *("save", "work"),
        }
    )

    views: tuple[View, ...]
    center: Floats
    scale: Floats
    centers: Floats
    rows: Indices
    usual: Floats
    extent: Floats | None = None
    n_rows: int | None = None
    copies: Indices | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Without cached values: a used committee is saved like an unused one.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def n_centers(self) -> int:
        """Number of rows that were learned from."""
        return len(self.centers)

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return int(self.centers.shape[1])

    @cached_property
    def weights(self) -> Floats:
        """(m,) equal weights of all training rows."""
        return np.full(self.n_centers, 1.0 / self.n_centers)

    @cached_property
    def metric(self) -> LinearMetric:
        """Distances in scales, valid as long as nothing is far away."""
        return LinearMetric(np.diag(1.0 / self.scale))

    @property
    def neighborhood(self) -> DistanceNetwork:
        """The view that compares with the nearest tenth."""
        network: DistanceNetwork = self.views[0].score
        return network

    def with_rows_of(self, chosen: Indices, n_rows: int) -> CommitteeScore:
        """The same committee if its training rows were those ``chosen`` among ``n_rows``."""
        copies = self.copies
        if copies is not None:
            copies = np.column_stack([np.asarray(chosen)[copies[:, 0]], copies[:, 1]])
        return replace(self, rows=np.asarray(chosen)[self.rows], n_rows=n_rows, copies=copies)

    def scaled(self, X: Any) -> Floats:
        """Rows (n, d) as the views see them."""
        values = np.asarray(to_dense(as_matrix(X).values), dtype=np.float64)
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the committee has {self.n_features} variable(s). "
                "Pass the columns used in fit."
            )
        return soften((values - self.center) / self.scale)

    def outlierness(self, X: Any, **keywords: Any) -> Floats:
        """Outlierness o (n,): how many times as odd as a usual row each one is."""
        return self.decompose(X, **keywords).outlierness

    def inlierness(self, X: Any, **keywords: Any) -> Floats:
        """exp(-o) (n,)."""
        return np.asarray(np.exp(-self.outlierness(X, **keywords)))

    def decompose(
        self,
        X: Any,
        *,
        own: Indices | None = None,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
        consume: Callable[[Any, Any], None] | None = None,
    ) -> Decomposition:
        """Relevance of all views together, and by their kinds.

        ``own`` (n,): the center that each row is, and that is left out, or -1. ``consume`` is handed
        assignments to the nearest tenth, as by :meth:`assign`.
        """
        Z = self.scaled(X)
        by_kind = np.zeros((len(KINDS), *Z.shape))
        for start in range(0, len(Z), _BLOCK):
            rows = slice(start, start + _BLOCK)
            left_out = None if own is None else np.asarray(own)[rows]
            for place, view in enumerate(self.views):
                handed = _shifted(consume, start) if place == 0 else None
                by_kind[KINDS.index(view.kind), rows] += view.relevance(Z[rows], left_out, n_jobs, handed)
            if progress is not None:
                progress(min(start + _BLOCK, len(Z)))
        relevance = by_kind.sum(axis=0).astype(as_matrix(X).values.dtype, copy=False)
        return Decomposition(
            relevance, np.zeros(len(Z)), by_kind.sum(axis=(0, 2)), by_kind=by_kind.transpose(1, 2, 0)
        )

    def assign(
        self,
        X: Any,
        consume: Callable[[Any, Any], None] | None = None,
        *,
        own: Indices | None = None,
        **work: Any,
    ) -> Scores:
        """Scores of each row; ``consume`` is handed assignments to the nearest tenth, as by a network."""
        if consume is not None:
            self.neighborhood.assign(self.scaled(X), consume, own=own, **work)
        o = self.outlierness(X, own=own, **work)
        return Scores(o, -o, np.zeros(o.size), np.zeros(o.size))

    def flip(
        self,
        X: Any,
        removals: Removals,
        own: Indices | None = None,
        *,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Floats:
        """Outlierness of rows before and after each of S steps that remove variables (n, S + 1).

        A variable that is removed has the value that rows like it have, the mean of the nearest tenth.
        """
        values = np.asarray(to_dense(as_matrix(X).values), dtype=np.float64)
        keywords = {} if own is None else {"own": own}
        expected = self.expected(values, **keywords)
        curves = np.empty((len(values), removals.steps + 1))
        for step in range(removals.steps + 1):
            is_gone = removals.stages <= step
            curves[:, step] = self.outlierness(np.where(is_gone, expected, values), own=own, n_jobs=n_jobs)
        if progress is not None:
            progress(len(values))
        return curves

    def partner(self, X: Any, columns: Indices, own: Indices | None = None) -> tuple[int, Indices] | None:
        """What one row (1, d) has that does not go with some of its columns.

        Returns
        -------
        The other column, and the centers that are like the row in it; None if there is no such pair.
        """
        pairs = next((view.score for view in self.views if view.kind == DOES_NOT_GO_WITH), None)
        return None if pairs is None else pairs.partner(self.scaled(X), columns, own, self._seen)

    @cached_property
    def _seen(self) -> Floats:
        return self.scaled(self.centers)

    def nearest(self, X: Any, k: int, **keywords: Any) -> Any:
        """The k nearest centers, as of a ``DistanceNetwork``."""
        return self.neighborhood.nearest(self.scaled(X), k, **keywords)

    def expected(self, X: Any, **keywords: Any) -> Floats:
        """Mean of the nearest tenth of the centers (n, d): what normal rows like these have."""
        Z = self.scaled(X)
        out = np.empty(Z.shape)

        def fill(rows: Any, p: Any) -> None:
            out[rows] = self.average(p)

        self.neighborhood.assign(Z, fill, **keywords)
        return out

    def average(self, p: Any) -> Floats:
        """Mean of the centers (n, d) for assignments p (n, m)."""
        return np.asarray(to_dense(p @ self.centers), dtype=np.float64)


def _shifted(consume: Callable[[Any, Any], None] | None, start: int) -> Callable[[slice, Any], None] | None:
    """A consumer of assignments of rows that begin at ``start``."""
    if consume is None:
        return None
    return lambda rows, p: consume(slice(start + rows.start, start + rows.stop), p)
