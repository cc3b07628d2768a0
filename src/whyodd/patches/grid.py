"""Windows on an image or a series: their positions, their content, and the way back onto its pixels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]

# Border rule -> how NumPy pads; None: windows stay inside.
BORDERS: dict[str, str | None] = {"valid": None, "reflect": "reflect", "edge": "edge", "zero": "constant"}
# Stands for a pixel: padding that copies none.
NO_PIXEL = -1


@dataclass(frozen=True)
class Grid:
    """Positions of a window over an array of pixels (or time steps).

    Attributes
    ----------
    shape : tuple of int
        (H, W) of an image, (T,) of a series; channels come last and are not counted here.
    patch : tuple of int
        Shape of the window, of as many axes.
    stride : int
        Steps between windows.
    border : {"valid", "reflect", "edge", "zero"}
        "valid": windows stay inside; else the array is padded so that every pixel is the middle of a window
        (at stride 1): with its mirror image, its outermost pixels, or zeros.
    """

    shape: tuple[int, ...]
    patch: tuple[int, ...]
    stride: int = 1
    border: str = "valid"

    def __post_init__(self) -> None:
        if any(size < width for size, width in zip(self._padded_shape, self.patch, strict=True)):
            raise ValueError(
                f"An item of {times(self.shape)} is smaller than the patch of {times(self.patch)}. "
                "Use a smaller patch, or leave the item out."
            )

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of windows along each axis."""
        pairs = zip(self._padded_shape, self.patch, strict=True)
        return tuple((size - width) // self.stride + 1 for size, width in pairs)

    def __len__(self) -> int:
        return prod(self.counts)

    def corner(self, window: int) -> tuple[int, ...]:
        """Where the first pixel of a window is; negative in the padding."""
        place = np.unravel_index(window, self.counts)
        return tuple(
            self.stride * int(p) - before for p, (before, _) in zip(place, self._widths, strict=True)
        )

    def pixels(self, windows: Indices) -> Indices:
        """(n, patch) which pixel of the flat array stands at each place of the windows; -1 for none."""
        found = np.zeros((len(windows), 1), dtype=np.intp)
        places = np.unravel_index(windows, self.counts)
        for place, width, offsets in zip(places, self.patch, self._offsets, strict=True):
            along = offsets[(self.stride * place)[:, None] + np.arange(width)]
            found = (found[:, :, None] + along[:, None, :]).reshape(len(windows), found.shape[1] * width)
        return np.maximum(found, NO_PIXEL)

    def extract(self, values: Floats, windows: Indices) -> Floats:
        """(n, patch · C) content of the windows in ``values`` (*shape, C); zeros where there is no pixel."""
        pixels = self.pixels(windows)
        found = values.reshape(-1, values.shape[-1])[pixels]
        if self.border == "zero":
            found[pixels == NO_PIXEL] = 0.0
        return found.reshape(len(windows), pixels.shape[1] * values.shape[-1])

    def fold(self, parts: Floats, windows: Indices, into: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add parts (n, patch · C) of windows onto their pixels; return the part outside of them (n,).

        ``into`` (pixels, C) is added to in place; overlaps add up.
        """
        n_pixels, channels = into.shape
        pixels = self.pixels(windows)
        beside = pixels == NO_PIXEL
        by_place = parts.reshape(*pixels.shape, channels)
        place = np.where(beside, n_pixels, pixels).ravel()
        for channel in range(channels):
            sums = np.bincount(place, by_place[..., channel].ravel(), minlength=n_pixels + 1)
            into[:, channel] += sums[:n_pixels]
        return np.asarray(np.where(beside[..., None], by_place, 0.0).sum(axis=(1, 2), dtype=np.float64))

    @cached_property
    def _offsets(self) -> list[Indices]:
        """Offset of each pixel along each axis in the flat index; padding has that of the pixel it copies.

        Where there is none that is so low that no other axis makes up for it.
        """
        steps = [prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        inside = [np.arange(size) * step for size, step in zip(self.shape, steps, strict=True)]
        mode: Any = BORDERS[self.border]
        if mode is None:
            return inside
        fill = {"constant_values": -prod(self.shape)} if mode == "constant" else {}
        pairs = zip(inside, self._widths, strict=True)
        return [np.pad(along, widths, mode=mode, **fill) for along, widths in pairs]

    @property
    def _widths(self) -> list[tuple[int, int]]:
        """Padding before and after along each axis."""
        if BORDERS[self.border] is None:
            return [(0, 0)] * len(self.shape)
        return [((width - 1) // 2, width // 2) for width in self.patch]

    @property
    def _padded_shape(self) -> tuple[int, ...]:
        pairs = zip(self.shape, self._widths, strict=True)
        return tuple(size + before + after for size, (before, after) in pairs)


def times(sizes: tuple[int, ...]) -> str:
    """Sizes in words: 7 × 7."""
    return " × ".join(map(str, sizes))
