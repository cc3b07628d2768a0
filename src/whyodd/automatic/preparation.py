"""From raw columns to numbers that a committee can compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from whyodd.automatic.dates import DateParts
from whyodd.automatic.gaps import FilledNumbers
from whyodd.automatic.steps import Constants, PlainNumbers, PlainValues, SurpriseEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.automatic.kinds import Column

# Categories beyond so many per column are one: the rare ones.
MOST_CATEGORIES = 50


def prepare(columns: Sequence[Column]) -> ColumnTransformer:
    """Transformer (not fitted) of the columns, a block of columns per kind.

    Numbers stay as they are, for the committee scales them; gaps become the median and are marked by a
    column of their own. Marks and categories are in units of their surprise.
    """
    blocks: list[tuple[str, Any, list[str | int]]] = []
    for name, step, members in (
        ("numbers", _numbers(), _of_kind(columns, "number")),
        ("categories", _categories(as_text=False), _of_kind(columns, "category")),
        ("mixed_categories", _categories(as_text=True), _of_kind(columns, "mixed category")),
        ("constants", Constants(), [column for column in columns if column.is_constant]),
    ):
        if members:
            blocks.append((name, step, [column.key for column in members]))
    dates = enumerate(_of_kind(columns, "date"))
    blocks += [(f"date_{i}", DateParts(column.parts), [column.key]) for i, column in dates]
    return ColumnTransformer(blocks, remainder="drop", sparse_threshold=0.0)


def groups_of(preparation: ColumnTransformer) -> list[list[int]]:
    """Columns after a fitted preparation that are one variable together, and in units of their own."""
    groups: list[list[int]] = []
    for name, step, _ in preparation.transformers_:
        place = preparation.output_indices_[name]
        if name == "numbers":
            marks = len(step[-1].marked_)
            groups += [[column] for column in range(place.stop - marks, place.stop)]
        elif name in ("categories", "mixed_categories"):
            parts = step[-1].blocks()
            groups += [list(range(place.start + part.start, place.start + part.stop)) for part in parts]
        elif isinstance(step, DateParts):
            groups += [[place.start + column for column in group] for group in step.variables()]
    return groups


def _numbers() -> Pipeline:
    return Pipeline([("plain", PlainNumbers()), ("fill", FilledNumbers())])


def _categories(*, as_text: bool) -> Pipeline:
    # What was not seen in training counts as rare, if there were rare ones, and else as one more category.
    encoder = SurpriseEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    return Pipeline([("plain", PlainValues(as_text)), ("encode", encoder)])


def _of_kind(columns: Sequence[Column], kind: str) -> list[Column]:
    return [column for column in columns if column.kind == kind]
