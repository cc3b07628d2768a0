"""How an ensemble makes one score of several: what each of them counts for a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Combination(Protocol):
    """A combination of K standardised scores: Σ_k w_k z_k, with weights w ≥ 0 that sum to 1 in each row."""

    def weights(self, X: Floats, standings: Floats) -> Floats:
        """What each score counts (n, K) for rows X (n, d) with the scores ``standings`` (n, K)."""

    def floor(self, least: Floats) -> float:
        """A value that the combination is never below, of the smallest values of the scores (K,)."""


@dataclass(frozen=True, eq=False)
class Average:
    """Weighted mean Σ_k w_k z_k.

    Parameters
    ----------
    counts : array of shape (K,)
        w_k ≥ 0; they sum to 1.
    """

    counts: Floats

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.float64)
        if counts.ndim != 1 or not (counts >= 0.0).all() or not abs(counts.sum() - 1.0) <= 1e-9:
            raise ValueError("The weights of an average must be numbers ≥ 0 that sum to 1, one per member.")
        object.__setattr__(self, "counts", counts)

    def weights(self, X: Floats, standings: Floats) -> Floats:  # noqa: ARG002
        """The same for each row."""
        return np.broadcast_to(self.counts, standings.shape)

    def floor(self, least: Floats) -> float:
        """Σ_k w_k z_k,min."""
        return float(self.counts @ least)


@dataclass(frozen=True)
class Maximum:
    """max_k z_k: the largest score alone counts, the first of several."""

    def weights(self, X: Floats, standings: Floats) -> Floats:  # noqa: ARG002
        """1 for the largest."""
        chosen = np.zeros(standings.shape)
        chosen[np.arange(len(standings)), standings.argmax(axis=1)] = 1.0
        return chosen

    def floor(self, least: Floats) -> float:
        """max_k z_k,min."""
        return float(least.max())
