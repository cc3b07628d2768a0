"""Hard min-pooling: only the k nearest centers determine the outlierness.

A pooling sees, for each row, the distances d (n, k) to its k nearest centers in ascending order and which
centers they are. The soft min-pooling of the kernels has no object: it is what a network does without one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


# Rank weights that fit on a line.
_MOST_SHOWN = 8


class Pooling(ABC):
    """Hard pooling: p_j, o and Δ_j of the k nearest centers, as functions of their distances.

    Attributes
    ----------
    k : int
        How many neighbours count.
    """

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of neighbours that count."""

    @abstractmethod
    def assignment(self) -> Floats:
        """Assignment p_r (k,) to the neighbour of each rank; sums to 1."""

    @abstractmethod
    def outlierness(self, d: Floats, neighbors: Indices) -> Floats:
        """Outlierness o (n,) of distances ``d`` (n, k), ascending, to the centers ``neighbors`` (n, k)."""

    @abstractmethod
    def explained(self, d: Floats, neighbors: Indices) -> Floats:
        """Part Δ (n, k) of the outlierness that the distance to each neighbour accounts for."""

    @abstractmethod
    def unexplained(self, d: Floats, neighbors: Indices) -> Floats:
        """Part of the outlierness (n,) that no distance accounts for: o - Σ_j Δ_j, summed on its own."""

    def check(self, m: int) -> None:
        """Raise a ``ValueError`` if the pooling does not suit ``m`` centers."""
        if self.k > m:
            raise ValueError(f"{self} needs {self.k} neighbours, but there are {m} center(s). Lower k.")


