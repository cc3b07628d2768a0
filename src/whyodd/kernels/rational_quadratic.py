"""Rational quadratic kernels: between Student's, with heavy tails, and the Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from whyodd.kernels.base import Kernel
from whyodd.kernels.functions import exp, log, log1p


@dataclass(frozen=True)
class RationalQuadratic(Kernel):
    """Rational quadratic kernel k(d) = (1 + d²/(2βσ²))^(-β), outlierness o = (m / g)^(1/β).

    Parameters
    ----------
    beta : float, default 1.0
        Exponent β: the larger, the lighter the tails.
    sigma : float, default 1.0
        Bandwidth.

    Notes
    -----
    With x_j = d_j²/(2βσ²) and h_j = α_j^(-1/β) (1 + x_j), the discriminant is g = Σ_j h_j^(-β), and

        o = (m / g)^(1/β) = m^(1/β) (Σ_j h_j^(-β))^(-1/β)

    is a soft minimum of the h_j, homogeneous of degree one in them. So Euler's theorem gives a decomposition
    that conserves, R_j = h_j ∂o/∂h_j = p_j o with p_j = h_j^(-β) / g. Of h_j the part α_j^(-1/β) x_j is due
    to the distance: Δ_j = R_j x_j / (1 + x_j). Far away, o grows with d²/(2βσ²).

    β = 1 is ``Student(q=2, a=1, sigma=√2 σ)``, in every quantity. As β → ∞, k becomes the Gaussian kernel,
    whose outlierness is o_G = -log g: o goes to 1, β (o - 1) to o_G + log m, and βΔ_j to p_j d_j²/(2σ²), the
    Gaussian's Δ_j wherever that is not cut at its R_j.

    Examples
    --------
    >>> from whyodd.kernels import RationalQuadratic
    >>> k = RationalQuadratic(beta=2, sigma=1)
    >>> round(float(k.outlierness(k.log_similarity(12.0), m=1)), 6)
    4.0
    """

    beta: float = 1.0
    sigma: float = 1.0

    def log_profile(self, e: Any) -> Any:
        """Log f = -β log(1 + x), x = e/(2β)."""
        return -self.beta * log1p(0.5 * e / self.beta)

    def steepness(self, e: Any) -> Any:
        """S = β x / (1 + x)."""
        return self.beta * (e / (2.0 * self.beta + e))

    def outlierness(self, log_g: Any, m: Any) -> Any:
        """Outlierness o = (m / g)^(1/β)."""
        return exp((log(m) - log_g) / self.beta)

    def rise(self, o: Any) -> Any:
        """-∂o/∂log g = o/β."""
        return o / self.beta

    def log_volume(self, d: int) -> float:
        """Log of (2πβσ²)^(d/2) Γ(β - d/2) / Γ(β) if β > d/2; else it is infinite."""
        if self.beta <= 0.5 * d:
            return math.inf
        gammas = math.lgamma(self.beta - 0.5 * d) - math.lgamma(self.beta)
        return 0.5 * d * math.log(2.0 * math.pi * self.beta) + d * math.log(self.sigma) + gammas
