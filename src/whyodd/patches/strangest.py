"""The strangest window of an item, beside the normal patch that is most like it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def strangest_window(
    scale: Scale,
    values: Floats,
    relevance: NDArray[np.float64],
    scores: NDArray[np.float64],
    twin: int | None,
) -> StrangePatch:
    """The window of an item (*shape, C) that holds most of its ``relevance`` (*shape, C).

    That is where a heatmap is hottest. The window with the highest of the ``scores`` o_t may be another one:
    what is odd there is not always in single pixels.
    """
    seen = scale.view.reduced(values)
    grid = scale.view.grid(values.shape[:-1])
    inside = np.where(np.isnan(scores), -np.inf, scale.relevance_in_windows(relevance))
    window = int(np.argmax(inside))
    patch = grid.extract(seen, np.array([window]))
    own = None if twin is None else scale.own_centers(twin, len(grid))
    center = int(scale.network.nearest(patch, 1, own=None if own is None else own[[window]])[0][0, 0])
    shape = (*scale.view.patch, seen.shape[-1])
    start, stop = _within(grid.corner(window), scale, values.shape[:-1])
    here = tuple(slice(*ends) for ends in zip(start, stop, strict=True))
    return StrangePatch(
        start=start,
        stop=stop,
        outlierness=float(scores.ravel()[window]),
        usual=scale.weight * scale.usual,
        relevance=relevance[here].reshape(-1, shape[-1]).sum(axis=0),
        values=patch.reshape(shape),
        nearest=np.asarray(scale.network.centers[center]).reshape(shape),
        training_item=scale.training_item(center),
    )


def _within(
    corner: tuple[int, ...], scale: Scale, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Pixels of a window inside the item, from the place of its first one at the scale's own size."""
    size, patch = scale.view.size, scale.view.patch
    start = tuple(max(size * first, 0) for first in corner)
    ends = (size * (first + width) for first, width in zip(corner, patch, strict=True))
    return start, tuple(min(end, length) for end, length in zip(ends, shape, strict=True))
