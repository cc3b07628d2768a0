"""``whyodd image``: which pictures are odd, and where."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import PAGE_ENDINGS, check_outputs, say_written
from whyodd.explanations.sentences import number
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.findings.findings import Findings
    from whyodd.images import ImageDetector

_SHOWN = 10  # rows of the table
_PAPER = {
    "patch": 7,
    "stride": 1,
    "scale": "1",
    "border": "valid",
    "max_patches": 20_000,
    "nu": 0.1,
    "q": 2.0,
}


class Features(StrEnum):
    """The features by which places of pictures are compared."""

    AUTO = "auto"
    CONTRAST = "contrast"
    DEEP = "deep"


class Border(StrEnum):
    """What windows see beyond the edges of a picture."""

    VALID = "valid"
    REFLECT = "reflect"
    EDGE = "edge"
    ZERO = "zero"


def image(
    normal: Annotated[
        Path, typer.Argument(help="Normal pictures: a file or a folder. With --model: the pictures to judge.")
    ],
    test: Annotated[
        Path | None,
        typer.Argument(help="Pictures to judge. By default the normal ones, each judged by all the others."),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Judge with a model written by --save.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the model to this file, to use with --model.")
    ] = None,
    features: Annotated[
        Features,
        typer.Option(help="Compare by local contrast, and also by a pretrained network if installed."),
    ] = Features.AUTO,
    false_alarms: Annotated[
        float | None,
        typer.Option(
            min=1e-6, max=0.5, help="Share of normal pictures that may be called odd; 0.05 by default."
        ),
    ] = None,
    width: Annotated[int | None, typer.Option(min=1, help="Resize all pictures to this width first.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for drawing places.")] = 0,
    top: Annotated[
        int | None, typer.Option(min=1, help="How many of the oddest pictures to show in the report.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write the results to.")] = Path("heatmaps"),
    arrays: Annotated[
        bool,
        typer.Option(
            "--arrays", help="Also write the relevance (NAME.npy) and the odd regions (NAME-mask.npy)."
        ),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a report to this file: .html, self-contained.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Hide progress; show only results and warnings.")
    ] = False,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Use the paper's one-class SVM on patches. The options below belong to it."
        ),
    ] = False,
    patch: Annotated[
        int | None, typer.Option(min=1, help="Width and height of a patch; 7 by default.")
    ] = None,
    stride: Annotated[int | None, typer.Option(min=1, help="Steps between windows; 1 by default.")] = None,
    scale: Annotated[
        str | None,
        typer.Option(help="Average over squares of this many pixels first; several, for example 4,8,16."),
    ] = None,
    border: Annotated[
        Border | None, typer.Option(help="How windows treat the picture's edges; valid by default.")
    ] = None,
    contrast: Annotated[bool, typer.Option("--contrast", help="Remove changes in lighting first.")] = False,
    max_patches: Annotated[
        int | None, typer.Option(min=2, help="How many patches to train on; 20,000 by default.")
    ] = None,
    nu: Annotated[
        float | None,
        typer.Option(min=1e-6, max=1.0, help="Share of patches that may be outliers; 0.1 by default."),
    ] = None,
    q: Annotated[
        float | None, typer.Option(min=0.01, help="Degree of the kernel: 1 is Laplacian, 2 is Gaussian.")
    ] = None,
) -> None:
    """Learn what normal pictures look like, then show which others are odd, and where.

    Writes scores.csv, a picture of each with its odd regions outlined and coloured, and contact-sheet.png. An
    interrupted run continues where it stopped.

    Example: whyodd image normal/ test/ --out heatmaps/ --report odd.html

    Example: whyodd image normal/ --save tiles.whyodd; whyodd image today/ --model tiles.whyodd

    Example: whyodd image normal/ test/ --paper --patch 7 --out heatmaps/
    """
    given: dict[str, Any] = {
        "patch": patch, "stride": stride, "scale": scale, "border": border, "max_patches": max_patches,
        "nu": nu, "q": q,
    }  # fmt: skip
    if not paper:
        _check_no_paper({**given, "contrast": contrast or None})
    check_outputs(("--report", report, PAGE_ENDINGS), ("--save", save, ()), sources=(normal, test, model))
    if paper:
        from whyodd.cli.patch_image import explain_by_patches

        settings = {name: _PAPER[name] if value is None else value for name, value in given.items()}
        if model is not None or save is not None or arrays or false_alarms is not None:
            raise typer.BadParameter(
                "--paper cannot be used with --model, --save, --arrays or --false-alarms. Leave them out."
            )
        explain_by_patches(
            normal,
            test,
            settings,
            width=width,
            contrast=contrast,
            seed=seed,
            top=top,
            out=out,
            report=report,
            as_json=as_json,
            quiet=quiet,
        )
        return
    if model is not None and test is not None:
        raise typer.BadParameter(
            "--model has already learned normal pictures, so expected only those to judge. Pass one "
            "file or folder."
        )
    extras = [*(["jinja2"] if report else []), *(["skops"] if save or model else [])]
    check_installed("PIL", *extras)
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.image_run import ImageRun

    run = ImageRun(
        normal, test, model, out, features.value, false_alarms, width, seed, arrays=arrays, quiet=quiet
    )
    found, lines = run.found(top)
    if save is not None:
        from whyodd.io.saving import save as save_model

        save_model(found.model, save)
    if report is not None:
        found.report(report, 50 if top is None else top)
    if as_json:
        typer.echo(
            json.dumps(
                {"notes": list(found.notes), "threshold": found.threshold, "pictures": lines}, indent=2
            )
        )
        return
    show(found, lines, Console())
    typer.echo(f"\nscores.csv, contact-sheet.png and a picture for each: {printable(str(out))}")
    say_written(report, save)


def _check_no_paper(given: dict[str, Any]) -> None:
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if names:
        raise typer.BadParameter(
            f"{' and '.join(names)}: only for the paper's patch model. Add --paper, or leave it out."
        )


def load_detector(path: Path) -> ImageDetector:
    """The model that ``--save`` has written."""
    from whyodd.images import ImageDetector
    from whyodd.io.saving import load

    found = load(path)
    if not isinstance(found, ImageDetector):
        raise ValueError(  # noqa: TRY004 - of a file, told in one sentence
            f"{path} holds a {type(found).__name__}, expected a model of whyodd image --save."
        )
    return found


def show(found: Findings, lines: Sequence[dict[str, Any]], console: Console) -> None:
    """Print which pictures are odd, how odd, and where."""
    for note in found.notes:
        console.print(Text(printable(note)), style="dim")
    console.print(Text(f"\n{_headline(found)}\n"), highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("picture", min_width=9, overflow="fold")
    for title in ("outlier-\nness", "p-value", "odd\nregions"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("where it is oddest", min_width=12)
    for rank, line in enumerate(lines[:_SHOWN], start=1):
        p_value = "" if line["p_value"] is None else f"{line['p_value']:.2g}"
        style = "bold" if line["is_odd"] else ""
        cells = (
            str(rank),
            Path(line["file"]).name,
            number(line["outlierness"]),
            p_value,
            str(line["regions"]),
        )
        table.add_row(*(Text(printable(cell), style=style) for cell in cells), line["where"])
    console.print(table)


def _headline(found: Findings) -> str:
    n = "1 picture" if len(found) == 1 else f"{len(found):,} pictures"
    if found.threshold is None:
        return f"{n}, ranked: {found.threshold_source}."
    cut = f"outlierness above {number(found.threshold)} ({found.threshold_source}; 1 is a usual picture)"
    return f"{found.n_odd:,} of {n} {'is' if found.n_odd == 1 else 'are'} odd: {cut}."
