"""Student kernels; with a bandwidth also called Cauchy kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from whyodd.kernels.base import Kernel

if TYPE_CHECKING:
    from whyodd.kernels.base import Floats


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
    Section "Quantifying Inlierness and Outlierness" of Kauffmann, Müller and Montavon, equation (2).
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

    family: ClassVar[str] = "student"

    def log_similarity(self, d2: Floats) -> Floats:
        """Log-similarity log k = -log(a + (d/σ)^q)."""
        return np.asarray(-np.log(self.a + self.energy(d2)))

    def outlierness(self, log_g: Floats, m: int | Floats) -> Floats:
        """Outlierness o = m / g."""
        return np.asarray(m * np.exp(-np.asarray(log_g)))

    def explained(self, d2: Floats, o: Floats) -> Floats:
        """Explained part o · e / (a + e) with e = (d/σ)^q (R_j - D_j⁺ over p_j in appendix A.2)."""
        e = self.energy(d2)
        # 1 / (1 + a/e) instead of e / (a + e): right at both ends, where e is 0 or overflows.
        with np.errstate(divide="ignore"):
            return np.asarray(o / (1.0 + self.a / e))
