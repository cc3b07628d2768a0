"""The finished part of a long run, line by line on disk, so that an interrupted run can continue."""

from __future__ import annotations

import hashlib
import json
import secrets
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from whyodd.io.atomic import replacing
from whyodd.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path


class Journal:
    """The finished part of a run: a line of JSON for each finished item, kept until the run is complete.

    Parameters
    ----------
    path : path
        Where it is written.
    key : str
        What the run depends on: another key starts over.
    fields : collection of str
        What each line has.
    """

    def __init__(self, path: Path, key: str, fields: Collection[str]) -> None:
        self.path, self._key, self._fields = path, key, frozenset(fields)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Lines of an earlier run with the same key, one at a time; an incomplete line is left out."""
        with suppress(OSError, ValueError), self.path.open(encoding="utf-8") as file:
            if json.loads(next(file, "")) != {"key": self._key}:
                return
            for line in file:
                found = _parsed(line)
                if isinstance(found, dict) and self._fields <= found.keys():
                    yield found

    @contextmanager
    def writing(self, lines: Iterable[dict[str, Any]]) -> Iterator[Callable[..., None]]:
        """Keep ``lines`` of an earlier run, and append others; each is on disk at once.

        The block gets a function that adds one line or several.
        """
        with replacing(self.path) as draft, draft.open("x", encoding="utf-8") as file:
            file.writelines(map(_written, chain([{"key": self._key}], lines)))
        with self.path.open("a", encoding="utf-8") as file:

            def add(*more: dict[str, Any]) -> None:
                file.write("".join(map(_written, more)))
                file.flush()

            yield add

    def done(self) -> None:
        """Delete it, because the run is complete."""
        self.path.unlink(missing_ok=True)


def _written(line: dict[str, Any]) -> str:
    return f"{json.dumps(line)}\n"


def _parsed(line: str) -> Any:
    with suppress(ValueError):
        return json.loads(line)
    return None


def run_key(files: Sequence[Path], settings: dict[str, Any]) -> str:
    """A key that is equal for runs with the same files and the same settings."""
    told = {"version": __version__, "files": [[file.name, stamp(file)] for file in files], **settings}
    return hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=16).hexdigest()


def stamp(file: Path) -> str:
    """A value that changes with the file; for a pipe it is different every time."""
    if not file.is_file():
        return secrets.token_hex(16)
    found = file.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"
