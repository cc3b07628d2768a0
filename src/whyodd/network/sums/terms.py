"""Sums over variables: a score that has a term of its own for each, such as a histogram or a tail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whyodd.network.rebuilt import Rebuilt, rows_in_doubles
from whyodd.network.sums.spreading import spread
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


class Terms(Protocol):
    """One term t_i(x_i) ≥ 0 per variable, each a function of that variable alone."""

    @property
    def usual(self) -> Floats:
        """(d,) the most ordinary value of each variable."""

    def of(self, X: Floats, own: Indices | None) -> Floats:
        """Terms (n, d) of rows (n, d); ``own`` (n,): the training row that each leaves out, or -1."""


@dataclass(frozen=True, eq=False)
class TermsScore(Rebuilt):
    """Sum over variables: o = Σ_i t_i(x_i) with t_i ≥ 0, R_i = t_i, and nothing is unexplained.

    Behind a linear map z = B y + b the term of z_i is spread over the variables y that have moved z_i away
    from its usual value (:func:`whyodd.network.sums.spreading.spread`); what none has moved is unexplained.

    Parameters
    ----------
    terms : Terms
        The terms. If they are relative to training rows, ``training`` (m, d), a row can be left out.
    verdict : Verdict, optional
        What the model says of its own scores.

    Examples
    --------
    >>> from whyodd.network.sums.terms import RobustDeviations, TermsScore
    >>> score = TermsScore(RobustDeviations([10.0, 0.0], [2.0, 1.0]))
    >>> score.decompose([[14.0, -3.0]]).relevance
    array([[2., 3.]])
    """

    terms: Any
    verdict: Verdict | None = None

    @property
    def capabilities(self) -> frozenset[str]:
        """Rows can be left out if the terms have training rows."""
        own = () if self.n_rows is None else ("leave_out",)
        return frozenset({"expected", "save", "through", *own})

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return int(self.terms.usual.size)

    @property
    def centers(self) -> Any:
        """Training rows (m, d) that the terms are relative to; None if they have none."""
        return getattr(self.terms, "training", None)

    @property
    def n_centers(self) -> int:
        """Number of these rows."""
        return self.n_rows or 0

    @property
    def n_rows(self) -> int | None:
        """Number of training rows, if the terms know them."""
        return None if self.centers is None else len(self.centers)

    @cached_property
    def rows(self) -> Indices | None:
        """(m,) the training row that each of them is: all, in their order."""
        return None if self.n_rows is None else np.arange(self.n_rows)

    def outlierness(self, X: Any, own: Indices | None = None) -> Floats:
        """Outlierness o = Σ_i t_i (n,)."""
        values, _ = rows_in_doubles(X, self.n_features)
        return np.asarray(self.terms.of(values, own).sum(axis=1))

    def decompose(
        self, X: Any, *, own: Indices | None = None, through: LinearMap | None = None
    ) -> Decomposition:
        """R_i = t_i (n, d), or what it is of the variables before a linear map."""
        values, dtype = rows_in_doubles(X, self.n_features)
        terms = self.terms.of(values, own)
        relevance, unexplained = terms, np.zeros(len(terms))
        if through is not None:
            relevance, unexplained = spread(terms, values - self.terms.usual, through=through)
        return Decomposition(relevance.astype(dtype, copy=False), unexplained, terms.sum(axis=1))

    def expected(self, X: Any, **keywords: Any) -> NDArray[np.floating]:
        """(n, d) the most ordinary value of each variable, the same for all rows."""
        del keywords
        values, dtype = rows_in_doubles(X, self.n_features)
        return np.broadcast_to(self.terms.usual, values.shape).astype(dtype)


@dataclass(frozen=True, eq=False)
class RobustDeviations(Rebuilt):
    """Absolute deviations: t_i = |x_i - m_i| / s_i.

    Parameters
    ----------
    medians : array of shape (d,)
        m_i.
    spreads : array of shape (d,)
        s_i > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.sums.terms import RobustDeviations
    >>> RobustDeviations([10.0], [2.0]).of(np.array([[4.0], [11.0]]))
    array([[3. ],
           [0.5]])
    """

    medians: Floats
    spreads: Floats

    def __post_init__(self) -> None:
        medians = self._freeze("medians", None)
        self._freeze("spreads", medians.size, low=np.finfo(np.float64).tiny)

    @property
    def usual(self) -> Floats:
        """(d,) the medians."""
        return self.medians

    def of(self, X: Floats, own: Indices | None = None) -> Floats:  # noqa: ARG002
        """Terms (n, d) of rows (n, d)."""
        return np.asarray(np.abs(X - self.medians) / self.spreads)


@dataclass(frozen=True, eq=False)
class HistogramTerms(Rebuilt):
    """Histograms: t_i = max_b h_ib - h_i,b(x_i), the height of the fullest bin less that of the row's own.

    A bin holds its upper edge. A value beyond the outermost edge, by at most ``tolerance`` of that bin's
    width, counts to the outermost bin, and farther out to the emptiest one.

    Parameters
    ----------
    edges : sequence of d arrays, each of shape (bins + 1,)
        Edges of the bins, in order; the number of bins may differ between variables.
    heights : sequence of d arrays, each of shape (bins,)
        h_ib, logarithms of densities.
    tolerance : float
        At least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.sums.terms import HistogramTerms
    >>> terms = HistogramTerms([[0.0, 1.0, 2.0, 3.0]], [[-1.0, 0.0, -4.0]], tolerance=0.5)
    >>> terms.of(np.array([[1.0], [1.5], [-0.5], [-2.0]])).ravel()
    array([1., 0., 1., 4.])
    """

    edges: tuple[Floats, ...]
    heights: tuple[Floats, ...]
    tolerance: float

    def __post_init__(self) -> None:
        edges, heights = map(_frozen_arrays, (self.edges, self.heights))
        fits = len(edges) == len(heights) > 0 and all(
            e.ndim == h.ndim == 1 and e.size == h.size + 1 >= 2 and np.all(np.diff(e) >= 0.0)
            for e, h in zip(edges, heights, strict=True)
        )
        is_finite = all(np.isfinite(array).all() for array in (*edges, *heights))
        if not fits or not is_finite or not 0.0 <= self.tolerance < np.inf:
            raise ValueError(
                "A histogram must have finite edges in order, a height for each bin between them, and a "
                "tolerance of at least 0."
            )
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "tolerance", float(self.tolerance))

    @cached_property
    def usual(self) -> Floats:
        """(d,) the middle of the fullest bin."""
        fullest = [int(h.argmax()) for h in self.heights]
        return np.array([e[b : b + 2].mean() for e, b in zip(self.edges, fullest, strict=True)])

    def of(self, X: Floats, own: Indices | None = None) -> Floats:  # noqa: ARG002
        """Terms (n, d) of rows (n, d)."""
        columns = [
            h.max() - self._heights(x, e, h) for x, e, h in zip(X.T, self.edges, self.heights, strict=True)
        ]
        return np.column_stack(columns)

    def _heights(self, x: Floats, edges: Floats, heights: Floats) -> Floats:
        found = heights[np.clip(np.searchsorted(edges, x, side="left") - 1, 0, heights.size - 1)]
        below = edges[0] - x > (edges[1] - edges[0]) * self.tolerance
        above = x - edges[-1] > (edges[-1] - edges[-2]) * self.tolerance
        return np.where(below | above, heights.min(), found)


def _frozen_arrays(arrays: Any) -> tuple[Floats, ...]:
    frozen = tuple(np.array(array, dtype=np.float64) for array in arrays)
    for array in frozen:
        array.flags.writeable = False
    return frozen
