"""Output files of commands: checked before the work, listed after it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from whyodd.io.results import check_output
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from pathlib import Path

    # An option, the file it names, and the endings that it may have.
    Output = tuple[str, Path | None, tuple[str, ...]]

# Of a report.
PAGE_ENDINGS = (".html", ".htm")


def check_outputs(*outputs: Output, sources: tuple[Path | None, ...]) -> None:
    """Say before the work if a file cannot be written, or would replace an input."""
    known = {os.path.realpath(path) for path in sources if path is not None}
    for option, path, endings in outputs:
        if path is None:
            continue
        check_output(path, endings, option)
        if os.path.realpath(path) in known:
            raise ValueError(
                f"{option} {path} would replace a file that this command also reads or writes. "
                "Choose another name."
            )
        known.add(os.path.realpath(path))


def say_written(*paths: Path | None) -> None:
    """Say which files were written, if any."""
    names = [f"Written: {printable(str(path))}" for path in paths if path is not None]
    if names:
        typer.echo("\n" + "\n".join(names))
