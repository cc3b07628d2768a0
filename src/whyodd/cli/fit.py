"""``whyodd fit``: learn what is normal in a table, and keep the model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import check_outputs
from whyodd.cli.table_options import (
    AsJson,
    Columns,
    Data,
    Drop,
    Encoding,
    Given,
    IdColumn,
    Quiet,
    Seed,
    Share,
    Sheet,
    TableName,
    Types,
    check_inputs,
    names_of,
    tell,
    types_of,
)
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyodd.cli.tables import ChosenColumns, FileOptions

_MODEL = Path("model.whyodd")


def fit(
    data: Data,
    out: Annotated[
        Path, typer.Option(help="Write the model to this file; an existing file is replaced.")
    ] = _MODEL,
    columns: Columns = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    table: TableName = None,
    types: Types = None,
    given: Given = None,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Treat all rows as normal and learn from all of them.")
    ] = False,
    share: Share = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn what is normal in a table, and write the model to a file for whyodd explain and whyodd score.

    Example: whyodd fit normal.csv --drop id --out model.whyodd
    """
    check_inputs(data, None, None)
    check_outputs(("--out", out, ()), sources=(data,))
    check_installed("skops")
    given_types = types_of(types)
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.tables import ChosenColumns, FileOptions
    from whyodd.io.saving import save

    chosen = ChosenColumns(names_of(columns), names_of(drop), id_column)
    notes: list[str] = []
    model = fit_table(
        data,
        chosen=chosen,
        files=FileOptions(encoding, sheet, table),
        trusted=trusted,
        types=given_types,
        given=names_of(given),
        share=share,
        seed=seed,
        progress=not quiet,
        notes=notes,
    )
    tell(notes)
    was_there = out.exists()
    save(model, out)
    if as_json:
        typer.echo(json.dumps(summary(model, out, notes), allow_nan=False))
        return
    show(model, Console())
    typer.echo(f"\n{'Replaced' if was_there else 'Written'}: {printable(str(out))}")


def fit_table(
    data: Path,
    *,
    chosen: ChosenColumns | None = None,
    files: FileOptions | None = None,
    trusted: bool = False,
    types: Mapping[str, str] | None = None,
    given: Sequence[str] = (),
    share: float | None = None,
    seed: int = 0,
    progress: bool = False,
    notes: list[str] | None = None,
) -> Any:
    """Fit ``whyodd.auto`` to the table of a file.

    Parameters
    ----------
    data : path
        Table, see :func:`whyodd.io.tables.read_table`.
    chosen : ChosenColumns, optional
        Which columns are used.
    files : FileOptions, optional
        How the file is read.
    trusted : bool, default False
        Whether all rows are known to be normal, as those of ``whyodd explain --train`` are.
    types : dict of str to str, optional
        Kinds of columns that overrule what the rules say.
    given : sequence of str
        Columns of context, in which rows are compared.
    share : float, optional
        Put the threshold where this share of the rows exceeds it; by default where the model has it.
    seed : int, default 0
        Of what is drawn at random.
    progress : bool, default False
        Show progress on standard error.
    notes : list of str, optional
        Gains what was noticed when the file was read.
    """
    from whyodd.cli.tables import ChosenColumns, read_tables
    from whyodd.findings.find import check_not_id, find_in, learn

    chosen = chosen or ChosenColumns()
    check_not_id(given, chosen.id_column)
    table, _ = read_tables(data, None, chosen, files)
    if notes is not None:
        notes += table.notes
    options: dict[str, Any] = {
        "types": types,
        "given": given,
        "random_state": seed,
        "progress": progress,
    }
    if share is None:
        return learn(table, trusted=trusted, **options)
    known = replace(table) if trusted else None
    found = find_in(table, known, share=share, **options)
    found.model[-1].threshold_ = found.threshold
    return found.model


def summary(model: Any, out: Path, notes: Sequence[str] = ()) -> dict[str, Any]:
    """All results of the command, as a plain dictionary."""
    from whyodd.findings.summary.summarize import told_column

    report = model.auto_report_
    return {
        "rows": report.n_rows,
        "fitted_rows": report.n_fitted,
        "columns": [told_column(column) for column in report.columns],
        "model": report.told,
        "threshold": float(model[-1].threshold_),
        "file": str(out),
        "notes": list(notes),
    }


def show(model: Any, console: Console) -> None:
    """Print what each column became, and where the threshold is."""
    from whyodd.cli.table_words import say
    from whyodd.explanations.sentences import number

    say(console, str(model.auto_report_))
    say(console, f"threshold: outlierness {number(float(model[-1].threshold_))}")
