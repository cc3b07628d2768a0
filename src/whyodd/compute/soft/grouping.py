"""Clusters of centers far apart: each gets an origin of its own, or distances within it would drown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_GROUPS = 16


def group_far_apart(
    points: NDArray[np.floating], origin: NDArray[np.float64], radius: float
) -> list[NDArray[np.intp]]:
    """Indices of groups of ``points`` (m, d), split at wide gaps until each fits into ``radius``.

    A part whose extent exceeds the radius is cut at the widest gap of its longest variable if that gap is at
    least a third of the extent; a cloud without such gaps stays one group.
    """
    done: list[NDArray[np.intp]] = []
    todo = [np.arange(points.shape[0])]
    if _extent_from(points, origin) <= radius:
        return todo
    while todo:
        part = todo.pop()
        halves = _cut(points, part, radius) if len(done) + len(todo) + 2 <= MAX_GROUPS else None
        if halves is None:
            done.append(part)
        else:
            todo.extend(halves)
    return done


def _extent_from(points: NDArray[np.floating], origin: NDArray[np.float64]) -> float:
    return float(max(np.max(points.max(axis=0) - origin), np.max(origin - points.min(axis=0))))


def _cut(
    points: NDArray[np.floating], part: NDArray[np.intp], radius: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    members = points[part]
    extents = members.max(axis=0) - members.min(axis=0)
    longest = int(np.argmax(extents))
    if part.size < 2 or extents[longest] <= radius:
        return None
    values = members[:, longest]
    ascending = np.argsort(values, kind="stable")
    gaps = np.diff(values[ascending])
    widest = int(np.argmax(gaps))
    if gaps[widest] < extents[longest] / 3.0:
        return None
    return part[ascending[: widest + 1]], part[ascending[widest + 1 :]]
