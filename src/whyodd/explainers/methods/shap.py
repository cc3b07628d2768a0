"""Shapley values of the outlierness, by the package shap."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explainers.checks import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.explainers.method import Task

    Floats = NDArray[np.float64]

# Permutations of the variables, each forwards and backwards, unless a number of evaluations is asked for.
_PERMUTATIONS = 10


def shapley(
    task: Task, algorithm: str = "permutation", background: int = 50, max_evals: int | None = None
) -> Floats:
    """Shapley values R_i = φ_i of o, which sum to o(x) - E[o]; E[o] over a background is left unexplained.

    Parameters
    ----------
    task : Task
    algorithm : {"permutation", "kernel"}, default "permutation"
        ``shap.PermutationExplainer`` or ``shap.KernelExplainer``.
    background : int, default 50
        How many normal points take the place of missing variables: a random sample of the network's centers,
        by their weights, or of the rows given as ``options={"normal": rows}``.
    max_evals : int, optional
        How many sets of variables are tried for each row, each with the whole background. By default
        10 (2 d + 1), and what shap chooses for "kernel".

    Notes
    -----
    Lundberg and Lee, "A unified approach to interpreting model predictions", 2017. Variables are taken to be
    independent of each other: each is replaced by itself.
    """
    explain_row = _algorithm(algorithm, max_evals, task.X.shape[1])
    sample = _background(task, whole_number("background", background, 1))
    X = np.asarray(task.X, dtype=np.float64)
    values = np.empty(X.shape)
    with _global_state_kept():
        for row, x in enumerate(X):
            seed = int(task.random.integers(1 << 31))
            values[row] = explain_row(partial(_outlierness, task, row), sample, x[None, :], seed)
            task.report(row + 1)
    return values


def _outlierness(task: Task, row: int, points: Floats) -> Floats:
    return task.outlierness(np.asarray(points), np.full(len(points), row))


def _background(task: Task, size: int) -> Floats:
    size = min(size, int(np.count_nonzero(task.weights)))
    chosen = task.random.choice(len(task.normal), size, replace=False, p=task.weights / task.weights.sum())
    return np.asarray(task.normal[chosen], dtype=np.float64)


def _algorithm(name: str, max_evals: int | None, d: int) -> Callable[..., Floats]:
    if name not in ("permutation", "kernel"):
        raise ValueError(f"algorithm={name!r}: expected 'permutation' or 'kernel'.")
    least = 2 * d + 1 if name == "permutation" else 1
    evaluations = None if max_evals is None else whole_number("max_evals", max_evals, least)
    shap = _shap()
    if name == "permutation":
        return _by_permutation(shap, evaluations or _PERMUTATIONS * least)
    return _by_kernel(shap, evaluations or "auto")


def _by_permutation(shap: Any, max_evals: int) -> Callable[..., Floats]:
    def explain_row(o: Callable[[Floats], Floats], sample: Floats, x: Floats, seed: int) -> Floats:
        masker = shap.maskers.Independent(sample, max_samples=len(sample))
        found = shap.explainers.Permutation(o, masker, seed=seed)(x, max_evals=max_evals, silent=True)
        return np.asarray(found.values[0])

    return explain_row


def _by_kernel(shap: Any, max_evals: int | str) -> Callable[..., Floats]:
    def explain_row(o: Callable[[Floats], Floats], sample: Floats, x: Floats, seed: int) -> Floats:
        np.random.seed(seed)  # noqa: NPY002 - the generator that shap draws from
        found = shap.KernelExplainer(o, sample).shap_values(x, nsamples=max_evals, silent=True)
        return np.asarray(found[0])

    return explain_row


def _shap() -> Any:
    try:
        with warnings.catch_warnings():
            # Warnings of packages that shap uses do not concern people who ask for values.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            import shap
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("method='shap' needs shap. Run: pip install 'whyodd[shap]'") from error
    return shap


@contextmanager
def _global_state_kept() -> Iterator[None]:
    """Restore NumPy's global random generator, which shap seeds and uses."""
    state = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
