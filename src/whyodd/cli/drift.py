"""``whyodd drift``: what changed between two tables."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path  # noqa: TC003 - typer looks at it
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import PAGE_ENDINGS, check_outputs, say_written
from whyodd.cli.table_options import (
    AsJson,
    Columns,
    Drop,
    Encoding,
    Quiet,
    Seed,
    Sheet,
    TableName,
    Types,
    names_of,
    tell,
    types_of,
)
from whyodd.io.results import TABLE_ENDINGS, put_table, put_text, write_files
from whyodd.io.tables import check_table, polars, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.changes.comparison import Comparison


def drift(
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="The old table: CSV, Parquet, Excel and others.")
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The new table, with the same columns.")],
    columns: Columns = None,
    drop: Drop = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    table: TableName = None,
    types: Types = None,
    false_alarms: Annotated[
        float,
        typer.Option(min=0.005, max=0.5, help="Accepted risk of reporting a change where there is none."),
    ] = 0.05,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the changes to this file, one per line: .csv, .tsv, .parquet or .jsonl."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a report to this file: .html, self-contained.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show what changed between two tables: columns, relations between columns, groups and kinds of rows.

    Example: whyodd drift last_week.csv this_week.csv --report page.html
    """
    for source in (old, new):
        check_table(source)
    outputs = (("--out", out, TABLE_ENDINGS), ("--report", report, PAGE_ENDINGS))
    check_outputs(*outputs, sources=(old, new))
    check_installed("polars", *(("jinja2",) if report is not None else ()))
    given_types = types_of(types)
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.changes.compare import compare
    from whyodd.cli.tables import ChosenColumns, FileOptions, read_both

    chosen = ChosenColumns(names_of(columns), names_of(drop))
    before, after = read_both(old, new, chosen, FileOptions(encoding, sheet, table))
    tell([*before.notes, *after.notes])
    found = compare(
        before.frame,
        after.frame,
        types=given_types,
        false_alarms=false_alarms,
        random_state=seed,
        progress=not quiet,
        names=_called(old, new),
        made_by=shown(shlex.join(["whyodd", "drift", str(old), str(new)])),
    )
    tell(found.notes)
    _write(found, out, report)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), allow_nan=False))
        return
    _show(found, Console())
    say_written(out, report)


def _called(old: Path, new: Path) -> tuple[str, str]:
    """What to call the tables: their file names, with folders if the names are the same."""
    names = (old.name, new.name) if old.name != new.name else (str(old), str(new))
    return shown(names[0]), shown(names[1])


def _write(found: Comparison, out: Path | None, report: Path | None) -> None:
    """Write the requested table of changes and page: both, or neither if one cannot be written."""
    files: list[tuple[Path, Callable[[Path], object]]] = []
    if out is not None:
        files.append((out, partial(put_table, polars().DataFrame(found.to_frame()))))
    if report is not None:
        from whyodd.report.comparison import render_comparison

        files.append((report, partial(put_text, render_comparison(found.to_dict()))))
    write_files(*files)


def _show(found: Comparison, console: Console) -> None:
    """Print what changed, the main change first, and how far apart the tables are."""
    from whyodd.cli.table_words import say

    if not found.changes:
        say(console, found.headline)
    for rank, change in enumerate(found.changes, start=1):
        say(console, f"{rank:>2}. {change.sentence}")
    say(console, f"\n{found.distance_words}")
