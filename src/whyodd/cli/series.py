"""``whyodd series``: when a series is odd, and in which channels, as a picture and tables."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import PAGE_ENDINGS, check_outputs, say_written
from whyodd.explanations.sentences import number, percent
from whyodd.io.atomic import make_folder, replacing, save_figure
from whyodd.io.tables import check_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.findings.series import OddSpan
    from whyodd.patches import PatchExplanation

_CHANNELS = 3  # of each window that are told
_DOTS_PER_INCH = 150


def _names(text: str | None) -> tuple[str, ...]:
    """Names of columns in a list such as "a,b"."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def series(
    train: Annotated[
        Path, typer.Argument(help="Normal series: CSV, JSON, Parquet or Excel, a row per time step.")
    ],
    test: Annotated[
        Path | None,
        typer.Argument(help="Series to explain. By default the normal one, each window by all its others."),
    ] = None,
    window: Annotated[int, typer.Option(min=1, help="Rows of a window: about one period, if any.")] = 32,
    stride: Annotated[int, typer.Option(min=1, help="Steps between windows.")] = 1,
    time: Annotated[
        str | None, typer.Option(help="Column that tells the time. By default one of dates, or called time.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Use only these columns, as in a,b; by default all numbers.")
    ] = None,
    drop: Annotated[
        str | None,
        typer.Option(help="Leave out these columns. If the time is left out, rows count as even steps."),
    ] = None,
    max_patches: Annotated[int, typer.Option(min=2, help="Windows to train on.")] = 10_000,
    nu: Annotated[
        float, typer.Option(min=1e-6, max=1.0, help="Share of windows that may be outliers in training.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Which windows are drawn.")] = 0,
    top: Annotated[int, typer.Option(min=1, help="How many of the strangest places to list.")] = 5,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("series"),
    report: Annotated[Path | None, typer.Option(help="Page to write: .html, one file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only results and notes.")] = False,
) -> None:
    """Learn what a normal series looks like, then show when another one is odd, and in which channels.

    Trains a one-class SVM on windows of the series, each channel in units of its standard deviation. Writes
    series.png, strangest.png, relevance.csv (of each step and channel) and windows.csv (the strangest
    places).

    Example: whyodd series normal.csv today.csv --window 32 --out odd/
    """
    for path in (train, test):
        if path is not None:
            check_table(path)
    check_outputs(("--report", report, PAGE_ENDINGS), sources=(train, test))
    check_installed("polars", "matplotlib", "PIL", *(("jinja2",) if report is not None else ()))
    check_folder(out)
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.findings.series import Settings, explain_series, odd_spans

    settings = Settings(
        window=window,
        stride=stride,
        time=time,
        columns=_names(columns),
        drop=_names(drop),
        max_patches=max_patches,
        nu=nu,
        seed=seed,
    )
    found = explain_series(train, test, settings, progress=not quiet)
    for note in () if as_json else found.notes:  # among the results then
        typer.echo(f"Note: {note}", err=True)
    e, spans = found.explanation, odd_spans(found.explanation, 0, top)
    files = write_results(e, spans, out)
    if report is not None:
        found.report(report)
    if as_json:
        typer.echo(json.dumps(summary(e, spans, found.notes, files), indent=2))
        return
    show(e, spans, Console())
    typer.echo(f"\n{', '.join(file.name for file in files)}: {out}")
    say_written(report)


def check_folder(out: Path) -> None:
    """Say before the work that results cannot be written to ``out``."""
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file: expected a folder to write to. Choose another --out.")


def write_results(e: PatchExplanation, spans: Sequence[OddSpan], out: Path) -> list[Path]:
    """Write relevance.csv, windows.csv and the pictures; returns what was written."""
    from whyodd.plots.figures import pyplot
    from whyodd.plots.series import series as draw_series
    from whyodd.plots.strangest import strangest

    make_folder(out)
    write_relevance(e, out / "relevance.csv")
    write_windows(spans, out / "windows.csv")
    for figure, name in ((draw_series(e), "series.png"), (strangest(e), "strangest.png")):
        save_figure(figure, out / name, _DOTS_PER_INCH)
        pyplot().close(figure)
    return [out / name for name in ("series.png", "strangest.png", "relevance.csv", "windows.csv")]


def write_relevance(e: PatchExplanation, path: Path) -> None:
    """Write a row for each step: its time or number, its relevance, and that of each channel.

    Blank where no window without a gap looks at the step.
    """
    from whyodd.findings.series import is_seen, step_text

    item, heat = e.items[0], e.heatmap(0).reshape(len(e.data[0]), -1)
    seen = is_seen(e, 0)
    first = "step" if item.times is None else "time (UTC)" if item.is_utc else "time"
    with replacing(path) as draft, draft.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow((first, "all channels", *e.channels))
        for step, parts in enumerate(heat.tolist()):
            told = (sum(parts), *parts) if seen[step] else ("",) * (1 + len(parts))
            writer.writerow((step_text(item, step), *told))


def write_windows(spans: Sequence[OddSpan], path: Path) -> None:
    """Write a row for each of the strangest places, the strangest first."""
    with replacing(path) as draft, draft.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ("rank", "from", "to", "first_row", "last_row", "relevance", "outlierness", "channels")
        )
        for rank, span in enumerate(spans, start=1):
            rows = (span.start, span.stop - 1)
            writer.writerow(
                (rank, span.since, span.until, *rows, span.relevance, span.outlierness, channels_text(span))
            )


def channels_text(span: OddSpan) -> str:
    """Channels with the most relevance in a window, and their shares."""
    return ", ".join(f"{name} {percent(part)}" for name, part in list(span.channels.items())[:_CHANNELS])


def summary(
    e: PatchExplanation, spans: Sequence[OddSpan], notes: Sequence[str], files: Sequence[Path]
) -> dict[str, Any]:
    """All that the command tells, as a plain dictionary."""
    return {
        "why": e.why(0),
        "outlierness": float(e.outlierness[0]),
        "unexplained": float(e.unexplained[0]),
        "channels": e.by_channel(0),
        "windows": [asdict(span) for span in spans],
        "notes": list(notes),
        "files": [str(file) for file in files],
    }


def show(e: PatchExplanation, spans: Sequence[OddSpan], console: Console) -> None:
    """Print where the series is odd, and its strangest places."""
    # Text, not str: a name in square brackets is no markup.
    console.print(Text(f"{e.names[0]}: {e.why(0)}"), highlight=False)
    if not spans:
        return
    console.print("\nWhere most of the relevance is:\n")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    for title in ("from", "to"):
        table.add_column(title, min_width=10)
    for title in ("rele-\nvance", "of\nall", "outlier-\nness"):
        table.add_column(title, justify="right", no_wrap=True)
    if len(e.channels) > 1:
        table.add_column("channels", min_width=10, overflow="fold")
    for rank, span in enumerate(spans, start=1):
        numbers = (number(span.relevance), percent(span.share), number(span.outlierness))
        told = [Text(channels_text(span))] if len(e.channels) > 1 else []
        table.add_row(str(rank), span.since, span.until, *numbers, *told)
    console.print(table)
