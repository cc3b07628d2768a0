"""Edges of an image: what attracts the eye, whatever the model."""

from __future__ import annotations

from math import prod
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explainers.method import Task


def edges(task: Task, shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    """Squared Sobel gradient of rows that are images, in equal parts on the channels of a pixel.

    Parameters
    ----------
    task : Task
    shape : tuple of int
        (H, W) or (H, W, C) of the image that each row is. Image models know it themselves.
    """
    _check_shape(shape, task.X.shape[1])
    images = np.asarray(task.X).reshape(-1, *shape)  # type: ignore[misc]
    return np.array([edges_of_item(_with_channels(image)).ravel() for image in images])


def edges_of_item(values: NDArray[np.floating], generator: Any = None) -> NDArray[np.float64]:  # noqa: ARG001
    """Squared Sobel gradient of an image (H, W, C), in equal parts on its channels."""
    if values.ndim != 3:
        raise ValueError("method='sobel' expected an image, got a series. Choose another method.")
    return np.repeat(sobel(values)[..., None] / values.shape[-1], values.shape[-1], axis=-1)


def _with_channels(image: NDArray[np.floating]) -> NDArray[np.floating]:
    return image[..., None] if image.ndim == 2 else image


def _check_shape(shape: Any, n_variables: int) -> None:
    if shape is None:
        raise ValueError(
            "method='sobel' is for images: pass options={'shape': (height, width)} if each row is an image, "
            "or explain a whyodd.PatchModel."
        )
    if not _are_sides(shape) or len(shape) not in (2, 3) or prod(shape) != n_variables:
        raise ValueError(
            f"shape={shape!r}: expected (height, width) or (height, width, channels), {n_variables} in all."
        )


def _are_sides(shape: Any) -> bool:
    return isinstance(shape, tuple) and all(isinstance(side, Integral) and int(side) > 0 for side in shape)


def sobel(image: NDArray[np.floating]) -> NDArray[np.float64]:
    """Squared Sobel gradient |∂x|² + |∂y|² of an image (H, W) or (H, W, C), summed over channels: (H, W)."""
    pixels = np.asarray(image, dtype=np.float64)
    channels = pixels[..., None] if pixels.ndim == 2 else pixels
    # Each channel alone: the filter smooths along all axes but its own.
    layers = np.moveaxis(channels, -1, 0)
    from scipy import ndimage

    return np.asarray(sum(ndimage.sobel(layer, axis=axis) ** 2 for layer in layers for axis in (0, 1)))
