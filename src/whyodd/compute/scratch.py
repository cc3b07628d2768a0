"""Memory for blocks, kept between calls: touching fresh memory costs as much as a matrix product on it."""

from __future__ import annotations

import math
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Memory that may stay unused: buffers of the usual blocks for a few threads.
_MAX_BYTES, _MAX_SPARE = 16 << 20, 8

_lock = Lock()
_spare: list[NDArray[np.uint8]] = []


@contextmanager
def scratch(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Uninitialised array for one thread, in reused memory if possible."""
    needed = math.prod(shape) * dtype.itemsize
    buffer = _take(needed)
    try:
        yield buffer[:needed].view(dtype).reshape(shape)
    finally:
        _give_back(buffer)


def _take(needed: int) -> NDArray[np.uint8]:
    with _lock:
        for i, buffer in enumerate(_spare):
            if needed <= buffer.nbytes:
                return _spare.pop(i)
    return np.empty(needed, dtype=np.uint8)


def _give_back(buffer: NDArray[np.uint8]) -> None:
    with _lock:
        if buffer.nbytes <= _MAX_BYTES and len(_spare) < _MAX_SPARE:
            _spare.append(buffer)
