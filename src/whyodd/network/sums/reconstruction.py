"""The error of reconstructing a row after a linear map: squared errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.network.rebuilt import Rebuilt, rows_in_doubles
from whyodd.network.waist import Decomposition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]

# Components found by iteration are orthogonal to about this part.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ReconstructionError(Rebuilt):
    """Squared error of a linear reconstruction: o = ‖x - x̂‖² with x̂ = m + D E (x - m), R_i = (x_i - x̂_i)².

    For a projection on a subspace (PCA) x - x̂ is also the shortest change of the row that leaves no error, so
    that R_i is the relevance of the input variable by deep Taylor decomposition too. Behind a linear map
    x = B y + b a variable y_i has δ_i [Mᵀe]_i, where e = x - x̂, M = (1 - D E) B, and δ = M⁺e is the shortest
    change of y that makes this error.

    Parameters
    ----------
    mean : array of shape (d,)
        m.
    encoder : array of shape (k, d)
        E.
    decoder : array of shape (k, d)
        Dᵀ.
    verdict : Verdict, optional
        What the model says of its own scores.

    Examples
    --------
    >>> from whyodd.network.sums.reconstruction import ReconstructionError
    >>> score = ReconstructionError([0.0, 0.0], [[0.6, 0.8]], [[0.6, 0.8]])
    >>> score.decompose([[2.0, 1.0]]).relevance.round(3), score.expected([[2.0, 1.0]])
    (array([[0.64, 0.36]]), array([[1.2, 1.6]]))
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"expected", "save", "through"})

    mean: Floats
    encoder: Floats
    decoder: Floats
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        mean = self._freeze("mean", None)
        encoder = self._freeze("encoder", None, mean.size)
        self._freeze("decoder", *encoder.shape)

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return self.mean.size

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = ‖x - x̂‖² (n,)."""
        errors = self._errors(rows_in_doubles(X, self.n_features)[0])
        return np.asarray(np.einsum("ij,ij->i", errors, errors))

    def decompose(self, X: Any, *, through: LinearMap | None = None) -> Decomposition:
        """R_i = (x_i - x̂_i)² (n, d), or that of the variables before a linear map."""
        values, dtype = rows_in_doubles(X, self.n_features)
        errors = self._errors(values)
        o, unexplained = np.einsum("ij,ij->i", errors, errors), np.zeros(len(errors))
        if through is None:
            relevance = errors**2
        else:
            directions, losing = self._loss
            lost, makes = errors @ directions, through.then(losing)
            relevance = np.asarray(lost @ makes.shortest) * np.asarray(lost @ makes.gradient)
            unexplained = np.asarray(((lost @ makes.outside) ** 2).sum(axis=1))
        return Decomposition(relevance.astype(dtype, copy=False), unexplained, o)

    def expected(self, X: Any) -> NDArray[np.floating]:
        """The reconstruction x̂ (n, d)."""
        values, dtype = rows_in_doubles(X, self.n_features)
        return (values - self._errors(values)).astype(dtype, copy=False)

    @cached_property
    def _loss(self) -> tuple[Floats, Floats]:
        """Orthonormal directions Q (d, r) of errors, and L (r, d) with 1 - D E = Q L.

        Directions that are kept have no error but rounding, which must not pass for one.
        """
        lost = np.eye(self.n_features) - self.decoder.T @ self.encoder
        directions, sizes, others = np.linalg.svd(lost)
        rank = int(np.sum(sizes > _ROUNDING * sizes[0]))
        return directions[:, :rank], sizes[:rank, None] * others[:rank]

    def _errors(self, X: Floats) -> Floats:
        gaps = X - self.mean
        return np.asarray(gaps - (gaps @ self.encoder.T) @ self.decoder)
