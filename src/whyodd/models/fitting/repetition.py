"""Weights as repetition, for models that count rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def repeated_rows(weights: NDArray[np.float64] | None, n: int, model: str) -> NDArray[np.intp]:
    """Row numbers of n rows, each as often as its weight says.

    Parameters
    ----------
    weights : ndarray of shape (n,) or None
        Whole numbers; None is once each.
    n : int
    model : str
        Who asks, for the message.

    Returns
    -------
    ndarray of int of shape (Σ weights,)
    """
    if weights is None:
        return np.arange(n)
    counts = np.rint(weights)
    if not np.array_equal(counts, weights):
        example = float(weights[counts != weights][0])
        raise ValueError(
            f"{model} counts rows: expected whole numbers as sample_weight (2 counts like two equal rows), "
            f"got {example:g}. Round them, or use KernelDensity, which takes any weights."
        )
    return np.repeat(np.arange(n), counts.astype(np.intp))
