"""From raw columns to numbers that can be compared: each column weighs about as much as any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from whyodd.automatic.dates import DateParts
from whyodd.automatic.steps import Constants, PlainNumbers, PlainValues, SimplexEncoder, log_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.automatic.kinds import Column

# Categories beyond so many per column are one: the rare ones.
MOST_CATEGORIES = 50


def prepare(columns: Sequence[Column]) -> ColumnTransformer:
    """Transformer (not fitted) of the columns, a block of columns per kind.

    Numbers are standardised, heavy tails on a log scale; gaps become the median and are marked by a column of
    0 and 1. A category is 1 in a column of its own, so that two different ones are √2 apart and the variance
    of all its columns is at most 1. It is not divided by its own spread: a value seen in one row of 10,000
    would be a hundred standard deviations away, and nothing else would count.
    """
    blocks: list[tuple[str, Any, list[str | int]]] = []
    for name, step, members in (
        ("numbers", _numbers(), _of_kind(columns, "number")),
        ("log_numbers", _log_numbers(columns), _of_kind(columns, "number on a log scale")),
        ("categories", _categories(as_text=False), _of_kind(columns, "category")),
        ("mixed_categories", _categories(as_text=True), _of_kind(columns, "mixed category")),
        ("constants", Constants(), [column for column in columns if column.is_constant]),
    ):
        if members:
            blocks.append((name, step, [column.key for column in members]))
    dates = enumerate(_of_kind(columns, "date"))
    blocks += [(f"date_{i}", DateParts(column.parts), [column.key]) for i, column in dates]
    return ColumnTransformer(blocks, remainder="drop", sparse_threshold=0.0)


def _numbers() -> Pipeline:
    return Pipeline([("plain", PlainNumbers()), ("scale", StandardScaler()), ("fill", _fill())])


def _log_numbers(columns: Sequence[Column]) -> Pipeline:
    scales = [column.log_scale for column in columns if column.log_scale is not None]
    log = log_step(scales)
    return Pipeline([("plain", PlainNumbers()), ("log", log), ("scale", StandardScaler()), ("fill", _fill())])


def _fill() -> SimpleImputer:
    return SimpleImputer(strategy="median", add_indicator=True)


def _categories(*, as_text: bool) -> Pipeline:
    # What was not seen in training counts as rare, if there were rare ones, and else as one more category.
    encoder = SimplexEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    return Pipeline([("plain", PlainValues(as_text)), ("encode", encoder)])


def _of_kind(columns: Sequence[Column], kind: str) -> list[Column]:
    return [column for column in columns if column.kind == kind]
