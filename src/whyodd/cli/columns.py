"""``whyodd columns``: what each column of a table is, and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from whyodd.cli.table_options import (
    AsJson,
    Columns,
    Data,
    Drop,
    Encoding,
    Sheet,
    TableName,
    Types,
    check_inputs,
    names_of,
    tell,
    types_of,
)
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.automatic.kinds import Column
    from whyodd.findings.table import Table

_HEADINGS = ("column", "kind", "why", "gaps", "distinct", "values")
_WIDE = 10_000  # for output to another program: no line is broken


def columns(
    data: Data,
    columns: Columns = None,
    drop: Drop = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    table: TableName = None,
    types: Types = None,
    as_json: AsJson = False,
) -> None:
    """Show what kind of column each one is, and why: number, count, code, category, date and so on.

    Change a kind with --type column=kind, here and in whyodd explain and whyodd fit.

    Example: whyodd columns data.csv --type store=code
    """
    given = types_of(types)
    check_inputs(data, None, None)
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.tables import ChosenColumns, FileOptions, read_tables
    from whyodd.findings.summary.summarize import told_column

    chosen = ChosenColumns(names_of(columns), names_of(drop))
    rows, _ = read_tables(data, None, chosen, FileOptions(encoding, sheet, table))
    found = judge(rows, given)
    tell(rows.notes)
    if as_json:
        told = [told_column(column) for column in found]
        typer.echo(json.dumps({"rows": rows.n_rows, "columns": told}, allow_nan=False))
        return
    show(rows, found, Console())


def judge(table: Table, types: dict[str, str]) -> list[Column]:
    """What each column of a table is."""
    from whyodd.automatic.reading import read_table
    from whyodd.automatic.written import judge_table

    try:
        return judge_table(read_table(table.frame, what=table.name), types).columns
    except ValueError as error:
        raise ValueError(f"{table.name}: {error}") from None


def show(table: Table, found: Sequence[Column], console: Console) -> None:
    """Print a line per column, unused ones in another colour; plain lines in a pipe."""
    from whyodd.cli.table_words import say
    from whyodd.explanations.groups import count_of_rows

    if not console.is_terminal:
        console = Console(width=_WIDE)
    n_aside = sum(not column.is_used for column in found)
    aside = f", {n_aside} of them set aside" if n_aside else ""
    n = "1 column" if len(found) == 1 else f"{len(found):,} columns"
    say(console, f"{table.name}: {count_of_rows(table.n_rows)}, {n}{aside}.\n")
    view = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in _HEADINGS:
        is_number = heading in ("gaps", "distinct")
        view.add_column(heading, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for column in found:
        why = column.why if column.is_used else f"set aside: {column.why}"
        gaps = f"{column.n_gaps:,}" if column.n_gaps else "-"
        cells = (column.name, column.kind, why, gaps, f"{column.n_distinct:,}", column.values)
        view.add_row(*(Text(printable(cell)) for cell in cells), style="" if column.is_used else "dim")
    console.print(view)
