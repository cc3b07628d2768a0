"""``whyodd text``: which words make messages odd, and which are missing."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - typer looks at it
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import PAGE_ENDINGS, check_outputs, say_written
from whyodd.explanations.sentences import number
from whyodd.io.atomic import replacing
from whyodd.io.tables import check_table

if TYPE_CHECKING:
    from whyodd.texts import TextExplanation

_SHOWN = 5
_LONGEST = 600  # characters of a message on the terminal
_SHADE = (217, 98, 43)


def text(
    normal: Annotated[
        Path, typer.Argument(help="Normal messages: CSV, JSON lines, Parquet, Excel or SQLite.")
    ],
    test: Annotated[
        Path | None,
        typer.Argument(help="Messages to explain. By default the normal ones, each by all others."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column with the messages. By default the only one of texts.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the oddest messages to report.")] = 20,
    report: Annotated[Path | None, typer.Option(help="Page to write: .html, with shaded words.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="JSON lines to write: tokens with place and relevance.")
    ] = None,
    nu: Annotated[
        float, typer.Option(min=1e-6, max=1.0, help="Share of messages that may be outliers in training.")
    ] = 0.3,
    sigma: Annotated[
        float | None,
        typer.Option(min=1e-6, help="Bandwidth. By default 10, or the median distance with --normalize."),
    ] = None,
    min_df: Annotated[int, typer.Option(min=1, help="Learn terms that are in so many messages.")] = 5,
    language: Annotated[str, typer.Option(help="Of the stemmer; 'none' for no stemming.")] = "english",
    normalize: Annotated[bool, typer.Option("--normalize", help="Take out the length of messages.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of a view.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only results and notes.")] = False,
) -> None:
    """Learn what normal messages look like, then show which words make others odd, and which are missing.

    Example: whyodd text normal.csv test.csv --column comment --top 20 --report report.html
    """
    for path in (normal, test):
        if path is not None:
            check_table(path)
    outputs = (("--report", report, PAGE_ENDINGS), ("--out", out, (".jsonl", ".ndjson")))
    check_outputs(*outputs, sources=(normal, test))
    check_installed("polars", "regex", "snowballstemmer", *(("jinja2",) if report is not None else ()))
    from whyodd.texts import TextModel

    known, notes = read_messages(normal, column)
    messages, more = (known, []) if test is None else read_messages(test, column)
    # Without their length messages are at most √2 apart: the paper's bandwidth would take all for equal.
    usual: Any = "median" if normalize else 10.0
    model = TextModel(
        nu,
        usual if sigma is None else sigma,
        min_df,
        None if language == "none" else language,
        normalize=normalize,
    ).fit(known)
    for note in (*notes, *more):
        typer.echo(f"Note: {note}", err=True)
    e = model.explain(messages, progress=not quiet)
    oddest = e.top(top)
    write_results(e, oddest, report, out, (normal if test is None else test).name)
    if as_json:
        typer.echo("\n".join(json_lines(oddest)))
        return
    show(oddest, len(known), len(messages), Console())
    say_written(report, out)


def read_messages(path: Path, column: str | None) -> tuple[list[str], list[str]]:
    """Messages of a file, and what to know about them; a missing one is an empty message."""
    from whyodd.io.tables import polars, read_table

    notes: list[str] = []
    frame = read_table(path, notes=notes)
    name = column if column is not None else _only_texts(frame, path)
    if name not in frame.columns:
        raise ValueError(f"{path} has no column {name!r}. It has: {', '.join(frame.columns)}.")
    cells = frame[name].cast(polars().String)
    missing = int(cells.null_count())
    if missing:
        notes.append(f"{path}: {missing} messages are missing and count as empty.")
    return cells.fill_null("").to_list(), notes


def _only_texts(frame: Any, path: Path) -> str:
    from whyodd.io.tables import polars

    names = [name for name, kind in frame.schema.items() if kind == polars().String]
    if len(names) != 1:
        raise ValueError(
            f"{path} has {len(names)} columns of texts, expected one: name the messages with --column. "
            f"It has: {', '.join(frame.columns)}."
        )
    return str(names[0])


def write_results(
    e: TextExplanation, oddest: TextExplanation, report: Path | None, out: Path | None, title: str
) -> None:
    """Write the page on all messages and the JSON lines of the oddest, as far as they were asked for."""
    if report is not None:
        from whyodd.findings.findings import Findings

        Findings.of(e, title=title).report(report, top=len(oddest))
    if out is not None:
        with replacing(out) as draft:
            draft.write_text("".join(f"{line}\n" for line in json_lines(oddest)), encoding="utf-8")


def json_lines(e: TextExplanation) -> list[str]:
    """A line for each message."""
    return [json.dumps(message, ensure_ascii=False) for message in e.to_dict()["messages"]]


def show(e: TextExplanation, n_known: int, n_explained: int, console: Console) -> None:
    """Print the oddest messages with their words shaded by relevance, and why each is odd."""
    console.print(
        f"A one-class SVM learned {n_known} messages. The oddest of {n_explained}:", highlight=False
    )
    shown = e[:_SHOWN]
    limit = max((word.relevance for i in range(len(shown)) for word in shown.tokens(i)), default=0.0)
    for i in range(len(shown)):
        head = f"\n{i + 1}. row {shown.rows[i]}, outlierness {number(float(shown.outlierness[i]))}"
        console.print(head, highlight=False)
        console.print(shaded(shown, i, limit))
        # Text, not str: square brackets in a message are no markup.
        console.print(Text(shown.why(i)), style="dim")


def shaded(e: TextExplanation, i: int, limit: float) -> Text:
    """Message ``i`` with a background as strong as each word's relevance over ``limit``."""
    message = e.messages[i][:_LONGEST]
    # What is not printable could drive the terminal.
    plain = "".join(letter if letter.isprintable() else " " for letter in message)
    view = Text(plain + ("…" if len(e.messages[i]) > _LONGEST else ""))
    for word in e.tokens(i):
        strength = min(max(word.relevance, 0.0) / limit, 1.0) if limit > 0.0 else 0.0
        if word.end <= len(message) and strength > 0.1:
            red, green, blue = (round(255 - strength * (255 - part)) for part in _SHADE)
            view.stylize(f"black on rgb({red},{green},{blue})", word.start, word.end)
    return view
