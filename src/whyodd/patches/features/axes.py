"""Maps along one axis, as small matrices: between the pixels of an image and its places.

Images are mapped axis by axis, so that a matrix of (outputs, inputs) along each says it all. What makes
features are weighted means: rows sum to 1. What brings relevance back gives all of it away: columns sum to 1.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.ndimage import gaussian_filter1d

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]


def local_means(size: int, reach: int = 1) -> Matrix:
    """(size, size) mean over the places within ``reach``, over fewer at the ends."""
    places = np.arange(size)
    near = (np.abs(places[:, None] - places) <= reach).astype(np.float64)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


# Images of one folder mostly have one size, and all of them need the same few matrices.
@lru_cache(maxsize=64)
def interpolation(fine: int, coarse: int) -> Matrix:
    """(fine, coarse) linear interpolation between the middles of equal cells; constant beyond them.

    Examples
    --------
    >>> interpolation(4, 2)
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75],
           [0.  , 1.  ]])
    """
    at, known = ((np.arange(size) + 0.5) / size for size in (fine, coarse))
    matrix = np.stack([np.interp(at, known, row) for row in np.eye(coarse)], axis=1)
    matrix.flags.writeable = False
    return matrix


def cells(length: int, size: int) -> Matrix:
    """(length, size) equal parts of ``length`` pixels for ``size`` places; a pixel on a border is shared.

    Examples
    --------
    >>> cells(3, 2)
    array([[0.66..., 0.        ],
           [0.33..., 0.33...],
           [0.        , 0.66...]])
    """
    ends = np.linspace(0.0, length, size + 1)
    pixels = np.arange(length)[:, None]
    overlap = np.minimum(pixels + 1.0, ends[1:]) - np.maximum(pixels, ends[:-1])
    return np.asarray(np.maximum(overlap, 0.0) * (size / length))


@lru_cache(maxsize=64)
def smooth_cells(length: int, size: int, width: float) -> Matrix:
    """(length, size) the same cells, smoothed by a Gaussian of ``width`` pixels that is mirrored at the ends.

    Nothing leaves the image, and places that are all alike make pixels that are all alike, up to the border.
    """
    matrix = np.asarray(gaussian_filter1d(cells(length, size), width, axis=0, mode="reflect"))
    matrix.flags.writeable = False
    return matrix


def along_both(rows: Matrix, values: NDArray[np.floating], columns: Matrix) -> NDArray[Any]:
    """Both axes of ``values`` (h, w) or (h, w, F) mapped."""
    return _along_first(columns, _along_first(rows, values).swapaxes(0, 1)).swapaxes(0, 1)


def _along_first(matrix: Matrix, values: NDArray[np.floating]) -> NDArray[Any]:
    """Map the first axis of ``values``; each output needs few inputs, so the product is sparse."""
    few, rest = sparse.csr_array(matrix.astype(values.dtype)), values.shape[1:]
    flat = values.reshape(len(values), math.prod(rest))
    return np.asarray(few @ flat).reshape(len(matrix), *rest)


def on_grid(
    values: NDArray[np.float64], shape: tuple[int, ...], *, adjoint: bool = False
) -> NDArray[np.float64]:
    """A map (h, w) on another grid by linear interpolation; or back, which keeps sums of products."""
    if values.shape == tuple(shape):
        return values
    if adjoint:
        rows, columns = (interpolation(a, b).T for a, b in zip(values.shape, shape, strict=True))
    else:
        rows, columns = (interpolation(a, b) for a, b in zip(shape, values.shape, strict=True))
    return np.asarray(along_both(rows, values, columns))


def shrunk(image: NDArray[np.floating], longest: int) -> NDArray[np.floating]:
    """An image (H, W, C) whose longer side is at most ``longest``: means over the area of each new pixel."""
    height, width = image.shape[:2]
    ratio = longest / max(height, width)
    if ratio >= 1.0:
        return image
    sizes = [max(round(length * ratio), 1) for length in (height, width)]
    # One channel at a time, because double-precision sums of a large image take much memory.
    channels = [
        _means_along(_means_along(one, 0, sizes[0]), 1, sizes[1]) for one in np.moveaxis(image, -1, 0)
    ]
    return np.stack(channels, axis=-1)


def _means_along(image: NDArray[np.floating], axis: int, size: int) -> NDArray[np.floating]:
    """Means over ``size`` equal parts of an axis; a pixel on a border counts for both by its share."""
    length = image.shape[axis]
    sums = np.cumsum(image, axis=axis, dtype=np.float64)
    sums = np.concatenate([np.zeros_like(sums.take([0], axis=axis)), sums], axis=axis)
    ends = np.linspace(0.0, length, size + 1)
    whole = np.minimum(ends.astype(np.intp), length - 1)
    part = (ends - whole).reshape([-1 if at == axis else 1 for at in range(image.ndim)])
    at_ends = sums.take(whole, axis=axis) * (1.0 - part) + sums.take(whole + 1, axis=axis) * part
    return np.asarray(np.diff(at_ends, axis=axis) * (size / length), dtype=image.dtype)
