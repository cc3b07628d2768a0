"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import re
import secrets
import warnings
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of a name, at its end: file systems allow 255 bytes, and a letter may take four.
_MOST_LETTERS = 50


class CannotWriteError(OSError):
    """A file cannot be written; says which, and why."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Draft to write to, beside ``path`` and with its ending; takes its place at the end of the block.

    If the block fails there is no trace of the draft, and what was at ``path`` is still there. A link stays
    one: what it leads to is replaced. A device or a pipe is not replaced by a file.
    """
    target = Path(os.path.realpath(path))
    if not is_replaceable(target):
        raise _cannot_write(path, "it is a device or a pipe, not a file")
    draft = target.with_name(draft_name(target.name))
    try:
        yield draft
        draft.replace(target)
    except CannotWriteError:
        raise  # of another file that is written at the same time
    except OSError as error:
        raise _cannot_write(path, str(error.strerror or error)) from error
    finally:
        with suppress(OSError):  # such as on a read-only disk: it would hide the real error
            draft.unlink()


def _cannot_write(path: Path, why: str) -> CannotWriteError:
    return CannotWriteError(f"cannot write {path}: {why}. Choose another place.")


def draft_name(name: str) -> str:
    """A hidden name with the same ending, unique, because threads may write to the same place at once."""
    return f".{os.getpid()}.{secrets.token_hex(4)}.{name[-_MOST_LETTERS:]}"


def forget_drafts(path: Path) -> None:
    """Remove drafts of a file left by processes that were killed."""
    for draft in path.parent.glob(f".*.*.{escape(path.name[-_MOST_LETTERS:])}"):
        owner = re.fullmatch(r"\.(\d+)\.[0-9a-f]{8}\..*", draft.name)
        if owner is not None and not _is_running(int(owner[1])):
            draft.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's file
        return True
    return True


def is_replaceable(path: Path) -> bool:
    """Whether ``path`` is free, a file or a folder: a file never replaces a device."""
    return not path.exists() or path.is_file() or path.is_dir()


def make_folder(folder: Path) -> None:
    """Folder to write to, made if necessary."""
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
