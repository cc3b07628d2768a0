"""Steps that compare columns in context: a relative number stays relative until a row's context is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.readings import Category, Readings, dense

if TYPE_CHECKING:
    from whyodd.adapters.tracing.columns import Columns


def trace_given_context(step: Any, columns: Columns) -> Columns:
    """``GivenContext``: columns compared with rows alike in others, which have no outputs themselves."""
    first, n_numbers, width = len(step.contexts), step.n_numbers, columns.count
    targets = np.array(step.targets, dtype=np.intp)
    columns.variables.relative.update(columns.owners[first : first + n_numbers].tolist())

    def undo(readings: Readings) -> Readings:
        read = readings.as_numbers()
        numbers, known = np.zeros((read.n_rows, width)), np.zeros(width, dtype=bool)
        numbers[:, first : first + n_numbers] = dense(read.numbers)[:, :n_numbers]
        known[first : first + n_numbers] = read.known[:n_numbers]
        categories = {}
        for place, (block, labels) in enumerate(zip(step.label_blocks, step.labels_, strict=True)):
            entries = dense(read.numbers)[:, block]
            codes = np.where(entries.max(axis=1) > 0.0, entries.argmax(axis=1), -1)
            categories[first + n_numbers + place] = Category(codes, tuple(labels.tolist()))
        return Readings(numbers, known, categories)

    return columns.expanded(targets, undo)
