"""Rows to call a function with: normal ones, small moves of them, and mixtures with rows to explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Size of small moves, in scales of each column.
_MOVE = 0.3
# Normal rows that are nearest to a row, of which one is mixed with it as often as any normal row.
_NEAR = 5


@dataclass(frozen=True)
class Drawn:
    """Rows to call a function with.

    Attributes
    ----------
    rows : ndarray of shape (k, d)
    source : ndarray of int of shape (k,)
        The row that each is a mixture of; -1 of normal rows and their moves.
    """

    rows: Floats
    source: Indices

    @classmethod
    def joined(cls, parts: list[Drawn]) -> Drawn:
        """Several draws as one."""
        return cls(np.concatenate([part.rows for part in parts]), np.concatenate([p.source for p in parts]))


def moved(normal: Floats, scale: Floats, count: int, random: np.random.Generator) -> Drawn:
    """Normal rows, each moved slightly in all columns."""
    chosen = normal[random.integers(0, len(normal), count)]
    rows = chosen + _MOVE * scale * random.normal(size=chosen.shape)
    return Drawn(rows, np.full(count, -1))


def mixed(
    x: Floats, source: int, normal: Floats, scale: Floats, count: int, random: np.random.Generator
) -> Drawn:
    """Mixtures of one row (d,) with normal rows: some variables from it, all others from a normal row.

    A third has a single variable of the row, each variable in turn, a third all but one, and a third any
    number: what one variable does alone, and what is gone without it, shows most of its part. The normal row
    is one of the nearest half of the time, so that variables that depend on each other still do.
    """
    d = x.size
    third = count // 3
    sizes = random.integers(1, d, count) if d > 1 else random.integers(0, 2, count)
    order = np.argsort(np.argsort(random.random((count, d)), axis=1), axis=1)
    is_its_own = order < sizes[:, None]
    if d > 1:
        turns = -(-2 * third // d)
        single = np.concatenate([random.permutation(d) for _ in range(turns)] or [np.empty(0, dtype=int)])
        alone = np.arange(d) == single[: 2 * third, None]
        is_its_own[:third], is_its_own[third : 2 * third] = alone[:third], ~alone[third:]
    near = np.argsort((((normal - x) / scale) ** 2).sum(axis=1), kind="stable")[:_NEAR]
    others = np.where(
        random.random(count) < 0.5, random.integers(0, len(normal), count), random.choice(near, count)
    )
    return Drawn(np.where(is_its_own, x, normal[others]), np.full(count, source))
