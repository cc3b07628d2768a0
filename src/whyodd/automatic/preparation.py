"""From raw columns to numbers that a committee can compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from whyodd.automatic.dates import DateParts
from whyodd.automatic.rarity import Rarity
from whyodd.automatic.steps import Constants, FilledGaps, PlainNumbers, PlainValues, SurpriseEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.automatic.kinds import Column

# Categories beyond so many per column are one: the rare ones.
MOST_CATEGORIES = 50
_CATEGORIES = ("categories", "mixed_categories")


def prepare(columns: Sequence[Column]) -> ColumnTransformer:
    """Transformer (not fitted) of the columns, a block of columns per use.

    Numbers stay as they are, for the committee scales them; gaps become the median and are marked by how
    surprising they are. A category is a column of its own, and one more says how rare it is.
    """
    blocks: list[tuple[str, Any, list[str | int]]] = []
    for name, step, members in (
        ("numbers", _numbers(), _used_as(columns, "number")),
        ("categories", _categories(as_text=False), _used_as(columns, "category")),
        ("mixed_categories", _categories(as_text=True), _used_as(columns, "mixed category")),
        ("constants", Constants(), [column for column in columns if column.is_constant]),
    ):
        if members:
            blocks.append((name, step, [column.key for column in members]))
    dates = enumerate(_used_as(columns, "date"))
    blocks += [(f"date_{i}", DateParts(column.parts), [column.key]) for i, column in dates]
    return ColumnTransformer(blocks, remainder="drop", sparse_threshold=0.0)


def groups_of(preparation: ColumnTransformer) -> list[list[int]]:
    """Columns after a fitted preparation that are one part of a variable, and in units of their own."""
    groups: list[list[int]] = []
    for name, step, _ in preparation.transformers_:
        place = preparation.output_indices_[name]
        if name == "numbers":
            marks = len(step[-1].indicator_.features_)
            groups += [[column] for column in range(place.stop - marks, place.stop)]
        elif name in _CATEGORIES:
            parts = _blocks(step)
            groups += [list(range(place.start + part.start, place.start + part.stop)) for part in parts]
            groups += [[column] for column in range(place.stop - len(parts), place.stop)]
        elif isinstance(step, DateParts):
            first_mark = place.stop - step.n_marks
            groups.append(list(range(place.start, first_mark)))
            groups += [[column] for column in range(first_mark, place.stop)]
    return groups


def variables_of(preparation: ColumnTransformer) -> list[int]:
    """The raw column that each column after a fitted preparation is made of, as a number (d,).

    A number and the mark of its gaps, a category and how rare it is: each are one variable to people.
    """
    variables: list[int] = []
    for name, step, members in preparation.transformers_:
        place = preparation.output_indices_[name]
        if place.stop == place.start:
            continue
        start, size = max(variables, default=-1) + 1, len(members)
        of = [*range(size)]
        if name == "numbers":
            of += step[-1].indicator_.features_.tolist()
        elif name in _CATEGORIES:
            of = [v for v, part in enumerate(_blocks(step)) for _ in range(part.start, part.stop)] + of
        else:
            of *= place.stop - place.start
        variables += [start + variable for variable in of]
    return variables


def _blocks(step: Pipeline) -> list[slice]:
    """Columns of each category."""
    return list(step[-1].transformer_list[0][1].blocks())


def _numbers() -> Pipeline:
    return Pipeline([("plain", PlainNumbers()), ("fill", FilledGaps())])


def _categories(*, as_text: bool) -> Pipeline:
    # What was not seen in training counts as rare, if there were rare ones, and else as one more category.
    encoder = SurpriseEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    both = FeatureUnion([("which", encoder), ("how_rare", Rarity())])
    return Pipeline([("plain", PlainValues(as_text)), ("encode", both)])


def _used_as(columns: Sequence[Column], use: str) -> list[Column]:
    return [column for column in columns if column.used_as == use]
