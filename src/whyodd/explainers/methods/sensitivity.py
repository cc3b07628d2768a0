"""Sensitivity analysis: where the outlierness would change most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.explainers.support.gradients import gradient

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task


def slope(task: Task) -> NDArray[np.float64]:
    """Gradient ∂o/∂x_i of the outlierness."""
    return gradient(task.network, np.asarray(task.X), task.own, task.n_jobs)


def sensitivity(task: Task) -> NDArray[np.float64]:
    """Sensitivity R_i = (∂o/∂x_i)².

    Notes
    -----
    Section "Background" of Kauffmann, Müller and Montavon: it says what would make a row more or less odd,
    not what makes it odd.
    """
    return slope(task) ** 2
