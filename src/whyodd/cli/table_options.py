"""Options that the commands for tables share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyodd.cli.extras import check_installed
from whyodd.io.tables import check_table
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence


# A method is the file of its name. Listed this way, because `--help` need not wait for imports.
METHODS = tuple(
    sorted(
        file.stem
        for file in (Path(__file__).parents[1] / "explainers" / "methods").glob("[a-z]*.py")
        if file.stem != "sobel"  # for images
    )
)


def _known_method(name: str) -> str:
    if name not in METHODS:
        raise typer.BadParameter(
            f"{name!r} is not an explanation method. Choose among: {', '.join(METHODS)}."
        )
    return name


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table: CSV, TSV, JSON (also .gz, .zst), Parquet, Arrow, Excel, ODS, SQLite or DuckDB; - is "
        "standard input.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of text files, such as cp1252; by default detected."),
]
Sheet = Annotated[
    str | None, typer.Option(help="Sheet of a workbook, by name or number; by default the only one.")
]
TableName = Annotated[
    str | None,
    typer.Option("--table", help="Table of a database, by name or number; by default the only one."),
]
Train = Annotated[
    Path | None,
    typer.Option(help="Table of normal rows to learn from. By default DATA, each row judged by all others."),
]
Model = Annotated[Path | None, typer.Option(help="Model file from whyodd fit to use instead of learning.")]
Columns = Annotated[str | None, typer.Option(help="Use only these columns, for example a,b; by default all.")]
Drop = Annotated[str | None, typer.Option(help="Leave out these columns, for example a,b.")]
IdColumn = Annotated[
    str | None, typer.Option(help="Column that names the rows; it is shown but not used by the model.")
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", help="Kind of a column, for example store=code; can be repeated. See whyodd columns."
    ),
]
Share = Annotated[
    float | None,
    typer.Option(
        min=1e-6,
        max=0.5,
        help="Call this share of the training rows odd; by default the model's own threshold.",
    ),
]
FalseAlarms = Annotated[
    float | None,
    typer.Option(min=1e-6, max=0.5, help="Share of normal rows that may be called odd; 0.01 by default."),
]
Fdr = Annotated[
    float | None,
    typer.Option(
        min=1e-6, max=0.5, help="Share of the rows called odd that may be normal (Benjamini-Hochberg)."
    ),
]
Method = Annotated[
    str,
    typer.Option(
        callback=_known_method,
        help=f"Explanation method: {', '.join(METHODS)}. All but dtd are for comparison.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed for random samples.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Hide progress; show only results and notes.")]


Given = Annotated[
    str | None,
    typer.Option(
        help="Columns of context, for example machine,time, the most important first. Each row is compared "
        "with rows that are alike in them, and they are never blamed."
    ),
]


def names_of(text: str | None) -> tuple[str, ...]:
    r"""Names in a list such as "a,b"; one that holds a comma is written as "a\,b".

    Examples
    --------
    >>> from whyodd.cli.table_options import names_of
    >>> names_of("a, b,a"), names_of(r"a\,b"), names_of(None)
    (('a', 'b'), ('a,b',), ())
    """
    parts = re.split(r"(?<!\\),", text or "")
    names = tuple(dict.fromkeys(part.strip().replace("\\,", ",") for part in parts if part.strip()))
    if text is not None and not names:
        raise typer.BadParameter(f"{text!r}: expected column names, for example a,b.")
    return names


def groups_of(texts: list[str] | None) -> dict[str, tuple[str, ...]]:
    """Groups of columns, each written as "name=column,column".

    Examples
    --------
    >>> from whyodd.cli.table_options import groups_of
    >>> groups_of(["address=street,city"])
    {'address': ('street', 'city')}
    """
    groups: dict[str, tuple[str, ...]] = {}
    for text in texts or ():
        name, _, members = text.partition("=")
        if not name.strip() or not members.strip(" ,"):
            raise typer.BadParameter(
                f"{text!r}: expected a name and columns, for example address=street,city."
            )
        if name.strip() in groups:
            raise typer.BadParameter(f"The group {name.strip()!r} is given twice. Leave one out.")
        groups[name.strip()] = names_of(members)
    return groups


def types_of(texts: list[str] | None) -> dict[str, str]:
    """Kinds of columns, each written as "column=kind".

    Examples
    --------
    >>> from whyodd.cli.table_options import types_of
    >>> types_of(["store=code", "size=yes/no"])
    {'store': 'code', 'size': 'yes/no'}
    """
    types: dict[str, str] = {}
    for text in texts or ():
        name, _, kind = (part.strip() for part in text.rpartition("="))
        if not name or not kind:
            raise typer.BadParameter(f"{text!r}: expected a column and its kind, for example store=code.")
        if name in types:
            raise typer.BadParameter(f"The column {name!r} has two kinds, expected one. Leave one out.")
        types[name] = kind
    return types


def check_inputs(data: Path, train: Path | None, model: Path | None, share: float | None = None) -> None:
    """Check the input files before reading any of them."""
    if model is not None and share is not None:
        raise typer.BadParameter(
            "--share is a share of the training rows, which --model no longer has. Pass it to whyodd "
            "fit instead."
        )
    if train is not None and train == data:
        raise typer.BadParameter("--train is DATA itself, which is the default. Leave it out.")
    check_table(data)
    check_learned(model, train)
    check_installed("polars", *(() if model is None else ("skops",)))


def check_learned(model: Path | None, train: Path | None) -> None:
    """Check the model or training table that judges the rows."""
    if train is not None and model is not None:
        raise typer.BadParameter(
            "--train cannot be used with --model, which has already learned. Leave one out."
        )
    if train is not None:
        check_table(train)
    if model is not None and not model.exists():
        raise FileNotFoundError(f"There is no file {model}. Write a model with whyodd fit.")
    if model is not None and model.is_dir():
        raise IsADirectoryError(f"{model} is a folder, expected a file written by whyodd fit.")


def check_limits(**limits: float | None) -> None:
    """Refuse more than one rule on where oddness begins, given by the names of their options."""
    given = [f"--{name.replace('_', '-')}" for name, value in limits.items() if value is not None]
    if len(given) > 1:
        raise typer.BadParameter(
            f"{given[0]} cannot be used with {given[1]}: each sets what counts as odd. Leave one out."
        )


def tell(notes: Sequence[str]) -> None:
    """Print notes on standard error, each on a line."""
    for note in notes:
        typer.echo(f"Note: {printable(note)}", err=True)
