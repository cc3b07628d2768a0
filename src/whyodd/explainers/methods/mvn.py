"""Diagonal Gaussian: how unlikely each value is for its own variable."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task

# Part of the mean variance of the variables, by default.
_USUAL_REGULARIZATION = 1e-3
_ROUNDING = 1e-12


def mvn(task: Task, regularization: float | None = None) -> NDArray[np.float64]:
    """Terms R_i = (x_i - μ_i)² / (2 (s_i² + λ)) of the likelihood of a Gaussian with diagonal covariance.

    Parameters
    ----------
    task : Task
        Mean and variance are those of ``task.normal``: the network's centers with their weights, or the rows
        given as ``options={"normal": rows}``. The model itself is not looked at.
    regularization : float, optional
        λ, added to each variance; a thousandth of their mean by default.

    Notes
    -----
    "MVN" in section "External Validation" of Kauffmann, Müller and Montavon, which leaves λ open.
    """
    normal, weights = task.normal, task.weights
    center = weights @ normal
    variance = weights @ (normal - center) ** 2
    # Rounding in a variable that does not vary is not variance.
    variance = np.where(np.sqrt(variance) > _ROUNDING * np.abs(center), variance, 0.0)
    added = _USUAL_REGULARIZATION * variance.mean() if regularization is None else _checked(regularization)
    spread = 2.0 * (variance + added)
    differences, never_varied = np.asarray(task.X) - center, spread == 0.0
    # Where a variable never varied, without λ, any difference is infinitely unlikely; none is not.
    if (np.abs(differences) > _ROUNDING * np.abs(center))[:, never_varied].any():
        raise ValueError(
            f"A variable never varied among the {len(normal)} normal row(s) of method='mvn', but does in X. "
            "Pass more of them in options={'normal': ...}, for example the training rows, or set "
            "'regularization'."
        )
    return np.asarray(np.where(never_varied, 0.0, differences**2 / np.where(never_varied, 1.0, spread)))


def _checked(regularization: float) -> float:
    if not isinstance(regularization, Real) or not 0.0 <= float(regularization) < np.inf:
        raise ValueError(f"regularization={regularization!r}: expected a finite number of at least 0.")
    return float(regularization)
