"""The models that ``auto`` of version 0.1 chose from, so that its saved files still load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Candidate:
    """A model and how likely it found rows that were held out."""

    name: str
    model: Any
    log_likelihoods: NDArray[np.float64]


@dataclass(frozen=True)
class ChosenModel:
    """The candidate that was taken, and why."""

    chosen: Candidate
    candidates: tuple[Candidate, ...]
    reason: str


@dataclass(frozen=True)
class LogScale:
    """z = asinh((x - center)/unit)."""

    center: float
    unit: float
    gain: float


def to_log_scale(X: ArrayLike, center: ArrayLike, unit: ArrayLike) -> NDArray[np.float64]:
    """asinh((x - center)/unit) of an array of floats (n, k); NaN stays NaN."""
    return np.asarray(np.arcsinh((np.asarray(X) - np.asarray(center)) / np.asarray(unit)))


def from_log_scale(Z: ArrayLike, center: ArrayLike, unit: ArrayLike) -> NDArray[np.float64]:
    """Inverse, center + unit sinh(z), of an array (n, k)."""
    return np.asarray(np.asarray(center) + np.asarray(unit) * np.sinh(Z))
