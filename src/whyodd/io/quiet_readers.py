"""Silences readers written in Rust, which print a panic on standard error before raising it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STANDARD_ERROR = 2


@contextmanager
def quiet() -> Iterator[None]:
    """Discard everything written to standard error during the block."""
    try:
        kept = os.dup(_STANDARD_ERROR)
    except OSError:  # it is closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, _STANDARD_ERROR)
        yield
    finally:
        os.dup2(kept, _STANDARD_ERROR)
        os.close(kept)
        os.close(nowhere)
