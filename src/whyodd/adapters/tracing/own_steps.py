"""The steps of ``whyodd.auto`` that scikit-learn does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whyodd.adapters.tracing.columns import Columns


def trace_plain_values(step: Any, columns: Columns) -> Columns:  # noqa: ARG001 - the signature of all tracers
    """``PlainValues``, ``PlainNumbers``: the same values as plain objects or floats."""
    return columns


def trace_constants(step: Any, columns: Columns) -> Columns:
    """``Constants``: columns with one value, remembered and not passed on."""
    for variable, value in zip(columns.owners.tolist(), step.values_, strict=True):
        columns.variables.note_constant(variable, value)
    return columns.take([])
