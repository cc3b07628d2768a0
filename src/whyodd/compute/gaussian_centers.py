"""Gaussian similarities of rows to centers by matrix products, exact where those have lost digits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import localize, squared_norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points

    Floats = NDArray[np.float64]

# Coordinates beyond this many bandwidths count as this many: no similarity is left, and squares and their
# sums stay finite.
_FARTHEST = 1e140
# Largest effect of rounding on ½ d²/σ², and where a similarity, exp(-50), counts as none.
_TOLERANCE, _NO_SIMILARITY = 1e-12, 50.0
# Numbers of recomputed differences held at a time.
_PAIR_ELEMENTS = 1 << 20


@dataclass(frozen=True, eq=False)
class GaussianCenters:
    """Centers u_j that rows are compared with: k_j = exp(-½ ‖x - u_j‖²/σ²).

    Parameters
    ----------
    centers : ndarray of shape (m, d)
    origin : ndarray of shape (d,)
        A point in the middle of them: products lose fewest digits from there.
    sigma : float
    """

    centers: Floats
    origin: Floats
    sigma: float

    def local(self, rows: Points) -> Floats:
        """Rows (n, d) seen from the origin, in bandwidths."""
        return np.asarray(
            np.clip(localize(rows, self.origin, self.sigma, np.dtype(np.float64)), -_FARTHEST, _FARTHEST)
        )

    def back(self, local: Floats) -> Floats:
        """The same points (n, d) in the coordinates of the data."""
        return local * self.sigma + self.origin

    def exponents(self, local: Floats) -> Floats:
        """½ ‖x - u_j‖²/σ² (n, m) of local rows."""
        x, u = 0.5 * squared_norms(local), self._half_norms
        half = local @ self.local_centers.T
        np.subtract(x[:, None] + u, half, out=half)
        np.maximum(half, 0.0, out=half)
        self._put_exact(half, local, x)
        return half

    def _put_exact(self, half: Floats, local: Floats, x: Floats) -> None:
        """Recompute pairs in which rounding of the norms would move a similarity."""
        # Each of the d products and sums is rounded once.
        bound = (local.shape[1] + 3) * np.finfo(np.float64).eps
        if bound * (x.max(initial=0.0) + self._half_norms.max()) <= _TOLERANCE:
            return
        size = max(_PAIR_ELEMENTS // local.shape[1], 1)
        for i in range(len(local)):
            error = bound * (x[i] + self._half_norms)
            unsure = np.flatnonzero((error > _TOLERANCE) & (half[i] - error < _NO_SIMILARITY))
            for start in range(0, unsure.size, size):
                j = unsure[start : start + size]
                half[i, j] = 0.5 * squared_norms(local[i] - self.local_centers[j])

    def mean(self, weights: Floats) -> Floats:
        """Means of the centers (n, d), in local coordinates, by weights (n, m) that sum to 1."""
        return np.asarray(weights @ self.local_centers)

    @cached_property
    def local_centers(self) -> Floats:
        """The centers (m, d), as rows are seen."""
        return self.local(self.centers)

    @cached_property
    def _half_norms(self) -> Floats:
        return 0.5 * squared_norms(self.local_centers)
