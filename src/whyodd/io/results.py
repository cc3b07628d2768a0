"""Writes results as files: tables as CSV, TSV, Parquet or JSON lines, complete or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyodd.io.atomic import is_replaceable, replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _write_parquet(frame: Any, file: Any) -> None:
    # Not directly: on a full disk Polars would report a malformed file.
    content = BytesIO()
    frame.write_parquet(content)
    file.write(content.getbuffer())


# Ending -> how a Polars frame is written to a file.
_WRITERS: dict[str, Callable[[Any, Any], None]] = {
    ".csv": lambda frame, file: frame.write_csv(file),
    ".tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
    ".parquet": _write_parquet,
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
}
TABLE_ENDINGS = tuple(_WRITERS)


def check_output(path: Path, endings: Sequence[str], option: str) -> None:
    """Say before the work if a file cannot be written.

    Parameters
    ----------
    path : path
    endings : sequence of str
        Known ones; any will do if there are none.
    option : str
        Of the command line, to name in the message.
    """
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"{option} {path}: expected a name that ends in {' or '.join(endings)}.")
    if path.is_dir():
        raise IsADirectoryError(f"{option} {path} is a folder, expected the name of a file to write.")
    target = Path(os.path.realpath(path))  # the target of a link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{option} {path}: there is no folder {target.parent}. Make it first.")
    if not is_replaceable(target):
        raise OSError(f"{option} {path} is a device or a pipe, expected the name of a file to write.")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass  # trying is the only way to know: permissions do not show everything
    except OSError as error:
        raise OSError(
            f"{option} {path}: the folder {target.parent} cannot be written to "
            f"({error.strerror or error}). Choose another place."
        ) from None


def write_files(*files: tuple[Path, Callable[[Path], object]]) -> None:
    """Write files, each by a function that receives a draft; all of them appear complete, or none."""
    with ExitStack() as stack:
        for path, write in files:
            write(stack.enter_context(replacing(path)))


def put_table(frame: Any, draft: Path) -> None:
    """Write a Polars frame in the format of the ending of a new file, one of ``TABLE_ENDINGS``."""
    with draft.open("xb") as file:
        _WRITERS[draft.suffix.lower()](frame, file)


def put_text(text: str, draft: Path) -> None:
    """Write a text as UTF-8."""
    draft.write_text(text, encoding="utf-8")


def write_table(frame: Any, path: Path) -> None:
    """Write a Polars frame in the format of the ending of ``path``, one of ``TABLE_ENDINGS``."""
    write_files((path, partial(put_table, frame)))
