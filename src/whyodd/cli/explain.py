"""``whyodd explain``: which rows of a table are odd, and why."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - typer looks at it
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import PAGE_ENDINGS, check_outputs, say_written
from whyodd.cli.table_options import (
    AsJson,
    Columns,
    Data,
    Drop,
    IdColumn,
    Method,
    Model,
    Quiet,
    Seed,
    Share,
    Train,
    check_inputs,
    groups_of,
    names_of,
    tell,
)
from whyodd.io.results import TABLE_ENDINGS, put_table, put_text, write_files
from whyodd.io.tables import STANDARD_INPUT, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whyodd.cli.table_model import Choice, Judgement, Learned, Table
    from whyodd.explanations.table import Explanation

_REASONS = 3  # that are printed of each row
_DETAILED = 50  # rows of the report, at least


@dataclass(frozen=True)
class Findings:
    """What is odd in a table.

    Attributes
    ----------
    table : Table
        All rows.
    learned : Learned
        The model.
    judgement : Judgement
        The outlierness of all rows, and the threshold.
    explanation : Explanation
        Of the odd rows, the oddest first, and at least of as many as were asked for.
    notes : tuple of str
        What else to know.
    """

    table: Table
    learned: Learned
    judgement: Judgement
    explanation: Explanation
    notes: tuple[str, ...]


def explain(
    data: Data,
    train: Train = None,
    model: Model = None,
    columns: Columns = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(help="Columns to take as one, as in 'address=street,city'; may come several times."),
    ] = None,
    method: Annotated[
        Method, typer.Option(help="How to explain; all but dtd are there to compare.")
    ] = Method.DTD,
    top: Annotated[int, typer.Option(min=1, help="How many of the oddest rows to print.")] = 10,
    share: Share = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Reasons to write, a line per row and column: .csv, .tsv, .parquet or .jsonl."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Page to write: .html, one file with everything.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say which rows of a table are odd, and why.

    Learns what is normal from DATA or --train, or uses a --model. Scores all rows and explains the odd ones.

    Example: whyodd explain data.csv --id-column id --out reasons.csv --report report.html
    """
    check_inputs(data, train, model, share)
    outputs = (("--out", out, TABLE_ENDINGS), ("--report", report, PAGE_ENDINGS))
    check_outputs(*outputs, sources=(data, train, model))
    check_installed(*(("jinja2",) if report is not None else ()))
    grouped = groups_of(groups)
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.table_model import Choice

    found = find_odd_rows(
        data,
        train=train,
        model=model,
        choice=Choice(names_of(columns), names_of(drop), id_column),
        groups=grouped,
        method=method.value,
        top=top,
        share=share,
        seed=seed,
        progress=not quiet,
    )
    tell(found.notes)
    summary = {}
    if as_json or report is not None:
        options = {
            "--train": train,
            "--model": model,
            "--columns": columns,
            "--drop": drop,
            "--id-column": id_column,
            "--groups": groups,
            "--method": method.value if method != Method.DTD else None,
            "--share": share,
            "--seed": seed or None,
        }
        detailed = top if report is None else max(top, _DETAILED)
        summary = summarize_findings(found, detailed, _command(data, options))
    write_results(found, summary, out, report)
    if as_json:
        typer.echo(json.dumps(summary, allow_nan=False))
        return
    show(found, top, Console())
    say_written(out, report)


