"""A line on standard error that says how far training is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def training_progress(tol: float) -> Iterator[Callable[[int, float], None]]:
    """Yield a function of the number of steps and the violation, which shows them while training lasts."""
    with Console(stderr=True).status("Training ...") as status:
        yield lambda steps, violation: status.update(
            f"Training: {steps:,} steps, violation {violation:.1e} (done at {tol:.0e})"
        )
