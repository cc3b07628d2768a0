"""``whyodd paper``: the paper's experiments, beside what the paper states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyodd.cli.extras import check_installed
from whyodd.experiments.registry import EXPERIMENTS, find_experiment

if TYPE_CHECKING:
    from whyodd.experiments.page import Outcome
    from whyodd.experiments.run import Size


def paper(
    name: Annotated[
        str | None,
        typer.Argument(help=f"Experiment: {', '.join(EXPERIMENTS)}. Without a name, the command lists them."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with the data. By default WHYODD_DATA, the cache, or a download."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write the results to.", show_default="whyodd-paper/NAME")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a small version: a first look in a minute or two.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Run at the paper's full size.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed for everything random.")] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start again instead of continuing an earlier run.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide progress; show only results.")] = False,
) -> None:
    """Repeat an experiment from the paper, and compare its claims with what is measured.

    Writes figures (PNG and PDF), the numbers (NAME.json) and a page (NAME.md) to a folder. An
    interrupted run continues where it stopped.

    Example: whyodd paper prototypes

    Example: whyodd paper textures --data data/ --out figures/ --quick
    """
    if name is None:
        list_experiments(Console())
        return
    if name not in EXPERIMENTS:
        list_experiments(Console(stderr=True))
        raise typer.BadParameter(f"{name!r}: expected one of {', '.join(EXPERIMENTS)}.", param_hint="NAME")
    if quick and full:
        raise typer.BadParameter("Pass --quick or --full, not both.")
    # Here, since only those who run an experiment pay for the imports.
    from whyodd.experiments.data import Source
    from whyodd.experiments.run import carry_out

    size: Size = "quick" if quick else "full" if full else "default"
    experiment = find_experiment(name)
    check_installed(*experiment.packages)
    folder = out or Path("whyodd-paper") / name
    report = carry_out(
        name,
        experiment,
        folder,
        Source(data),
        seed=seed,
        size=size,
        fresh=fresh,
        progress=not quiet,
        say=_hush if quiet else _say,
    )
    show(report, Console())
    typer.echo(f"\nPage, figures and numbers: {folder / name}.md")


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _hush(text: str) -> None:
    """Discard progress that nobody asked for."""


def list_experiments(console: Console) -> None:
    """Print a line for each experiment."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, summary in EXPERIMENTS.items():
        table.add_row(name, summary)
    console.print(table)
    console.print("\nExample: whyodd paper prototypes", highlight=False)


def show(report: Outcome, console: Console) -> None:
    """Print what the paper states beside what was measured."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0))
    for title in ("the paper states", "measured here", "verdict"):
        table.add_column(title, overflow="fold")
    for one in report.statements:
        # Text, not str: words in square brackets are no markup.
        table.add_row(Text(one.paper), Text(one.measured), Text(one.verdict, style="bold"))
    console.print(table)
