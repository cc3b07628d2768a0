"""Steps that keep columns as they are, or leave some of them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.readings import undo_unknown

if TYPE_CHECKING:
    from whyodd.adapters.tracing.columns import Columns


def trace_selector(step: Any, columns: Columns) -> Columns:
    """Everything with ``get_support``: ``SelectKBest``, ``SelectFromModel``, ``RFE`` and the like."""
    return columns.take(np.flatnonzero(step.get_support()))


def trace_variance_threshold(step: Any, columns: Columns) -> Columns:
    """``VarianceThreshold``: a dropped column never varied, and its value is unknown."""
    columns.note_constants(step.variances_ == 0, np.full(columns.count, np.nan))
    return trace_selector(step, columns)


def trace_plain_values(step: Any, columns: Columns) -> Columns:  # noqa: ARG001 - the signature of all tracers
    """``PlainValues``, ``PlainNumbers``: the same values as plain objects or floats."""
    return columns


def trace_constants(step: Any, columns: Columns) -> Columns:
    """``Constants``: columns with one value, remembered and not passed on."""
    for variable, value in zip(columns.owners.tolist(), step.values_, strict=True):
        columns.variables.note_constant(variable, value)
    return columns.take([])


def trace_date_parts(step: Any, columns: Columns) -> Columns:
    """``DateParts``: numbers of one column of dates, each of which shows a part of it."""
    shown = tuple(step.shown_parts)
    columns.variables.parts[int(columns.owners[0])] = shown
    return columns.expanded(np.zeros(len(shown), dtype=np.intp), undo_unknown(1))
