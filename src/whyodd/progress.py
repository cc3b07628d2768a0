"""Progress with the time left: a bar on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Listener = Callable[[str, int, int | None], None]

# Seconds between two lines.
_PATIENCE = 10.0
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def telling(listener: Listener) -> Iterator[None]:
    """Send the progress of this block to ``listener(doing, done, total)`` instead of standard error.

    Examples
    --------
    >>> from whyodd.progress import progress_bar, telling
    >>> with telling(lambda doing, done, total: print(f"{doing}: {done} of {total}")):
    ...     with progress_bar(3, "Counting") as told:
    ...         told(2)
    Counting: 2 of 3
    """
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


@contextmanager
def progress_bar(total: int | None, doing: str) -> Iterator[Callable[[int], None]]:
    """Bar on standard error during the block; call what it yields with the number done.

    Where standard error is no terminal there is a line every ten seconds instead. ``total``: None if nobody
    knows how many there are.
    """
    listener = _LISTENER.get()
    if listener is not None:
        yield lambda done: listener(doing, done, total)
        return
    from rich.console import Console  # here, since only those who ask for a bar pay for the import
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lines_of_progress(total, doing)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(doing, total=total)
        yield lambda done: progress.update(task, completed=done)


def lines_of_progress(
    total: int | None, doing: str, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], None]:
    """Report the number done as lines on standard error: occasionally, and at the end."""
    began = told = clock()

    def report(done: int) -> None:
        nonlocal told
        now = clock()
        if total is not None and done >= total:
            print(f"{doing}: all {total:,} done", file=sys.stderr, flush=True)
        elif now - told >= _PATIENCE and done > 0:
            rest = " done"
            if total is not None:
                rest = f" of {total:,}, about {(now - began) * (total - done) / done:.0f} s left"
            print(f"{doing}: {done:,}{rest}", file=sys.stderr, flush=True)
            told = now

    return report
