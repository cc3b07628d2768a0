"""``whyodd image --paper``: the paper's one-class SVM on patches, O = Σ_t o_t."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import say_written
from whyodd.cli.patch_files import prepare_folder, table_lines, write_results
from whyodd.explanations.sentences import number, percent

if TYPE_CHECKING:
    from pathlib import Path

    from whyodd.findings.patch_pictures import OddPictures

_SHOWN = 10  # rows of the table


def explain_by_patches(
    normal: Path,
    test: Path | None,
    given: dict[str, Any],
    *,
    width: int | None,
    contrast: bool,
    seed: int,
    top: int | None,
    out: Path,
    report: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train on small patches; write scores.csv, a heatmap of each picture, and the strangest windows."""
    from whyodd.findings.patch_pictures import Settings, explain_pictures

    sizes = {**given, "scale": _scales(given["scale"]), "border": str(given["border"])}
    settings = Settings(width=width, contrast=contrast, seed=seed, **sizes)
    check_installed(*(("jinja2",) if report is not None else ()))
    prepare_folder(out, [path for path in (normal, test) if path is not None])
    result = explain_pictures(normal, test, settings, say=_hush if quiet else _say, progress=not quiet)
    written = write_results(result, out, top=top, progress=not quiet)
    if report is not None:
        result.found.report(report)
    if as_json:
        typer.echo(json.dumps(list(table_lines(result, written)), indent=2))
        return
    show(result, Console(), settings.width)
    typer.echo(f"\nHeatmaps and scores.csv: {out}")
    say_written(report)


def _scales(text: str) -> tuple[int, ...]:
    """Scales of a list such as "4,8,16"."""
    try:
        scales = tuple(int(part) for part in text.split(","))
    except ValueError:
        scales = (0,)
    if min(scales) < 1:
        raise typer.BadParameter(f"{text!r}: expected whole numbers of at least 1, such as 1 or 4,8,16.")
    return scales


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _hush(text: str) -> None:
    """Discard progress that nobody asked for."""


def show(result: OddPictures, console: Console, width: int | None = None) -> None:
    """Print the oddest pictures, and where they are odd; ``width`` is the width they were scaled to."""
    from whyodd.findings.patch_pictures import count

    e, shown = result.explanation, result.explanation[:_SHOWN]
    trained = f"A one-class SVM learned the patches of {count(result.n_trained)}."
    console.print(
        f"{trained} The oddest of {count(len(e))}:\n" if len(e) > 1 else f"{trained}\n", highlight=False
    )
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("picture", min_width=9, overflow="fold")
    for title in ("outlierness\nper window", "in\nall", "on no\npixel", "strangest\nwindow"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("where", min_width=12)
    columns = shown.table()
    names = ("item", "per_window", "outlierness", "unexplained", "strangest_window", "where")
    for rank, (name, mean, total, unexplained, strangest, where) in enumerate(
        zip(*(columns[key] for key in names), strict=True), start=1
    ):
        scores = (number(mean), number(total), percent(unexplained / (total or 1.0)), number(strangest))
        # Text, not str: a name in square brackets is no markup.
        table.add_row(str(rank), Text(name), *scores, where)
    console.print(table)
    if result.usual is not None:
        low, high = map(number, result.usual)
        console.print(
            f"\nNormal pictures, each judged without itself, have {low} to {high} per window.",
            highlight=False,
        )
    if width is not None:
        console.print(
            f"\nRows and columns refer to pictures resized to {width} pixels wide.", highlight=False
        )
    if len(set(e.n_windows.tolist())) > 1:
        console.print("\nThe pictures differ in size, so they are ranked by their outlierness per window.")
    if note := result.found.audit().note:
        console.print(Text(f"\n{note}"))  # it holds names
