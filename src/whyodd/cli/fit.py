"""``whyodd fit``: learn what is normal in a table, and keep the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import check_outputs
from whyodd.cli.picture_names import printable
from whyodd.cli.table_options import (
    AsJson,
    Columns,
    Data,
    Drop,
    IdColumn,
    Quiet,
    Seed,
    Share,
    check_inputs,
    names_of,
)

if TYPE_CHECKING:
    from whyodd.cli.table_model import Choice, Learned

_MODEL = Path("model.whyodd")


def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="Model to write; one that is there is replaced.")] = _MODEL,
    columns: Columns = None,
    drop: Drop = None,
    id_column: IdColumn = None,
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
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.table_model import Choice
    from whyodd.io.saving import save

    choice = Choice(names_of(columns), names_of(drop), id_column)
    learned = fit_table(data, choice=choice, share=share, seed=seed, progress=not quiet)
    was_there = out.exists()
    save(learned.model, out)
    if as_json:
        typer.echo(json.dumps(summary(learned, out), allow_nan=False))
        return
    show(learned, Console())
    typer.echo(f"\n{'Replaced' if was_there else 'Written'}: {printable(str(out))}")


def fit_table(
    data: Path,
    *,
    choice: Choice | None = None,
    share: float | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Learned:
    """Fit ``whyodd.auto`` to the table of a file.

    Parameters
    ----------
    data : path
        Table, see :func:`whyodd.io.tables.read_table`.
    choice : Choice, optional
        Which columns are used.
    share : float, optional
        Put the threshold where this share of the rows exceeds it; by default where the model has it.
    seed : int, default 0
        Of what is drawn at random.
    progress : bool, default False
        Show progress on standard error.
    """
    from whyodd.cli.table_model import Choice, judge, learn, read_tables

    table, _ = read_tables(data, None, choice or Choice())
    learned = learn(table, seed=seed, progress=progress)
    if share is not None:
        judgement = judge(table, learned, [], share=share, progress=progress)
        learned.model[-1].threshold_ = judgement.threshold
    return learned


def summary(learned: Learned, out: Path) -> dict[str, Any]:
    """All that the command tells, as a plain dictionary."""
    report = learned.model.auto_report_
    return {
        "rows": report.n_rows,
        "fitted_rows": report.n_fitted,
        "columns": [
            {"name": column.name, "kind": column.kind, "note": column.note} for column in report.columns
        ],
        "candidates": {candidate.name: candidate.mean for candidate in report.choice.candidates},
        "model": report.choice.chosen.name,
        "reason": report.choice.reason,
        "threshold": float(learned.model[-1].threshold_),
        "file": str(out),
    }


def show(learned: Learned, console: Console) -> None:
    """Print what was made of the table, and where the threshold is."""
    from whyodd.cli.table_words import say
    from whyodd.explanations.sentences import number

    say(console, str(learned.model.auto_report_))
    say(console, f"threshold: outlierness {number(float(learned.model[-1].threshold_))}")
