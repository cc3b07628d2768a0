"""Feature flipping on images and series: a pixel is removed from every window that contains it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.flipping.removals import Removals, stages_of
from whyodd.evaluation.relevances import numbers
from whyodd.patches.scale import blocks
from whyodd.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.patches import PatchModel
    from whyodd.patches.items import Item
    from whyodd.patches.scale import Scale

    Floats = NDArray[np.floating]
    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Stages = NDArray[np.int32]

_CHECKPOINTS = 32
# Windows, each with every method, that are flipped at once.
_ROWS_AT_A_TIME = 8192


def flip_items(
    model: PatchModel,
    items: Any,
    methods: Mapping[str, Any],
    *,
    checkpoints: int | None,
    exclude_self: Any,
    single_values: bool,
    progress: bool,
    n_jobs: int | None,
) -> dict[str, Wide]:
    """O = Σ_t o_t of each item (n, S + 1) by each method, while pixels are removed in S steps."""
    given = model.read_items(items)
    steps = _CHECKPOINTS if checkpoints is None else int(checkpoints)
    lists = {name: _relevance_of(relevance, given) for name, relevance in methods.items()}
    twins = [
        {name: _twin(model, item, methods[name], i, exclude_self) for name in methods}
        for i, item in enumerate(given)
    ]
    total = len(methods) * sum(
        len(scale.view.grid(item.values.shape[:-1])) for item in given for scale in model.scales_
    )
    curves = np.zeros((len(methods), len(given), steps + 1))
    with progress_bar(total, "Flipping pixels") if progress else nullcontext() as told:
        done = 0

        def report(windows: int) -> None:
            nonlocal done
            done += windows * len(methods)
            if told is not None:
                told(done)

        for i, item in enumerate(given):
            values = model.prepared(item)
            stages = [
                _pixel_stages(lists[name][i], item, steps, single_values, f"relevance of item {i}")
                for name in methods
            ]
            for scale in model.scales_:
                curves[:, i] += _flip_item(
                    scale, values, stages, steps, list(twins[i].values()), report, n_jobs
                )
    return dict(zip(methods, curves, strict=True))


def _flip_item(
    scale: Scale,
    values: Floats,
    stages: Sequence[Stages],
    steps: int,
    twins: Sequence[int | None],
    report: Callable[[int], None],
    n_jobs: int | None,
) -> Wide:
    """Weighted Σ_t o_t (methods, S + 1) of one item at one scale."""
    grid = scale.view.grid(values.shape[:-1])
    parts = [_CellParts.of(by_pixel, scale.view.size, steps) for by_pixel in stages]
    owns = [_own_centers(scale, twin, len(grid)) for twin in twins]
    sums = np.zeros((len(stages), steps + 1))
    at_a_time = max(_ROWS_AT_A_TIME // len(stages), 1)
    for windows, patches in blocks(grid, scale.view.reduced(values), report):
        for start in range(0, len(windows), at_a_time):
            some = windows[start : start + at_a_time]
            cells = grid.pixels(some)
            X = np.tile(patches[start : start + at_a_time], (len(stages), 1))
            removals = _joined([part.of_windows(cells, steps) for part in parts])
            own = np.concatenate([own[some] for own in owns])
            curves = scale.network.flip(X, removals, own, n_jobs=n_jobs)
            sums += curves.reshape(len(stages), len(some), -1).sum(axis=1)
    return np.asarray(scale.weight * sums)


@dataclass(frozen=True)
class _CellParts:
    """When the pixels of each cell are removed; a cell is a pixel, or the block whose mean windows see.

    Attributes
    ----------
    stages, gains : ndarray of shape (cells + 1, C, parts)
        The step of each pixel of a cell, the last first, and what it adds to the square of the share that is
        left. The last cell stands for padding that copies none.
    """

    stages: Stages
    gains: Wide

    @classmethod
    def of(cls, by_pixel: Stages, size: int, steps: int) -> _CellParts:
        """``by_pixel`` (*shape, C), ``size`` pixels a side of a block."""
        cell, channels = _cells(by_pixel.shape[:-1], size), by_pixel.shape[-1]
        flat = by_pixel.reshape(-1, channels)
        counts = np.bincount(cell)
        shape = (counts.size + 1, channels, int(counts.max()))
        stages, gains = np.full(shape, steps, dtype=np.int32), np.zeros(shape)
        place = np.arange(cell.size) - np.repeat(np.cumsum(counts) - counts, counts)
        for c in range(channels):
            order = np.lexsort((-flat[:, c], cell))
            stages[cell[order], c, place] = flat[order, c]
            # With k of n pixels left the square of the share is (k / n)².
            gains[cell[order], c, place] = (2.0 * place + 1.0) / counts[cell[order]] ** 2
        gains[-1, :, 0] = 1.0
        return cls(stages, gains)

    def of_windows(self, cells: Indices, steps: int) -> Removals:
        """When each value of windows with these cells (n, patch) is removed; -1 for no cell."""
        n, (_, channels, parts) = len(cells), self.stages.shape
        columns = np.repeat(np.arange(cells.shape[1] * channels), parts)
        stages = self.stages[cells].reshape(n, -1)
        gains = np.ones((1, columns.size)) if parts == 1 else self.gains[cells].reshape(n, -1)
        return Removals(stages, steps, columns, gains)


def _cells(shape: tuple[int, ...], size: int) -> Indices:
    """(pixels,) which block of pixels each one is in."""
    blocks_along = [-(-side // size) for side in shape]
    places = np.indices(shape).reshape(len(shape), -1) // size
    return np.asarray(np.ravel_multi_index(tuple(places), blocks_along))


def _joined(removals: Sequence[Removals]) -> Removals:
    """The plans of several batches of rows, one after the other."""
    first = removals[0]
    gains = first.gains if len(first.gains) == 1 else np.concatenate([part.gains for part in removals])
    return Removals(np.concatenate([part.stages for part in removals]), first.steps, first.columns, gains)


def _own_centers(scale: Scale, twin: int | None, n_windows: int) -> Indices:
    own = None if twin is None else scale.own_centers(twin, n_windows)
    return np.full(n_windows, -1, dtype=np.intp) if own is None else own


def _pixel_stages(relevance: Any, item: Item, steps: int, single_values: bool, what: str) -> Stages:
    """(*shape, C) the step in which each value of an item is removed."""
    by_pixel = _by_pixel(numbers(relevance, what).astype(np.float64), item, single_values, what)
    order_by = by_pixel.reshape(1, -1) if single_values else by_pixel.sum(axis=1)[None]
    stages = stages_of(order_by, steps).reshape(len(by_pixel), -1)
    whole = np.broadcast_to(stages, (len(by_pixel), len(item.channels))).reshape(item.given.shape)
    # No window looks where time jumps.
    return np.maximum(item.as_values(whole.astype(np.float64)), 1.0).astype(np.int32)


def _by_pixel(relevance: Wide, item: Item, single_values: bool, what: str) -> Wide:
    """Relevance (pixels, C), or (pixels, 1) if channels are not distinguished."""
    shape, channels = item.given.shape, len(item.channels)
    has_channels = item.values.ndim == item.given.ndim
    if np.isnan(relevance).any():
        raise ValueError(f"The {what} has NaN in it, expected numbers to sort pixels by.")
    if relevance.shape == shape:
        return relevance.reshape(-1, channels)
    if has_channels and not single_values and relevance.shape == shape[:-1]:
        return relevance.reshape(-1, 1)
    raise ValueError(f"The {what} has shape {relevance.shape}, expected the item's shape, {shape}.")


def _relevance_of(relevance: Any, given: Sequence[Item]) -> Sequence[Any]:
    """One array for each item."""
    n = len(given)
    arrays: Any = getattr(relevance, "relevance", relevance)
    if not isinstance(arrays, (list, tuple, np.ndarray)):
        raise TypeError(
            "Expected relevance as a PatchExplanation or a list with one array per item, got "
            f"{type(relevance).__name__}. Pass one of these."
        )
    if n == 1 and isinstance(arrays, np.ndarray):
        arrays = arrays if arrays.shape[:1] == (1,) else arrays[None]
    if len(arrays) != n:
        raise ValueError(
            f"Expected one relevance array for each of {n} item(s), got {len(arrays)}. Pass one per item."
        )
    if _is_explanation(relevance) and not _are_same(relevance.items, given):
        raise ValueError(
            "relevance belongs to other items than these, or to the same items in another order. Pass the "
            "explained items."
        )
    return arrays  # type: ignore[no-any-return]


def has_windows(model: object) -> bool:
    """Whether a model cuts its input into windows, each with a score."""
    return hasattr(model, "score_map")


def _is_explanation(relevance: Any) -> bool:
    """Whether relevance comes with the items that it explains."""
    return hasattr(relevance, "twins")


def _are_same(some: Sequence[Item], others: Sequence[Item]) -> bool:
    pairs = zip(some, others, strict=True)
    return all(np.array_equal(one.values, two.values, equal_nan=True) for one, two in pairs)


def _twin(model: PatchModel, item: Item, relevance: Any, i: int, exclude_self: Any) -> int | None:
    """The training item whose patches are left out for this one."""
    if _is_explanation(relevance) and exclude_self == "auto":
        return relevance.twins[i]  # type: ignore[no-any-return]
    return model.twin_of(item, exclude_self)
