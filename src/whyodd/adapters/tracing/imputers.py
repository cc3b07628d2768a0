"""Imputers: a filled-in value and the mark that it was missing both belong to the column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.columns import concatenate
from whyodd.adapters.tracing.readings import undo_unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.adapters.tracing.columns import Columns


def trace_imputer(step: Any, columns: Columns) -> Columns:
    """``SimpleImputer``, ``KNNImputer``, ``IterativeImputer``: the columns, and marks of missing values.

    A column that never had a value is left out by the imputer.
    """
    kept = _kept(step, columns.count)
    columns.note_always_missing(np.setdiff1d(np.arange(columns.count), kept))
    filled = columns.take(kept)
    if not step.add_indicator:
        return filled
    return concatenate([filled, trace_missing_indicator(step.indicator_, columns)])


def trace_missing_indicator(step: Any, columns: Columns) -> Columns:
    """``MissingIndicator``: for some of the columns, whether their value is missing."""
    return trace_marks(step, columns.take(step.features_))


def trace_marks(step: Any, columns: Columns) -> Columns:  # noqa: ARG001
    """A number for each column that does not reveal its value."""
    return columns.one_to_one(undo_unknown(columns.count), faithful=False)


def _kept(step: Any, n_columns: int) -> NDArray[np.intp]:
    """Positions of the columns that had a value in training."""
    names = list(getattr(step, "feature_names_in_", [f"x{i}" for i in range(n_columns)]))
    n_marks = len(step.indicator_.features_) if step.add_indicator else 0
    out = list(step.get_feature_names_out())
    place = {name: position for position, name in enumerate(names)}
    return np.array([place[name] for name in out[: len(out) - n_marks]], dtype=np.intp)
