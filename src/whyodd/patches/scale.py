"""A model of the patches of one size, at one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.network.waist import center_of_rows
from whyodd.patches.grid import Grid
from whyodd.patches.reduction import block_means, block_sums, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whyodd.network.distance_network import DistanceNetwork
    from whyodd.network.waist import Decomposition

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]

# Bytes of relevance of the windows explained at once.
_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class View:
    """How windows look at an item: their shape, stride, border, and scale."""

    patch: tuple[int, ...]
    stride: int
    border: str
    size: int

    def grid(self, shape: tuple[int, ...]) -> Grid:
        """Windows on an item of ``shape`` (channels not counted), at the view's own scale."""
        return Grid(tuple(-(-side // self.size) for side in shape), self.patch, self.stride, self.border)

    def reduced(self, values: Floats) -> Floats:
        """The item (*shape, C) as the windows see it."""
        return block_means(values, self.size)


@dataclass(frozen=True)
class Folded:
    """The result of one scale for one item.

    Attributes
    ----------
    relevance : ndarray of shape (*shape, C)
    unexplained : float
    scores : ndarray of shape (windows along each axis)
        o_t; NaN where a window holds a gap.
    discarded : float
        Largest share of a window's soft assignment that was left out.
    """

    relevance: NDArray[np.float64]
    unexplained: float
    scores: NDArray[np.float64]
    discarded: float


@dataclass(frozen=True)
class Scale:
    """A fitted model of the patches of one size, at one scale.

    Attributes
    ----------
    view : View
    model : fitted detector
    network : DistanceNetwork
    items, windows : ndarray of int of shape (n,)
        Which window of which training item each training patch was.
    usual : float
        Mean outlierness of a training patch, its own center left out.
    weight : float
        How much the outlierness of a window counts.
    radius : float
        Every patch that was drawn is within this distance of one that was kept: the distance to the nearest
        normal patch is too large by at most that. 0 if all were kept.
    """

    view: View
    model: Any
    network: DistanceNetwork
    items: Indices
    windows: Indices
    usual: float
    weight: float = 1.0
    radius: float = 0.0

    @property
    def coreset_text(self) -> str:
        """How much keeping few patches may change distances, in words; "" if all were kept."""
        if self.radius == 0.0:
            return ""
        return (
            f"The model kept {len(self.items):,} of the normal patches: distances to the nearest are too "
            f"large by at most {self.radius:.3g}."
        )

    @property
    def usual_per_pixel(self) -> float:
        """Mean outlierness over the pixels between one window and the next at this scale."""
        return self.usual / float(self.view.size) ** len(self.view.patch)

    def own_centers(self, item: int, n_windows: int) -> Indices | None:
        """(n_windows,) the center that each window of a training item is, -1 for none."""
        if self.network.rows is None:
            return None
        own = np.full(n_windows, -1, dtype=np.intp)
        mine = np.flatnonzero(self.items == item)
        own[self.windows[mine]] = center_of_rows(self.network)[mine]
        return own

    def training_window(self, center: int) -> int | None:
        """Window of its training item that a center is, if the model knows."""
        return None if self.network.rows is None else int(self.windows[self.network.rows[center]])

    def training_item(self, center: int) -> int | None:
        """Training item that a center is a patch of, if the model knows."""
        return None if self.network.rows is None else int(self.items[self.network.rows[center]])

    def explain(
        self,
        values: Floats,
        twin: int | None,
        report: Callable[[int], None],
        decompose: Callable[..., Decomposition],
    ) -> Folded:
        """Relevance of an item (*shape, C); ``twin`` is the training item that equals it.

        ``decompose(patches, own=...)`` explains windows (n, patch · C).
        """
        seen = self.view.reduced(values)
        grid = self.view.grid(values.shape[:-1])
        own = None if twin is None else self.own_centers(twin, len(grid))
        relevance = np.zeros((seen[..., 0].size, seen.shape[-1]))
        scores = np.full(len(grid), np.nan)
        unexplained = discarded = 0.0
        for windows, patches in blocks(grid, seen, report):
            parts = decompose(patches, own=None if own is None else own[windows])
            beside = grid.fold(parts.relevance, windows, relevance)
            scores[windows] = parts.outlierness
            unexplained += float(parts.unexplained.sum() + beside.sum())
            discarded = max(discarded, float(parts.discarded.max()))
        on_pixels = spread(relevance.reshape(seen.shape), self.view.size, values.shape[:-1])
        return Folded(
            self.weight * on_pixels,
            self.weight * unexplained,
            self.weight * scores.reshape(grid.counts),
            discarded,
        )

    def relevance_in_windows(self, relevance: Floats) -> NDArray[np.float64]:
        """Sum of relevance (*shape, C) that lies in each window, (windows along each axis)."""
        sums = block_sums(relevance, self.view.size)
        grid = self.view.grid(relevance.shape[:-1])
        inside = np.empty(len(grid))
        for windows, parts in blocks(grid, sums, lambda _: None):
            inside[windows] = parts.sum(axis=1)
        return inside.reshape(grid.counts)

    def score(self, values: Floats, twin: int | None, report: Callable[[int], None]) -> NDArray[np.float64]:
        """Outlierness of each window, as :meth:`explain` has it."""
        seen = self.view.reduced(values)
        grid = self.view.grid(values.shape[:-1])
        own = None if twin is None else self.own_centers(twin, len(grid))
        scores = np.full(len(grid), np.nan)
        for windows, patches in blocks(grid, seen, report):
            left_out = None if own is None else own[windows]
            scores[windows] = self.weight * self.network.outlierness(patches, own=left_out)
        return scores.reshape(grid.counts)


def blocks(grid: Grid, values: Floats, report: Callable[[int], None]) -> Iterator[tuple[Indices, Floats]]:
    """Windows without gaps and their content in ``values``, in batches; reports how many were seen."""
    width = 8 * len(grid.pixels(np.zeros(1, dtype=np.intp))[0]) * values.shape[-1]
    size = max(_BLOCK_BYTES // width, 1024)
    for start in range(0, len(grid), size):
        windows = np.arange(start, min(start + size, len(grid)))
        patches = grid.extract(values, windows)
        whole = ~np.isnan(patches).any(axis=1)
        if whole.all():
            yield windows, patches
        elif whole.any():
            yield windows[whole], patches[whole]
        report(len(windows))