def find_odd_rows(
    data: Path,
    *,
    train: Path | None = None,
    model: Path | None = None,
    choice: Choice | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    method: str = "dtd",
    top: int = 10,
    share: float | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Findings:
    """Score all rows of a file, and explain those that are odd.

    Parameters
    ----------
    data : path
        Table, see :func:`whyodd.io.tables.read_table`.
    train : path, optional
        Table of normal rows to learn from; by default the same, each row judged by all others.
    model : path, optional
        Model to use instead, as written by :func:`whyodd.save`.
    choice : Choice, optional
        Which columns are used, and which names the rows.
    groups, method
        As for :func:`whyodd.explain`.
    top : int, default 10
        Explain at least so many of the oddest rows.
    share : float, optional
        Call this share of the rows used for training odd; by default the model says what is.
    seed : int, default 0
        Of what is drawn at random.
    progress : bool, default False
        Show progress on standard error.
    """
    from whyodd.cli.table_model import Choice, judge, learned_from, read_tables
    from whyodd.cli.table_notes import notes_on_constants, notes_on_rows

    notes: list[str] = []
    table, known = read_tables(data, train, choice or Choice())
    _check_groups(groups or {}, table)
    learned = learned_from(table, known, model, notes, seed=seed, progress=progress)
    judgement = judge(table, learned, notes, share=share, progress=progress)
    e = judgement.explain(
        top, method=method, groups=dict(groups or {}) or None, random_state=seed, progress=progress
    )
    _ = e.direction  # once for all: parts of an explanation take along what it has computed
    notes += [*notes_on_rows(table, learned, judgement.survey), *notes_on_constants(table, e)]
    if judgement.n_odd > len(e):
        notes.append(f"Only the {len(e):,} oddest of {judgement.n_odd:,} odd rows are explained.")
    return Findings(table, learned, judgement, e, tuple(notes))


def _command(data: Path, options: Mapping[str, Any]) -> str:
    """The command with all that changes its results."""
    parts = ["whyodd", "explain", str(data)]
    for option, value in options.items():
        values = value if isinstance(value, list) else [value]
        parts += [part for one in values if one is not None for part in (option, str(one))]
    return shown(shlex.join(parts))


def _check_groups(groups: Mapping[str, Sequence[str]], table: Table) -> None:
    from whyodd.cli.table_model import listed

    for group, members in groups.items():
        for name in members:
            if name not in table.frame.columns:
                raise ValueError(
                    f"--groups {group}: {table.name} has no column {name!r}. "
                    f"It has: {listed(table.frame.columns)}."
                )


def summarize_findings(found: Findings, top: int, made_by: str | None = None) -> dict[str, Any]:
    """All that the report tells, as a plain dictionary, with ``top`` rows in detail."""
    from whyodd.findings.summary.rows.summarize import summarize

    judgement, learned = found.judgement, found.learned
    return summarize(
        found.explanation,
        scores=judgement.scores,
        threshold=judgement.threshold,
        threshold_source=f"The threshold: {judgement.source}.",
        title=shown(found.table.path.name) if found.table.path != STANDARD_INPUT else found.table.name,
        ids=found.table.ids,
        known_ids=learned.ids,
        normal=None if learned.table is None else learned.table.frame,
        top=top,
        auto_report=learned.report,
        notes=found.notes,
        made_by=made_by,
    )


def write_results(found: Findings, summary: dict[str, Any], out: Path | None, report: Path | None) -> None:
    """Write the table of reasons and the page that were asked for: both or, if one cannot be, neither."""
    files: list[tuple[Path, Callable[[Path], object]]] = []
    if out is not None:
        files.append((out, partial(put_table, reasons_frame(found))))
    if report is not None:
        from whyodd.report.render import render

        files.append((report, partial(put_text, render(summary))))
    write_files(*files)


def reasons_frame(found: Findings) -> Any:
    """``explanation.to_frame()``, and the id of each row beside its number."""
    frame = found.explanation.to_frame()
    if found.table.ids is None:
        return frame
    return frame.insert_column(1, found.table.ids[frame["row"].to_numpy()].alias("id"))


def show(found: Findings, top: int, console: Console) -> None:
    """Print what was read and learned, the oddest rows with their reasons, and reasons that rows share."""
    from whyodd.cli.table_words import (
        model_words,
        odd_rows_table,
        oddest_words,
        read_words,
        say,
        threshold_words,
    )

    table, judgement = found.table, found.judgement
    shown = found.explanation[: min(top, judgement.n_odd) or top]
    say(console, f"{read_words(table)}\n{model_words(found.learned, table)}")
    say(console, f"{threshold_words(judgement)}\n\n{oddest_words(table, len(shown))}\n")
    rows = [shown.odd_row(i, _REASONS) for i in range(len(shown))]
    names = [table.row_name(odd.row) for odd in rows]
    title = "row" if table.ids is None else table.ids.name
    console.print(odd_rows_table(rows, names, judgement.threshold, title))
    _show_groups(found, console)


def _show_groups(found: Findings, console: Console) -> None:
    from whyodd.cli.table_words import say
    from whyodd.explanations.groups import group_by_reason

    odd = found.explanation[: min(found.judgement.n_odd, len(found.explanation))]
    if len(odd) < 2:
        return
    say(console, "\nOdd for the same reason:")
    for group in group_by_reason(odd):
        say(console, f"  {group.sentence}")
