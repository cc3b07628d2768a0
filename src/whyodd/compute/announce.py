"""A log message while numba compiles: once per machine, then the cache on disk is used."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOG = logging.getLogger("whyodd")
_PATIENCE_SECONDS = 1.5
_seen: set[tuple[object, ...]] = set()


@contextmanager
def announced_compilation(*key: object) -> Iterator[bool]:
    """Yield whether ``key`` is new in this process; log a message if its first use takes long."""
    if key in _seen:
        yield False
        return
    timer = Timer(_PATIENCE_SECONDS, _LOG.warning, ["compiling for this machine: once, for some seconds ..."])
    timer.daemon = True
    timer.start()
    try:
        yield True
    finally:
        timer.cancel()
    _seen.add(key)
