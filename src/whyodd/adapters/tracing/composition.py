"""Steps made of steps: ``Pipeline``, ``ColumnTransformer`` and ``FeatureUnion``."""

from __future__ import annotations

from collections import UserList
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.columns import concatenate
from whyodd.adapters.tracing.scaling import weigh
from whyodd.adapters.tracing.steps import trace_step, trace_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.adapters.tracing.columns import Columns


def trace_pipeline(step: Any, columns: Columns) -> Columns:
    """``Pipeline`` without a model: its steps one after the other."""
    return trace_steps(step.steps, columns)


def trace_feature_union(step: Any, columns: Columns) -> Columns:
    """``FeatureUnion``: the outputs of its steps for the same columns, side by side."""
    blocks = [(name, part, columns, None) for name, part in step.transformer_list if not _is_drop(part)]
    return _blocks(blocks, step.transformer_weights)


def trace_column_transformer(step: Any, columns: Columns) -> Columns:
    """``ColumnTransformer``: the outputs of its steps for some columns each, side by side."""
    names = getattr(step, "feature_names_in_", None)
    blocks = []
    for name, part, selection in step.transformers_:
        # scikit-learn 1.6 has a list of its own for the remainder, which warns when it is read.
        plain = selection.data if isinstance(selection, UserList) else selection
        chosen = find_positions(plain, names, columns.count)
        output = step.output_indices_[name]
        if chosen.size and not _is_drop(part):
            blocks.append((name, part, columns.take(chosen), output.stop - output.start))
    return _blocks(blocks, step.transformer_weights)


def find_positions(selection: Any, names: Sequence[str] | None, n_columns: int) -> NDArray[np.intp]:
    """Positions of the selected columns: names, indices, a slice of either, or a mask.

    Parameters
    ----------
    selection : str, int, slice, or sequence of str, int or bool
    names : sequence of str or None
        Columns of the frame the step was fitted on, None if it was an array.
    n_columns : int
        How many columns there are.
    """
    place = {} if names is None else {str(name): position for position, name in enumerate(names)}
    every = np.arange(n_columns)
    if isinstance(selection, slice):
        start = place.get(selection.start, selection.start)
        # Slices of names include their end.
        stop = place[selection.stop] + 1 if isinstance(selection.stop, str) else selection.stop
        return every[start : stop : selection.step]
    chosen = np.atleast_1d(np.asarray(selection, dtype=object)).tolist()
    if chosen and all(isinstance(each, (bool, np.bool_)) for each in chosen):
        return np.flatnonzero(np.array(chosen, dtype=bool))
    return every[[place[each] if isinstance(each, str) else int(each) for each in chosen]]


def _blocks(
    blocks: Sequence[tuple[str, Any, Columns, int | None]], weights: Mapping[str, float] | None
) -> Columns:
    parts = []
    for name, part, columns, n_outputs in blocks:
        traced = trace_step(name, part, columns, n_outputs)
        parts.append(weigh(traced, weights[name]) if weights and name in weights else traced)
    return concatenate(parts)


def _is_drop(part: Any) -> bool:
    return isinstance(part, str) and part == "drop"
