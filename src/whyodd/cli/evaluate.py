"""``whyodd evaluate``: how far to trust the scores of a table, and which method explains them best."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - typer looks at it
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from whyodd.cli.table_options import (
    METHODS,
    AsJson,
    Columns,
    Data,
    Drop,
    Encoding,
    IdColumn,
    Model,
    Quiet,
    Seed,
    Share,
    Sheet,
    TableName,
    Train,
    check_inputs,
    names_of,
    tell,
)
from whyodd.explanations.sentences import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.cli.tables import ChosenColumns, FileOptions
    from whyodd.findings.findings import Findings

# They also suit the default model, which has no derivatives.
_METHODS = ("dtd", "occlusion", "nearest", "mean", "random")
# Odd rows on which methods are compared: some methods explain a row hundreds of times.
_MOST_ROWS, _FEWEST_ROWS = 200, 20
_HEADINGS = {
    "area": "area under\nflipping ↓",
    "conservation_gap": "gap ↓",
    "unexplained": "unexplained",
    "stability": "insta-\nbility ↓",
    "largest_jump": "largest\njump ↓",
    "agreement": "agreement\nwith dtd",
}
_LEGEND = """\
area under flipping: the outlierness that remains as variables are removed, the most relevant first
gap: how far the relevance is from adding up to the outlierness
unexplained: the part of the outlierness that belongs to no single variable
instability: share of the relevance that moves when a row moves, per standard deviation
largest jump: most of the relevance that moves in one of 32 steps to the nearest other row
agreement with dtd: rank correlation of the relevance"""


@dataclass(frozen=True)
class Detection:
    """How well outlierness separates labelled anomalies from normal rows."""

    rows: int
    anomalies: int
    roc_auc: float
    average_precision: float


@dataclass(frozen=True)
class Evaluation:
    """Methods compared on odd rows, and the scores compared with labels if there are any.

    Attributes
    ----------
    found : Findings
        All rows, the model, and their outlierness.
    lines : list of dict
        For each method its name and the mean of each metric.
    n_compared : int
        Number of rows they are compared on.
    detection : Detection or None
    notes : tuple of str
    """

    found: Findings
    lines: list[dict[str, Any]]
    n_compared: int
    detection: Detection | None
    notes: tuple[str, ...]


def _methods(text: str) -> tuple[str, ...]:
    """Names of methods in a list such as "dtd,nearest"."""
    names = names_of(text or None)
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        given = repr(unknown[0]) if unknown else "nothing"
        raise typer.BadParameter(f"--methods has {given}. Choose among: {', '.join(METHODS)}.")
    return tuple(dict.fromkeys(names))


def evaluate(
    data: Data,
    train: Train = None,
    model: Model = None,
    label: Annotated[
        str | None,
        typer.Option(
            help=(
                "Column that marks anomalies: 1 or true. For other labels, name the normal one with --normal."
            )
        ),
    ] = None,
    normal: Annotated[
        str | None, typer.Option(help="The label of normal rows; all others are anomalies.")
    ] = None,
    methods: Annotated[
        str,
        typer.Option(help=f"Explanation methods to compare, for example dtd,nearest: {', '.join(METHODS)}."),
    ] = ",".join(_METHODS),
    columns: Columns = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    table: TableName = None,
    share: Share = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare explanation methods on the odd rows of a table, and the scores with labels if there are any.

    Example: whyodd evaluate data.csv --label is_fraud --methods dtd,nearest,random
    """
    check_inputs(data, train, model, share)
    compared = _methods(methods)
    if normal is not None and label is None:
        raise typer.BadParameter("--normal is a value of the label column, but there is no --label. Add it.")
    # Here, so that neither `whyodd --help` nor a wrong name need wait for scikit-learn.
    from whyodd.cli.tables import ChosenColumns, FileOptions

    told = evaluate_table(
        data,
        train=train,
        model=model,
        chosen=ChosenColumns(names_of(columns), names_of(drop), id_column, label),
        files=FileOptions(encoding, sheet, table),
        normal=normal,
        methods=compared,
        share=share,
        seed=seed,
        progress=not quiet,
    )
    tell(told.notes)
    if as_json:
        typer.echo(json.dumps(summary(told), allow_nan=False))
        return
    show(told, Console())


