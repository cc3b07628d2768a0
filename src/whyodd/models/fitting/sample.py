"""Learning from a sample of the rows, and how far its solution may be from that of all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Standard deviations that a mean of many rows stays within in 95 of 100 samples, on the side that matters.
_SURE = 1.645


@dataclass(frozen=True)
class Sample:
    """Rows drawn from n, ascending, and how often each of them counts (None: once)."""

    rows: Indices
    weights: Floats | None
    n: int

    @classmethod
    def draw(cls, n: int, weights: Floats | None, most: int | None, seed: int) -> Self:
        """All of n rows, or ``most`` at random, those with more weight more often."""
        used = n if weights is None else int(np.count_nonzero(weights))
        if most is None or used <= most:
            return cls(np.arange(n), weights, n)
        random = np.random.default_rng(seed)
        if weights is None:
            return cls(np.sort(random.choice(n, most, replace=False)), None, n)
        drawn = random.choice(n, most, p=weights / weights.sum())
        rows, counts = np.unique(drawn, return_counts=True)
        return cls(rows, counts.astype(np.float64), n)

    @property
    def drawn(self) -> int:
        """How many rows were drawn, those drawn again counted again."""
        return len(self.rows) if self.weights is None else int(self.weights.sum())

    @property
    def is_part(self) -> bool:
        """Whether some rows were left out."""
        return len(self.rows) < self.n

    def of_all(self, values: Floats) -> Floats:
        """Values of the rows drawn as values of all rows (n,), 0 for the others."""
        spread = np.zeros(self.n)
        spread[self.rows] = values
        return spread


def boundary(inlierness: Floats, weights: Floats | None, nu: float) -> float:
    """The largest ρ such that at most a share ν of the rows, by weight, has an inlierness below it."""
    if weights is not None:
        inlierness, weights = inlierness[weights > 0.0], weights[weights > 0.0]
    order = np.argsort(inlierness)
    counts = np.ones(len(order)) if weights is None else weights[order]
    reached = np.cumsum(counts) / counts.sum()
    last = int(np.searchsorted(reached, nu * (1.0 + 1e-12), side="right"))
    return float(inlierness[order[min(last, len(order) - 1)]])


def gap(
    inlierness: Floats, weights: Floats | None, rho: float, nu: float, objective: float, drawn: int
) -> float:
    """How far a sample's objective is from the best for all rows, relative, with 95 % confidence.

    The primal problem of ½ αᵀKα is to minimise P(w, ρ) = ½‖w‖² - ρ + mean(max(0, ρ - g)) / ν. Each sample
    may suit itself, so its best P is on average at most that of all rows. Therefore P of all rows at the
    sample's solution, less the best P of the sample, which is -½ αᵀKα, is too large on average. By chance
    it is too small by no more than the mean of max(0, ρ - g) / ν varies between samples (Mak, Morton and
    Wood, "Monte Carlo bounding techniques for determining solution quality", 1999).

    Parameters
    ----------
    inlierness : ndarray of shape (n,)
        g of all rows.
    weights : ndarray of shape (n,), optional
    rho, nu : float
        Boundary on g, and the share of rows below it.
    objective : float
        ½ αᵀKα of the sample's solution.
    drawn : int
        Number of rows in the sample.
    """
    losses = np.maximum(rho - inlierness, 0.0) / nu
    mean = float(np.average(losses, weights=weights))
    variance = float(np.average(np.square(losses - mean), weights=weights))
    excess = (objective - rho + mean) + objective
    # Drawn without replacement where rows have no weights.
    left = 1.0 - drawn / len(losses) if weights is None else 1.0
    return (max(excess, 0.0) + _SURE * math.sqrt(variance * left / drawn)) / objective
