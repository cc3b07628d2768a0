"""A function whose inside is unknown as a member of the waist: its own score, by a student or samples."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.compute.work import Scores
from whyodd.inputs.matrices import as_matrix
from whyodd.network.waist import Decomposition, offers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap
    from whyodd.network.black_box.student import Student
    from whyodd.network.distance_network import DistanceNetwork
    from whyodd.network.verdict import Verdict

    Floats = NDArray[np.float64]
    Function = Callable[[Floats], Floats]

# Capabilities that normal rows provide, whatever the function is.
_OF_NORMAL_ROWS = frozenset({"centers", "expected", "neighbors", "save"})


@dataclass(frozen=True, eq=False)
class FunctionScore:
    """Score of a function f: o(x) = f(x) - low, all of it unexplained.

    The normal rows that came with it are its centers: they say what is expected, in words.

    Parameters
    ----------
    function : callable or None
        f(X) (n,), high for outliers. It is not saved: None after loading.
    low : float
        The smallest score seen, so that o ≥ 0 on all rows that were.
    neighborhood : DistanceNetwork
        Of the normal rows.
    verdict : Verdict, optional
        What the model behind the function says of its own scores.

    Examples
    --------
    >>> import whyodd
    >>> from whyodd.maths.hard_poolings import Nearest
    >>> from whyodd.network.black_box.distilled import FunctionScore
    >>> normal = whyodd.DistanceNetwork([[0.0, 0.0], [1.0, 0.0]], pooling=Nearest.kth(1))
    >>> score = FunctionScore(lambda X: X.sum(axis=1) + 3.0, 1.0, normal)
    >>> score.outlierness([[2.0, 5.0]]), score.expected([[2.0, 5.0]])
    (array([9.]), array([[1., 0.]]))
    """

    function: Function | None
    low: float
    neighborhood: DistanceNetwork
    verdict: Verdict | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A file contains no code: only what was learned about the function is kept.
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return state | {"function": None}

    @property
    def capabilities(self) -> frozenset[str]:
        """What normal rows provide, and ``through``, since without knowledge of variables any map will do."""
        return _OF_NORMAL_ROWS | {"through"}

    @property
    def centers(self) -> Any:
        """(m, d) normal rows."""
        return self.neighborhood.centers

    @property
    def weights(self) -> Floats:
        """(m,) equal weights of all normal rows."""
        return self.neighborhood.weights

    @property
    def n_centers(self) -> int:
        """Number of normal rows."""
        return self.neighborhood.n_centers

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return self.neighborhood.n_features

    @property
    def rows(self) -> None:
        """None, because the training rows that the normal ones are is unknown."""
        return

    def own(self, X: Any) -> Floats:
        """The function's own score (n,)."""
        if self.function is None:
            raise ValueError(
                "The explained function is not in the file, since a file holds no code. The explanation "
                "itself is complete. To score other rows, call whyodd.explain with the function again."
            )
        values = np.asarray(to_dense(as_matrix(X).values), dtype=np.float64)
        if values.shape[1] != self.n_features:
            raise ValueError(
                f"X has {values.shape[1]} column(s), the normal rows have {self.n_features}. Pass the same "
                "columns."
            )
        return self.function(values)

    def outlierness(self, X: Any) -> Floats:
        """Outlierness o = f(x) - low (n,)."""
        return np.asarray(self.own(X) - self.low)

    def decompose(self, X: Any, *, through: LinearMap | None = None) -> Decomposition:
        """No relevance, since nothing is known about the variables."""
        o = self.outlierness(X)
        d = self.n_features if through is None else through.n_inputs
        return Decomposition(np.zeros((o.size, d)), o.copy(), o)

    def assign(self, X: Any, consume: Callable[[Any, Any], None] | None = None, **keywords: Any) -> Scores:
        """Scores of each row; ``consume`` is handed assignments to the nearest normal rows."""
        if consume is not None:
            self.neighborhood.assign(X, consume, **keywords)
            return Scores(*(np.zeros(np.shape(X)[0]) for _ in range(4)))
        o = self.outlierness(X)
        return Scores(o, -o, np.zeros(o.size), np.zeros(o.size))

    def nearest(self, X: Any, k: int, **keywords: Any) -> Any:
        """The k nearest normal rows."""
        return self.neighborhood.nearest(X, k, **keywords)

    def expected(self, X: Any) -> Any:
        """Mean of the nearest normal rows (n, d)."""
        return self.neighborhood.expected(X)


