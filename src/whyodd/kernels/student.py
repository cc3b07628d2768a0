"""Student kernels; with a bandwidth also called Cauchy kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from whyodd.kernels.base import Kernel
from whyodd.kernels.functions import exp, log


@dataclass(frozen=True)
class Student(Kernel):
    """Student kernel k(d) = 1 / (a + (d/σ)^q), outlierness o = m / g.

    Parameters
    ----------
    q : float, default 2.0
        Degree of the distance.
    a : float, default 1.0
        Constant that bounds the kernel: k(0) = 1 / a.
    sigma : float, default 1.0
        Bandwidth.

    Notes
    -----
    Section "Quantifying Inlierness and Outlierness" of Kauffmann, Müller and Montavon, equation (2). The
    explained part is o e / (a + e) (R_j - D_j⁺ over p_j in appendix A.2).
    The outlierness counts centers: splitting one in two changes o, while g, p and R/o stay.

    Examples
    --------
    >>> from whyodd.kernels import Student
    >>> k = Student(q=2, a=1, sigma=1)
    >>> float(k.outlierness(k.log_similarity(3.0), m=1))
    4.0
    """

    q: float = 2.0
    a: float = 1.0
    sigma: float = 1.0

    @property
    def log_height(self) -> float:
        """Log k(0) = -log a."""
        return -math.log(self.a)

    def log_profile(self, e: Any) -> Any:
        """Log f = -log(1 + e/a)."""
        return -log(1.0 + e / self.a)

    def profile(self, e: Any) -> Any:
        """Profile f = 1 / (1 + e/a)."""
        return 1.0 / (1.0 + e / self.a)

    def steepness(self, e: Any) -> Any:
        """S = e / (a + e)."""
        return e / (self.a + e)

    def outlierness(self, log_g: Any, m: Any) -> Any:
        """Outlierness o = m / g."""
        return m * exp(-log_g)

    def rise(self, o: Any) -> Any:
        """-∂o/∂log g = o."""
        return o

    def log_volume(self, d: int) -> float:
        """Log of 2π^(d/2) / Γ(d/2) · σ^d a^(d/q - 1) π / (q sin(πd/q)) if q > d; else it is infinite."""
        if self.q <= d:
            return math.inf
        surface = math.log(2.0) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d)
        # sin(πd/q) as sin(π(q - d)/q): q just above d leaves it its digits.
        sine = math.sin(math.pi * min(d, self.q - d) / self.q)
        radial = (d / self.q - 1.0) * math.log(self.a) + math.log(math.pi / self.q) - math.log(sine)
        return surface + radial + d * math.log(self.sigma)
