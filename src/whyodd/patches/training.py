"""From items to fitted models: draw patches, fit a model to them, and balance scales."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.neuralize import neuralize
from whyodd.network.waist import center_of_rows, offers
from whyodd.patches.coreset import k_centers, radius
from whyodd.patches.scale import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.network.distance_network import DistanceNetwork
    from whyodd.patches.scale import View

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]

# Training patches that define how odd a usual one is.
_SOME = 2048
# Training items, and windows of each, that define how odd a usual item is.
_SOME_ITEMS, _WINDOWS_OF_EACH = 64, 64


def fit_scale(
    model: Any, view: View, items: Sequence[Floats], most: int, random: Any, coreset: int | None = None
) -> Scale:
    """Fit ``model`` to up to ``most`` patches of the items (*shape, C), drawn at random.

    Of these ``coreset`` are kept that lie far apart, or all of them.
    """
    seen = [view.reduced(values) for values in items]
    grids = [view.grid(values.shape[:-1]) for values in items]
    ends = np.cumsum([len(grid) for grid in grids])
    drawn = _draw(int(ends[-1]), most, random)
    owners = np.searchsorted(ends, drawn, side="right")
    windows = drawn - np.concatenate([[0], ends[:-1]])[owners]
    patches = np.concatenate([grids[i].extract(seen[i], windows[owners == i]) for i in np.unique(owners)])
    whole = ~np.isnan(patches).any(axis=1)
    if whole.sum() < 2:
        raise ValueError(
            f"{int(whole.sum())} of {len(whole)} patches are without gaps (NaN, jumps in time): expected at "
            "least two to train on. Fill the gaps, or use a smaller patch."
        )
    patches, owners, windows = patches[whole], owners[whole], windows[whole]
    kept = np.arange(len(patches)) if coreset is None else k_centers(patches, coreset, random)
    fitted = model.fit(patches[kept])
    network = _of_patches(fitted)
    return Scale(
        view,
        fitted,
        network,
        owners[kept],
        windows[kept],
        usual=_usual_outlierness(network, patches, kept),
        radius=0.0 if coreset is None else radius(patches, patches[kept]),
    )


def _of_patches(fitted: Any) -> Any:
    """The network of a model of patches, which must know what a window is compared with."""
    network = neuralize(fitted)
    if not offers(network, "neighbors", "leave_out", "work"):
        raise UnsupportedModelError(
            f"{type(fitted).__name__} does not compare patches with normal ones. Pass a detector that "
            "measures distances, such as whyodd.OneClassSVM()."
        )
    return network


def _draw(windows: int, most: int, random: Any) -> Indices:
    """Indices of up to ``most`` of the windows, ascending, without listing all windows."""
    if windows <= most:
        return np.arange(windows)
    drawn = sample_without_replacement(windows, most, method="tracking_selection", random_state=random)
    return np.sort(drawn).astype(np.intp)


def _usual_outlierness(network: DistanceNetwork, patches: Floats, kept: Indices) -> float:
    """Mean outlierness of some drawn patches, each without its own center; the model knows those ``kept``."""
    own = np.full(len(patches), -1, dtype=np.intp)
    if network.rows is not None:
        own[kept] = center_of_rows(network)
    some = slice(None, None, -(-len(patches) // _SOME))
    return float(network.outlierness(patches[some], own=own[some]).mean())


def balanced(scales: Sequence[Scale]) -> tuple[Scale, ...]:
    """Weights with which all scales have the same mean outlierness per pixel in training; the first has 1."""
    levels = [scale.usual_per_pixel for scale in scales]
    weights = [levels[0] / level if level > 0.0 else 1.0 for level in levels]
    return tuple(replace(scale, weight=weight) for scale, weight in zip(scales, weights, strict=True))


def usual_levels(scales: Sequence[Scale], items: Sequence[Floats]) -> NDArray[np.float64]:
    """Mean outlierness over some windows of some training items (*shape, C), each without its own patches."""
    some = np.unique(np.linspace(0, len(items) - 1, min(len(items), _SOME_ITEMS)).astype(int))
    return np.array([_level(scales, items[i], int(i)) for i in some])


def _level(scales: Sequence[Scale], values: Floats, item: int) -> float:
    """Mean over all windows of all scales, of which some are looked at; NaN if all of them hold a gap."""
    total = count = 0.0
    for scale in scales:
        grid = scale.view.grid(values.shape[:-1])
        windows = np.unique(np.linspace(0, len(grid) - 1, min(len(grid), _WINDOWS_OF_EACH)).astype(np.intp))
        patches = grid.extract(scale.view.reduced(values), windows)
        whole = ~np.isnan(patches).any(axis=1)
        if not whole.any():
            continue
        own = scale.own_centers(item, len(grid))
        left_out = None if own is None else own[windows[whole]]
        o = scale.network.outlierness(patches[whole], own=left_out)
        n_whole = len(grid) * float(whole.mean())
        total += scale.weight * n_whole * float(o.mean())
        count += n_whole
    return total / count if count else np.nan
