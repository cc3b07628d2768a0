"""Streams in and out: bytes read as they arrive, and lines appended whole."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Bytes read at once, and how many such reads may wait: some thousand rows at most.
_CHUNK, _MOST_CHUNKS = 1 << 20, 4
_STEP = 1 << 16  # in the search for the last line of a file


class Incoming:
    """Bytes of a stream, read by a separate thread while rows are judged."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._chunks: SimpleQueue[bytes | OSError | None] = SimpleQueue()
        self._room = threading.Semaphore(_MOST_CHUNKS)
        self.has_ended = False
        _widen(descriptor)
        threading.Thread(target=self._read, daemon=True).start()

    def take(self, *, wait: bool = True) -> bytes:
        """The bytes that arrived since the last call; waits for some, or for :meth:`wake`."""
        found = [self._chunks.get()] if wait else []
        while not self._chunks.empty():
            found.append(self._chunks.get())
        for chunk in found:
            if isinstance(chunk, OSError):
                raise chunk
            if chunk is not None:
                self._room.release()
                self.has_ended |= not chunk
        return b"".join(chunk for chunk in found if isinstance(chunk, bytes))

    def wake(self) -> None:
        """Wake a waiting caller; a signal handler may call this."""
        self._chunks.put(None)

    def _read(self) -> None:
        chunk: bytes | OSError = b" "
        while chunk and isinstance(chunk, bytes):
            self._room.acquire()
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError as error:
                chunk = error
            self._chunks.put(chunk)


def _widen(descriptor: int) -> None:
    """Enlarge a pipe's buffer if the system allows it: rows that wait there are judged together."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl  # not on Windows

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _CHUNK)


class Outgoing:
    """Lines of JSON, written at once.

    Parameters
    ----------
    path : path, optional
        File to append to; standard output by default. A last line that was torn when another process was
        killed is cut off.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.last: dict[str, Any] = {}
        self._descriptor = 1
        if path is not None:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            self.last = _cut_torn_line(self._descriptor, path)

    def write(self, records: list[dict[str, Any]]) -> None:
        """Write a line for each."""
        left = memoryview(b"".join(map(_DUMPS, records)))
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            if self.path is not None:
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            raise


def _cut_torn_line(descriptor: int, path: Path) -> dict[str, Any]:
    """The last whole line of a JSON lines file, which is cut after it; {} if there is none."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    tail, start = b"", end
    while start > 0 and tail.count(b"\n") < 2:
        size = min(_STEP, start)
        start -= size
        os.lseek(descriptor, start, os.SEEK_SET)
        tail = os.read(descriptor, size) + tail
    whole, newline, torn = tail.rpartition(b"\n")
    os.ftruncate(descriptor, end - len(torn))
    os.lseek(descriptor, 0, os.SEEK_END)
    if not newline:
        return {}
    try:
        last = json.loads(whole.rpartition(b"\n")[2])
    except ValueError:
        last = None
    if not isinstance(last, dict):
        raise ValueError(  # noqa: TRY004
            f"{path} was not written by whyodd watch: its last line is not JSON. Choose another file."
        )
    return last


def _dumps() -> Callable[[Any], bytes]:
    """The fastest installed writer of JSON; it adds a line end."""
    try:
        import orjson
    except ModuleNotFoundError:
        return lambda record: json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    return lambda record: orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


_DUMPS = _dumps()
