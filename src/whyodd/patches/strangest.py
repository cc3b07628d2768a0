"""The strangest windows of an item, beside the normal patches that are most like them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whyodd.patches.grid import Grid
    from whyodd.patches.scale import Scale

    Floats = NDArray[np.floating]


@dataclass(frozen=True)
class StrangePatch:
    """A window and the normal patch that is most like it.

    Attributes
    ----------
    start, stop : tuple of int
        First pixel (or time step) of the window in the item, and the one after its last, along each axis.
    outlierness : float
        o_t of the window.
    usual : float
        Mean outlierness of the training windows, each without itself: what to compare it with.
    relevance : ndarray of shape (C,)
        Relevance of each channel inside the window, from all windows that overlap it.
    values, nearest : ndarray of shape (*patch, C)
        What the window holds, and the center with the largest assignment, as the model sees them.
    training_item : int or None
        Item of the fit that the normal patch is from, if the model knows.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    outlierness: float
    usual: float
    relevance: NDArray[np.float64]
    values: Floats
    nearest: Floats
    training_item: int | None

    @property
    def difference(self) -> Floats:
        """What sets the window apart: ``values - nearest``."""
        return self.values - self.nearest


def strangest_windows(
    scale: Scale,
    values: Floats,
    relevance: NDArray[np.float64],
    scores: NDArray[np.float64],
    twin: int | None,
    k: int = 1,
) -> list[StrangePatch]:
    """The ``k`` windows of an item (*shape, C) that hold most of its ``relevance`` (*shape, C), side by side.

    They are where a heatmap is hottest. The window with the highest of the ``scores`` o_t may be another one:
    what is odd there is not always in single pixels. Beside the first there are only such as have relevance,
    and overlap none before them.
    """
    seen = scale.view.reduced(values)
    grid = scale.view.grid(values.shape[:-1])
    inside = np.where(np.isnan(scores), -np.inf, scale.relevance_in_windows(relevance))
    windows = np.array(list(islice(_apart(inside, grid), k)))
    patches = grid.extract(seen, windows)
    own = None if twin is None else scale.own_centers(twin, len(grid))
    centers = scale.network.nearest(patches, 1, own=None if own is None else own[windows])[0][:, 0]
    shape = (*scale.view.patch, seen.shape[-1])
    found = []
    for window, patch, center in zip(windows.tolist(), patches, centers.tolist(), strict=True):
        start, stop = _within(grid.corner(window), scale, values.shape[:-1])
        here = tuple(slice(*ends) for ends in zip(start, stop, strict=True))
        found.append(
            StrangePatch(
                start=start,
                stop=stop,
                outlierness=float(scores.ravel()[window]),
                usual=scale.weight * scale.usual,
                relevance=relevance[here].reshape(-1, shape[-1]).sum(axis=0),
                values=patch.reshape(shape),
                nearest=np.asarray(scale.network.centers[center]).reshape(shape),
                training_item=scale.training_item(center),
            )
        )
    return found


def _apart(inside: NDArray[np.float64], grid: Grid) -> Iterator[int]:
    """Windows by what is inside (windows along each axis), the most first, without those that overlap one."""
    left = inside.copy()
    reach = [-(-width // grid.stride) - 1 for width in grid.patch]
    while True:
        window = int(np.argmax(left))
        yield window
        place = np.unravel_index(window, left.shape)
        left[tuple(slice(max(int(p) - r, 0), int(p) + r + 1) for p, r in zip(place, reach, strict=True))] = (
            0.0
        )
        if not left.max() > 0.0:
            return


def _within(
    corner: tuple[int, ...], scale: Scale, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Pixels of a window inside the item, from the place of its first one at the scale's own size."""
    size, patch = scale.view.size, scale.view.patch
    start = tuple(max(size * first, 0) for first in corner)
    ends = (size * (first + width) for first, width in zip(corner, patch, strict=True))
    return start, tuple(min(end, length) for end, length in zip(ends, shape, strict=True))
