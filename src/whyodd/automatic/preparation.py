"""From raw columns to numbers that a committee can compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from whyodd.automatic.dates import DateParts
from whyodd.automatic.given import GivenContext
from whyodd.automatic.rarity import Rarity
from whyodd.automatic.steps import Constants, FilledGaps, PlainNumbers, PlainValues, SurpriseEncoder
from whyodd.explanations.given import CONTEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.automatic.kinds import Column
    from whyodd.automatic.whole import Whole

# Categories beyond so many per column are one: the rare ones.
MOST_CATEGORIES = 50
_CATEGORIES = ("categories", "mixed_categories")
GIVEN = "given"


def prepare(columns: Sequence[Column], whole: Whole | None = None) -> ColumnTransformer:
    """Transformer (not fitted) of the columns, a block of columns per use.

    ``whole`` is what is known of more rows than it will be fitted to; it is for one fit, see ``settled``.

    Numbers stay as they are, for the committee scales them; gaps become the median and are marked by how
    surprising they are. A category is a column of its own, and one more says how rare it is. If there are
    columns of context, both are compared with rows alike in these.
    """
    blocks: list[tuple[str, Any, list[str | int]]] = []
    numbers, labels, mixed = (_used_as(columns, use) for use in ("number", "category", "mixed category"))
    if (contexts := _used_as(columns, CONTEXT)) and (numbers or labels or mixed):
        as_text = (*(False for _ in labels), *(True for _ in mixed))
        step = GivenContext(tuple(column.parts[0] for column in contexts), as_text)
        blocks.append((GIVEN, step, [column.key for column in (*contexts, *numbers, *labels, *mixed)]))
        numbers, labels, mixed = [], [], []
    for name, step, members in (
        ("numbers", _numbers(numbers, whole), numbers),
        ("categories", _categories(labels, whole, as_text=False), labels),
        ("mixed_categories", _categories(mixed, whole, as_text=True), mixed),
        ("constants", Constants(), [column for column in columns if column.is_constant]),
    ):
        if members:
            blocks.append((name, step, [column.key for column in members]))
    dates = enumerate(_used_as(columns, "date"))
    blocks += [(f"date_{i}", DateParts(column.parts), [column.key]) for i, column in dates]
    return ColumnTransformer(blocks, remainder="drop", sparse_threshold=0.0)


def settled(preparation: ColumnTransformer) -> ColumnTransformer:
    """The same, fitted, without what it knew of other rows: fitted again, it learns from its rows alone."""
    for _, step, _ in [*preparation.transformers, *preparation.transformers_]:
        if isinstance(step, Pipeline):
            known = [name for name in step.get_params() if name.endswith("__known")]
            step.set_params(**dict.fromkeys(known))
    return preparation


def groups_of(preparation: ColumnTransformer) -> list[list[int]]:
    """Columns after a fitted preparation that are one part of a variable, and in units of their own."""
    groups: list[list[int]] = []
    for name, step, _ in preparation.transformers_:
        place = preparation.output_indices_[name]
        if name == GIVEN:
            groups += [[place.start + column for column in group] for group in step.groups]
        elif name == "numbers":
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
        if name == GIVEN:
            of = step.targets
        elif name == "numbers":
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


def _numbers(columns: Sequence[Column], whole: Whole | None) -> Pipeline:
    known = None
    if whole is not None:
        of = [whole.columns.get(column.key) for column in columns]
        known = whole.n_rows, [math.nan if column is None else column.n_gaps / column.n_rows for column in of]
    return Pipeline([("plain", PlainNumbers()), ("fill", FilledGaps(known))])


def _categories(columns: Sequence[Column], whole: Whole | None, *, as_text: bool) -> Pipeline:
    known = None
    if whole is not None:
        of = [whole.columns.get(column.key) for column in columns]
        known = [None if column is None else column.counted(as_text=as_text) for column in of]
    # What was not seen in training counts as rare, if there were rare ones, and else as one more category.
    encoder = SurpriseEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False, known=known
    )
    both = FeatureUnion([("which", encoder), ("how_rare", Rarity(known))])
    return Pipeline([("plain", PlainValues(as_text)), ("encode", both)])


def _used_as(columns: Sequence[Column], use: str) -> list[Column]:
    return [column for column in columns if column.used_as == use]
