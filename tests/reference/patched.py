"""A model on patches as plain loops over windows, places, pixels and blocks: slow, and independent of whyodd.

Written from the formulas alone (design, section 2, "Sequences"): every window is one row for the method
(``pooled``), O is the sum over windows, relevance of a place goes to the pixel that stands there, or that the
padding there copies, or to what is unexplained. Of a fitted scale only parameters are read. Items have their
channels last: (H, W, C) or (T, C).
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from reference import pooled


class Patched(NamedTuple):
    """Relevance in the shape of the item, what belongs to no pixel, O, and o of every window in order."""

    relevance: Any
    unexplained: float
    outlierness: float
    scores: list[float]


def explain(item: Any, scales: Any, twin: int | None = None) -> Patched:
    """Everything about one item, summed over scales; ``twin`` is the training item whose patches it has."""
    parts = [_explain_at(np.asarray(item), scale, twin) for scale in scales]
    return Patched(
        relevance=sum(part.relevance for part in parts),
        unexplained=sum(part.unexplained for part in parts),
        outlierness=sum(part.outlierness for part in parts),
        scores=[score for part in parts for score in part.scores],
    )


def _explain_at(item: Any, scale: Any, twin: int | None) -> Patched:
    view = scale.view
    seen = reduce(item, view.size)
    relevance, unexplained, scores = np.zeros(seen.shape), 0.0, []
    places = windows(seen.shape[:-1], view.patch, view.stride, view.border)
    for number, window in enumerate(places):
        patch = contents(seen, window)
        if any(math.isnan(value) for value in patch):
            scores.append(math.nan)
            continue
        own = -1 if twin is None else own_center(scale, twin, number)
        row = pooled.explain_network([patch], scale.network, own=[own])
        scores.append(scale.weight * float(row.outlierness[0]))
        unexplained += float(row.unexplained[0])
        parts = iter(row.relevance[0])
        for pixel in window:
            for channel in range(seen.shape[-1]):
                if pixel is None:
                    unexplained += float(next(parts))
                else:
                    relevance[(*pixel, channel)] += next(parts)
    return Patched(
        relevance=scale.weight * spread(relevance, view.size, item.shape),
        unexplained=scale.weight * unexplained,
        outlierness=sum(score for score in scores if not math.isnan(score)),
        scores=scores,
    )


def own_center(scale: Any, item: int, window: int) -> int:
    """The center that is this window of this training item; -1 if none is."""
    if scale.network.rows is None:
        return -1
    for center, row in enumerate(scale.network.rows):
        if scale.items[row] == item and scale.windows[row] == window:
            return center
    return -1


def windows(shape: Any, patch: Any, stride: int, border: str) -> list[list[tuple[int, ...] | None]]:
    """Of every window, in order, the pixel at each of its places: None where the padding copies none."""
    along = [_windows_along(n, width, stride, border) for n, width in zip(shape, patch, strict=True)]
    found = []
    for steps in itertools.product(*along):
        places = itertools.product(*steps)
        found.append([None if None in place else place for place in places])
    return found


def _windows_along(length: int, width: int, stride: int, border: str) -> list[list[int | None]]:
    before, after = (0, 0) if border == "valid" else ((width - 1) // 2, width // 2)
    found, start = [], -before
    while start + width <= length + after:
        found.append([copied(start + k, length, border) for k in range(width)])
        start += stride
    return found


def copied(i: int, length: int, border: str) -> int | None:
    """Where the value at place ``i`` comes from: itself inside, and the border's rule outside."""
    if 0 <= i < length:
        return i
    if border == "zero":
        return None
    if border == "edge" or length == 1:
        return 0 if i < 0 else length - 1
    while not 0 <= i < length:  # mirrored at the outermost pixels, which are not repeated
        i = -i if i < 0 else 2 * (length - 1) - i
    return i


def contents(values: Any, window: Any) -> list[float]:
    """What stands in a window, place by place and channel by channel."""
    channels = range(values.shape[-1])
    return [0.0 if pixel is None else float(values[(*pixel, c)]) for pixel in window for c in channels]


def reduce(values: Any, size: int) -> Any:
    """Mean of each block of ``size`` pixels a side, of what is there of it at the end; NaN if one is."""
    shape = [math.ceil(length / size) for length in values.shape[:-1]]
    means = np.zeros((*shape, values.shape[-1]))
    for block in itertools.product(*map(range, shape)):
        members = _members(block, size, values.shape[:-1])
        for channel in range(values.shape[-1]):
            total = sum(float(values[(*pixel, channel)]) for pixel in members)
            means[(*block, channel)] = total / len(members)
    return means


def spread(relevance: Any, size: int, shape: Any) -> Any:
    """Relevance of each block in equal parts onto its pixels."""
    result = np.zeros(shape)
    for block in itertools.product(*map(range, relevance.shape[:-1])):
        members = _members(block, size, shape[:-1])
        for pixel in members:
            for channel in range(shape[-1]):
                result[(*pixel, channel)] = relevance[(*block, channel)] / len(members)
    return result


def _members(block: tuple[int, ...], size: int, shape: Any) -> list[tuple[int, ...]]:
    ranges = [range(size * b, min(size * (b + 1), n)) for b, n in zip(block, shape, strict=True)]
    return list(itertools.product(*ranges))
