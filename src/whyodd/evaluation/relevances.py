"""What people pass as relevance, as truth or as scores, laid side by side item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.frames import as_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Block = tuple[NDArray[Any], NDArray[Any]]


def side_by_side(first: Any, second: Any, names: tuple[str, str] = ("scores", "mask")) -> Iterator[Block]:
    """Blocks (k, size) of two things that have the same items: all rows at once, or one heatmap at a time.

    Parameters
    ----------
    first, second : Explanation, PatchExplanation, array, data frame or list of arrays
        The first axis counts items: rows of a table (n, d), or images (n, H, W). Images and series of their
        own shapes come as a list; a flat array is one item. Where the first has an axis more than the
        second, it has channels, and they are summed up.
    names : pair of str
        What to call them in messages.
    """
    one, two = values_of(first, names[0]), values_of(second, names[1])
    if len(one) != len(two):
        raise ValueError(
            f"{names[0]} has {len(one)} item(s), {names[1]} {len(two)}. Pass one for each row or image."
        )
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        yield _matched(one, two, names)
        return
    for i in range(len(one)):
        yield _matched(np.asarray(one[i])[None], np.asarray(two[i])[None], names)


def values_of(relevance: Any, name: str) -> NDArray[Any] | list[NDArray[Any]]:
    """Array whose first axis counts items, or a list with an array for each item."""
    values = getattr(relevance, "relevance", relevance)
    frame = as_frame(values, what=name)
    if frame is not None:
        return np.asarray(frame.to_numpy())
    if isinstance(values, (list, tuple)) and all(
        isinstance(item, np.ndarray) and item.ndim for item in values
    ):
        return [np.asarray(item) for item in values]
    array = np.asarray(values)
    return array[None] if array.ndim == 1 else array


def _matched(one: NDArray[Any], two: NDArray[Any], names: tuple[str, str]) -> Block:
    has_channels = one.ndim > 2 and one.shape[:-1] == two.shape
    summed = one.sum(axis=-1) if has_channels else one
    if summed.shape != two.shape:
        raise ValueError(
            f"{names[0]} {one.shape} and {names[1]} {two.shape} have different shapes. "
            f"Pass a value of each for every variable, or for every pixel."
        )
    blocks = summed.reshape(len(summed), -1), two.reshape(len(two), -1)
    for block, name in zip(blocks, names, strict=True):
        if np.isnan(block.astype(np.float64)).any():
            raise ValueError(f"{name} has NaN in it, expected numbers. Leave out what has no relevance.")
    return blocks
