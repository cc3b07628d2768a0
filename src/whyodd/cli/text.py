"""``whyodd text``: which messages are odd, and the few words that make them so."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003 - typer looks at it
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from whyodd.cli.extras import check_installed
from whyodd.cli.outputs import PAGE_ENDINGS, check_outputs, say_written
from whyodd.explanations.sentences import number
from whyodd.io.results import TABLE_ENDINGS
from whyodd.io.tables import check_table
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from whyodd.findings.findings import Findings
    from whyodd.texts import TextExplanation, TextModel

_SHOWN = 5
_LONGEST = 600  # characters of a message on the terminal
_SHADE = (217, 98, 43)
_FALSE_ALARMS = 0.01


def text(
    normal: Annotated[
        Path,
        typer.Argument(
            help=(
                "Normal messages: CSV, JSON lines, Parquet, Excel or SQLite. With --model: the messages "
                "to judge."
            )
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Argument(help="Messages to judge. By default the normal ones, each judged by all others."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column with the messages. By default the only text column.")
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="Column that names the messages.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the oddest messages to report.")] = 20,
    report: Annotated[
        Path | None, typer.Option(help="Write a report to this file: .html, with the odd words marked.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Write all messages with scores and reasons to this file: .csv, .tsv, .parquet; .jsonl "
                "adds the words."
            )
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the model to this file, to use with --model.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model written by --save, to use instead of learning.")
    ] = None,
    false_alarms: Annotated[
        float | None,
        typer.Option(
            min=1e-6, max=0.5, help="Share of normal messages that may be called odd; 0.01 by default."
        ),
    ] = None,
    subwords: Annotated[
        bool, typer.Option("--subwords", help="Judge parts of words, which helps with misspellings.")
    ] = False,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Use the paper's one-class SVM, which gives longer messages higher scores."
        ),
    ] = False,
    nu: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            max=1.0,
            help="With --paper: share of training messages that may be outliers; 0.3 by default.",
        ),
    ] = None,
    sigma: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            help="With --paper: bandwidth; 10 by default, or the median distance with --normalize.",
        ),
    ] = None,
    min_df: Annotated[
        int | None,
        typer.Option(
            min=1, help="Learn only terms found in at least this many messages; 1 by default, 5 with --paper."
        ),
    ] = None,
    language: Annotated[
        str, typer.Option(help="Language of the stemmer; 'none' turns stemming off.")
    ] = "english",
    normalize: Annotated[
        bool, typer.Option("--normalize", help="With --paper: divide messages by their length.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON lines instead of a readable list.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Hide progress; show only results and notes.")
    ] = False,
) -> None:
    """Learn what normal messages look like, then show which others are odd, and which words make them odd.

    If a run with --out is interrupted, the same command continues after the last judged message.

    Example: whyodd text normal.csv test.csv --column comment --out scores.csv --report report.html
    """
    if model is not None and test is not None:
        raise typer.BadParameter(
            "--model has already learned normal messages, so expected only those to judge. Pass one file."
        )
    for path in (normal, test):
        if path is not None:
            check_table(path)
    outputs = (("--report", report, PAGE_ENDINGS), ("--out", out, TABLE_ENDINGS), ("--save", save, ()))
    check_outputs(*outputs, sources=(normal, test, model))
    needed = [*(["jinja2"] if report is not None else []), *(["skops"] if save or model else [])]
    check_installed("polars", "regex", "snowballstemmer", *needed)
    from whyodd.cli.text_files import MessageFile, json_lines
    from whyodd.findings.messages import find_in_messages, learn_messages
    from whyodd.io.journal import run_key
    from whyodd.io.saving import save as keep
    from whyodd.texts import TextModel

    source = normal if test is None else test
    messages, notes, ids = read_messages(source, column, id_column)
    if model is not None:
        judge = _loaded(model)
    else:
        known = messages
        if test is not None:
            known, more, _ = read_messages(normal, column, None)
            notes = [*more, *notes]
        judge = TextModel(
            nu,
            # Without their length messages are at most √2 apart: by the paper's bandwidth all were equal.
            "median" if normalize and sigma is None else sigma,
            min_df,
            None if language == "none" else language,
            normalize=normalize,
            paper=paper,
            subwords=subwords,
            false_alarms=_FALSE_ALARMS if false_alarms is None else false_alarms,
        )
        learn_messages(judge, known, progress=not quiet)
    if save is not None:
        keep(judge, save)
    file = None
    if out is not None:
        settings = {"column": column, "ids": id_column, "false_alarms": false_alarms, "model": repr(judge)}
        key = run_key([path for path in (normal, test, model) if path is not None], settings)
        file = MessageFile(out, key, judge, len(messages))
    found = find_in_messages(
        messages,
        model=judge,
        false_alarms=false_alarms,
        names=ids,
        top=top,
        score=None if file is None else partial(file.judge, progress=not quiet),
        progress=not quiet,
        title=source.name,
        notes=notes,
        made_by="whyodd text",
    )
    for note in found.notes:
        typer.echo(f"Note: {printable(note)}", err=True)
    if file is not None:
        file.finish(found)
    if report is not None:
        found.report(report, top=top)
    if as_json:
        typer.echo(json_lines(found.top(top), judge), nl=False)
        return
    show(found, Console())
    say_written(report, out, save)


def _loaded(path: Path) -> TextModel:
    from whyodd.io.saving import load
    from whyodd.texts import TextModel

    model = load(path)
    if not isinstance(model, TextModel):
        raise ValueError(  # noqa: TRY004 - of a file, told in one sentence
            f"{path} holds a {type(model).__name__}, expected a model written by whyodd text "
            "--save. Choose another file."
        )
    return model


def read_messages(
    path: Path, column: str | None, id_column: str | None = None
) -> tuple[list[str], list[str], list[Any] | None]:
    """Messages of a file, notes about them, and their names; a missing message is empty."""
    from whyodd.io.tables import polars, read_table

    notes: list[str] = []
    frame = read_table(path, notes=notes)
    for name in (column, id_column):
        if name is not None and name not in frame.columns:
            raise ValueError(f"{path} has no column {name!r}. It has: {', '.join(frame.columns)}.")
    ids = None if id_column is None else frame[id_column].to_list()
    name = column if column is not None else _only_texts(frame, path, id_column)
    cells = frame[name].cast(polars().String)
    missing = int(cells.null_count())
    if missing:
        notes.append(f"{path}: {missing} messages are missing and count as empty.")
    return cells.fill_null("").to_list(), notes, ids


def _only_texts(frame: Any, path: Path, id_column: str | None) -> str:
    from whyodd.io.tables import polars

    schema = frame.schema.items()
    names = [name for name, kind in schema if kind == polars().String and name != id_column]
    if len(names) != 1:
        raise ValueError(
            f"{path} has {len(names)} text columns, expected one: choose the messages with --column. It "
            f"has: {', '.join(frame.columns)}."
        )
    return str(names[0])


def show(found: Findings, console: Console) -> None:
    """Print the oddest messages with their odd words shaded, and why each is odd."""
    learned = len(found.model.messages_)
    console.print(Text(f"Learned from {learned:,} messages. {found.headline}"), highlight=False)
    if found.n_odd == 0:
        console.print("The oddest of them:", highlight=False)
    shown = found.odd[:_SHOWN]
    common = max((word.relevance for i in range(len(shown)) for word in shown.tokens(i)), default=0.0)
    for i in range(len(shown)):
        odd = found.how_odd(i) or f"outlierness {number(float(shown.outlierness[i]))}"
        # Text, not str: square brackets in a message are no markup.
        console.print(Text(f"\n{i + 1}. {printable(shown.name(i))}: {odd}"))
        console.print(shaded(shown, i, common))
        console.print(Text(printable(shown.why(i))), style="dim")


def shaded(e: TextExplanation, i: int, common: float) -> Text:
    """Message ``i`` with a background as strong as the relevance of its odd words.

    ``common``: relevance that is the strongest of all messages, for a model that marks all words.
    """
    from whyodd.texts.notebook import strongest

    limit = strongest(e, i, common)
    message = e.messages[i][:_LONGEST]
    # What is not printable could drive the terminal.
    plain = "".join(letter if letter.isprintable() else " " for letter in message)
    view = Text(plain + ("…" if len(e.messages[i]) > _LONGEST else ""))
    for word in e.marked(i):
        strength = min(max(word.relevance, 0.0) / limit, 1.0) if limit > 0.0 else 0.0
        if word.end <= len(message) and strength > 0.1:
            red, green, blue = (round(255 - strength * (255 - part)) for part in _SHADE)
            view.stylize(f"black on rgb({red},{green},{blue})", word.start, word.end)
    return view
