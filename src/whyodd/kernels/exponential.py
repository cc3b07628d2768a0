"""Exponential kernels: Laplacian (q = 1), Gaussian (q = 2) and every other degree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from whyodd.kernels.base import Kernel


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
    Section "Quantifying Inlierness and Outlierness" of Kauffmann, Müller and Montavon, equation (1). The
    explained part is min(o, (d/σ)^q / q) (R_j - D_j⁺ over p_j in the paper's appendix A.3).

    Examples
    --------
    >>> from whyodd.kernels import Exponential
    >>> round(float(Exponential(q=2, sigma=2).log_similarity(8.0)), 6)
    -1.0
    """

    q: float = 2.0
    sigma: float = 1.0

    def log_profile(self, e: Any) -> Any:
        """Log f = -e/q."""
        return -e / self.q

    def steepness(self, e: Any) -> Any:
        """S = e/q."""
        return e / self.q

    def log_volume(self, d: int) -> float:
        """Log of 2π^(d/2) / Γ(d/2) · σ^d q^(d/q - 1) Γ(d/q)."""
        surface = math.log(2.0) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d)
        radial = (d / self.q - 1.0) * math.log(self.q) + math.lgamma(d / self.q)
        return surface + radial + d * math.log(self.sigma)
