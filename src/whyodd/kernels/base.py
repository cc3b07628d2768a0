"""What every radial kernel shares: k depends on the distance d only through the energy (d/σ)^q."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]


class Kernel(ABC):
    """Radial kernel k(d): three scalar functions of the squared distance, and nothing else.

    A family is a frozen dataclass whose fields are positive numbers, among them these two.

    Attributes
    ----------
    q : float
        Degree of the distance.
    sigma : float
        Bandwidth, in the units of the data.
    """

    family: ClassVar[str]
    q: float
    sigma: float

    def __post_init__(self) -> None:
        family: Any = self  # a dataclass, like every family
        for name in (field.name for field in fields(family)):
            value = getattr(self, name)
            if not _is_positive(value):
                raise ValueError(
                    f"{type(self).__name__}({name}={value!r}): expected a finite number above 0. "
                    f"Pass a positive {_MEANING[name]}."
                )
            object.__setattr__(self, name, float(value))

    def energy(self, d2: Floats) -> Floats:
        """Energy e = (d/σ)^q of the squared distances ``d2``, of the same shape."""
        # Dividing before squaring keeps tiny and huge bandwidths from over- or underflowing.
        return np.asarray((np.sqrt(d2) / self.sigma) ** self.q)

    @abstractmethod
    def log_similarity(self, d2: Floats) -> Floats:
        """Log-similarity log k(d) of the squared distances ``d2``."""

    @abstractmethod
    def outlierness(self, log_g: Floats, m: int | Floats) -> Floats:
        """Outlierness o of the log-discriminant ``log_g`` of a model with ``m`` centers."""

    @abstractmethod
    def explained(self, d2: Floats, o: Floats) -> Floats:
        """Part Δ_j/p_j of the outlierness ``o`` that distances ``d2`` to a center account for."""


_MEANING = {"q": "degree", "sigma": "bandwidth", "a": "constant"}


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    # Below the smallest normal number the inverse overflows.
    return bool(math.isfinite(value) and value >= np.finfo(np.float64).tiny)
