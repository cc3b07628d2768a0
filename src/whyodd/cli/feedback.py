"""``whyodd accept``, ``reject`` and ``feedback``: people's judgements of single rows, kept with the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import check_outputs
from whyodd.cli.table_options import (
    AsJson,
    Data,
    Encoding,
    IdColumn,
    Sheet,
    TableName,
    check_inputs,
    check_learned,
    tell,
)
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from whyodd.findings.table import Table
    from whyodd.models.feedback import Effect
    from whyodd.network.judged import Judgement

ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="Model file from whyodd fit; it is updated in place unless you pass --out."
    ),
]
Rows = Annotated[
    str | None,
    typer.Option(help="Rows of DATA, named as in whyodd explain, for example 12,40. By default all rows."),
]
Note = Annotated[str, typer.Option(help="The reason, in your own words; saved with the date.")]
Out = Annotated[
    Path | None, typer.Option(help="Write the changed model to this file and leave MODEL unchanged.")
]


def accept(
    model: ModelFile,
    data: Data,
    rows: Rows = None,
    note: Note = "",
    id_column: IdColumn = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    table: TableName = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Mark rows as normal, so that the model accepts them and rows like them.

    Example: whyodd accept model.whyodd orders.csv --rows 12,40 --note "year-end bookings"
    """
    _tell_model(model, data, rows, note, id_column, (encoding, sheet, table), out, as_json, is_normal=True)


def reject(
    model: ModelFile,
    data: Data,
    rows: Rows = None,
    note: Note = "",
    id_column: IdColumn = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    table: TableName = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Mark rows as odd, so that the model rejects them and rows like them.

    Example: whyodd reject model.whyodd orders.csv --rows 7 --note "fraud, confirmed"
    """
    _tell_model(model, data, rows, note, id_column, (encoding, sheet, table), out, as_json, is_normal=False)


def feedback(
    model: ModelFile,
    forget: Annotated[int | None, typer.Option(help="Undo the feedback with this number.")] = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """List the feedback from whyodd accept and whyodd reject, and undo single entries.

    Example: whyodd feedback model.whyodd --forget 2
    """
    if out is not None and forget is None:
        raise typer.BadParameter(
            "--out writes the model without the feedback that --forget undoes. Add --forget, or leave "
            "out --out."
        )
    check_outputs(("--out", out, ()), sources=(model,))
    check_learned(model, None)
    check_installed("skops")
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.tables import load_model
    from whyodd.findings import feedback as told
    from whyodd.io.saving import save

    notes: list[str] = []
    loaded = load_model(model, notes)
    taken = None if forget is None else told.forget(loaded, forget)
    if taken is not None:
        save(loaded, out or model)
    tell(notes)
    known = told.feedback(loaded)
    if as_json:
        answer = {"feedback": [summary(one) for one in known], "forgotten": taken and summary(taken)}
        typer.echo(json.dumps(answer, allow_nan=False))
        return
    if taken is not None:
        typer.echo(f"Taken back: {_line(taken)}")
    for one in known:
        typer.echo(_line(one))
    if not known:
        typer.echo("The model has no feedback on single rows.")


def summary(judgement: Judgement) -> dict[str, Any]:
    """A judgement as a plain dictionary."""
    return {
        "id": int(judgement.id),
        "verdict": judgement.verdict,
        "rows": len(judgement.rows),
        "date": judgement.date,
        "note": judgement.note,
    }


def _line(judgement: Judgement) -> str:
    from whyodd.explanations.groups import count_of_rows

    note = f": {printable(judgement.note)}" if judgement.note else ""
    count = count_of_rows(len(judgement.rows))
    return f"{judgement.id}  {judgement.date:.10}  {count} {judgement.verdict}{note}"


def _tell_model(
    path: Path,
    data: Path,
    rows: str | None,
    note: str,
    id_column: str | None,
    reading: tuple[str | None, str | None, str | None],
    out: Path | None,
    as_json: bool,
    *,
    is_normal: bool,
) -> None:
    check_inputs(data, None, path)
    check_outputs(("--out", out, ()), sources=(data, path))
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.tables import ChosenColumns, FileOptions, load_model, read_tables
    from whyodd.io.saving import save

    table, _ = read_tables(data, None, ChosenColumns(id_column=id_column), FileOptions(*reading))
    notes = [*table.notes]
    model, effect = _judged(load_model(path, notes), table, rows, note, notes, is_normal=is_normal)
    save(model, out or path)
    tell(notes)
    if as_json:
        others = effect.others.tolist()
        answer = {
            **summary(effect.judgement),
            "others": others,
            "told": str(effect),
            "file": str(out or path),
        }
        typer.echo(json.dumps(answer, allow_nan=False))
        return
    typer.echo(printable(str(effect)))
    changed = printable(str(out or path))
    typer.echo(f"Written: {changed}. To undo: whyodd feedback {changed} --forget {effect.judgement.id}")


def _judged(
    model: Any, table: Table, rows: str | None, note: str, notes: list[str], *, is_normal: bool
) -> tuple[Any, Effect]:
    """The updated model, and what the feedback did."""
    from whyodd.findings import feedback as told
    from whyodd.findings.find import find_in, matched

    if rows is None:
        say = told.accept if is_normal else told.reject
        return model, say(model, matched(table, None, model, notes), note=note)
    positions = _positions(rows, table)
    found = told.judged_findings(find_in(table, model=model), positions, note, is_normal=is_normal)
    return found.model, found.effects[-1]


def _positions(text: str, table: Table) -> Any:
    """Places of rows, by their ids or their numbers."""
    import numpy as np

    wanted, n = [name.strip() for name in text.split(",") if name.strip()], table.n_rows
    if not wanted:
        raise typer.BadParameter(f"--rows {text!r}: expected rows, for example 12,40.")
    if table.ids is None:
        known = {name: int(name) for name in wanted if name.isascii() and name.isdigit() and int(name) < n}
        expected = f"numbers from 0 to {n - 1:,}"
    else:
        ids = {str(value): place for place, value in reversed([*enumerate(np.asarray(table.ids).tolist())])}
        known = {name: ids[name] for name in wanted if name in ids}
        expected = "ids of rows"
    for name in wanted:
        if name not in known:
            raise ValueError(
                f"--rows: {table.name} has no row {name!r}. Expected {expected}, for example 12,40."
            )
    return np.unique([known[name] for name in wanted])
