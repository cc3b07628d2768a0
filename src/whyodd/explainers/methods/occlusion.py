"""Occlusion: how much the outlierness falls if a variable has its usual value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.network.waist import offers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task

    Floats = NDArray[np.float64]

# Numbers in the varied rows that are made at a time.
_BLOCK = 1 << 21


def occlusion(task: Task, reference: str = "expected") -> Floats:
    """Occlusion R_i = o(x) - o(x with r_i for x_i); below 0 where the usual value would be odder.

    Parameters
    ----------
    task : Task
    reference : {"expected", "mean"}, default "expected"
        r: the expected point Σ_j p_j u_j of each row, or the mean of the normal points (the centers, or the
        rows given as ``options={"normal": rows}``) for all of them. That is also taken where a model knows
        nothing to expect.

    Notes
    -----
    Zeiler and Fergus, "Visualizing and understanding convolutional networks", 2014, one variable at a time.
    Variables that are odd together hide behind each other: each alone may change nothing.
    """
    X = np.asarray(task.X, dtype=np.float64)
    usual, o = _usual(task, reference), task.scores.outlierness
    n, d = X.shape
    relevance = np.empty(n * d)
    step = max(_BLOCK // d, 1)
    for start in range(0, n * d, step):
        rows, columns = np.divmod(np.arange(start, min(start + step, n * d)), d)
        points = X[rows]
        points[np.arange(len(rows)), columns] = usual[rows, columns]
        relevance[start : start + step] = o[rows] - task.outlierness(points, rows)
        task.report(int(rows[-1]))
    task.report(n)
    return relevance.reshape(n, d)


def _usual(task: Task, reference: str) -> Floats:
    if not isinstance(reference, str) or reference not in ("expected", "mean"):
        raise ValueError(f"reference={reference!r}: expected 'expected' or 'mean'.")
    if reference == "mean" or not offers(task.network, "expected"):
        return np.broadcast_to(task.weights @ task.normal, task.X.shape)
    X = np.asarray(task.X, dtype=np.float64)
    keywords = {"own": task.own} if offers(task.network, "leave_out") else {}
    work = {"n_jobs": task.n_jobs} if offers(task.network, "work") else {}
    return np.asarray(task.network.expected(X, **keywords, **work), dtype=np.float64)
