"""Encoders: the columns made from a categorical column belong to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.tracing.raw_variables import Closed
from whyodd.adapters.tracing.readings import Category, Readings, dense
from whyodd.explanations.sentences import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.adapters.tracing.columns import Columns

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

INFREQUENT = "(infrequent)"
_ALMOST_ZERO = 1e-9


def trace_one_hot_encoder(step: Any, columns: Columns) -> Columns:
    """``OneHotEncoder``: one column per category, without the dropped one, rare ones together."""
    _note_single_categories(step, columns)
    _note_closed(step, columns, "handle_unknown='ignore'")
    labels = [_grouped(step, column) for column in range(columns.count)]
    dropped = [_dropped(step, column) for column in range(columns.count)]
    shown = [
        [label for place, label in enumerate(group) if place != drop]
        for group, drop in zip(labels, dropped, strict=True)
    ]
    widths = [len(group) for group in shown]

    def undo(readings: Readings) -> Readings:
        read = readings.as_numbers()
        numbers, found = dense(read.numbers), {}
        blocks = np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])
        for column, block in enumerate(blocks):
            rest = [label for place, label in enumerate(labels[column]) if place == dropped[column]]
            found[column] = _largest(numbers[:, block], read.known[block], shown[column], rest)
        known = {column: category for column, category in found.items() if category is not None}
        return Readings.unknown(read.n_rows, columns.count, categories=known)

    return columns.expanded(np.repeat(np.arange(columns.count), widths), undo)


def trace_ordinal_encoder(step: Any, columns: Columns) -> Columns:
    """``OrdinalEncoder``: the number of the category, read back from the nearest one."""
    _note_single_categories(step, columns)
    _note_closed(step, columns, "handle_unknown='use_encoded_value', unknown_value=-1")
    codes = [_ordinal_codes(step, column) for column in range(columns.count)]

    def undo(readings: Readings) -> Readings:
        return _read_nearest(readings, [(points[:, np.newaxis], values) for points, values in codes])

    return columns.one_to_one(undo)


def trace_target_encoder(step: Any, columns: Columns) -> Columns:
    """``TargetEncoder``: the mean target of the category, read back from the nearest one."""
    _note_single_categories(step, columns)
    per_column = len(step.encodings_) // columns.count
    encodings = [
        np.column_stack(step.encodings_[column * per_column : (column + 1) * per_column])
        for column in range(columns.count)
    ]
    values = [tuple(map(python_value, categories)) for categories in step.categories_]

    def undo(readings: Readings) -> Readings:
        return _read_nearest(readings, list(zip(encodings, values, strict=True)), reach=np.inf)

    return columns.expanded(np.repeat(np.arange(columns.count), per_column), undo)


def python_value(value: Any) -> Any:
    """The value as a Python object, None if it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if is_missing(value) else value


def _note_single_categories(step: Any, columns: Columns) -> None:
    for column, categories in enumerate(step.categories_):
        if len(categories) == 1:
            only = Category(np.zeros(1, dtype=np.intp), (python_value(categories[0]),))
            readings = Readings.unknown(1, columns.count, categories={column: only})
            columns.note_constant_reading(column, readings)


def _note_closed(step: Any, columns: Columns, remedy: str) -> None:
    if step.handle_unknown != "error":
        return
    for variable, categories in zip(columns.owners.tolist(), step.categories_, strict=True):
        values = tuple(map(python_value, categories))
        columns.variables.closed.append(Closed(variable, values, f"{type(step).__name__}({remedy})"))


def _infrequent(step: Any, column: int) -> Bools:
    """Which categories of the column are grouped as infrequent."""
    categories = step.categories_[column]
    rare = getattr(step, "infrequent_categories_", None)
    if rare is None or rare[column] is None:
        return np.zeros(len(categories), dtype=bool)
    values = set(map(python_value, rare[column]))
    return np.array([python_value(value) in values for value in categories])


def _grouped(step: Any, column: int) -> list[Any]:
    """Values of the one-hot columns: the frequent ones in their order, then all infrequent ones."""
    rare = _infrequent(step, column)
    values = map(python_value, step.categories_[column])
    frequent = [value for value, is_rare in zip(values, rare, strict=True) if not is_rare]
    return [*frequent, INFREQUENT] if rare.any() else frequent


def _dropped(step: Any, column: int) -> int | None:
    """Place in the grouped values of the category without a column."""
    if step.drop_idx_ is None or step.drop_idx_[column] is None:
        return None
    rare, index = _infrequent(step, column), int(step.drop_idx_[column])
    return int((~rare).sum()) if rare[index] else int((~rare[:index]).sum())


def _largest(block: Floats, known: Bools, labels: list[Any], rest: list[Any]) -> Category | None:
    """The category with the largest entry; the one in ``rest``, without a column, has what is left of 1."""
    if not known.any() and block.shape[1] > 0:
        return None
    values = tuple(labels)
    if rest and known.all():
        block = np.column_stack([block, 1.0 - block.sum(axis=1)])
        values = (*values, *rest)
    codes = np.argmax(block, axis=1)
    return Category(np.where(block.max(axis=1) > _ALMOST_ZERO, codes, -1), values)


def _ordinal_codes(step: Any, column: int) -> tuple[Floats, tuple[Any, ...]]:
    """Codes of a column and what they stand for."""
    grouped = [value for value in _grouped(step, column) if value is not None]
    codes = np.arange(len(grouped), dtype=np.float64)
    has_missing = len(grouped) < len(_grouped(step, column))
    if has_missing and not is_missing(step.encoded_missing_value):
        return np.append(codes, step.encoded_missing_value), (*grouped, None)
    return codes, tuple(grouped)


def _read_nearest(
    readings: Readings, codings: Sequence[tuple[Floats, tuple[Any, ...]]], reach: float = 0.5
) -> Readings:
    """Categories whose code, a row of the coding's points, is nearest; unknown beyond ``reach``."""
    read = readings.as_numbers()
    numbers, found, start = dense(read.numbers), {}, 0
    for column, (points, values) in enumerate(codings):
        block = slice(start, start + points.shape[1])
        start = block.stop
        if read.known[block].all() and values:
            distances = np.abs(numbers[:, block, np.newaxis] - points.T).sum(axis=1)
            distances = np.where(np.isnan(distances), np.inf, distances)
            near = distances.min(axis=1) <= reach
            codes = np.where(near & np.isfinite(distances.min(axis=1)), distances.argmin(axis=1), -1)
            found[column] = Category(codes, values)
    return Readings.unknown(read.n_rows, len(codings), categories=found)
