"""What the commands for tables print: what was read, what was learned, and why rows are odd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table as RichTable
from rich.text import Text

from whyodd.explanations.groups import count_of_rows
from whyodd.io.tables import STANDARD_INPUT
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from rich.console import Console

    from whyodd.automatic.auto import AutoReport
    from whyodd.findings.findings import Findings
    from whyodd.findings.table import Table

_SET_ASIDE_TOLD = 5
_TEXT_TABLES = (".csv", ".tsv", ".txt", ".gz")


def say(console: Console, words: str, style: str = "") -> None:
    """Print words that may come from data: nothing in them is markup or controls the terminal."""
    console.print(Text("\n".join(map(printable, words.split("\n"))), style=style), highlight=False)


def read_words(found: Findings) -> str:
    """What was read."""
    table = table_of(found)
    n_columns = len(table.columns)
    columns = "1 column" if n_columns == 1 else f"{n_columns:,} columns"
    return f"{table.name}: {count_of_rows(len(found))}, {columns}."


def model_words(found: Findings) -> str:
    """What the model is, and what it has learned from."""
    by_itself, known = found.known is found.table, found.known
    return model_told(found.model, by_itself=by_itself, known=None if known is None else known.name)


def model_told(model: Any, *, by_itself: bool, known: object) -> str:
    """The same for a model trained on the rows that it judges, or on those of another table."""
    report: AutoReport | None = getattr(model, "auto_report_", None)
    if report is None:
        last = getattr(model, "steps", [("", model)])[-1][1]
        return f"Model: {type(last).__name__}."
    sample = f"{report.n_fitted:,} of " if report.n_fitted < report.n_rows else ""
    words = f"Model: {report.told.removesuffix('.')}, learned from {sample}{count_of_rows(report.n_rows)}"
    if by_itself:
        words += ", no row judged by itself"
    elif known is not None:
        words += f" of {known}"
    return f"{words}.{_set_aside_words(report)}"


def _set_aside_words(report: AutoReport) -> str:
    notes = [f"{name} ({note})" for name, note in report.set_aside.items()]
    if not notes:
        return ""
    more = len(notes) - _SET_ASIDE_TOLD
    told = "; ".join(notes[:_SET_ASIDE_TOLD]) + (f"; and {more} more" if more > 0 else "")
    return f"\nSet aside: {told}."


def oddest_words(found: Findings, data: Path, count: int) -> str:
    """Heading: the oddest rows, and how rows are counted if their numbers are shown."""
    rows = "The oddest row" if count == 1 else f"The {count:,} oddest rows"
    if table_of(found).ids is not None:
        return f"{rows}:"
    is_text = data == STANDARD_INPUT or data.suffix.lower() in _TEXT_TABLES
    return f"{rows} (they count from 0{', the first after the header' if is_text else ''}):"


def row_name(found: Findings, row: int) -> str:
    """The name of a row: its id, or its number."""
    return table_of(found).called(row) or str(row)


def table_of(found: Findings) -> Table:
    """The rows that were judged."""
    if found.table is None:
        raise ValueError("These findings do not belong to a table.")
    return found.table


def odd_rows_table(cards: Sequence[Mapping[str, Any]], title: str) -> RichTable:
    """Ranked rows with their reasons, a line for each.

    Parameters
    ----------
    cards : sequence of dict
        Anomalies of the plain dict of findings.
    title : str
        Of the column with what rows are called.
    """
    table = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column(Text(printable(title)), justify="right", max_width=16, overflow="fold")
    has_rarity = any(card["rarity"] is not None for card in cards)
    rare = ("normal rows\nas odd",) if has_rarity else ()
    for heading in ("outlier-\nness", "× thre-\nshold", *rare, "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("why", min_width=20, overflow="fold")
    for card in cards:
        name = str(card["row"]) if card["id"] is None else card["id"]
        rarity = (card["rarity"],) if has_rarity else ()
        head = (str(card["rank"]), name, card["outlierness_text"], card["times_text"], *rarity)
        for line in card["brief"]:
            style = "dim italic" if line["is_rest"] else ""
            why = Text(printable(line["words"]), style=style)
            table.add_row(*(Text(printable(cell)) for cell in head), line["share_text"], why)
            head = tuple("" for _ in head)
    return table
