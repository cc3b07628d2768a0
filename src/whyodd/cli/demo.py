"""``whyodd demo``: odd tumours in real data, ranked, with the reasons."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyodd.explanations.sentences import (
    OTHERS,
    UNEXPLAINED,
    OddRow,
    judgement,
    number,
    percent,
    sentence,
    value_texts,
)
from whyodd.io.atomic import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_REASONS = 3


@dataclass(frozen=True)
class DemoResult:
    """What the demo found: the oddest malignant rows, and how well the model separates them from others."""

    odd_rows: list[OddRow]
    n_trained: int
    n_explained: int
    auc: float


def demo(
    top: Annotated[int, typer.Option(min=1, help="How many of the oddest rows to show.")] = 10,
    out: Annotated[Path, typer.Option(help="CSV file to write these rows to.")] = Path("whyodd-demo.csv"),
) -> None:
    """Learn what benign tumours look like, then show which malignant ones are odd, and why.

    Uses the breast cancer data that come with scikit-learn; needs no network.

    Example: whyodd demo --top 5 --out odd.csv
    """
    with Console(stderr=True).status("Explaining tumours ..."):
        result = explain_tumours(top)
    show(result, Console())
    write_csv(result.odd_rows, out)
    typer.echo(f"\nThe same as CSV: {out}")


def explain_tumours(top: int) -> DemoResult:
    """Fit a one-class SVM on 70 % of the benign rows, explain all malignant ones, keep the ``top`` oddest."""
    # Here, so that `whyodd --help` need not wait for scikit-learn.
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import OneClassSVM

    from whyodd.explainers.explaining import explain

    tumours = load_breast_cancer()
    is_benign = tumours.target == list(tumours.target_names).index("benign")
    normal, held_out = train_test_split(tumours.data[is_benign], test_size=0.3, random_state=0)
    model = make_pipeline(StandardScaler(), OneClassSVM(kernel="rbf", nu=0.1, gamma="scale")).fit(normal)

    e = explain(model, tumours.data[~is_benign])
    e = replace(e, feature_names=tuple(map(str, tumours.feature_names)), rows=np.flatnonzero(~is_benign))
    benign_outlierness = e.network.outlierness(model[:-1].transform(held_out))
    below = np.sort(benign_outlierness)
    # Mann and Whitney's U over the number of pairs, with one half for a tie.
    ranks = (np.searchsorted(below, e.outlierness, side) for side in ("left", "right"))
    oddest = e.top(top)
    return DemoResult(
        odd_rows=[oddest.odd_row(i, _REASONS) for i in range(len(oddest))],
        n_trained=len(normal),
        n_explained=len(e),
        auc=float(np.mean(list(ranks)) / below.size),
    )


def show(result: DemoResult, console: Console) -> None:
    """Print what was done, and the odd rows as a ranked table."""
    console.print(
        f"A one-class SVM learned {result.n_trained} benign tumours. The oddest {len(result.odd_rows)} of "
        f"{result.n_explained} malignant ones, and each variable's share of the outlierness:\n",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("#", "row", "outlier-\nness"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("variable", min_width=9)  # the only one that gives way in a narrow terminal
    for title in ("value", "", "expected", "share"):
        table.add_column(title, justify="right", no_wrap=True)
    for rank, odd in enumerate(result.odd_rows, start=1):
        for cells in _lines(rank, odd):
            table.add_row(*cells)
    console.print(table)
    console.print(
        f"\nROC AUC of the outlierness, held-out benign against malignant: {result.auc:.3f}", highlight=False
    )


def _lines(rank: int, odd: OddRow) -> Iterator[tuple[str | Text, ...]]:
    """Lines of the table for one row: a reason each, then the rest, so that the shares sum to 100 %."""
    head = (str(rank), str(odd.row), number(odd.outlierness))
    for reason in odd.reasons:
        value, expected = value_texts(reason)
        # Text, not str: a name in square brackets is no markup.
        yield (*head, Text(reason.feature), value, judgement(reason), expected, percent(reason.share))
        head = ("", "", "")
    for label, share in ((OTHERS, odd.other_share), (UNEXPLAINED, odd.unexplained_share)):
        yield (*head, *(Text(cell, style="dim italic") for cell in (label, "", "", "", percent(share))))


def write_csv(odd_rows: Sequence[OddRow], path: Path) -> None:
    """Write the ranked rows; the file appears complete or not at all."""
    with replacing(path) as draft, draft.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("rank", "row", "outlierness", "unexplained_share", "why"))
        for rank, odd in enumerate(odd_rows, start=1):
            writer.writerow((rank, odd.row, odd.outlierness, odd.unexplained_share, sentence(odd)))
