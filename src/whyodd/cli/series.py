"""``whyodd series``: when a series is odd, in which channels and why, as tables, a picture and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import PAGE_ENDINGS, check_outputs, say_written
from whyodd.explanations.sentences import number
from whyodd.io.atomic import make_folder, replacing, save_figure
from whyodd.io.table_kinds import ending_of
from whyodd.io.tables import check_table
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.findings.series import SeriesFindings
    from whyodd.series import SeriesDetector

_DOTS_PER_INCH = 150


def _names(text: str | None) -> tuple[str, ...]:
    """Names of columns in a list such as "a,b"."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _lengths(text: str | None) -> tuple[int, ...] | None:
    """Lengths of windows in a list such as "8,32"."""
    if text is None:
        return None
    parts = _names(text)
    if not parts or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"--window {text}: expected lengths in steps, such as 32 or 8,32.")
    return tuple(map(int, parts))


def series(
    train: Annotated[
        Path, typer.Argument(help="Normal series: CSV, JSON, Parquet or Excel, one row per time step.")
    ],
    test: Annotated[
        list[Path] | None,
        typer.Argument(
            help=(
                "Series to judge: files or folders. By default the normal one, each stretch judged by "
                "the others."
            )
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(help="Window length in steps, or several, for example 8,32. By default 8, 32 and 128."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column with the time. By default a column of dates, or one named time."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Use only these columns, for example a,b; by default all numeric ones.")
    ] = None,
    drop: Annotated[
        str | None,
        typer.Option(help="Leave out these columns. Without the time column, rows count as evenly spaced."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Judge the series with this model, written by --save.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the model to this file, to use with --model.")
    ] = None,
    false_alarms: Annotated[
        float | None,
        typer.Option(
            help="Share of normal steps that may be called odd. By default 0.01, or about 100 steps."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the oddest events to list.")] = 10,
    out: Annotated[Path, typer.Option(help="Folder to write the results to.")] = Path("series"),
    report: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Write a report to this file: .html, self-contained. Several series get one each, in their "
                "folders."
            )
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Hide progress; show only results and notes.")
    ] = False,
) -> None:
    """Learn what a normal series looks like, then show when another one is odd, in which channels, and why.

    Compares windows of several lengths with the normal ones nearest to them. Writes steps.csv (how odd each
    step is, how rare that is, and the relevance of each channel), events.csv (when it is odd, and what
    changed) and series.png. Several series get one folder each and one line each in scores.csv. If
    the run is interrupted, the same command continues with the remaining series.

    Example: whyodd series normal.csv today.csv --out odd/ --report odd.html
    """
    lengths = _lengths(window)
    if model is not None and (lengths is not None or save is not None):
        raise typer.BadParameter(
            "--model has already learned, so --window and --save have no use. Leave them out."
        )
    files = series_files([train, *(test or ())] if model is not None or not test else test)
    for path in files if model is not None else (train, *files):
        check_table(path)
    outputs = (("--report", report, PAGE_ENDINGS), ("--save", save, ()))
    check_outputs(*outputs, sources=(train, model, *files))
    needed = ["polars", "matplotlib", *(["jinja2"] if report is not None else [])]
    check_installed(*needed, *(["skops"] if model is not None or save is not None else []))
    check_folder(out)
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.series_run import SeriesRun
    from whyodd.findings.series import Columns, find_in_file, learn_from_file
    from whyodd.io.journal import run_key
    from whyodd.io.saving import save as keep

    chosen = Columns(time, _names(columns), _names(drop))
    options: dict[str, Any] = {"false_alarms": false_alarms, "progress": not quiet}
    judge, notes = None if model is None else _loaded(model), list[str]()
    if judge is None and test:
        judge, notes = learn_from_file(train, chosen, windows=lengths, **options)
        if save is not None:  # at once: if judging is interrupted, nothing needs to be learned again
            keep(judge, save)
    if judge is not None and len(files) > 1:
        settings = {"windows": lengths, "false_alarms": false_alarms, "columns": repr(chosen)}
        page = None if report is None else report.name
        key = run_key([model or train], {**settings, "page": page, "out": str(out)})
        run = SeriesRun(files, judge, chosen, out, key, false_alarms, page, quiet)
        tell_several(run.judge(), notes, out, top, as_json=as_json)
        say_written(save)
        return
    found = find_in_file(
        files[0], chosen, model=judge, windows=lengths if judge is None else None, notes=notes, **options
    )
    for note in () if as_json else found.notes:  # with --json they are among the results
        typer.echo(f"Note: {printable(note)}", err=True)
    written = write_results(found, out)
    if save is not None and not test:
        keep(found.model, save)
    if report is not None:
        found.report(report)
    if as_json:
        typer.echo(json.dumps(summary(found, written), indent=2, allow_nan=False))
        return
    show(found, Console(), top)
    typer.echo(f"\n{', '.join(file.name for file in written)}: {out}")
    say_written(report, save)


def _loaded(path: Path) -> SeriesDetector:
    from whyodd.io.saving import load
    from whyodd.series import SeriesDetector

    model = load(path)
    if not isinstance(model, SeriesDetector):
        raise ValueError(  # noqa: TRY004 - of a file, told in one sentence
            f"{path} holds a {type(model).__name__}, expected a model written by whyodd series "
            "--save. Choose another file."
        )
    return model


def series_files(paths: Sequence[Path]) -> list[Path]:
    """The named files, and all tables of named folders, sorted by name, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = [path]
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if _is_table(file))
            if not inside:
                raise FileNotFoundError(
                    f"{path} holds no tables: expected files such as monday.csv. Choose another folder."
                )
        found |= dict.fromkeys(inside)
    return list(found)


def _is_table(file: Path) -> bool:
    """Whether the name is that of a table; a name that begins with a dot belongs to another program."""
    return ending_of(file) != "" and not file.name.startswith(".") and file.is_file()


def check_folder(out: Path) -> None:
    """Say before the work that results cannot be written to ``out``."""
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file: expected a folder to write to. Choose another --out.")


def write_results(found: SeriesFindings, out: Path) -> list[Path]:
    """Write steps.csv, events.csv and series.png; returns what was written."""
    from whyodd.plots.events import events
    from whyodd.plots.figures import pyplot

    make_folder(out)
    paths = [out / name for name in ("steps.csv", "events.csv", "series.png")]
    write_table(found.steps(), paths[0])
    write_table(found.odd.table(), paths[1])
    figure = events(found.explanation)
    save_figure(figure, paths[2], _DOTS_PER_INCH)
    pyplot().close(figure)
    return paths


def write_table(columns: dict[str, Any], path: Path) -> None:
    """Write columns as CSV, complete or not at all; blank where there is no value."""
    import numpy as np

    from whyodd.inputs.frames import build_frame, implementation

    first = np.asarray(next(iter(columns.values())))
    is_finer = first.dtype.kind == "M" and bool((first != first.astype("datetime64[s]")).any())
    with replacing(path) as draft:
        # Dates as people write them, not as ISO has it; to the second, unless one says more.
        dates = "%Y-%m-%d %H:%M:%S%.6f" if is_finer else "%Y-%m-%d %H:%M:%S"
        build_frame(columns, implementation("POLARS")).write_csv(draft, datetime_format=dates)


def summary(found: SeriesFindings, files: Sequence[Path]) -> dict[str, Any]:
    """All results of the command, as a plain dictionary."""
    return {
        "headline": found.headline,
        "steps": len(found),
        "odd": found.n_odd,
        "threshold": found.threshold,
        "threshold_source": found.threshold_source,
        **{key: value for key, value in found.odd.to_dict().items() if key in ("channels", "events")},
        "notes": list(found.notes),
        "files": [str(file) for file in files],
    }


def show(found: SeriesFindings, console: Console, top: int) -> None:
    """Print how many events there are, and the oddest of them."""
    # Text, not str: a name in square brackets is no markup.
    console.print(Text(f"{found.title}: {found.headline}"), highlight=False)
    e = found.odd[:top]
    if found.n_odd == 0:
        console.print(Text(f"\nOddest at {e.names[0]} ({found.how_odd(0)}):\n{e.why(0)}"), highlight=False)
        return
    console.print(Text(f"The oddest is {found.how_odd(0)}.\n"), highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("when", min_width=10, max_width=24)
    table.add_column("outlier-\nness", justify="right", no_wrap=True)
    table.add_column("why", min_width=20, overflow="fold")
    for i in range(len(e)):
        cells = (e.names[i], number(float(e.outlierness[i])), e.why(i))
        table.add_row(str(i + 1), *map(Text, cells))
    console.print(table)
    if more := len(found.odd) - len(e):
        console.print(f"and {more:,} more in events.csv", highlight=False)


def tell_several(
    lines: Sequence[dict[str, Any]], notes: Sequence[str], out: Path, top: int, *, as_json: bool
) -> None:
    """Print how odd each of several series is, its oddest event, and earlier notes."""
    told = [{"file": line["file"], **line["summary"]} for line in lines]
    if as_json:
        typer.echo(json.dumps({"notes": list(notes), "series": told}, indent=2, allow_nan=False))
        return
    for note in (*notes, *(note for each in told for note in each["notes"])):
        typer.echo(f"Note: {printable(note)}", err=True)
    console, odd = Console(), sum(line["is_odd"] for line in lines)
    console.print(f"{odd:,} of {len(lines):,} series have odd events.\n", highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("series", overflow="fold")
    table.add_column("events", justify="right", no_wrap=True)
    table.add_column("outlier-\nness", justify="right", no_wrap=True)
    table.add_column("oddest", min_width=20, overflow="fold")
    for line in lines[:top]:
        cells = (Path(line["file"]).name, f"{line['events']:,}", number(line["outlierness"]))
        table.add_row(*(Text(printable(cell)) for cell in (*cells, f"{line['when']}: {line['why']}")))
    console.print(table)
    if len(lines) > top:
        console.print(f"and {len(lines) - top:,} more in scores.csv", highlight=False)
    typer.echo(f"\nscores.csv and a folder for each series: {out}")
