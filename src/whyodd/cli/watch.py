"""``whyodd watch``: say of each row of a stream how odd it is and why, as it comes."""

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
    """How lines are written."""

    JSONL = "jsonl"
    CSV = "csv"


def watch(
    model: Annotated[Path, typer.Option(help="Model to judge by, as written by whyodd fit.")],
    line_format: Annotated[
        LineFormat | None,
        typer.Option("--format", help="How lines are written; by default told from the first one."),
    ] = None,
    header: Annotated[
        str | None, typer.Option(help="Names of the columns of CSV without a header line, as in a,b.")
    ] = None,
    id_column: IdColumn = None,
    top: Annotated[int, typer.Option(min=1, help="How many reasons to give for each row.")] = 3,
    odd_only: Annotated[
        bool, typer.Option("--odd-only", help="Write only rows that are odd; several times as quick.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File to append to, .jsonl, instead of standard output.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="The input comes from its beginning again: skip what --out has already."
        ),
    ] = False,
    rejects: Annotated[
        Path | None, typer.Option(help="File to append bad lines to, .jsonl, with what is wrong with them.")
    ] = None,
    events: Annotated[
        Path | None, typer.Option(help="File to append what changed in the stream to, .jsonl.")
    ] = None,
    drift_every: Annotated[
        int, typer.Option(min=0, help="Rows after which to look for drift, each time; 0 for never.")
    ] = 5000,
    forget: Annotated[
        int | None,
        typer.Option(min=1, help="Learn anew all the time, such that rows count half after so many others."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="File to keep the latest model in that --forget has learned.")
    ] = None,
) -> None:
    """Say of each row on standard input how odd it is and why, as it comes, as a line of JSON.

    Rows are JSON lines or CSV. Bad lines are counted and left out. SIGHUP loads the model again, SIGTERM ends
    after the rows at hand.

    Example: kafka-console-consumer --topic orders ... | whyodd watch --model m.whyodd --odd-only
    """
    if resume and out is None:
        raise typer.BadParameter("--resume goes on with the file of --out: name it.")
    if save is not None and forget is None:
        raise typer.BadParameter("--save keeps what --forget has learned: add --forget.")
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