def evaluate_table(
    data: Path,
    *,
    train: Path | None = None,
    model: Path | None = None,
    chosen: ChosenColumns | None = None,
    files: FileOptions | None = None,
    normal: str | None = None,
    methods: Sequence[str] = _METHODS,
    share: float | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Evaluation:
    """Evaluate scores and explanations of a file.

    Parameters
    ----------
    data, train, model, chosen, files, share, seed, progress
        As for :func:`whyodd.cli.tables.find_in_file`; ``chosen.label`` names the column of labels.
    normal : str, optional
        The label of normal rows; by default labels are 0 and 1, or true and false.
    methods : sequence of str
        Names of ``whyodd.explainers.EXPLAINERS``.
    """
    from whyodd.adapters.errors import UnsupportedModelError
    from whyodd.cli.table_labels import is_anomaly
    from whyodd.cli.tables import ChosenColumns, find_in_tables, read_tables

    table, known = read_tables(data, train, chosen or ChosenColumns(), files)
    truth = None if table.labels is None else is_anomaly(table.labels, table.name, normal)
    found = find_in_tables(table, known, model, share=share, random_state=seed, progress=progress)
    rows = _rows_to_compare(found)
    try:
        lines = compare_methods(found, rows, methods, seed=seed, progress=progress)
    except UnsupportedModelError as error:
        raise ValueError(str(error)) from None
    notes = list(found.notes)
    detection = None if truth is None else detect(found, truth, notes)
    return Evaluation(found, lines, len(rows), detection, tuple(notes))


def _rows_to_compare(found: Findings) -> Any:
    """Odd rows, evenly spread from the oddest to the least odd if they are many."""
    import numpy as np

    odd = found.order[: max(found.n_odd, _FEWEST_ROWS)]
    return odd[np.unique(np.linspace(0, len(odd) - 1, min(len(odd), _MOST_ROWS)).astype(np.intp))]


def compare_methods(
    found: Findings,
    rows: Any,
    methods: Sequence[str],
    *,
    seed: int = 0,
    progress: bool = False,
) -> list[dict[str, Any]]:
    """The lines of ``whyodd.evaluation.compare`` for some rows, each explained without its own center."""
    from contextlib import nullcontext

    from whyodd.cli.table_words import table_of
    from whyodd.evaluation import METRICS, Judged
    from whyodd.evaluation.causes import mean_and_error
    from whyodd.inputs.frames import take_rows
    from whyodd.progress import progress_bar

    reference = found.explain(rows)
    X = take_rows(table_of(found).frame, rows)
    lines = []
    with progress_bar(len(methods), "Comparing methods") if progress else nullcontext() as told:
        for name in methods:
            e = reference
            if name != "dtd":
                e = found.explain(rows, method=name)
            judged = Judged(found.model, X, e, reference, random_state=seed)
            means = {key: mean_and_error(METRICS[key].judge(judged))[0] for key in _HEADINGS}
            lines.append({"method": name, **{key: _plain(mean) for key, mean in means.items()}})
            if told is not None:
                told(len(lines))
    return lines


def _plain(value: float) -> float | None:
    """Number as JSON has it: null where there is none."""
    return float(value) if value == value else None


def detect(found: Findings, truth: Any, notes: list[str]) -> Detection:
    """Compare the scores with the labels of the rows; rows without a label are left out."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    known = truth.is_not_null().to_numpy()
    if not known.all():
        notes.append(f"{(~known).sum():,} rows have no label and are left out of ROC AUC and precision.")
    labels, scores = truth.drop_nulls().to_numpy(), found.outlierness[known]
    return Detection(
        rows=int(labels.size),
        anomalies=int(labels.sum()),
        roc_auc=float(roc_auc_score(labels, scores)),
        average_precision=float(average_precision_score(labels, scores)),
    )


def summary(told: Evaluation) -> dict[str, Any]:
    """All results of the command, as a plain dictionary."""
    from dataclasses import asdict

    return {
        "rows": len(told.found),
        "odd": told.found.n_odd,
        "threshold": told.found.threshold,
        "compared_rows": told.n_compared,
        "methods": told.lines,
        "detection": None if told.detection is None else asdict(told.detection),
        "notes": list(told.notes),
    }


def show(told: Evaluation, console: Console) -> None:
    """Print how well scores match labels, and the methods side by side."""
    from whyodd.cli.table_words import model_words, read_words, say

    say(console, f"{read_words(told.found)}\n{model_words(told.found)}")
    say(console, told.found.headline)
    if told.detection is not None:
        say(console, detection_words(told.detection))
    n = told.n_compared
    which = "the odd rows" if n == told.found.n_odd else f"{n} of the oddest rows"
    say(console, f"\nExplanation methods on {which} (↓ lower is better):\n")
    view = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    view.add_column("method", no_wrap=True)
    for heading in _HEADINGS.values():
        view.add_column(heading, justify="right")
    for line in told.lines:
        cells = ["-" if line[key] is None else number(line[key]) for key in _HEADINGS]
        view.add_row(Text(line["method"]), *cells)
    console.print(view)
    say(console, f"\n{_LEGEND}")


def detection_words(told: Detection) -> str:
    """How well the scores match the labels."""
    return (
        f"{told.anomalies:,} of {told.rows:,} rows are labelled as anomalies. ROC AUC of the outlierness: "
        f"{told.roc_auc:.3f} (0.5 is chance), average precision: {told.average_precision:.3f}."
    )
