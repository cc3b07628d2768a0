"""Terms along projections: histograms of random combinations of variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.network.rebuilt import Rebuilt, rows_in_doubles
from whyodd.network.sums.spreading import spread
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProjectedTerms(Rebuilt):
    """Steps along projections: o = Σ_k t_k(w_k·x), where t_k ≥ 0 has one value between any two edges.

    Each term is spread over the variables that have moved the projection away from that of the usual row m,
    R_i = Σ_k t_k c_ki⁺ / Σ_j c_kj⁺ with c_ki = w_ki (x_i - m_i); see
    :func:`whyodd.network.sums.spreading.spread`.

    Parameters
    ----------
    weights : array of shape (K, d)
        w_k.
    edges : sequence of K arrays, each of shape (cells - 1,)
        Where the value of t_k changes, in order; a cell holds its upper edge.
    values : sequence of K arrays, each of shape (cells,)
        What t_k is there, at least 0.
    reference : array of shape (d,)
        m.
    is_usual : bool
        Whether m is what a normal row has, so that it may be expected; else it is only one row among many
        that have these projections.
    verdict : Verdict, optional
        What the model says of its own scores.

    Examples
    --------
    >>> from whyodd.network.sums.projected_terms import ProjectedTerms
    >>> score = ProjectedTerms([[1.0, -1.0]], [[2.0]], [[0.0, 5.0]], reference=[0.0, 0.0], is_usual=True)
    >>> score.decompose([[3.0, -2.0], [1.0, 0.0]]).relevance
    array([[3., 2.],
           [0., 0.]])
    """

    weights: Floats
    edges: tuple[Floats, ...]
    values: tuple[Floats, ...]
    reference: Floats
    is_usual: bool
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        weights = self._freeze("weights", None, None)
        self._freeze("reference", weights.shape[1])
        edges, values = (
            tuple(np.array(a, dtype=np.float64) for a in part) for part in (self.edges, self.values)
        )
        fits = len(edges) == len(values) == len(weights) and all(
            e.ndim == v.ndim == 1 and v.size == e.size + 1 and np.all(np.diff(e) >= 0.0)
            for e, v in zip(edges, values, strict=True)
        )
        if not fits or not all(np.isfinite(array).all() for array in (*edges, *values)):
            raise ValueError(
                "Each projection must have finite edges in order, and one value more than edges."
            )
        if min(v.min() for v in values) < 0.0 or not isinstance(self.is_usual, bool):
            raise ValueError("Values of terms must be at least 0, and is_usual must be True or False.")
        for array in (*edges, *values):
            array.flags.writeable = False
        for name, field in {"edges": edges, "values": values}.items():
            object.__setattr__(self, name, field)

    @property
    def capabilities(self) -> frozenset[str]:
        """The expected row is offered only if it is known."""
        return frozenset({"save", "through", *(["expected"] if self.is_usual else [])})

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return self.reference.size

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = Σ_k t_k (n,)."""
        values, _ = rows_in_doubles(X, self.n_features)
        return np.asarray(self._terms(values).sum(axis=1))

    def decompose(self, X: Any, *, through: LinearMap | None = None) -> Decomposition:
        """R_i (n, d), or that of the variables before a linear map."""
        values, dtype = rows_in_doubles(X, self.n_features)
        terms = self._terms(values)
        relevance, unexplained = spread(terms, values - self.reference, self.weights, through)
        return Decomposition(relevance.astype(dtype, copy=False), unexplained, terms.sum(axis=1))

    def expected(self, X: Any) -> NDArray[np.floating]:
        """(n, d) the usual row, the same for all."""
        values, dtype = rows_in_doubles(X, self.n_features)
        return np.broadcast_to(self.reference, values.shape).astype(dtype)

    def _terms(self, X: Floats) -> Floats:
        # One projection at a time, as PyOD: training rows lie on edges, and must round to the same side.
        places = (
            np.searchsorted(e, w.dot(X.T), side="left") for w, e in zip(self.weights, self.edges, strict=True)
        )
        return np.column_stack([v[place] for v, place in zip(self.values, places, strict=True)])
