"""What every radial kernel shares: k(d) = k(0) f(e), where e = (d/σ)^q is the energy and f falls from 1."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.kernels.functions import exp, maximum, minimum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]

# In ratios, larger energies count as this one: two of them can still be added.
_LARGEST_ENERGY = 8.9e307


class Kernel(ABC):
    """Radial kernel k(d) = k(0) f(e) of the energy e = (d/σ)^q: a few scalar formulas, and nothing else.

    A kernel is a frozen dataclass whose fields are positive numbers, ``sigma`` among them. It defines
    ``log_profile`` and ``steepness``; the other methods have defaults. They are used as they are for NumPy
    arrays and plain numbers, and compiled for the loops over centers. There they may use the fields (except
    ``sigma``, which is in e), ``q``, ``log_height``, methods of their own, ``whyodd.kernels.functions``
    (which are fast there), ``math`` and ``np``. Numbers are best written as floats (2.0, not 2).

    Attributes
    ----------
    q : float
        Degree of the distance, a field or a constant of the class. It is 2 unless a kernel says otherwise:
        any function of d² is a function of that energy.
    sigma : float
        Bandwidth, in the units of the data.

    Notes
    -----
    A center's relevance R_j = p_j o is explained by its distance as far as the outlierness depends on it:
    Δ_j = min(R_j, e_j ∂o/∂e_j), and e_j ∂o/∂e_j = -∂o/∂log g · p_j · s(e_j) with the steepness s. The
    appendix of Kauffmann, Müller and Montavon has the same for its kernels.

    Examples
    --------
    A kernel of your own, k(d) = 1 / cosh(d/σ) with o = -log g:

    >>> import numpy as np, whyodd
    >>> from dataclasses import dataclass
    >>> from whyodd.kernels import Kernel
    >>> @dataclass(frozen=True)
    ... class HyperbolicSecant(Kernel):
    ...     sigma: float = 1.0
    ...     q = 1.0
    ...     def log_profile(self, e):
    ...         return -np.log(np.cosh(e))
    ...     def steepness(self, e):
    ...         return e * np.tanh(e)
    >>> float(HyperbolicSecant(sigma=2.0).log_similarity(4.0).round(3))
    -0.434
    """

    q: float = 2.0
    sigma: float

    def __post_init__(self) -> None:
        family: Any = self  # a dataclass, like every family
        for name in (field.name for field in fields(family)):
            value = getattr(self, name)
            if not _is_positive(value):
                raise ValueError(
                    f"{type(self).__name__}({name}={value!r}): expected a finite number above 0. "
                    f"Pass a positive {_MEANING.get(name, name)}."
                )
            object.__setattr__(self, name, float(value))

    @abstractmethod
    def log_profile(self, e: Any) -> Any:
        """Log f(e) = log k - log k(0): 0 at e = 0, and decreasing."""

    @abstractmethod
    def steepness(self, e: Any) -> Any:
        """S = -∂log f / ∂log e ≥ 0 at a finite e: how fast log k falls as the energy grows."""

    def profile(self, e: Any) -> Any:
        """Profile f(e) = k / k(0)."""
        return exp(self.log_profile(e))

    @property
    def log_height(self) -> float:
        """Log k(0)."""
        return 0.0

    def outlierness(self, log_g: Any, m: Any) -> Any:  # noqa: ARG002 - other kernels count centers
        """Outlierness o = -log(g / k(0)) ≥ 0 of the log-discriminant ``log_g`` of ``m`` centers."""
        return maximum(self.log_height - log_g, 0.0)

    def rise(self, o: Any) -> Any:  # noqa: ARG002 - it depends on o for other kernels
        """-∂o/∂log g at an outlierness ``o``."""
        return 1.0

    def explained_part(self, e: Any, o: Any) -> Any:
        """Part Δ_j/p_j of the outlierness ``o`` that an energy ``e`` accounts for."""
        return minimum(o, self.rise(o) * self.steepness(e))

    def log_volume(self, d: int) -> float:
        """Log ∫ k(‖x‖) dx over R^d, by which a density is divided; infinite if there is no integral."""
        raise NotImplementedError(
            f"{type(self).__name__} has no log_volume(d), the integral of the kernel over {d} dimension(s): "
            "there is no density. Define that method, or use a kernel of whyodd.kernels."
        )

    def energy(self, d2: Any) -> Floats:
        """Energy e = (d/σ)^q of the squared distances ``d2``, of the same shape."""
        # Dividing before squaring keeps tiny and huge bandwidths from over- or underflowing.
        return np.asarray((np.sqrt(d2) / self.sigma) ** self.q)

    def log_similarity(self, d2: Any) -> Floats:
        """Log-similarity log k(d) of the squared distances ``d2``."""
        return np.asarray(self.log_height + self.log_profile(self.energy(d2)))

    def explained(self, d2: Any, o: Any) -> Floats:
        """Part Δ_j/p_j of the outlierness ``o`` that distances ``d2`` to a center account for."""
        return np.asarray(self.explained_part(np.minimum(self.energy(d2), _LARGEST_ENERGY), o))


_MEANING = {"q": "degree", "sigma": "bandwidth", "a": "constant", "beta": "exponent"}


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    # Below the smallest normal number the inverse overflows.
    return bool(math.isfinite(value) and value >= np.finfo(np.float64).tiny)
