"""What a fitted model says about its own scores: how they follow from o, its threshold, their rarity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Scale(Protocol):
    """How the score of a model, high for outliers, follows from o: strictly increasing."""

    def score(self, outlierness: ArrayLike) -> Floats:
        """The model's own score (n,)."""

    def outlierness(self, score: ArrayLike) -> Floats:
        """Outlierness o (n,), the inverse."""


@dataclass(frozen=True)
class AffineScale:
    """Own score = slope · o + shift.

    Parameters
    ----------
    slope : float
        Above 0.
    shift : float

    Examples
    --------
    >>> from whyodd.network.verdict import AffineScale
    >>> float(AffineScale(2.0, shift=1.0).score(3.0)), float(AffineScale(2.0, shift=1.0).outlierness(7.0))
    (7.0, 3.0)
    """

    slope: float = 1.0
    shift: float = 0.0

    def score(self, outlierness: ArrayLike) -> Floats:
        """The model's own score (n,)."""
        return np.asarray(self.slope * np.asarray(outlierness, dtype=np.float64) + self.shift)

    def outlierness(self, score: ArrayLike) -> Floats:
        """Outlierness o (n,), the inverse."""
        return np.asarray((np.asarray(score, dtype=np.float64) - self.shift) / self.slope)


@dataclass(frozen=True)
class ExponentialScale:
    """Own score = shift ± exp(rate · o + log_slope), with the sign of the rate.

    Below 0 the score approaches ``shift`` as o grows: a similarity that vanishes. Above 0 it grows without
    end: a path that becomes shorter.

    Parameters
    ----------
    rate : float
        Not 0.
    log_slope, shift : float

    Examples
    --------
    >>> from whyodd.network.verdict import ExponentialScale
    >>> scale = ExponentialScale(-1.0, shift=1.0)
    >>> round(float(scale.score(2.0)), 3), round(float(scale.outlierness(0.865)), 3)
    (0.865, 2.002)
    """

    rate: float
    log_slope: float = 0.0
    shift: float = 0.0

    def score(self, outlierness: ArrayLike) -> Floats:
        """The model's own score (n,)."""
        exponent = self.rate * np.asarray(outlierness, dtype=np.float64) + self.log_slope
        return np.asarray(self.shift + math.copysign(1.0, self.rate) * np.exp(exponent))

    def outlierness(self, score: ArrayLike) -> Floats:
        """Outlierness o (n,), the inverse; infinite for a score that no row can have."""
        size = math.copysign(1.0, self.rate) * (np.asarray(score, dtype=np.float64) - self.shift)
        with np.errstate(divide="ignore"):
            return np.asarray((np.log(np.maximum(size, 0.0)) - self.log_slope) / self.rate)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a fitted model says about its own scores.

    A member of the waist that was made of a model has one as ``verdict``, so that the threshold stays with
    it wherever it goes.

    Attributes
    ----------
    scale : Scale
        How the model's own score follows from o.
    threshold : float, optional
        Outlierness above which the model says outlier; None if it only scores.
    training : ndarray of shape (N,), optional
        Outlierness of the training rows, as the model scored them, from the lowest up; None if it does not
        keep that.
    contamination : float, optional
        Share of the training rows that were to be called outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.network.verdict import AffineScale, Verdict
    >>> verdict = Verdict(AffineScale(2.0), training=np.arange(4.0))
    >>> verdict.p_values([2.5, 9.0]), verdict.probability([1.5, 9.0])
    (array([0.4, 0.2]), array([0.5, 1. ]))
    """

    scale: Scale
    threshold: float | None = None
    training: Floats | None = None
    contamination: float | None = None

    def p_values(self, outlierness: ArrayLike) -> Floats | None:
        """Share of the training rows (n,) that are at least as odd, each row counted with them.

        So it is never 0: N rows cannot measure a probability below 1/(N + 1).
        """
        if self.training is None:
            return None
        n_below = np.searchsorted(self.training, np.asarray(outlierness, dtype=np.float64), side="left")
        return np.asarray((self.training.size - n_below + 1.0) / (self.training.size + 1.0))

    def probability(self, outlierness: ArrayLike) -> Floats | None:
        """PyOD's ``predict_proba(X)[:, 1]`` (n,): own scores between those of the training rows."""
        if self.training is None:
            return None
        least, most = self.scale.score(self.training[[0, -1]])
        if not most > least:  # of equal scores, as scikit-learn's MinMaxScaler
            most = least + 1.0
        return np.asarray(np.clip((self.scale.score(outlierness) - least) / (most - least), 0.0, 1.0))
