"""Each variable against its prediction from all others: a view of the whole, with its correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Residuals:
    """Squared residuals of each variable given all others, in units of their variance.

    With a precision matrix P and the mean μ, variable i given the others has the variance 1/P_ii, and the
    residual (P (x - μ))_i / P_ii: R_i = (P (x - μ))_i² / P_ii, and o = Σ_i R_i.

    Parameters
    ----------
    mean : array of shape (k,)
    precision : array of shape (k, k) or (k,)
        P, positive definite; or its diagonal, where each variable is compared by itself.
    columns : array of int of shape (k,), optional
        The variables that are compared; all by default. The others have no relevance.

    Examples
    --------
    >>> from whyodd.network.residuals import Residuals
    >>> view = Residuals([0.0, 0.0], [[2.0, 0.0], [0.0, 1.0]])
    >>> view.decompose([[1.0, 3.0]]).relevance
    array([[2., 9.]])
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"leave_out", "save"})

    mean: Floats
    precision: Floats
    columns: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        for name in ("mean", "precision"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))

    def outlierness(self, X: Any, **keywords: Any) -> Floats:
        """Sum of the squared residuals (n,)."""
        return self.decompose(X, **keywords).outlierness

    def decompose(self, X: Any, own: Any = None) -> Decomposition:  # noqa: ARG002
        """Squared residuals (n, d); the effect of one row on mean and precision is neglected."""
        values = np.asarray(X, dtype=np.float64)
        gaps = (values if self.columns is None else values[:, self.columns]) - self.mean
        if self.precision.ndim == 1:
            found = gaps**2 * self.precision
        else:
            found = (gaps @ self.precision) ** 2 / np.diag(self.precision)
        relevance = found
        if self.columns is not None:
            relevance = np.zeros(values.shape)
            relevance[:, self.columns] = found
        return Decomposition(relevance, np.zeros(len(relevance)), relevance.sum(axis=1))
