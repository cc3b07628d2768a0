"""Energies of the local contrast at several scales and in several directions, without learning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.ndimage import gaussian_filter

from whyodd.patches.contrast import local_contrast
from whyodd.patches.features.axes import along_both, interpolation, shrunk, smooth_cells
from whyodd.patches.reduction import block_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.patches.features.axes import Matrix

    Floats = NDArray[np.floating]
    Doubles = NDArray[np.float64]

_LEAST_SIDE = 16
_DIRECTIONS = 4
# Pixels of a level over which energies are averaged; the finest level sees single pixels, and needs more.
_POOLED, _POOLED_FINEST = 1.0, 2.0
# A pixel of a level is spread over its filter (width 1) and what is averaged around it.
_FILTER = 1.0
_LUMINANCE = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class ContrastFeatures:
    """How strong the local contrast is at each scale, in each of four directions, and on average.

    At each scale, 1, 2, 4, ... pixels, the first and second derivatives of the local contrast along a
    direction make its energy, √(∂² + ∂∂²), which is averaged nearby: an edge, a spot or a scratch of that
    size raises it wherever it is exactly. Colours add how far red is from green and yellow from blue.

    Parameters
    ----------
    levels : int, default 5
        Scales, each twice as coarse as the one before; as many as the image has room for.
    step : int, default 4
        Pixels between places.
    longest : int, default 1024
        Images with a longer side are shrunk to this many pixels, which bounds time and memory.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.patches.features.contrast import ContrastFeatures
    >>> ContrastFeatures()(np.zeros((64, 96, 1))).shape
    (16, 24, 25)
    """

    levels: int = 5
    step: int = 4
    longest: int = 1024
    told: ClassVar[str] = "by the width of the filters that see them"
    is_even: ClassVar[bool] = True

    def __call__(self, image: Floats) -> NDArray[np.float32]:
        """Features (h, w, F) of an image (H, W, C) whose pixels go from 0 to 255."""
        _check_size(image.shape[:2])
        seen = shrunk(np.asarray(image, dtype=np.float32), self.longest)
        bright, *colours = _channels(seen)
        contrast = np.asarray(local_contrast(bright[..., None]), dtype=np.float64)[..., 0]
        level, *colours = (self._whole(channel) for channel in (contrast, *colours))
        maps = []
        for number in range(self.levels):
            found = [*_energies(level, _pooled(number)), gaussian_filter(level, _FILTER)]
            found += [gaussian_filter(colour, _pooled(number)) for colour in colours]
            rows, columns = (self._sampling(length, number) for length in seen.shape[:2])
            maps.append(along_both(rows, np.stack(found, axis=-1).astype(np.float32), columns))
            level, colours = _halved(level), [_halved(colour) for colour in colours]
        return np.ascontiguousarray(np.concatenate(maps, axis=-1), dtype=np.float32)

    def spread(self, relevance: Doubles, image: Floats) -> Doubles:
        """Relevance of features (h, w, F) on the pixels (H, W) of the image; its sum stays the same."""
        shape = image.shape[:2]
        ratio = max(max(shape) / self.longest, 1.0)
        on_pixels = np.zeros(shape)
        for number, part in enumerate(np.split(relevance, self.levels, axis=-1)):
            width = ratio * 2.0**number * float(np.hypot(_FILTER, _pooled(number)))
            rows, columns = (
                smooth_cells(*sizes, width) for sizes in zip(shape, relevance.shape[:2], strict=True)
            )
            on_pixels += along_both(rows, part.sum(axis=-1), columns)
        return on_pixels

    def _whole(self, channel: Doubles) -> Doubles:
        """The same with mirrored pixels added below and to the right, so that every level has whole blocks.

        A block of fewer pixels would be a mean over fewer, and stand out.
        """
        return np.pad(channel, [(0, self._padded(n) - n) for n in channel.shape], mode="symmetric")

    def _sampling(self, length: int, number: int) -> Matrix:
        """(h, pixels of a level) the value of a level at each place along an axis."""
        padded, inside = self._padded(length), max(round(length / self.step), 1)
        return interpolation(padded // self.step, padded // 2**number)[:inside]

    def _padded(self, length: int) -> int:
        whole = math.lcm(2 ** (self.levels - 1), self.step)
        return -(-length // whole) * whole


def _channels(image: Floats) -> list[Doubles]:
    """Brightness of an image (H, W, C), and for colours the axes red to green and yellow to blue."""
    pixels = image.astype(np.float64)
    if pixels.shape[-1] not in (3, 4):
        return [pixels[..., 0] if pixels.shape[-1] <= 2 else pixels.mean(axis=-1)]
    red, green, blue = np.moveaxis(pixels[..., :3], -1, 0)
    # In units of a contrast: a tenth of the range is much.
    return [pixels[..., :3] @ _LUMINANCE, (red - green) / 25.5, ((red + green) / 2.0 - blue) / 25.5]


def _energies(level: Doubles, pooled: float) -> list[Doubles]:
    """Energy along each direction: steered derivatives of first and second order, averaged nearby."""
    down, right, down2, right2, both = (
        gaussian_filter(level, _FILTER, order=order) for order in ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1))
    )
    found = []
    for angle in np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS:
        c, s = np.cos(angle), np.sin(angle)
        first = c * right + s * down
        second = c * c * right2 + 2.0 * c * s * both + s * s * down2
        found.append(gaussian_filter(np.hypot(first, second), pooled))
    return found


def _pooled(number: int) -> float:
    return _POOLED_FINEST if number == 0 else _POOLED


def _halved(level: Doubles) -> Doubles:
    return np.asarray(block_means(level[..., None], 2)[..., 0])


def _check_size(shape: tuple[int, ...]) -> None:
    if min(shape) < _LEAST_SIDE:
        raise ValueError(
            f"An image of {shape[0]} × {shape[1]} pixels is too small for features='contrast': expected at "
            f"least {_LEAST_SIDE} a side. Enlarge it."
        )
