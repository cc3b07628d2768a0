"""Weight, mean and scatter of rows that arrive in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight W = Σ w, mean μ = Σ w x / W and scatter S = Σ w (x - μ)(x - μ)ᵀ of rows (n, d).

    Those of two parts merge exactly, but for rounding: S = S₁ + S₂ + W₁W₂/W δδᵀ with δ = μ₂ - μ₁ (Chan, Golub
    and LeVeque, 1979).

    Attributes
    ----------
    weight : float
    mean : ndarray of shape (d,)
    scatter : ndarray of shape (d, d)

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.maths.moments import Moments
    >>> parts = Moments.of(np.array([[1.0], [2.0]])), Moments.of(np.array([[6.0]]))
    >>> parts[0].merge(parts[1]).covariance
    array([[4.66666667]])
    """

    weight: float
    mean: Floats
    scatter: Floats

    @classmethod
    def of(cls, X: Floats, weights: Floats | None = None) -> Moments:
        """Moments of rows (n, d), counted by weights (n,)."""
        n, d = X.shape
        total = float(n if weights is None else weights.sum())
        if total == 0.0:
            return cls(0.0, np.zeros(d), np.zeros((d, d)))
        mean = np.average(X, axis=0, weights=weights)
        gaps = X - mean
        return cls(total, mean, gaps.T @ (gaps if weights is None else weights[:, None] * gaps))

    @property
    def covariance(self) -> Floats:
        """S / W (d, d)."""
        return self.scatter / self.weight

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of rows together."""
        if 0.0 in (self.weight, other.weight):
            return other if self.weight == 0.0 else self
        total, gap = self.weight + other.weight, other.mean - self.mean
        mean = self.mean + gap * (other.weight / total)
        scatter = self.scatter + other.scatter + np.outer(gap, gap) * (self.weight * other.weight / total)
        return Moments(total, mean, scatter)

    def aged(self, factor: float) -> Moments:
        """All weights times a factor, for rows that are being forgotten."""
        return Moments(self.weight * factor, self.mean, self.scatter * factor)