@dataclass(frozen=True)
class Nearest(Pooling):
    """Weighted mean of the k smallest distances: o = Σ_r w_r d_(r), p = w on the ranks, Δ_j = p_j d_j.

    Harmeling's γ (:meth:`mean`) and κ (:meth:`kth`) are of this kind. Nothing is left unexplained.

    Parameters
    ----------
    rank_weights : sequence of float
        w_1, ..., w_k ≥ 0 for the nearest center, the second nearest, ...; they sum to 1.

    Examples
    --------
    >>> from whyodd.maths.hard_poolings import Nearest
    >>> Nearest.mean(4).rank_weights, Nearest.kth(3).rank_weights, Nearest.median(4).rank_weights
    ((0.25, 0.25, 0.25, 0.25), (0.0, 0.0, 1.0), (0.0, 0.5, 0.5))
    """

    rank_weights: Sequence[float]

    def __post_init__(self) -> None:
        weights = tuple(map(float, self.rank_weights))
        valid = len(weights) > 0 and min(weights) >= 0.0 and abs(sum(weights) - 1.0) <= 1e-9
        if not valid:
            raise ValueError(f"rank_weights={self.rank_weights!r}: expected weights ≥ 0 that sum to 1.")
        object.__setattr__(self, "rank_weights", weights)

    def __repr__(self) -> str:
        for name, k in (("mean", self.k), ("kth", self.k), ("median", max(2 * self.k - 2, 1))):
            if self == getattr(Nearest, name)(k):
                return f"Nearest.{name}({k})"
        return f"Nearest({self.rank_weights})" if self.k <= _MOST_SHOWN else f"Nearest({self.k} rank weights)"

    @classmethod
    def mean(cls, k: int) -> Nearest:
        """γ: the mean of the k smallest distances."""
        return cls((1.0 / _checked_k(k),) * k)

    @classmethod
    def kth(cls, k: int) -> Nearest:
        """κ: the k-th smallest distance."""
        return cls((0.0,) * (_checked_k(k) - 1) + (1.0,))

    @classmethod
    def median(cls, k: int) -> Nearest:
        """Median of the k smallest distances: the middle one, or the mean of the middle two."""
        below = (_checked_k(k) - 1) // 2
        middle = (1.0,) if k % 2 else (0.5, 0.5)
        return cls((0.0,) * below + middle)

    @property
    def k(self) -> int:
        """How many neighbours count."""
        return len(self.rank_weights)

    def assignment(self) -> Floats:
        """Assignment p = w."""
        return np.asarray(self.rank_weights)

    def outlierness(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Outlierness o = Σ_r w_r d_(r)."""
        return np.asarray(d @ self.assignment())

    def explained(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Δ = w d."""
        return d * self.assignment()

    def unexplained(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Nothing."""
        return np.zeros(len(d))


@dataclass(frozen=True)
class MeanVector(Pooling):
    """Harmeling's δ: o = ‖x - ū‖, ū the mean of the k nearest centers: a virtual center per row.

    The distances it is given are those to ū, (n, 1): the pass over the rows averages the neighbours first.

    Parameters
    ----------
    neighbors : int
        k.
    """

    neighbors: int

    def __post_init__(self) -> None:
        _checked_k(self.neighbors)

    @property
    def k(self) -> int:
        """How many neighbours count."""
        return self.neighbors

    def assignment(self) -> Floats:
        """Assignment p = 1/k."""
        return np.full(self.k, 1.0 / self.k)

    def outlierness(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Outlierness o = ‖x - ū‖."""
        return np.asarray(d[:, 0])

    def explained(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Δ = o."""
        return d

    def unexplained(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """Nothing."""
        return np.zeros(len(d))


@dataclass(frozen=True, eq=False)
class LocalReach(Pooling):
    """Local outlier factor: o = L̄ (mean_j max(κ_j, d_j) + ε) over the k neighbours, L̄ their mean density.

    Δ_j = L̄/k (d_j - κ_j)⁺; what a neighbour's own reach κ_j accounts for is unexplained.

    Parameters
    ----------
    neighbors : int
        k.
    reaches : array of shape (m,)
        κ_j, the distance of each center to its own k-th neighbour.
    densities : array of shape (m,)
        Local reachability density of each center, finite.
    floor : float, default 1e-10
        ε, which scikit-learn adds to the mean reachability.

    Notes
    -----
    Breunig et al., "LOF: identifying density-based local outliers", 2000.
    """

    neighbors: int
    reaches: Floats
    densities: Floats
    floor: float = 1e-10

    def __post_init__(self) -> None:
        _checked_k(self.neighbors)
        for name in ("reaches", "densities"):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.ndim != 1 or not np.isfinite(values).all() or (values < 0.0).any():
                raise ValueError(f"{name} must be finite numbers ≥ 0, one per center.")
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: what was pickled comes back read-only.
        return LocalReach, (self.neighbors, self.reaches, self.densities, self.floor)

    def __repr__(self) -> str:
        return f"LocalReach(neighbors={self.neighbors}, centers={self.reaches.size})"

    @property
    def k(self) -> int:
        """How many neighbours count."""
        return self.neighbors

    def assignment(self) -> Floats:
        """Assignment p = 1/k."""
        return np.full(self.k, 1.0 / self.k)

    def outlierness(self, d: Floats, neighbors: Indices) -> Floats:
        """Outlierness o = L̄ (mean_j max(κ_j, d_j) + ε)."""
        reached = np.maximum(self.reaches[neighbors], d)
        return np.asarray(self._density(neighbors) * (reached.mean(axis=1) + self.floor))

    def explained(self, d: Floats, neighbors: Indices) -> Floats:
        """Δ_j = L̄/k (d_j - κ_j)⁺."""
        beyond = np.maximum(d - self.reaches[neighbors], 0.0)
        return np.asarray(self._density(neighbors)[:, None] / self.k * beyond)

    def unexplained(self, d: Floats, neighbors: Indices) -> Floats:  # noqa: ARG002
        """L̄ (mean_j κ_j + ε)."""
        return np.asarray(self._density(neighbors) * (self.reaches[neighbors].mean(axis=1) + self.floor))

    def check(self, m: int) -> None:
        """Raise a ``ValueError`` if the pooling does not suit ``m`` centers."""
        super().check(m)
        for name in ("reaches", "densities"):
            size = getattr(self, name).size
            if size != m:
                raise ValueError(f"Expected {name} with one number per center, ({m},), got {size}.")

    def _density(self, neighbors: Indices) -> Floats:
        return np.asarray(self.densities[neighbors].mean(axis=1))


POOLINGS: dict[str, type[Pooling]] = {
    "local_reach": LocalReach,
    "mean_vector": MeanVector,
    "nearest": Nearest,
}


def _checked_k(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k={k!r}: expected a number of neighbours, a whole number of at least 1.")
    return int(k)
