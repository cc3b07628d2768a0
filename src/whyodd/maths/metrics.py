"""Metrics: distances after a linear map, d_j = ‖A (x - u_j)‖; one map for all centers, or one for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearMetric:
    """One map for all centers: d_j = ‖A (x - u_j)‖.

    Parameters
    ----------
    matrix : array-like of shape (k, d)
        A. With A = L⁻¹ for a covariance L Lᵀ this is Mahalanobis' distance.
    """

    matrix: Floats

    def __init__(self, matrix: ArrayLike) -> None:
        object.__setattr__(self, "matrix", _checked(matrix, (2,), "(k, d)"))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: what was pickled comes back read-only.
        return LinearMetric, (self.matrix,)

    def __repr__(self) -> str:
        return f"LinearMetric({self.matrix.shape[0]} × {self.matrix.shape[1]})"

    @property
    def columns(self) -> Floats:
        """(k, d): a column of zeros is a variable that does not count."""
        return self.matrix

    def check(self, m: int, d: int) -> None:
        """Raise a ``ValueError`` if the metric does not suit ``m`` centers of ``d`` variables."""
        del m
        _check_width(self.matrix.shape[-1], d)


@dataclass(frozen=True, eq=False)
class ComponentMetric:
    """A map for each center: d_j = ‖A_j (x - u_j)‖.

    Parameters
    ----------
    factors : array-like of shape (m, d) or (m, k, d)
        The diagonals of diagonal A_j, or whole A_j.
    """

    factors: Floats

    def __init__(self, factors: ArrayLike) -> None:
        object.__setattr__(self, "factors", _checked(factors, (2, 3), "(m, d) or (m, k, d)"))

    def __reduce__(self) -> tuple[Any, ...]:
        return ComponentMetric, (self.factors,)

    def __repr__(self) -> str:
        return f"ComponentMetric({' × '.join(map(str, self.factors.shape))})"

    @property
    def columns(self) -> Floats:
        """(m k, d): a column of zeros is a variable that does not count."""
        return self.factors.reshape(-1, self.factors.shape[-1])

    @property
    def is_diagonal(self) -> bool:
        """Whether every A_j is diagonal."""
        return self.factors.ndim == 2

    def check(self, m: int, d: int) -> None:
        """Raise a ``ValueError`` if the metric does not suit ``m`` centers of ``d`` variables."""
        _check_width(self.factors.shape[-1], d)
        if len(self.factors) != m:
            raise ValueError(f"The metric has maps for {len(self.factors)} centers, but there are {m}.")


Metric = LinearMetric | ComponentMetric


def _checked(values: ArrayLike, dimensions: tuple[int, ...], shape: str) -> Any:
    array = np.array(values, dtype=np.float64)
    if array.ndim not in dimensions or array.size == 0:
        raise ValueError(f"Expected an array of shape {shape} for a metric, got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError("A metric must be finite: is a covariance singular?")
    array.flags.writeable = False
    return array


def _check_width(width: int, d: int) -> None:
    if width != d:
        raise ValueError(f"The metric expects {width} variable(s), but the centers have {d}.")
