"""Outlierness as a probability that people can act on: conformal p-values."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Calibration:
    """Scores of normal rows that the model has not seen, to compare new rows with.

    Attributes
    ----------
    model : fitted detector
        The model that scores the rows.
    scores : ndarray of shape (n,)
        Scores of the normal rows, ascending; high for odd rows.
    """

    model: Any
    scores: NDArray[np.float64]

    def p_values(self, X: Any) -> NDArray[np.float64]:
        """Conformal p-values (1 + #{normal scores ≥ score}) / (n + 1) (rows,).

        For a normal row exchangeable with those of the calibration, P(p ≤ t) ≤ t for every t.
        """
        n = self.scores.size
        below = np.searchsorted(self.scores, _oddness(self.model, X), side="left")
        return np.asarray((1.0 + n - below) / (n + 1.0))

    def predict(self, X: Any, level: float = 0.05) -> NDArray[np.int64]:
        """-1 where the p-value is at most ``level``: a normal row is called odd at most that often."""
        if not (isinstance(level, Real) and 0.0 < level < 1.0):
            raise ValueError(f"level={level!r}: expected a share of false alarms between 0 and 1.")
        return np.where(self.p_values(X) <= level, -1, 1)


def calibrate(model: Any, X_normal: Any) -> Calibration:
    """Calibrate a fitted detector on normal rows: conformal p-values for new ones.

    Parameters
    ----------
    model : fitted detector
        With ``outlierness`` or scikit-learn's ``score_samples``.
    X_normal : array, data frame or CSR matrix of shape (n, d)
        Normal rows that were not used in fit: to the model, training rows look too normal.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> model = whyodd.OneClassSVM(sigma="median").fit(X[:300])
    >>> calibration = whyodd.calibrate(model, X[300:])
    >>> calibration.p_values([[0.0, 0.0], [5.0, 5.0]]).round(3)
    array([0.492, 0.003])
    """
    scores = _oddness(model, X_normal)
    if scores.size == 0:
        raise ValueError("X_normal has no rows, expected some. Pass normal rows that were not used in fit.")
    return Calibration(model, np.sort(scores))


def _oddness(model: Any, X: Any) -> NDArray[np.float64]:
    """Score of each row, high for odd ones."""
    if hasattr(model, "outlierness"):
        scores = np.asarray(model.outlierness(X), dtype=np.float64)
    elif hasattr(model, "score_samples"):
        scores = -np.asarray(model.score_samples(X), dtype=np.float64)
    else:
        raise TypeError(
            f"{type(model).__name__} has neither outlierness nor score_samples. "
            "Pass a fitted outlier detector."
        )
    if np.isnan(scores).any():
        raise ValueError(f"{type(model).__name__} returns NaN as a score. Check the rows for missing values.")
    return scores
