"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Draft to write to, beside ``path`` and with its ending; takes its place at the end of the block.

    If the block fails there is no trace of the draft, and what was at ``path`` is still there.
    """
    draft = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}. Write to another place.") from error
    finally:
        draft.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Folder to write to, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"cannot make the folder {folder}: {error.strerror}. Choose another place.") from error


def save_figure(figure: Any, path: Path, dots_per_inch: int) -> None:
    """Write a figure of matplotlib; the same bytes for the same figure, so no date in a PDF."""
    metadata = {"CreationDate": None} if path.suffix == ".pdf" else None
    with replacing(path) as draft, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters of a name that the font does not have
        figure.savefig(draft, dpi=dots_per_inch, metadata=metadata)
