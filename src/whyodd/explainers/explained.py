"""Explanation of rows that were read, by any method."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explainers.groups import sum_columns, with_groups
from whyodd.explainers.method import Task
from whyodd.explanations.table import Explanation
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whyodd.explainers.groups import Groups
    from whyodd.explainers.method import Method
    from whyodd.explainers.reading import Reading

    Indices = NDArray[np.intp]


def explained(
    reading: Reading,
    own: Indices | None,
    name: str,
    method: Method,
    options: Mapping[str, Any],
    *,
    rows: Indices | None = None,
    groups: Groups | None = None,
    normal: NDArray[np.floating] | None = None,
    random: np.random.Generator,
    progress: bool = False,
    n_jobs: int | None = None,
) -> Explanation:
    """Explain what was read.

    Parameters
    ----------
    reading : Reading
    own : ndarray of int of shape (n,), optional
        The center to leave out for each row, or -1.
    name, method, options
        The method, what it is called, and its keywords.
    rows : ndarray of int of shape (n,), optional
        Where each row stood in what was given; by default they are all of it.
    groups, random, progress, n_jobs
        As for :func:`whyodd.explain`.
    normal : ndarray of shape (N, k), optional
        Normal rows to compare with, as they reach the network.
    """
    n_rows = reading.inputs.shape[0]
    with progress_bar(n_rows, "Explaining rows") if progress else nullcontext(_unheard) as report:
        task = Task(
            reading.network,
            reading.inputs,
            own=own,
            through=reading.through,
            given=normal,
            random=random,
            n_jobs=n_jobs,
            report=report,
        )
        parts = method.decompose(task, options)
    relevance = reading.in_variables(parts.relevance)
    variables, names = reading.variables, reading.variables.names
    if groups is not None:
        variables, names, place = with_groups(variables, groups)
        relevance = sum_columns(relevance, place, len(names))
    return Explanation(
        relevance=relevance,
        outlierness=parts.outlierness,
        unexplained=parts.unexplained,
        inlierness=np.exp(parts.log_inlierness),
        feature_names=names,
        data=variables.grouped(reading.data),
        rows=np.arange(n_rows) if rows is None else rows,
        excluded=np.full(n_rows, -1) if own is None else own,
        network=reading.network,
        frame_kind=reading.frame_kind,
        inputs=reading.inputs,
        variables=variables,
        method=name,
        threshold=reading.threshold,
    )


def _unheard(done: int) -> None:
    """Progress nobody asked for."""
