"""``whyodd explain``: which rows of a table are odd, and why."""

from __future__ import annotations

import json
import shlex
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
    Drop,
    Encoding,
    FalseAlarms,
    Fdr,
    Given,
    IdColumn,
    Method,
    Model,
    Quiet,
    Seed,
    Share,
    Sheet,
    TableName,
    Train,
    Types,
    check_inputs,
    check_limits,
    groups_of,
    names_of,
    tell,
    types_of,
)
from whyodd.io.parts import is_several
from whyodd.io.results import TABLE_ENDINGS, put_table, put_text, write_files
from whyodd.io.tables import STANDARD_INPUT, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whyodd.findings.findings import Findings

_DETAILED = 50  # rows of the report, at least


def explain(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help="Table: CSV, TSV, JSON (also .gz, .zst), Parquet, Arrow, Excel, ODS, SQLite or DuckDB; - "
            "is standard input. Several files, a folder or a pattern such as 'folder/*.parquet' form "
            "one table of any size; each file is explained separately into the folder --out.",
        ),
    ],
    train: Train = None,
    model: Model = None,
    columns: Columns = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    table: TableName = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(help="Columns to treat as one, for example 'address=street,city'; can be repeated."),
    ] = None,
    types: Types = None,
    given: Given = None,
    method: Method = "dtd",
    top: Annotated[int, typer.Option(min=1, help="How many of the oddest rows to print.")] = 10,
    share: Share = None,
    false_alarms: FalseAlarms = None,
    fdr: Fdr = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the reasons to this file, one line per row and column: .csv, .tsv, .parquet or "
            ".jsonl. For a table in parts: a folder, with one file per part and one line per row."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a report to this file: .html, self-contained.")
    ] = None,
    seed: Seed = 0,
    cluster: Annotated[
        str | None,
        typer.Option(help="For a table in parts: run on this Dask cluster, for example tcp://10.0.0.5:8786."),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="For a table in parts: replace the results already in --out.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the odd rows of a table and explain why they are odd.

    Learns what is normal from DATA or --train, or uses a --model. Scores all rows and explains the odd ones.

    Example: whyodd explain data.csv --id-column id --out reasons.csv --report report.html
    """
    options = {
        "--train": train,
        "--model": model,
        "--columns": columns,
        "--drop": drop,
        "--id-column": id_column,
        "--groups": groups,
        "--encoding": encoding,
        "--sheet": sheet,
        "--table": table,
        "--type": types,
        "--given": given,
        "--method": method if method != "dtd" else None,
        "--share": share,
        "--false-alarms": false_alarms,
        "--fdr": fdr,
        "--seed": seed or None,
    }
    if is_in_parts(data, out) or cluster is not None:
        from whyodd.cli.parts import explain_parts

        all_options = options | {"--report": report}
        explain_parts(
            data, out, all_options, top=top, cluster=cluster, restart=restart, as_json=as_json, quiet=quiet
        )
        return
    (source,) = data
    check_inputs(source, train, model, share)
    check_limits(share=share, false_alarms=false_alarms, fdr=fdr)
    outputs = (("--out", out, TABLE_ENDINGS), ("--report", report, PAGE_ENDINGS))
    check_outputs(*outputs, sources=(source, train, model))
    check_installed(*(("jinja2",) if report is not None else ()))
    grouped, given_types = groups_of(groups), types_of(types)
    if given_types and model is not None:
        raise typer.BadParameter(
            "--type cannot be used with --model, which already knows its columns. Pass --type to whyodd "
            "fit instead."
        )
    if given is not None and model is not None:
        raise typer.BadParameter(
            "--given cannot be used with --model, which has its own context. Pass --given to whyodd fit "
            "instead."
        )
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.tables import ChosenColumns, FileOptions, find_in_file

    found = find_in_file(
        source,
        train=train,
        model=model,
        chosen=ChosenColumns(names_of(columns), names_of(drop), id_column),
        files=FileOptions(encoding, sheet, table),
        groups=grouped,
        types=given_types,
        given=names_of(given),
        method=method,
        top=top,
        share=share,
        false_alarms=false_alarms,
        fdr=fdr,
        random_state=seed,
        progress=not quiet,
        made_by=_command(source, options),
    )
    tell(found.notes)
    detailed = top if report is None else max(top, _DETAILED)
    summary = found.to_dict(detailed, checks=as_json or report is not None)
    write_results(found, summary, out, report)
    if as_json:
        typer.echo(json.dumps(summary, allow_nan=False))
        return
    show(found, summary, source, top, Console())
    say_written(out, report)


def is_in_parts(data: Sequence[Path], out: Path | None) -> bool:
    """Whether DATA is a table in parts: several files, or results that are to go to a folder."""
    return is_several(data) or (data[0] != STANDARD_INPUT and out is not None and not out.suffix)


def _command(data: Path, options: Mapping[str, Any]) -> str:
    """The command with all options that change its results."""
    parts = ["whyodd", "explain", str(data)]
    for option, value in options.items():
        values = value if isinstance(value, list) else [value]
        parts += [part for one in values if one is not None for part in (option, str(one))]
    return shown(shlex.join(parts))


def write_results(found: Findings, summary: dict[str, Any], out: Path | None, report: Path | None) -> None:
    """Write the requested table of reasons and page: both, or neither if one cannot be written."""
    files: list[tuple[Path, Callable[[Path], object]]] = []
    if out is not None:
        files.append((out, partial(put_table, reasons_frame(found))))
    if report is not None:
        from whyodd.report.render import render

        files.append((report, partial(put_text, render(summary))))
    write_files(*files)


def reasons_frame(found: Findings) -> Any:
    """``explanation.to_frame()``, and the id of each row beside its number."""
    frame, ids = found.explanation.to_frame(), None if found.table is None else found.table.ids
    if ids is None:
        return frame
    return frame.insert_column(1, ids[frame["row"].to_numpy()].alias("id"))


def show(found: Findings, summary: dict[str, Any], data: Path, top: int, console: Console) -> None:
    """Print what was read and learned, the oddest rows with their reasons, and reasons that rows share."""
    from whyodd.cli.table_words import model_words, odd_rows_table, oddest_words, read_words, say

    cards = summary["anomalies"][: min(top, summary["counts"]["odd"]) or top]
    say(console, f"{read_words(found)}\n{model_words(found)}")
    say(console, f"{found.headline}\n\n{oddest_words(found, data, len(cards))}\n")
    console.print(odd_rows_table(cards, id_title(found)))
    if summary["counts"]["odd"] > 1:
        say(console, "\nOdd for the same reason:")
        for group in summary["groups"]:
            say(console, f"  {group['sentence']}")
    if note := found.audit().note:
        say(console, f"\n{note}")


def id_title(found: Findings) -> str:
    """Heading of what rows are called."""
    return "row" if found.table is None or found.table.ids is None else str(found.table.ids.name)
