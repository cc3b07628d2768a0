"""From items to fitted models: patches are drawn, a model is fitted to them, and scales are balanced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from whyodd.adapters.neuralize import neuralize
from whyodd.patches.scale import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.network.distance_network import DistanceNetwork
    from whyodd.patches.scale import View

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]

# Training patches that tell how odd a usual one is.
_SOME = 2048


def fit_scale(model: Any, view: View, items: Sequence[Floats], most: int, random: Any) -> Scale:
    """Fit ``model`` to up to ``most`` patches of the items (*shape, C), drawn at random."""
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
            f"{int(whole.sum())} of {len(whole)} patches are without gaps (NaN, jumps in time): at least two "
            "are needed to train on. Fill the gaps, or use a smaller patch."
        )
    patches, owners, windows = patches[whole], owners[whole], windows[whole]
    fitted = model.fit(patches)
    network = neuralize(fitted)
    return Scale(view, fitted, network, owners, windows, usual=_usual_outlierness(network, patches))


def _draw(windows: int, most: int, random: Any) -> Indices:
    """Numbers of up to ``most`` of the windows, ascending; all together are never made."""
    if windows <= most:
        return np.arange(windows)
    drawn = sample_without_replacement(windows, most, method="tracking_selection", random_state=random)
    return np.sort(drawn).astype(np.intp)


def _usual_outlierness(network: DistanceNetwork, patches: Floats) -> float:
    """Mean outlierness of some training patches, each without its own center."""
    own = np.full(len(patches), -1, dtype=np.intp)
    if network.rows is not None:
        own[network.rows] = np.arange(network.n_centers)
    some = slice(None, None, -(-len(patches) // _SOME))
    return float(network.outlierness(patches[some], own=own[some]).mean())


def balanced(scales: Sequence[Scale]) -> tuple[Scale, ...]:
    """Weights with which all scales have the same mean outlierness per pixel in training; the first has 1."""
    levels = [scale.usual_per_pixel for scale in scales]
    weights = [levels[0] / level if level > 0.0 else 1.0 for level in levels]
    return tuple(replace(scale, weight=weight) for scale, weight in zip(scales, weights, strict=True))
