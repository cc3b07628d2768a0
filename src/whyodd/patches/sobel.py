"""Edges as a reference: what a heatmap must do better than."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]


def sobel(image: Floats) -> NDArray[np.float64]:
    """Squared Sobel gradient |∂x|² + |∂y|² of an image (H, W) or (H, W, C), summed over channels: (H, W)."""
    pixels = np.asarray(image, dtype=np.float64)
    channels = pixels[..., None] if pixels.ndim == 2 else pixels
    # Each channel alone: the filter smooths along all axes but its own.
    layers = np.moveaxis(channels, -1, 0)
    return np.asarray(sum(ndimage.sobel(layer, axis=axis) ** 2 for layer in layers for axis in (0, 1)))
