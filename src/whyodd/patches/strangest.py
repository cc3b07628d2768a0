"""The strangest windows of an item, beside the most similar normal patches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from whyodd.patches.features.axes import along_both, cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from whyodd.patches.grid import Grid
    from whyodd.patches.scale import Scale

    Floats = NDArray[np.floating]
    # Of an item, and of what windows look at.
    Shapes = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class StrangePatch:
    """A window and the most similar normal patch.

    Attributes
    ----------
    start, stop : tuple of int
        First pixel (or time step) of the window in the item, and the one after its last, along each axis.
    outlierness : float
        o_t of the window.
    usual : float
        Mean outlierness of the training windows, each judged without itself, for comparison.
    relevance : ndarray of shape (C,)
        Relevance of each channel inside the window, from all windows that overlap it.
    values, nearest : ndarray of shape (*patch, C)
        What the window holds, and the center with the largest assignment, as the model sees them.
    training_item : int or None
        Training item that the normal patch comes from, if the model knows.
    training_start, training_stop : tuple of int or None
        Where in that image the normal patch is, as ``start`` and ``stop``; None for series.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    outlierness: float
    usual: float
    relevance: NDArray[np.float64]
    values: Floats
    nearest: Floats
    training_item: int | None
    training_start: tuple[int, ...] | None = None
    training_stop: tuple[int, ...] | None = None

    @property
    def difference(self) -> Floats:
        """The difference of the window from the normal patch: ``values - nearest``."""
        return self.values - self.nearest


def strangest_windows(
    scale: Scale,
    values: Floats,
    relevance: NDArray[np.float64],
    scores: NDArray[np.float64],
    twin: int | None,
    k: int = 1,
    training_shapes: Sequence[Shapes] = (),
) -> list[StrangePatch]:
    """The ``k`` windows of an item that hold most of its ``relevance`` (*shape, C), side by side.

    ``values`` (h, w, F) are of the item's own shape, or features of it; ``training_shapes`` are both shapes
    of each item of the fit.

    They are where a heatmap is hottest. The window with the highest of the ``scores`` o_t may be another one:
    what is odd there is not always in single pixels. Beside the first there are only such as have relevance,
    and overlap none before them.
    """
    seen = scale.view.reduced(values)
    grid = scale.view.grid(values.shape[:-1])
    shapes = relevance.shape[:-1], values.shape[:-1]
    on_places = relevance if shapes[0] == shapes[1] else _on_places(relevance, shapes[1])
    inside = np.where(np.isnan(scores), -np.inf, scale.relevance_in_windows(on_places))
    windows = np.array(list(islice(_apart(inside, grid), k)))
    patches = grid.extract(seen, windows)
    own = None if twin is None else scale.own_centers(twin, len(grid))
    centers = scale.network.nearest(patches, 1, own=None if own is None else own[windows])[0][:, 0]
    shape = (*scale.view.patch, seen.shape[-1])
    found = []
    for window, patch, center in zip(windows.tolist(), patches, centers.tolist(), strict=True):
        start, stop = _within(grid.corner(window), scale, shapes)
        here = tuple(slice(*ends) for ends in zip(start, stop, strict=True))
        origin = scale.training_item(center)
        from_start, from_stop = _training_place(scale, center, training_shapes)
        found.append(
            StrangePatch(
                start=start,
                stop=stop,
                outlierness=float(scores.ravel()[window]),
                usual=scale.weight * scale.usual,
                relevance=relevance[here].reshape(-1, relevance.shape[-1]).sum(axis=0),
                values=patch.reshape(shape),
                nearest=np.asarray(scale.network.centers[center]).reshape(shape),
                training_item=origin,
                training_start=from_start,
                training_stop=from_stop,
            )
        )
    return found


def _apart(inside: NDArray[np.float64], grid: Grid) -> Iterator[int]:
    """Windows sorted by content (windows along each axis), without those that overlap an earlier one."""
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


def _on_places(relevance: NDArray[np.float64], places: tuple[int, ...]) -> NDArray[np.float64]:
    """Relevance of pixels (H, W, C) summed over the cell of each place (h, w, C)."""
    rows, columns = (cells(*sizes) for sizes in zip(relevance.shape[:2], places, strict=True))
    # Shares of a pixel in the cells sum to 1.
    shares = [matrix / matrix.sum(axis=1, keepdims=True) for matrix in (rows, columns)]
    return np.asarray(along_both(shares[0].T, relevance, shares[1].T))


def _training_place(
    scale: Scale, center: int, training_shapes: Sequence[Shapes]
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """First pixel of a center in its training image, and the one after its last; None if unknown."""
    item, window = scale.training_item(center), scale.training_window(center)
    if item is None or window is None or len(training_shapes) <= item or len(scale.view.patch) != 2:
        return None, None
    shapes = training_shapes[item]
    return _within(scale.view.grid(shapes[1]).corner(window), scale, shapes)


def _within(corner: tuple[int, ...], scale: Scale, shapes: Shapes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Pixels of a window inside the item, from the place of its first one at the scale's own size.

    ``shapes`` are those of the item and of what the windows look at: its pixels, or places with features.
    """
    size, patch = scale.view.size, scale.view.patch
    start, stop = [], []
    for first, width, length, seen in zip(corner, patch, *shapes, strict=True):
        begin, end = max(size * first, 0), min(size * (first + width), seen)
        start.append(begin * length // seen)
        stop.append(-(-end * length // seen))
    return tuple(start), tuple(stop)
