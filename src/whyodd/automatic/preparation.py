"""From raw columns to numbers that a committee can compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from whyodd.automatic.dates import DateParts
from whyodd.automatic.given import GivenContext
from whyodd.automatic.rarity import Rarity
from whyodd.automatic.steps import Constants, FilledGaps, PlainNumbers, PlainValues, SurpriseEncoder
from whyodd.explanations.given import CONTEXT
from whyodd.inputs.frames import as_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.automatic.kinds import Column
    from whyodd.automatic.whole import Whole

# Categories of a column beyond this many form one: the rare ones.
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
    # scikit-learn 1.6 keeps unused columns in a type of its own, which cannot be saved, unless told not to.
    plain = {"force_int_remainder_cols": False} if _sklearn_version() < (1, 7) else {}
    return ColumnTransformer(blocks, remainder="drop", sparse_threshold=0.0, **plain)


def _sklearn_version() -> tuple[int, ...]:
    return tuple(map(int, sklearn.__version__.split(".")[:2]))


def check_selectable(data: Any) -> None:
    """scikit-learn before 1.9 selects columns of Polars' frames by a protocol that Polars 2 does not have."""
    frame = as_frame(data)
    if frame is None or not frame.implementation.is_polars() or hasattr(data, "__dataframe__"):
        return
    if _sklearn_version() < (1, 9):
        raise ValueError(
            f"scikit-learn {sklearn.__version__} cannot select columns of this version of Polars. "
            "Install scikit-learn 1.9 or newer, or a Polars below 2."
        )


def settled(preparation: ColumnTransformer) -> ColumnTransformer:
    """The same transformer, fitted, without knowledge of other rows, so that a new fit uses its own."""
    for _, step, _ in [*preparation.transformers, *preparation.transformers_]:
        if isinstance(step, Pipeline):
            known = [name for name in step.get_params() if name.endswith("__known")]
            step.set_params(**dict.fromkeys(known))
    return preparation


def groups_of(preparation: ColumnTransformer) -> list[list[int]]:
    """Columns after a fitted preparation that are parts of one variable, and have units of their own."""
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
    """The raw column behind each column after a fitted preparation, as a number (d,).

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
    # A category not seen in training counts as rare, if there were rare ones, and otherwise as one more.
    encoder = SurpriseEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False, known=known
    )
    both = FeatureUnion([("which", encoder), ("how_rare", Rarity(known))])
    return Pipeline([("plain", PlainValues(as_text)), ("encode", both)])


def _used_as(columns: Sequence[Column], use: str) -> list[Column]:
    return [column for column in columns if column.used_as == use]
