"""Normal points around a row, for methods that separate it from them: both in units of their spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import squared_norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Largest distance of a row from normal points, in standard deviations: squares of more would overflow.
_FARTHEST = 1e150


@dataclass(frozen=True)
class Surroundings:
    """Rows and normal points, each variable divided by its standard deviation among the normal points.

    A variable that does not vary keeps its unit.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
    normal : ndarray of shape (N, d)
    own : ndarray of int of shape (n,)
        The normal point that each row is itself, or -1.
    """

    rows: Floats
    normal: Floats
    own: Indices

    @classmethod
    def of(cls, task: Task, method: str) -> Surroundings:
        """The rows and normal points of a task."""
        are_centers = task.given is None and task.own is not None
        least = 3 if are_centers else 2
        n = len(task.normal)
        if n < least:
            raise ValueError(
                f"method={method!r} expected at least {least} normal points to compare with, got {n}. Pass "
                "some in options={'normal': rows}, for example the training rows."
            )
        center = task.weights @ task.normal
        spread = np.sqrt(task.weights @ (task.normal - center) ** 2)
        # Rounding in a variable that does not vary is not spread.
        unit = np.where(spread > 1e-12 * np.abs(center), spread, 1.0)
        own = task.own if are_centers else np.full(len(task.X), -1, dtype=np.intp)
        rows = (np.asarray(task.X) - center) / unit
        _check_distances(rows)
        return cls(rows, (task.normal - center) / unit, own)  # type: ignore[arg-type]

    def by_distance(self, row: int) -> tuple[Indices, Floats]:
        """Normal points by their distance from a row, itself left out, and the distances."""
        distances = np.sqrt(squared_norms(self.normal - self.rows[row]))
        order = np.argsort(distances, kind="stable")
        order = order[order != self.own[row]]
        return order, distances[order]


def _check_distances(rows: Floats) -> None:
    is_far = np.abs(rows).max(axis=1) > _FARTHEST
    if is_far.any():
        raise OverflowError(
            f"Row {int(np.argmax(is_far))} of X is so far from normal points that its squared distance "
            "exceeds the largest float. Check the row's values."
        )


def around(random: np.random.Generator, x: Floats, size: int, spread: float) -> Floats:
    """(size, d) the point itself and draws from a Gaussian around it."""
    points = np.tile(x, (size, 1))
    points[1:] += spread * random.standard_normal((size - 1, len(x)))
    return points