@dataclass(frozen=True, eq=False)
class DistilledScore(FunctionScore):
    """Score of a function, explained by a student ô = Σ_i R̂_i + r̂: R_i = f R̂_i, unexplained = o - Σ_i R_i.

    f = 1, so that what the student misses of the function belongs to no variable, or less where it has found
    more than there is: f = min(1, o / Σ_i R̂_i).

    Parameters
    ----------
    student : Student
        Fitted to o on normal rows, on mixtures of rows to explain with them, and on small moves.
    fidelity : mapping of str to float
        Rank correlation and R² of the student on rows that it did not see.
    """

    student: Student = None  # type: ignore[assignment]
    fidelity: Mapping[str, float] | None = None
    exactness: str = "distilled"

    @property
    def r2(self) -> float:
        """R² of the student on rows that it has not seen."""
        return -np.inf if self.fidelity is None else self.fidelity["r2"]

    @property
    def capabilities(self) -> frozenset[str]:
        """Adds a linear map, if the student supports one."""
        return _OF_NORMAL_ROWS | ({"through"} if offers(self.student, "through") else set())

    def decompose(self, X: Any, *, through: LinearMap | None = None) -> Decomposition:
        """The student's relevance, the function's outlierness."""
        o = self.outlierness(X)
        values = to_dense(as_matrix(X).values)
        found = self.student.decompose(values, through=through).relevance
        whole = found.sum(axis=1)
        factor = np.divide(np.maximum(o, 0.0), whole, out=np.ones(o.shape), where=whole > np.maximum(o, 0.0))
        relevance = found * factor[:, None]
        return Decomposition(relevance.astype(values.dtype, copy=False), o - relevance.sum(axis=1), o)


@dataclass(frozen=True, eq=False)
class SampledScore(FunctionScore):
    """Score of a function with sampled Shapley values of some rows: R_i = φ_i, unexplained = o - Σ_i φ_i.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The rows that were sampled.
    values : ndarray of shape (n, d)
        Their Shapley values.
    fidelity : mapping of str to float
        The standard error.
    """

    points: Floats = None  # type: ignore[assignment]
    values: Floats = None  # type: ignore[assignment]
    fidelity: Mapping[str, float] | None = None
    exactness: str = "sampled"

    @property
    def capabilities(self) -> frozenset[str]:
        """What normal rows provide."""
        return _OF_NORMAL_ROWS

    def decompose(self, X: Any, *, through: LinearMap | None = None) -> Decomposition:
        """The values sampled for these rows."""
        if through is not None:
            raise ValueError(
                "Shapley values were sampled at the function's own input, so they cannot be passed "
                "through a map. Leave through out."
            )
        o = self.outlierness(X)
        known = {row.tobytes(): place for place, row in enumerate(self.points)}
        asked = np.asarray(to_dense(as_matrix(X).values), dtype=np.float64)
        places = [known.get(row.tobytes(), -1) for row in asked]
        if -1 in places:
            raise ValueError(
                f"Row {places.index(-1)} of X is not among the {len(self.points)} rows whose Shapley values "
                "were sampled. Call whyodd.explain with the function and these rows."
            )
        relevance = self.values[places]
        in_its_type = relevance.astype(as_matrix(X).values.dtype, copy=False)
        return Decomposition(in_its_type, o - relevance.sum(axis=1), o)
