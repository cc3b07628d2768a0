"""Progress with the time left: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Seconds between two lines.
_PATIENCE = 10.0


@contextmanager
def progress_bar(total: int, doing: str) -> Iterator[Callable[[int], None]]:
    """Bar on standard error for the duration of the block; call what it yields with how many are done.

    Where standard error is no terminal there is a line every ten seconds instead.
    """
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
    total: int, doing: str, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], None]:
    """Report of how many are done as lines on standard error: now and then, and at the end."""
    began = told = clock()

    def report(done: int) -> None:
        nonlocal told
        now = clock()
        if done >= total:
            print(f"{doing}: all {total:,} done", file=sys.stderr, flush=True)
        elif now - told >= _PATIENCE and done > 0:
            left = (now - began) * (total - done) / done
            print(f"{doing}: {done:,} of {total:,}, about {left:.0f} s left", file=sys.stderr, flush=True)
            told = now

    return report
