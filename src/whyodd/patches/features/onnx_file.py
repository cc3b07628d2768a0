"""Features of any network saved as an ONNX file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.patches.features.axes import along_both, interpolation
from whyodd.patches.features.function import spread_over_cells
from whyodd.patches.features.onnx_checking import UnsafeNetworkError, check_network
from whyodd.patches.features.protocol import as_colours, checked_map
from whyodd.patches.features.running import open_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.floating]

# Mean and standard deviation of the pixels of ImageNet, which most networks are trained with.
_MEAN, _SCALE = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
_MOST_PIXELS = 1 << 24


@dataclass(frozen=True)
class OnnxFeatures:
    """Features of a network that maps an image (1, C, H, W) to one or more maps (1, F, h, w).

    The file is looked at before it runs: one that names other files, brings operations of its own, or loops,
    is refused, and the network gets at most 4 GB of memory. Several maps are brought to the finest grid.

    Parameters
    ----------
    path : str
        The ONNX file, with all weights inside.
    mean, scale : tuple of float
        The network sees (pixel - mean) / scale for each colour, with pixels from 0 to 255; those of ImageNet
        by default. With one number the network gets grey images.
    """

    path: str
    mean: tuple[float, ...] = _MEAN
    scale: tuple[float, ...] = _SCALE
    told: ClassVar[str] = "by equal parts of the image, one for each place of the features"

    def __call__(self, image: Floats) -> NDArray[np.float32]:
        """Features (h, w, F) of an image (H, W, C) whose pixels go from 0 to 255."""
        if image.shape[0] * image.shape[1] > _MOST_PIXELS:
            raise ValueError(
                f"An image of {image.shape[0]} × {image.shape[1]} pixels is too large: expected "
                f"at most {_MOST_PIXELS:,}. Make it smaller."
            )
        seen = as_colours(image) if len(self.mean) == 3 else as_colours(image).mean(axis=-1, keepdims=True)
        normed = ((seen - np.array(self.mean)) / np.array(self.scale)).astype(np.float32)
        maps = _run(self.path, np.ascontiguousarray(normed.transpose(2, 0, 1))[None])
        with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused next
            features = _on_finest_grid(maps)
        return checked_map(features, self.path)

    def spread(self, relevance: NDArray[np.float64], image: Floats) -> NDArray[np.float64]:
        """Relevance of features (h, w, F) on the pixels (H, W): that of a place goes to its cell."""
        return spread_over_cells(relevance, image)


def _on_finest_grid(maps: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Maps (F, h, w) side by side (h, w, F), on the finest grid of any."""
    height, width = (max(each.shape[axis] for each in maps) for axis in (1, 2))
    placed = [
        along_both(
            interpolation(height, each.shape[1]), each.transpose(1, 2, 0), interpolation(width, each.shape[2])
        )
        for each in maps
    ]
    return np.concatenate(placed, axis=-1)


def _run(path: str, image: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    session = _session(path, Path(path).stat().st_mtime_ns)
    try:
        found = session.run(None, {session.get_inputs()[0].name: image})
    except Exception as error:  # onnxruntime's own kinds share no base
        raise ValueError(
            f"{path} does not run on an image of {image.shape[2]} × {image.shape[3]} pixels with "
            f"{image.shape[1]} channel(s), expected (1, C, H, W) of any size: {_first_line(error)}"
        ) from error
    shapes = [np.shape(each) for each in found]
    if any(len(shape) != 4 or shape[0] != 1 or 0 in shape for shape in shapes):
        raise ValueError(f"{path} must return feature maps (1, F, h, w), got {', '.join(map(str, shapes))}.")
    return [each[0] for each in found]


@lru_cache(maxsize=2)
def _session(path: str, _changed: int) -> Any:
    """The network of a file, which is read once, so that the checked bytes are the ones that run."""
    content = Path(path).read_bytes()
    check_network(content, path)
    try:
        session = open_session(content, is_bounded=True)
    except ModuleNotFoundError:
        raise
    except Exception as error:  # onnxruntime's own kinds share no base
        raise UnsafeNetworkError(f"{path} is not a network that can be run: {_first_line(error)}") from error
    if len(session.get_inputs()) != 1:
        raise ValueError(f"{path} takes {len(session.get_inputs())} inputs, expected one: an image.")
    return session


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
