"""What relevance is compared with: edges, the difference from the nearest normal patch, and sensitivity.

All look at the same local contrast through the same windows, scales and network as the model that they are
compared with. Scales are balanced as that does it: each counts as much, per pixel, in training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.neighbors import NearestNeighbors

from whyodd.explainers.method import Task
from whyodd.explainers.methods.nearest import nearest
from whyodd.explainers.methods.sensitivity import slope
from whyodd.patches import local_contrast, sobel
from whyodd.patches.grid import Grid
from whyodd.patches.reduction import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd import DistanceNetwork, PatchModel
    from whyodd.patches.scale import Scale

# Windows whose distances to all centers are in memory at a time.
BLOCK = 256


class Rivals:
    """Heatmaps of the other methods.

    Parameters
    ----------
    model : PatchModel
        Fitted to the local contrast of grey images.
    tiles : sequence of ndarray of shape (H, W)
        What it was fitted to.
    """

    def __init__(self, model: PatchModel, tiles: Sequence[np.ndarray]) -> None:
        self.scales = model.scales_
        areas = np.array([scale.view.size**2 for scale in self.scales])
        values = [local_contrast(tile[..., None]) for tile in tiles]
        edges = [np.mean([sobel(s.view.reduced(v)).mean() for v in values]) for s in self.scales]
        self.usual_edges = np.array(edges) / areas
        self.usual_differences = [usual_difference(s.network.centers) for s in self.scales] / areas

    def edges(self, values: np.ndarray) -> np.ndarray:
        """Squared Sobel gradient of all scales (H, W) of a local contrast (H, W, 1)."""
        parts = [on_pixels(sobel(s.view.reduced(values)), s, values.shape[:2]) for s in self.scales]
        return np.tensordot(1.0 / self.usual_edges, parts, axes=1)

    def differences(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared differences from the nearest patch, and sensitivity (∂O/∂x)², of a local contrast x.

        O is the model's own outlierness, with its weights for the scales; a gradient goes back through a mean
        as relevance does, 1/n to each of n pixels.
        """
        shape = values.shape[:2]
        difference, gradient = np.zeros(shape), np.zeros(shape)
        for scale, usual in zip(self.scales, self.usual_differences, strict=True):
            by_cell = folded(scale, scale.view.reduced(values))
            difference += on_pixels(by_cell[0], scale, shape) / usual
            gradient += on_pixels(by_cell[1], scale, shape) * scale.weight
        return difference, gradient**2


def usual_difference(patches: np.ndarray) -> float:
    """Mean squared distance of a training patch to the nearest other one."""
    distances, _ = NearestNeighbors(n_neighbors=1).fit(patches).kneighbors()
    return float((distances**2).mean())


def on_pixels(cells: np.ndarray, scale: Scale, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of the cells of a scale in equal parts on their pixels (H, W)."""
    counts = [-(-length // scale.view.size) for length in shape]
    return spread(cells.reshape(*counts, 1), scale.view.size, shape)[..., 0]


def folded(scale: Scale, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Onto the cells: Σ_t (x_t - nearest patch)² and ∂O/∂x = Σ_t ∂o_t/∂x over all windows t."""
    view = scale.view
    grid = Grid(seen.shape[:-1], view.patch, view.stride, view.border)
    sums = np.zeros((seen.size, 1)), np.zeros((seen.size, 1))
    for start in range(0, len(grid), BLOCK):
        windows = np.arange(start, min(start + BLOCK, len(grid)))
        by_window = differences_and_gradients(scale.network, grid.extract(seen, windows))
        for parts, total in zip(by_window, sums, strict=True):
            grid.fold(parts, windows, total)
    return sums


def differences_and_gradients(network: DistanceNetwork, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(x - u)² for the nearest u, and ∂o/∂x; each (n, d)."""
    task = Task(network, X.astype(np.float64))
    return nearest(task), slope(task)
