"""The page of an experiment: what the paper states beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Statement:
    """Something the paper states.

    Attributes
    ----------
    paper : str
        The paper's words, or what they say.
    measured : str
        What was measured here, with its numbers.
    verdict : str
        Such as "holds", "holds in part", "does not hold", "not measured".
    """

    paper: str
    measured: str
    verdict: str


@dataclass(frozen=True)
class OpenPoint:
    """Something the paper leaves open, and what was chosen."""

    silent: str
    chosen: str


@dataclass(frozen=True)
class Picture:
    """A figure that was written as ``name``.png and ``name``.pdf."""

    name: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Numbers for the page: cells are shown as they are, so format them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Outcome:
    """What an experiment found.

    Attributes
    ----------
    results : dict
        For the JSON: dicts, lists, arrays, numbers, strings.
    statements, choices, pictures, tables : sequences
        For the page.
    notes : sequence of str
        Paragraphs at the top of the page, such as a warning.
    """

    results: dict[str, Any]
    statements: Sequence[Statement]
    choices: Sequence[OpenPoint] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = field(default=())


def page(title: str, summary: str, report: Outcome, origin: Mapping[str, Any]) -> str:
    """The page in Markdown.

    Parameters
    ----------
    title, summary : str
    report : Outcome
    origin : mapping
        Experiment, versions, seed, size, parameters and data, as in the JSON.
    """
    parts = [f"# {title}", *filter(None, [summary]), *report.notes]
    parts += [table(("the paper states", "measured here", "verdict"), _rows(report.statements))]
    for picture in report.pictures:
        parts += [
            f"![{picture.caption}]({picture.name}.png)",
            f"*{picture.caption}* ([PDF]({picture.name}.pdf))",
        ]
    for numbers in report.tables:
        parts += [f"## {numbers.title}", table(numbers.columns, numbers.rows)]
    if report.choices:
        chosen = [(choice.silent, choice.chosen) for choice in report.choices]
        parts += ["## Where the paper is silent", table(("left open", "chosen here"), chosen)]
    return "\n\n".join([*parts, *_origin(origin)]) + "\n"


def _rows(statements: Sequence[Statement]) -> list[tuple[str, str, str]]:
    return [(one.paper, one.measured, f"**{one.verdict}**") for one in statements]


def _origin(origin: Mapping[str, Any]) -> list[str]:
    parameters = [(f"`{key}`", _value(value)) for key, value in origin["parameters"].items()]
    made = ", ".join(f"{package} {version}" for package, version in origin["versions"].items())
    flag = {"quick": " --quick", "full": " --full"}.get(origin["size"], "")
    data = [(f"`{file}`", f"`{checksum}`") for file, checksum in origin["data"].items()]
    return [
        "## Parameters",
        table(("parameter", "value"), [("`seed`", str(origin["seed"])), *parameters]),
        "## How this was made",
        f"`whyodd paper {origin['experiment']}{flag} --seed {origin['seed']}` with {made}. "
        f"All numbers: [{origin['experiment']}.json]({origin['experiment']}.json).",
        *([table(("data", "SHA-256"), data)] if data else ["No data from files."]),
    ]


def _value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Table in Markdown.

    Examples
    --------
    >>> from whyodd.experiments.page import table
    >>> print(table(("method", "area"), [("DTD", "0.45"), ("a|b", "0.69")]))
    | method | area |
    | --- | --- |
    | DTD | 0.45 |
    | a\|b | 0.69 |
    """
    return "\n".join(map(_line, (columns, ["---"] * len(columns), *rows)))


def _line(cells: Sequence[str]) -> str:
    """A row; bars and line breaks inside a cell would end it."""
    inside = (" ".join(cell.split()).replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(inside)} |"
