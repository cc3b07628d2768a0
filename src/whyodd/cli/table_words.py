"""What the commands for tables print: what was read, what learned from it, and why rows are odd."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table as RichTable
from rich.text import Text

from whyodd.cli.picture_names import printable
from whyodd.explanations.groups import count_of_rows
from whyodd.explanations.sentences import OTHERS, UNEXPLAINED, number, observation, percent
from whyodd.io.tables import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from whyodd.automatic.auto import AutoReport
    from whyodd.cli.table_model import Judgement, Learned, Table
    from whyodd.explanations.sentences import OddRow

_SET_ASIDE_TOLD = 5
_VISIBLE = 0.005  # shares that do not round to 0 %
_TEXT_TABLES = (".csv", ".tsv", ".txt", ".gz")


def say(console: Console, words: str, style: str = "") -> None:
    """Print words that may come from data: nothing in them is markup, and nothing drives the terminal."""
    console.print(Text("\n".join(map(printable, words.split("\n"))), style=style), highlight=False)


def read_words(table: Table) -> str:
    """What was read."""
    n_columns = table.frame.width
    columns = "1 column" if n_columns == 1 else f"{n_columns:,} columns"
    return f"{table.name}: {count_of_rows(table.frame.height)}, {columns}."


def model_words(learned: Learned, table: Table) -> str:
    """What the model is, and what it has learned from."""
    report = learned.report
    if report is None:
        last = getattr(learned.model, "steps", [("", learned.model)])[-1][1]
        return f"Model: {type(last).__name__}."
    sample = f"{report.n_fitted:,} of " if report.n_fitted < report.n_rows else ""
    words = f"Model: {report.choice.chosen.name}, fitted to {sample}{count_of_rows(report.n_rows)}"
    if learned.table is table:
        words += ", no row judged by itself"
    elif learned.table is not None:
        words += f" of {learned.table.name}"
    return f"{words}.{_set_aside_words(report)}"


def _set_aside_words(report: AutoReport) -> str:
    notes = [f"{name} ({note})" for name, note in report.set_aside.items()]
    if not notes:
        return ""
    more = len(notes) - _SET_ASIDE_TOLD
    told = "; ".join(notes[:_SET_ASIDE_TOLD]) + (f"; and {more} more" if more > 0 else "")
    return f"\nSet aside: {told}."


def threshold_words(judgement: Judgement) -> str:
    """How many rows are odd."""
    n = judgement.scores.size
    threshold = f"the threshold {number(judgement.threshold)} ({judgement.source})"
    if judgement.n_odd == 0:
        return f"None of {count_of_rows(n)} is above {threshold}."
    verb = "is" if judgement.n_odd == 1 else "are"
    return f"{judgement.n_odd:,} of {count_of_rows(n)} {verb} above {threshold}."


def oddest_words(table: Table, count: int) -> str:
    """What follows: the oddest rows, and how rows are counted if people see their numbers."""
    rows = "The oddest row" if count == 1 else f"The {count:,} oddest rows"
    if table.ids is not None:
        return f"{rows}:"
    is_text = table.path == STANDARD_INPUT or table.path.suffix.lower() in _TEXT_TABLES
    return f"{rows} (they count from 0{', the first after the header' if is_text else ''}):"


def odd_rows_table(rows: Sequence[OddRow], names: Sequence[str], threshold: float, title: str) -> RichTable:
    """Ranked rows with their reasons, a line for each.

    Parameters
    ----------
    rows : sequence of OddRow
    names : sequence of str
        What each is called.
    threshold : float
    title : str
        Of the column with the names.
    """
    table = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column(Text(printable(title)), justify="right", max_width=16, overflow="fold")
    for heading in ("outlier-\nness", "× thre-\nshold", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("why", min_width=20, overflow="fold")
    for rank, (odd, name) in enumerate(zip(rows, names, strict=True), start=1):
        head = (str(rank), name, number(odd.outlierness), times_text(odd.outlierness, threshold))
        for share, why, style in _lines(odd):
            table.add_row(*(Text(printable(cell)) for cell in head), share, Text(printable(why), style=style))
            head = ("",) * 4
    return table


def times_text(outlierness: float, threshold: float) -> str:
    """How many times the threshold; nothing if that is no measure."""
    ratio = outlierness / threshold if threshold > 0.0 else math.nan
    return number(ratio, 2) if math.isfinite(ratio) else ""


def _lines(odd: OddRow) -> Iterator[tuple[str, str, str]]:
    """Share, words and style of each reason, then of the rest; shares are those of ``words.sentence``."""
    rest = max(odd.measured_share, 0.0)
    for reason in odd.reasons:
        if reason.never_varied:  # no scale to measure it by
            yield "", observation(reason), ""
        elif rest > 0.0 and reason.share / rest >= _VISIBLE:
            yield percent(reason.share / rest), observation(reason), ""
    parts = ((OTHERS, odd.other_share), (UNEXPLAINED, odd.unexplained_share if odd.is_additive else 0.0))
    for label, share in parts:
        if rest > 0.0 and share / rest >= _VISIBLE:
            yield percent(share / rest), label, "dim italic"
