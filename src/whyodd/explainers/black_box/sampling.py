"""Shapley values of a function, sampled several times: their mean, and its error."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from whyodd.explainers.method import Task
from whyodd.explainers.methods.shap import shapley
from whyodd.network.black_box.distilled import FunctionScore, SampledScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Samples whose mean counts, each of one permutation forwards and backwards, and of other normal rows.
REPEATS = 4
# Normal rows that missing variables are taken from.
_LEAST_BACKGROUND, _MOST_BACKGROUND = 2, 20


def rows_per_background(n: int, d: int) -> int:
    """How many rows a function is called with for n rows to explain, for each normal row."""
    return n * REPEATS * (2 * d + 1)


def background_within(budget: int, n: int, d: int) -> int | None:
    """How many normal rows this many calls allow; None if too few."""
    size = min(budget // rows_per_background(n, d), _MOST_BACKGROUND)
    return size if size >= _LEAST_BACKGROUND else None


def sample(
    score: FunctionScore,
    X: Floats,
    background: int,
    random: np.random.Generator,
    report: Callable[[int], None],
) -> SampledScore:
    """The function with sampled Shapley values of rows (n, d).

    Its fidelity is the standard error over the outlierness: the root mean square of both over rows, where
    that of a row is the root of the sum over its variables.
    """
    n, d = X.shape
    found = np.empty((REPEATS, n, d))
    for repeat in range(REPEATS):
        task = Task(score, X, random=random, report=partial(_report_after, report, repeat * n))
        found[repeat] = shapley(task, background=background, max_evals=2 * d + 1)
    values = found.mean(axis=0)
    errors = found.std(axis=0, ddof=1) / np.sqrt(REPEATS)
    whole = np.sqrt((score.outlierness(X) ** 2).mean())
    error = np.sqrt((errors**2).sum(axis=1).mean()) / whole if whole > 0.0 else 0.0
    return SampledScore(
        score.function,
        score.low,
        score.neighborhood,
        score.verdict,
        points=X,
        values=values,
        fidelity={"error": float(error), "rows": float(rows_per_background(n, d) * background)},
    )


def _report_after(report: Callable[[int], None], before: int, done: int) -> None:
    report(before + done)
