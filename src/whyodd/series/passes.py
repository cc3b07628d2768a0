"""Windows of one view against the normal windows nearest to them: relevance of each step and channel."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from whyodd.maths.hard_poolings import Nearest
from whyodd.network.distance_network import DistanceNetwork
from whyodd.series.windows import covered, thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.series.views import View

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]

# Nearest windows in the mean distance.
NEIGHBORS = 5
# Normal windows that others are compared with, and numbers in them, at most.
_CENTERS, _NUMBERS = 4_000, 20_000_000
# Numbers in the windows that are processed at once.
_BLOCK = 4_000_000
# Stretches of a series, each judged by the others.
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Looks:
    """The result of a pass over windows of one length.

    Attributes
    ----------
    starts : ndarray of int of shape (n,)
        First step of each window.
    relevance : ndarray of shape (n, C)
        Relevance of each channel in each window.
    at_steps : ndarray of shape (G, C)
        Relevance of each channel at each step itself, the mean over the windows that cover it; 0 if none.
    """

    starts: Indices
    relevance: Floats
    at_steps: Floats


def network_of(values: Floats, starts: Indices, view: View) -> DistanceNetwork:
    """Mean distance to the nearest of the normal windows at ``starts``."""
    most = max(min(_CENTERS, _NUMBERS // (view.width * values.shape[1])), 2)
    centers = view.centers(values, thinned(starts, most))
    return DistanceNetwork(centers, pooling=Nearest.mean(min(NEIGHBORS, len(centers))))


def look(
    values: Floats,
    starts: Indices,
    view: View,
    networks: Iterator[tuple[slice, DistanceNetwork]],
    report: Callable[[int], None],
) -> Looks:
    """Relevance of the windows at ``starts``; ``networks`` says which windows each network judges."""
    width, n_channels = view.width, values.shape[1]
    relevance, at_steps = np.zeros((len(starts), n_channels)), np.zeros(values.shape)
    size = max(_BLOCK // (width * n_channels), 1)
    for part, network in networks:
        for first in range(part.start, part.stop, size):
            some = slice(first, min(first + size, part.stop))
            found = network.decompose(view.rows(values, starts[some])).relevance.astype(np.float64)
            relevance[some] = found.reshape(some.stop - some.start, -1, n_channels).sum(axis=1)
            parts = view.at_steps(values, starts[some], found)
            for offset in range(width):
                at_steps[starts[some] + offset] += parts[:, offset]  # all starts differ
            report(some.stop - some.start)
    at_steps /= np.maximum(covered(starts, width, len(values)), 1)[:, None]
    return Looks(starts, relevance, at_steps)


def by_all(
    values: Floats, learned: Indices, view: View, starts: Indices
) -> Iterator[tuple[slice, DistanceNetwork]]:
    """All windows are judged by the same normal ones, those at ``learned`` in the training values."""
    yield slice(0, len(starts)), network_of(values, learned, view)


def by_others(
    values: Floats, learned: Indices, view: View, starts: Indices
) -> Iterator[tuple[slice, DistanceNetwork]]:
    """Each of five stretches of a series is judged by the windows of others that share no step with it."""
    edges = np.quantile(starts, np.linspace(0.0, 1.0, FOLDS + 1))
    edges[-1] = starts[-1] + 1
    for low, high in pairwise(edges):
        part = slice(*np.searchsorted(starts, [low, high]))
        if part.start == part.stop:
            continue
        first, last = starts[part.start] - view.width, starts[part.stop - 1] + view.width
        yield part, network_of(values, learned[(learned <= first) | (learned >= last)], view)
