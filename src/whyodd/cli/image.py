"""``whyodd image``: where pictures are odd, as heatmaps and a ranked table."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import PAGE_ENDINGS, check_outputs, say_written
from whyodd.cli.picture_files import prepare_folder, table_lines, write_results
from whyodd.explanations.sentences import number, percent

if TYPE_CHECKING:
    from whyodd.findings.pictures import OddPictures

_SHOWN = 10  # rows of the table


class Border(StrEnum):
    """What windows see beyond the edges of a picture."""

    VALID = "valid"
    REFLECT = "reflect"
    EDGE = "edge"
    ZERO = "zero"


def _scales(text: str) -> tuple[int, ...]:
    """Scales of a list such as "4,8,16"."""
    try:
        scales = tuple(int(part) for part in text.split(","))
    except ValueError:
        scales = (0,)
    if min(scales) < 1:
        raise typer.BadParameter(f"{text!r}: expected whole numbers of at least 1, such as 1 or 4,8,16.")
    return scales


def image(
    normal: Annotated[Path, typer.Argument(help="Normal pictures: a file or a folder.")],
    test: Annotated[
        Path | None,
        typer.Argument(help="Pictures to explain. By default the normal ones, by all their other patches."),
    ] = None,
    patch: Annotated[int, typer.Option(min=1, help="Width and height of a patch, in pixels.")] = 7,
    stride: Annotated[int, typer.Option(min=1, help="Steps between windows.")] = 1,
    scale: Annotated[
        str, typer.Option(help="Look at means over so many pixels a side; several as in 4,8,16.")
    ] = "1",
    border: Annotated[Border, typer.Option(help="What windows see beyond the edges.")] = Border.VALID,
    width: Annotated[int | None, typer.Option(min=1, help="Make all pictures this wide first.")] = None,
    contrast: Annotated[bool, typer.Option("--contrast", help="Take out changes of light.")] = False,
    max_patches: Annotated[int, typer.Option(min=2, help="Patches to train on.")] = 20_000,
    nu: Annotated[
        float, typer.Option(min=1e-6, max=1.0, help="Share of patches that may be outliers in training.")
    ] = 0.1,
    q: Annotated[float, typer.Option(min=0.01, help="Degree of the kernel: 1 Laplacian, 2 Gaussian.")] = 2.0,
    seed: Annotated[int, typer.Option(min=0, help="Which patches are drawn.")] = 0,
    top: Annotated[int | None, typer.Option(min=1, help="Draw only so many of the oddest pictures.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("heatmaps"),
    report: Annotated[Path | None, typer.Option(help="Page to write: .html, one file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only results and warnings.")] = False,
) -> None:
    """Learn what normal pictures look like, then show which pixels make others odd.

    Trains a one-class SVM on small patches. Writes scores.csv, a heatmap of each picture beside its edges,
    all with the same colours, and the strangest window of the three oddest.

    Example: whyodd image normal/ test/ --patch 7 --out heatmaps/

    Example: whyodd image picture.png --width 256
    """
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.findings.pictures import Settings, explain_pictures

    settings = Settings(
        patch=patch,
        stride=stride,
        scale=_scales(scale),
        border=border.value,
        width=width,
        contrast=contrast,
        max_patches=max_patches,
        nu=nu,
        q=q,
        seed=seed,
    )
    check_outputs(("--report", report, PAGE_ENDINGS), sources=(normal, test))
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


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _hush(text: str) -> None:
    """Not said, since nobody wants to hear it."""


def show(result: OddPictures, console: Console, width: int | None = None) -> None:
    """Print the oddest pictures, and where they are odd; ``width`` they were brought to."""
    from whyodd.findings.pictures import count

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
            f"\nNormal pictures, without themselves, have {low} to {high} per window.", highlight=False
        )
    if width is not None:
        console.print(f"\nRows and columns are those of pictures {width} pixels wide.", highlight=False)
    if len(set(e.n_windows.tolist())) > 1:
        console.print("\nThe pictures differ in size, so they are ranked by their outlierness per window.")
