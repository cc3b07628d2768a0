"""``whyodd models``: which fitted detectors are explained, and how exactly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyodd.cli.table_options import AsJson  # noqa: TC001 - typer reads it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.adapters.catalogue import Entry

_HEADINGS = ("model", "exactness", "what is explained")
_WIDE = 10_000  # for output to another program: no line is broken


def models(
    name: Annotated[str, typer.Argument(help="Part of a model's name, such as forest.")] = "",
    as_json: AsJson = False,
) -> None:
    """List which fitted detectors of scikit-learn, PyOD and others whyodd explains, and how exactly.

    Example: whyodd models forest
    """
    # Here, so that `whyodd --help` need not wait for scikit-learn.
    from whyodd.adapters.catalogue import catalogue

    found = [entry for entry in catalogue() if name.lower() in entry.model.lower()]
    if not found:
        raise ValueError(
            f"No known model has {name!r} in its name. Any function that scores rows can be explained: "
            "whyodd.explain(function, X, normal=rows)."
        )
    if as_json:
        typer.echo(json.dumps([entry._asdict() for entry in found]))
        return
    show(found, Console())


def show(found: Sequence[Entry], console: Console) -> None:
    """Print a line per model, unexplained ones in another colour; plain lines in a pipe."""
    if not console.is_terminal:
        console = Console(width=_WIDE)
    view = Table(*_HEADINGS, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for entry in found:
        cells = (entry.model, entry.exactness, entry.explains)
        view.add_row(*map(Text, cells), style="dim" if entry.exactness == "cannot" else "")
    console.print(view)
