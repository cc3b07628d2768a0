"""Volume under a radial kernel: what a sum of kernels is divided by to be a density."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whyodd.kernels import Student

if TYPE_CHECKING:
    from whyodd.kernels import Kernel


def log_volume(kernel: Kernel, d: int) -> float:
    """Volume log ∫ k(‖x‖) dx over R^d: log 2π^(d/2) / Γ(d/2) + log ∫ k(r) r^(d-1) dr.

    The radial integral is σ^d q^(d/q - 1) Γ(d/q) for the exponential kernels. For Student's it is
    σ^d a^(d/q - 1) π / (q sin(πd/q)) if q > d, and infinite else: these have no density.

    Parameters
    ----------
    kernel : Kernel
    d : int
        Number of dimensions.

    Returns
    -------
    float
        Infinity if the kernel cannot be normalised.
    """
    q = kernel.q
    surface = math.log(2.0) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d)
    if not isinstance(kernel, Student):
        radial = (d / q - 1.0) * math.log(q) + math.lgamma(d / q)
    elif q > d:
        # sin(πd/q) as sin(π(q - d)/q): q just above d leaves it its digits.
        sine = math.sin(math.pi * min(d, q - d) / q)
        radial = (d / q - 1.0) * math.log(kernel.a) + math.log(math.pi / q) - math.log(sine)
    else:
        return math.inf
    return surface + radial + d * math.log(kernel.sigma)
