"""What people should know about their rows before they believe a model: sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.shared_reasons import count_of_rows
from whyodd.variables import deviates
from whyodd.words import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyodd.cli.table_model import Learned, Table
    from whyodd.explanation import Explanation

# Of the rows: where more have a duplicate, that is how the table is.
_RARE = 0.1


def notes_on_rows(table: Table, learned: Learned) -> Iterator[str]:
    """Rows that look normal because the model knows them, or a copy of them."""
    if learned.table is table:
        twice = _n_copies(table)
        if 0 < twice <= _RARE * table.frame.height:
            yield f"{count_of_rows(twice)} have an exact copy in {table.name}: copies make each other normal."
    elif learned.table is not None and (known := _n_known(table, learned.table)):
        what = "1 row is" if known == 1 else f"{known:,} rows are"
        yield (
            f"{what} also in {learned.table.name}: a row that the model has learned looks normal. Leave such "
            "rows out of one of the files."
        )


def _n_copies(table: Table) -> int:
    """How many rows are equal to another one; hashes take far less memory than the rows themselves."""
    _, counts = np.unique(table.frame.hash_rows().to_numpy(), return_counts=True)
    return int(counts[counts > 1].sum())


def _n_known(table: Table, known: Table) -> int:
    """How many rows are equal to one that was learned."""
    columns = [name for name in known.frame.columns if name in table.frame.columns]
    rows, others = table.frame.select(columns), known.frame.select(columns)
    if rows.schema != others.schema:
        rows, others = (frame.cast(_string()) for frame in (rows, others))
    return int(np.isin(rows.hash_rows().to_numpy(), others.hash_rows().to_numpy()).sum())


def _string() -> Any:
    from whyodd.io.tables import polars

    return polars().String


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
            f"so many rows have one: {listed_plainly(new)}."
        )


def _n_deviating(series: Any, constant: Any) -> int:
    values, counts = series.value_counts(sort=False).get_columns()
    pairs = zip(values.to_list(), counts.to_list(), strict=True)
    return sum(count for value, count in pairs if deviates(value, constant))


def listed_plainly(parts: list[str]) -> str:
    """Parts of a sentence, not all if they are many."""
    return ", ".join(parts[:5]) + (f" and {len(parts) - 5} more" if len(parts) > 5 else "")
