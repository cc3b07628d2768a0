"""A progress bar with the time left."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress_bar(total: int, doing: str) -> Iterator[Callable[[int], None]]:
    """Bar on standard error for the duration of the block; call what it yields with how many are done."""
    from rich.console import Console  # here, since only those who ask for a bar pay for the import
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(doing, total=total)
        yield lambda done: progress.update(task, completed=done)
