"""Linear one-class models: no distance networks, but with a signed decomposition of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.requirements import require_fitted
from whyodd.compute.points import to_dense
from whyodd.inputs.matrices import as_matrix
from whyodd.network.distance_network import Decomposition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

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

    Examples
    --------
    >>> from whyodd.adapters.linear import LinearScore
    >>> score = LinearScore([2.0, -1.0], offset=3.0)
    >>> parts = score.decompose([[1.0, 4.0]])
    >>> parts.relevance, parts.unexplained, parts.outlierness
    (array([[-2.,  4.]]), array([3.]), array([5.]))
    """

    coef: NDArray[np.float64]
    offset: float

    def __post_init__(self) -> None:
        coef = np.array(self.coef, dtype=np.float64)
        coef.flags.writeable = False
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "offset", float(self.offset))

    @property
    def n_features(self) -> int:
        """Number of input variables d."""
        return self.coef.size

    def outlierness(self, X: Any, **keywords: Any) -> NDArray[np.float64]:
        """Outlierness o = ρ - w·x (n,), signed."""
        return self.decompose(X, **keywords).outlierness

    def decompose(self, X: Any, *, own: ArrayLike | None = None, **work: Any) -> Decomposition:
        """R_i = -w_i x_i, unexplained ρ, o and log g = -o.

        ``own`` and what says how to work mean nothing here: there are no centers, and it is one product.
        """
        del own, work
        values = self._checked(X)
        relevance = -(to_dense(values) * self.coef)
        outlierness = self.offset + relevance.sum(axis=1)
        return Decomposition(
            relevance=relevance.astype(values.dtype, copy=False),
            unexplained=np.full(len(outlierness), self.offset),
            outlierness=outlierness,
            log_inlierness=-outlierness,
            discarded=np.zeros(len(outlierness)),
        )

    @property
    def centers(self) -> NDArray[np.float64]:
        """The point x = 0 (1, d): what relevance is relative to."""
        return np.zeros((1, self.n_features))

    @property
    def n_centers(self) -> int:
        """None: there are no normal points to compare with."""
        return 0

    def expected(self, X: Any, *, own: ArrayLike | None = None) -> Floats:
        """Zeros (n, d): what relevance is relative to."""
        del own
        values = self._checked(X)
        return np.zeros(values.shape, dtype=values.dtype)

    def assign(self, X: Any, consume: Callable[[Any, Any], None], *, own: ArrayLike | None = None) -> None:
        """Hand all rows to ``consume(rows, p)`` with p = 1 (n, 1): they are compared with one point."""
        del own
        consume(slice(None), np.ones((self._checked(X).shape[0], 1)))

    def _checked(self, X: Any) -> Any:
        values = as_matrix(X).values
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the model was fitted on {self.n_features}. "
                "Pass the columns used in fit."
            )
        return values


def linear_score(model: object) -> LinearScore | None:
    """Score of a fitted linear one-class model; None for every other model, also one with another kernel."""
    read = find_entry(LINEAR_MODELS, model)
    return None if read is None else read(model)


def from_linear_svm(model: Any) -> LinearScore | None:
    """Score of a fitted ``sklearn.svm.OneClassSVM(kernel="linear")``: o = -``decision_function``.

    With w = ``coef_`` and ρ = ``offset_``; ``score_samples`` = ρ - o.
    """
    if model.kernel != "linear":
        return None
    require_fitted(model, "support_vectors_")
    return LinearScore(_one_row(model.coef_), float(model.offset_[0]))


def from_sgd_svm(model: Any) -> LinearScore:
    """Score of a fitted ``sklearn.linear_model.SGDOneClassSVM``: o = -``decision_function``.

    With w = ``coef_`` and ρ = ``offset_``; ``score_samples`` = ρ - o.
    """
    require_fitted(model, "coef_")
    return LinearScore(_one_row(model.coef_), float(model.offset_[0]))


def from_linear_pyod_ocsvm(model: Any) -> LinearScore | None:
    """Score of a fitted ``pyod.models.ocsvm.OCSVM(kernel="linear")``: o = ``decision_function``."""
    if model.kernel != "linear":
        return None
    require_fitted(model, "decision_scores_")
    return from_linear_svm(model.detector_)


LINEAR_MODELS: dict[str, Callable[[Any], LinearScore | None]] = {
    "pyod.models.ocsvm.OCSVM": from_linear_pyod_ocsvm,
    "sklearn.linear_model._stochastic_gradient.SGDOneClassSVM": from_sgd_svm,
    "sklearn.svm._classes.OneClassSVM": from_linear_svm,
}


def _one_row(coef: Any) -> NDArray[np.float64]:
    # (1, d), (d,), or sparse if the model was fitted on sparse data.
    return np.ravel(to_dense(coef))
