"""Relevance by splits: how much each one shortens the remaining path of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task


def splits(task: Task) -> NDArray[np.float64]:
    """Relevance R_i = mean over trees of Σ (v(node) - v(child)) over the splits of i on the way of a row.

    v is the mean path of the training rows in a node. It adds up to what Shapley values add up to, and takes
    a walk where they take all leaves; but it credits a split with what earlier ones made possible.

    Notes
    -----
    Saabas, "Interpreting random forests", 2014.
    """
    return np.asarray(task.network.splits(task.X, n_jobs=task.n_jobs))
