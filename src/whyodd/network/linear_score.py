"""A linear score: no distances, but a signed decomposition of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.inputs.matrices import as_matrix
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class LinearScore:
    """Score of a linear one-class model, o = ρ - w·x: R_i = -w_i x_i, and ρ belongs to no variable.

    Everything here is signed: o is -``decision_function`` of the model, below 0 for its inliers, and R_i is
    below 0 where a variable makes the row more normal. The laws of distance networks (o ≥ 0, R_i ≥ 0,
    unexplained ≥ 0) do not hold; Σ_i R_i + unexplained = o does. Relevance is relative to x = 0, which is
    also what ``expected`` gives: a linear model knows no normal points.

    Parameters
    ----------
    coef : array of shape (d,)
        w.
    offset : float
        ρ.
    verdict : Verdict, optional
        What the model says of its own scores.

    Examples
    --------
    >>> from whyodd.network.linear_score import LinearScore
    >>> score = LinearScore([2.0, -1.0], offset=3.0)
    >>> parts = score.decompose([[1.0, 4.0]])
    >>> parts.relevance, parts.unexplained, parts.outlierness
    (array([[-2.,  4.]]), array([3.]), array([5.]))
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "save"})

    coef: NDArray[np.float64]
    offset: float
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        coef = np.array(self.coef, dtype=np.float64)
        coef.flags.writeable = False
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "offset", float(self.offset))

    @property
    def n_features(self) -> int:
        """Number of input variables d."""
        return self.coef.size

    def outlierness(self, X: Any) -> NDArray[np.float64]:
        """Outlierness o = ρ - w·x (n,), signed."""
        return self.decompose(X).outlierness

    def decompose(self, X: Any) -> Decomposition:
        """R_i = -w_i x_i, unexplained ρ, o and log g = -o."""
        values = self._checked(X)
        relevance = -(to_dense(values) * self.coef)
        outlierness = self.offset + relevance.sum(axis=1)
        return Decomposition(
            relevance=relevance.astype(values.dtype, copy=False),
            unexplained=np.full(len(outlierness), self.offset),
            outlierness=outlierness,
        )

    def expected(self, X: Any) -> Floats:
        """Zeros (n, d), to which relevance refers."""
        values = self._checked(X)
        return np.zeros(values.shape, dtype=values.dtype)

    def _checked(self, X: Any) -> Any:
        values = as_matrix(X).values
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the model was fitted on {self.n_features}. "
                "Pass the columns used in fit."
            )
        return values
