"""``whyodd watch``: how odd each row of a stream is, and why, as it arrives."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import check_outputs
from whyodd.cli.table_options import IdColumn, names_of

_ENDINGS = (".jsonl", ".ndjson", ".json")


class LineFormat(StrEnum):
    """How lines are formatted."""

    JSONL = "jsonl"
    CSV = "csv"


def watch(
    model: Annotated[Path, typer.Option(help="Model file from whyodd fit to judge with.")],
    line_format: Annotated[
        LineFormat | None,
        typer.Option("--format", help="Format of the input lines; by default detected from the first one."),
    ] = None,
    header: Annotated[
        str | None, typer.Option(help="Column names for CSV input without a header line, for example a,b.")
    ] = None,
    id_column: IdColumn = None,
    top: Annotated[int, typer.Option(min=1, help="How many reasons to give for each row.")] = 3,
    odd_only: Annotated[
        bool, typer.Option("--odd-only", help="Write only the odd rows; several times faster.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Append to this .jsonl file instead of writing to standard output.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="The input starts from the beginning again: skip the rows already in --out."
        ),
    ] = False,
    rejects: Annotated[
        Path | None, typer.Option(help="Append bad lines to this .jsonl file, with what is wrong with them.")
    ] = None,
    events: Annotated[
        Path | None, typer.Option(help="Append changes in the stream to this .jsonl file.")
    ] = None,
    drift_every: Annotated[
        int, typer.Option(min=0, help="Number of rows between checks for drift; 0 for never.")
    ] = 5000,
    forget: Annotated[
        int | None,
        typer.Option(min=1, help="Keep learning: a row's weight halves after this many later rows."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the latest model learned with --forget to this file.")
    ] = None,
) -> None:
    """Judge rows from standard input as they arrive, with a line of JSON for each: how odd it is, and why.

    Rows are JSON lines or CSV. Bad lines are counted and left out. SIGHUP loads the model again, SIGTERM
    stops after the rows already read.

    Example: kafka-console-consumer --topic orders ... | whyodd watch --model m.whyodd --odd-only
    """
    if resume and out is None:
        raise typer.BadParameter("--resume continues the file of --out, but there is no --out. Add it.")
    if save is not None and forget is None:
        raise typer.BadParameter(
            "--save keeps the model learned with --forget, but there is no --forget. Add it."
        )
    if not model.is_file():
        raise FileNotFoundError(f"There is no file {model}. Write a model with whyodd fit.")
    files = (("--out", out, _ENDINGS), ("--rejects", rejects, _ENDINGS), ("--events", events, _ENDINGS))
    check_outputs(*files, ("--save", save, ()), sources=(model,))
    check_installed("polars", "skops", *(("datasketches", "pyarrow") if forget is not None else ()))
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.watch_run import Settings, WatchRun

    settings = Settings(
        model=model,
        line_format=None if line_format is None else line_format.value,
        header=names_of(header),
        id_column=id_column,
        top=top,
        odd_only=odd_only,
        out=out,
        resume=resume,
        rejects=rejects,
        events=events,
        drift_every=drift_every,
        forget=forget,
        save=save,
    )
    WatchRun(settings).run()
