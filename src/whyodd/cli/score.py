"""``whyodd score``: how odd each row of a table is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from whyodd.cli.outputs import check_outputs, say_written
from whyodd.cli.picture_names import printable
from whyodd.cli.table_options import (
    AsJson,
    Columns,
    Data,
    Drop,
    IdColumn,
    Model,
    Quiet,
    Seed,
    Share,
    Train,
    check_inputs,
    names_of,
    tell,
)
from whyodd.explanations.sentences import number
from whyodd.io.results import TABLE_ENDINGS, write_table

if TYPE_CHECKING:
    from whyodd.cli.table_model import Choice, Judgement, Learned, Table

_STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True)
class Scores:
    """All rows of a table, the model, and how odd each row is."""

    table: Table
    learned: Learned
    judgement: Judgement
    notes: tuple[str, ...]


def score(
    data: Data,
    train: Train = None,
    model: Model = None,
    columns: Columns = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the oddest rows to print.")] = 10,
    share: Share = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Scores to write, a line per row: .csv, .tsv, .parquet or .jsonl; - prints CSV."),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say how odd each row of a table is.

    Example: whyodd score today.csv --model model.whyodd --out scores.csv
    """
    check_inputs(data, train, model, share)
    prints_scores = out == _STANDARD_OUTPUT
    if prints_scores and as_json:
        raise typer.BadParameter("--json and --out - would both be printed. Choose one.")
    check_outputs(("--out", None if prints_scores else out, TABLE_ENDINGS), sources=(data, train, model))
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.table_model import Choice, score_frame

    found = score_table(
        data,
        train=train,
        model=model,
        choice=Choice(names_of(columns), names_of(drop), id_column),
        share=share,
        seed=seed,
        progress=not quiet,
    )
    tell(found.notes)
    if prints_scores:
        # Bytes: what other programs read is UTF-8, whatever letters this terminal has.
        typer.echo(score_frame(found.table, found.judgement).write_csv().encode(), nl=False)
        return
    if out is not None:
        write_table(score_frame(found.table, found.judgement), out)
    if as_json:
        typer.echo(json.dumps(summary(found, top), allow_nan=False))
        return
    show(found, top, Console())
    say_written(out)


def score_table(
    data: Path,
    *,
    train: Path | None = None,
    model: Path | None = None,
    choice: Choice | None = None,
    share: float | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Scores:
    """Score all rows of a file; parameters as of :func:`whyodd.cli.explain.find_odd_rows`."""
    from whyodd.cli.table_model import Choice, judge, learned_from, read_tables
    from whyodd.cli.table_notes import notes_on_rows

    notes: list[str] = []
    table, known = read_tables(data, train, choice or Choice())
    learned = learned_from(table, known, model, notes, seed=seed, progress=progress)
    judgement = judge(table, learned, notes, share=share, progress=progress)
    notes += notes_on_rows(table, learned, judgement.survey)
    return Scores(table, learned, judgement, tuple(notes))


def summary(found: Scores, top: int) -> dict[str, Any]:
    """All that the command tells, as a plain dictionary."""
    judgement, scores = found.judgement, found.judgement.scores
    rows = judgement.order[:top].tolist()
    return {
        "rows": int(scores.size),
        "odd": judgement.n_odd,
        "threshold": judgement.threshold,
        "lowest": float(scores.min()),
        "median": float(_median(found)),
        "highest": float(scores.max()),
        "top": [
            {
                "row": row,
                "id": None if found.table.ids is None else found.table.row_name(row),
                "outlierness": float(scores[row]),
                "is_odd": bool(scores[row] > judgement.threshold),
            }
            for row in rows
        ],
        "notes": list(found.notes),
    }


def _median(found: Scores) -> float:
    import numpy as np

    return float(np.median(found.judgement.scores))


def show(found: Scores, top: int, console: Console) -> None:
    """Print what was read and learned, how scores are spread, and the oddest rows."""
    from whyodd.cli.table_words import model_words, oddest_words, read_words, say, threshold_words, times_text

    table, judgement = found.table, found.judgement
    rows = judgement.order[:top].tolist()
    spread = (float(judgement.scores.min()), _median(found), float(judgement.scores.max()))
    low, middle, high = map(number, spread)
    say(console, f"{read_words(table)}\n{model_words(found.learned, table)}")
    say(console, f"{threshold_words(judgement)} Outlierness {low} to {high}, median {middle}.")
    say(console, f"\n{oddest_words(table, len(rows))}\n")
    view = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    title = "row" if table.ids is None else table.ids.name
    for heading in ("#", Text(printable(title)), "outlierness", "× threshold"):
        view.add_column(heading, justify="right", overflow="fold")
    for rank, row in enumerate(rows, start=1):
        o = float(judgement.scores[row])
        cells = (str(rank), table.row_name(row), number(o), times_text(o, judgement.threshold))
        view.add_row(*(Text(printable(cell)) for cell in cells))
    console.print(view)
