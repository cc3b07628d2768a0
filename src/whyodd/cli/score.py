"""``whyodd score``: how odd each row of a table is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from whyodd.cli.outputs import check_outputs, say_written
from whyodd.cli.table_options import (
    AsJson,
    Columns,
    Data,
    Drop,
    Encoding,
    IdColumn,
    Model,
    Quiet,
    Seed,
    Share,
    Sheet,
    TableName,
    Train,
    check_inputs,
    names_of,
    tell,
)
from whyodd.explanations.sentences import number
from whyodd.io.results import TABLE_ENDINGS, write_table
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from whyodd.findings.findings import Findings

_STANDARD_OUTPUT = Path("-")


def score(
    data: Data,
    train: Train = None,
    model: Model = None,
    columns: Columns = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    table: TableName = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the oddest rows to print.")] = 10,
    share: Share = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Write the scores to this file, one line per row: .csv, .tsv, .parquet or .jsonl; - prints "
                "CSV."
            )
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score how odd each row of a table is.

    Example: whyodd score today.csv --model model.whyodd --out scores.csv
    """
    check_inputs(data, train, model, share)
    prints_scores = out == _STANDARD_OUTPUT
    if prints_scores and as_json:
        raise typer.BadParameter("--json and --out - both print to standard output. Choose one.")
    check_outputs(("--out", None if prints_scores else out, TABLE_ENDINGS), sources=(data, train, model))
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.tables import ChosenColumns, FileOptions, find_in_file

    found = find_in_file(
        data,
        train=train,
        model=model,
        chosen=ChosenColumns(names_of(columns), names_of(drop), id_column),
        files=FileOptions(encoding, sheet, table),
        share=share,
        random_state=seed,
        progress=not quiet,
    )
    tell(found.notes)
    if prints_scores:
        # Bytes: what other programs read is UTF-8, whatever letters this terminal has.
        typer.echo(found.to_frame().write_csv().encode(), nl=False)
        return
    if out is not None:
        write_table(found.to_frame(), out)
    if as_json:
        typer.echo(json.dumps(summary(found, top), allow_nan=False))
        return
    show(found, data, top, Console())
    say_written(out)


def summary(found: Findings, top: int) -> dict[str, Any]:
    """All results of the command, as a plain dictionary."""
    scores = found.outlierness
    return {
        "rows": len(found),
        "odd": found.n_odd,
        "threshold": found.threshold,
        "lowest": float(scores.min()),
        "median": _median(found),
        "highest": float(scores.max()),
        "top": [
            {
                "row": row,
                "id": None if found.table is None else found.table.called(row),
                "outlierness": float(scores[row]),
                "is_odd": bool(found.is_odd[row]),
            }
            for row in found.order[:top].tolist()
        ],
        "notes": list(found.notes),
    }


def _median(found: Findings) -> float:
    import numpy as np

    return float(np.median(found.outlierness))


def show(found: Findings, data: Path, top: int, console: Console) -> None:
    """Print what was read and learned, how scores are spread, and the oddest rows."""
    from whyodd.cli.explain import id_title
    from whyodd.cli.table_words import model_words, oddest_words, read_words, row_name, say
    from whyodd.findings.summary.rows.cards import times_text

    rows = found.order[:top].tolist()
    spread = (float(found.outlierness.min()), _median(found), float(found.outlierness.max()))
    low, middle, high = map(number, spread)
    say(console, f"{read_words(found)}\n{model_words(found)}")
    say(console, f"{found.headline} Outlierness {low} to {high}, median {middle}.")
    say(console, f"\n{oddest_words(found, data, len(rows))}\n")
    view = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("#", Text(printable(id_title(found))), "outlierness", "× threshold"):
        view.add_column(heading, justify="right", overflow="fold")
    for rank, row in enumerate(rows, start=1):
        o = float(found.outlierness[row])
        cells = (str(rank), row_name(found, row), number(o), times_text(o, found.threshold or 0.0))
        view.add_row(*(Text(printable(cell)) for cell in cells))
    console.print(view)
