"""What every pass over rows is told, how to do its work, and what it fills in for each row."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Work:
    """How to do the work: threads, memory for blocks, whom to tell of progress, and what may be left out."""

    n_jobs: int | None = None
    memory_mb: float = 256.0
    progress: Callable[[int], None] | None = None
    # Share of a row's soft assignment that may be discarded where few centers then count.
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.memory_mb, Real) and self.memory_mb > 0):
            raise ValueError(f"memory_mb={self.memory_mb!r}: expected megabytes for work, above 0.")
        if not (isinstance(self.tolerance, Real) and 0.0 <= self.tolerance < 1.0):
            raise ValueError(
                f"tolerance={self.tolerance!r}: expected a share in [0, 1), 0 for exact results."
            )


@dataclass(frozen=True)
class Scores:
    """Per row: outlierness o, log g, the part of o that belongs to no variable, the part of p discarded."""

    outlierness: NDArray[np.float64]
    log_inlierness: NDArray[np.float64]
    unexplained: NDArray[np.float64]
    discarded: NDArray[np.float64]

    @classmethod
    def empty(cls, n: int) -> Scores:
        """Room for ``n`` rows; nothing is unexplained where nobody explains."""
        return cls(np.empty(n), np.empty(n), np.zeros(n), np.zeros(n))

    def put(self, index: NDArray[np.intp], other: Scores) -> None:
        """Write the scores of ``other`` at the rows ``index``."""
        self.outlierness[index] = other.outlierness
        self.log_inlierness[index] = other.log_inlierness
        self.unexplained[index] = other.unexplained
        self.discarded[index] = other.discarded
