"""Relevance over what normal rows receive: ``explain(model, X, normal=rows)``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explainers.own_centers import known_rows
from whyodd.network.calibrated import CalibratedScore, mixes_variables, usual_factors
from whyodd.network.waist import center_of_rows, decompose_rows, offers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.explainers.preparing import PreparedModel, PreparedRows

    Indices = NDArray[np.intp]

TRAINING = "training"


def over_usual(
    rows: PreparedRows, model: PreparedModel, normal: Any, n_jobs: int | None = None
) -> PreparedRows:
    """The same rows before a score that is calibrated by normal ones.

    The threshold of the model is for its own outlierness, and is left out.

    Parameters
    ----------
    rows : PreparedRows
        Those to explain.
    model : PreparedModel
        What has prepared them.
    normal : array, CSR matrix or data frame of shape (N, d), or "training"
        Normal rows, like the X of ``explain``; or the rows that the model keeps.
    n_jobs : int, optional
        Threads.
    """
    network, through = rows.network, rows.through
    inputs, own = _normal_rows(model, normal)
    parts = decompose_rows(network, inputs, own=own, through=through, n_jobs=n_jobs)
    # Columns of one variable are measured together, as people see them.
    factors, rest = usual_factors(
        rows.in_variables(parts.relevance), parts.outlierness, mixed=mixes_variables(network, through)
    )
    of_columns = factors if rows.origin is None else factors[rows.origin]
    return replace(rows, network=CalibratedScore(network, of_columns, rest, through), threshold=None)


def _normal_rows(model: PreparedModel, normal: Any) -> tuple[Points, Indices | None]:
    """Normal rows (N, k) as they reach the network, and the center (N,) that each leaves out, or -1."""
    if isinstance(normal, str):
        return _training_rows(model.network, normal)
    inputs = model.normal_inputs(normal)
    if not offers(model.network, "leave_out"):
        return inputs, None
    return inputs, known_rows(model.network, inputs, transformed=bool(model.steps))


def _training_rows(network: Any, normal: str) -> tuple[Points, Indices]:
    if normal != TRAINING:
        raise ValueError(f"normal={normal!r}: expected normal rows, like X, or {TRAINING!r}.")
    if not offers(network, "centers", "leave_out") or network.rows is None:
        raise ValueError(
            f"normal={TRAINING!r}, but the model does not keep the rows it was trained on. Pass normal rows, "
            "like X."
        )
    # A part is not a sample: a one-class SVM keeps the outermost rows, a committee the usual ones.
    center = center_of_rows(network)
    kept = np.count_nonzero(center >= 0)
    if kept < len(center):
        raise ValueError(
            f"normal={TRAINING!r}, but the model keeps {kept} of the {len(center)} rows it was trained on. "
            "Pass these, or other normal rows, like X."
        )
    return network.centers[center], center
