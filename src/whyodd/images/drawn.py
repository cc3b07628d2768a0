"""Places drawn from normal images: the training data of a view, and pictures of them to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Indices = NDArray[np.intp]

# Pixels a side of the pictures of normal places that are kept, to be shown beside odd ones.
SHOWN = 32


@dataclass(frozen=True, eq=False)
class Drawn:
    """Places of training images to learn from.

    Attributes
    ----------
    values : ndarray of shape (n, F)
    images : ndarray of int of shape (n,)
        Which training image each place is of.
    folds : ndarray of int of shape (n,)
        Places of a fold are judged by those of the others.
    middles : ndarray of int of shape (n, 2)
        Pixel in the middle of the place.
    """

    values: Floats
    images: Indices
    folds: Indices
    middles: Indices

    def __getitem__(self, chosen: Any) -> Drawn:
        return Drawn(self.values[chosen], self.images[chosen], self.folds[chosen], self.middles[chosen])

    @classmethod
    def joined(cls, parts: Sequence[Drawn]) -> Drawn:
        """All places of several."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__annotations__))


def middles(places: Indices, shape: tuple[int, ...], size: tuple[int, ...]) -> Indices:
    """Pixel (n, 2) in the middle of each place of a map of this shape, over an image of this size."""
    at = np.unravel_index(places, shape)
    pairs = zip(at, shape, size, strict=True)
    return np.stack([((one + 0.5) * length / count).astype(np.intp) for one, count, length in pairs], axis=1)


def cut(pixels: Floats, around: Indices) -> NDArray[np.uint8]:
    """Pictures (n, SHOWN, SHOWN, C) around some pixels (n, 2)."""
    half = SHOWN // 2
    padded = np.pad(pixels, ((half, half), (half, half), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (SHOWN, SHOWN), axis=(0, 1))
    chosen = windows[around[:, 0], around[:, 1]]
    return np.moveaxis(np.clip(np.round(chosen), 0, 255).astype(np.uint8), 1, -1)
