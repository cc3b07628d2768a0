"""Coarser copies of images and series: means over blocks of pixels, and relevance spread back over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]


def block_means(values: Floats, size: int) -> Floats:
    """Means of ``values`` (*shape, C) over blocks of ``size`` pixels a side; the last blocks may be smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.patches.reduction import block_means
    >>> block_means(np.array([[1.0], [3.0], [5.0], [7.0], [9.0]]), 2).ravel()
    array([2., 6., 9.])
    """
    if size == 1:
        return values
    sums = block_sums(values, size)
    return (sums / _pixels_per_block(values.shape[:-1], size)[..., None]).astype(values.dtype)


def block_sums(values: Floats, size: int) -> NDArray[np.float64]:
    """Sums of ``values`` (*shape, C) over the same blocks."""
    sums = values.astype(np.float64)
    for axis in range(values.ndim - 1):
        sums = np.add.reduceat(sums, np.arange(0, values.shape[axis], size), axis=axis)
    return sums


def spread(relevance: NDArray[np.float64], size: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Relevance of blocks onto the pixels (*shape, C) they are the means of: equal parts, the same sum.

    For a mean z of n pixels the shortest cause of a difference is the same difference in each of them, so all
    have the same share, 1/n (the rule for linear maps).
    """
    if size == 1:
        return relevance
    shares = relevance / _pixels_per_block(shape, size)[..., None]
    for axis, length in enumerate(shape):
        shares = np.repeat(shares, size, axis=axis).take(np.arange(length), axis=axis)
    return shares


def _pixels_per_block(shape: tuple[int, ...], size: int) -> NDArray[np.float64]:
    counts = np.ones(1)
    for length in shape:
        along = np.diff(np.append(np.arange(0, length, size), length))
        counts = counts[..., None] * along
    return np.asarray(counts[0])
