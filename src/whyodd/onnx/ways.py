"""Linear maps of differences x - u: to ζ, whose length is the distance, and back to variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.mapped.components import factors_of
from whyodd.compute.mapped.mixing import way_back
from whyodd.compute.points import to_dense
from whyodd.maths.metrics import ComponentMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.maths.linear_maps import LinearMap
    from whyodd.maths.metrics import Metric

    Floats = NDArray[np.float64]
    Value = Any  # values.Value, whose arithmetic NumPy's types do not know


@dataclass(frozen=True)
class Ways:
    """Maps ζ = (x - u) Aᵀ, P = (x - u) S and Q = (x - u) G: variable i has the part P_i Q_i of ‖ζ‖².

    A map is a matrix (d, k), or one for each center (m, d, k); (1, d) stands for a diagonal one, None for the
    identity.

    Attributes
    ----------
    zeta, shortest, gradient : ndarray or None
        Aᵀ, S and G. S and G are the same object if all shares are squares.
    floor : ndarray of shape (d_y,) or None
        0 for variables whose shares are never negative, -∞ for others; None if there are no others.
    """

    zeta: Floats | None
    shortest: Floats | None
    gradient: Floats | None
    floor: Floats | None = None

    @classmethod
    def of(
        cls, metric: Metric | None, through: LinearMap | None, counts: NDArray[np.bool_] | None = None
    ) -> Ways:
        """Through a metric, and through a map before it; of the centers that count, if each has its own."""
        if not isinstance(metric, ComponentMetric):
            return cls._through(None if metric is None else factors_of(metric, 1)[0], through)
        each = [cls._through(factor, through) for factor in metric.factors[counts]]
        zeta = _stacked([way.zeta for way in each])
        if all(way.gradient is way.shortest for way in each):
            return cls(zeta, zeta, zeta)
        shortest = _stacked([way.shortest for way in each])
        gradient = _stacked([way.gradient for way in each])
        return cls(zeta, shortest, gradient, np.full(gradient.shape[-1], -np.inf))

    @classmethod
    def _through(cls, matrix: Any, through: LinearMap | None) -> Ways:
        """Through a metric A, or the diagonal of one, and then through a map."""
        way = way_back(matrix, through)
        is_diagonal = matrix is not None and matrix.ndim == 1
        full: Any = np.diag(matrix) if is_diagonal else matrix
        zeta: Any = None if matrix is None else matrix[None, :] if is_diagonal else matrix.T
        shortest: Any = None if way.through is None else to_dense(way.through.shortest)
        gradient: Any = None if way.through is None else to_dense(way.through.gradient)
        if way.matrix is not None:
            gradient = full.T @ full if gradient is None else full.T @ full @ gradient
            return cls(zeta, shortest, gradient, np.full(gradient.shape[1], -np.inf))
        if way.through is None:
            return cls(zeta, zeta, zeta)
        if full is not None:
            shortest, gradient = full.T @ shortest, full.T @ gradient
        return cls(zeta, shortest, gradient, np.where(way.through.squares, 0.0, -np.inf))

    def shared(self, difference: Value, weights: Value) -> Value:
        """Each variable's part of weighted squared distances (…, d_y), from differences x - u (…, d)."""
        # Weight times one factor first: near a center it is huge, and the square alone would underflow.
        return weights * applied(difference, self.shortest) * applied(difference, self.gradient)

    def without_rounding(self, relevance: Value) -> Value:
        """Relevance (n, d_y), with negative rounding errors removed."""
        if self.floor is not None and np.isneginf(self.floor).all():
            return relevance
        return np.maximum(relevance, 0.0 if self.floor is None else self.floor)


def applied(points: Value, matrix: Floats | None) -> Value:
    """Points (…, d) after a map."""
    if matrix is None:
        return points
    # A single number is passed as a matrix, or onnxruntime merges the factor into the next product, in
    # float32.
    return points * matrix if matrix.shape[-2] == 1 < matrix.size else points @ matrix


def _stacked(maps: Sequence[Any]) -> Any:
    """(m, d, k) a map for each center; None if all are the identity."""
    known = next((each for each in maps if each is not None), None)
    if known is None:
        return None
    return np.stack([np.eye(known.shape[-1]) if each is None else each for each in maps])
