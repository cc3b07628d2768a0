"""Files that appear complete or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
        raise OSError(
            f"cannot write {path}: {error.strerror or error}. Write to another place (--out)."
        ) from error
    finally:
        draft.unlink(missing_ok=True)
