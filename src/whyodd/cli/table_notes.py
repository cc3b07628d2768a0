"""What people should know about their rows before they believe a model: sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import text
from whyodd.explanations.variables import deviates
from whyodd.findings.groups import count_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyodd.cli.table_model import Learned, Table
    from whyodd.explainers.survey import Survey
    from whyodd.explanations.table import Explanation

# Of the rows: where more have a duplicate, that is how the table is.
_RARE = 0.1
_TOLD = 5  # columns


def notes_on_rows(table: Table, learned: Learned, survey: Survey) -> Iterator[str]:
    """Rows that look normal because the model knows them, or a copy of them."""
    if learned.table is table:
        twice = _n_copies(table)
        if 0 < twice <= _RARE * table.frame.height:
            yield f"{count_of_rows(twice)} have an exact copy in {table.name}: copies make each other normal."
    elif n := survey.n_known:
        are, they = ("is equal to a row", "it looks") if n == 1 else ("are equal to rows", "they look")
        yield (
            f"{count_of_rows(n)} of {table.name} {are} that the model has learned, so {they} normal: a model "
            "is for new rows."
        )


def _n_copies(table: Table) -> int:
    """How many rows are equal to another one; hashes take far less memory than the rows themselves."""
    _, counts = np.unique(table.frame.hash_rows().to_numpy(), return_counts=True)
    return int(counts[counts > 1].sum())


def notes_on_constants(table: Table, e: Explanation) -> Iterator[str]:
    """Rows with a new value in a column that never varied, for which there is no scale to measure it by."""
    variables = e.variables
    found = {
        variables.names[place]: (value, _n_deviating(table.frame[variables.names[place]], value))
        for place, value in (variables.constants if variables is not None else {}).items()
        if variables is not None and variables.names[place] in table.frame.columns
    }
    new = [f"{name} (always {text(value)}): {count:,}" for name, (value, count) in found.items() if count]
    if new:
        yield (
            "Values never seen in columns that never varied do not count as odd, there is no scale for them; "
            f"so many rows have one: {_listed(new)}."
        )


def _n_deviating(series: Any, constant: Any) -> int:
    values, counts = series.value_counts(sort=False).get_columns()
    pairs = zip(values.to_list(), counts.to_list(), strict=True)
    return sum(count for value, count in pairs if deviates(value, constant))


def _listed(parts: list[str]) -> str:
    more = len(parts) - _TOLD
    return ", ".join(parts[:_TOLD]) + (f" and {more} more" if more > 0 else "")
