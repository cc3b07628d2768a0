"""Local contrast: an image without slow changes of brightness and of texture strength."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]


def local_contrast(image: Floats, width: float = 16.0, least: float = 2.0) -> Floats:
    """Local contrast z = (x - G x) / (√(G' (x - G x)²) + c) with Gaussian means G, and G' of twice the width.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, C)
    width : float, default 16
        Standard deviation of the neighbourhood, in pixels.
    least : float, default 2
        c, in units of the image: contrast far below it is noise and is not amplified.

    Returns
    -------
    ndarray of the same shape, in single precision
    """
    pixels = np.asarray(image, dtype=np.float64)
    flat = [0.0] * (pixels.ndim - 2)  # channels are not mixed
    detail = pixels - gaussian_filter(pixels, [width, width, *flat])
    strength = np.sqrt(gaussian_filter(detail * detail, [2 * width, 2 * width, *flat]))
    return np.asarray(detail / (strength + least), dtype=np.float32)
