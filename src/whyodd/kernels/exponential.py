"""Exponential kernels: Laplacian (q = 1), Gaussian (q = 2) and every other degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from whyodd.kernels.base import Kernel

if TYPE_CHECKING:
    from whyodd.kernels.base import Floats


@dataclass(frozen=True)
class Exponential(Kernel):
    """Exponential kernel k(d) = exp(-d^q / (q σ^q)), outlierness o = -log g.

    Parameters
    ----------
    q : float, default 2.0
        Degree: 1 is the Laplacian, 2 the Gaussian kernel.
    sigma : float, default 1.0
        Bandwidth; scikit-learn's ``gamma`` is 1 / (2 σ²).

    Notes
    -----
    Section "Quantifying Inlierness and Outlierness" of Kauffmann, Müller and Montavon, equation (1).

    Examples
    --------
    >>> from whyodd.kernels import Exponential
    >>> round(float(Exponential(q=2, sigma=2).log_similarity(8.0)), 6)
    -1.0
    """

    q: float = 2.0
    sigma: float = 1.0

    family: ClassVar[str] = "exponential"

    def log_similarity(self, d2: Floats) -> Floats:
        """Log-similarity log k = -(d/σ)^q / q."""
        return -self.energy(d2) / self.q

    def outlierness(self, log_g: Floats, m: int | Floats) -> Floats:  # noqa: ARG002 - Student needs m
        """Outlierness o = -log g, at least 0 because the weights sum to 1."""
        return np.asarray(np.maximum(-np.asarray(log_g), 0.0))

    def explained(self, d2: Floats, o: Floats) -> Floats:
        """Explained part min(o, (d/σ)^q / q) (R_j - D_j⁺ over p_j in the paper's appendix A.3)."""
        return np.asarray(np.minimum(o, self.energy(d2) / self.q))
