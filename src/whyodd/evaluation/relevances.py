"""Relevance, truth or scores as people pass them, side by side item by item."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.inputs.frames import as_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Block = tuple[NDArray[Any], NDArray[Any]]


def side_by_side(first: Any, second: Any, names: tuple[str, str] = ("scores", "mask")) -> Iterator[Block]:
    """Blocks (k, size) of two inputs with the same items: all rows at once, or one heatmap at a time.

    Parameters
    ----------
    first, second : Explanation, PatchExplanation, array, data frame or list of arrays
        The first axis counts items: rows of a table (n, d), or images (n, H, W). Images and series of their
        own shapes come as a list; a flat array is one item. Where the first has an axis more than the
        second, it has channels, and they are summed up. Columns of data frames are matched by name where
        they have the same names, and the variables of an explanation are names too.
    names : pair of str
        What to call them in messages.
    """
    order = names_of(first, second)
    one, two = values_of(first, names[0], order), values_of(second, names[1], order)
    if len(one) != len(two):
        raise ValueError(
            f"{names[0]} has {len(one)} item(s), {names[1]} {len(two)}. Pass one of each for every "
            "row or image."
        )
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        yield _matched(one, two, names)
        return
    for i in range(len(one)):
        yield _matched(np.asarray(one[i])[None], np.asarray(two[i])[None], names)


def values_of(
    relevance: Any, name: str, order: Sequence[str] | None = None
) -> NDArray[Any] | list[NDArray[Any]]:
    """Array whose first axis counts items, or a list with an array for each item.

    The columns of a data frame come in an order of names, if it has just these.
    """
    values = getattr(relevance, "relevance", relevance)
    frame = as_frame(values, what=name)
    if frame is not None:
        if order is not None and set(frame.columns) == set(order):
            frame = frame.select(order)
        return numbers(frame.to_numpy(), name)
    if isinstance(values, (list, tuple)) and all(
        isinstance(item, np.ndarray) and item.ndim for item in values
    ):
        return [numbers(item, name) for item in values]
    array = numbers(values, name)
    return array[None] if array.ndim == 1 else array


def numbers(values: Any, name: str) -> NDArray[Any]:
    """Array of numbers, or of true and false, or an error."""
    try:
        array = np.asarray(values.toarray() if sparse.issparse(values) else values)
        array = array.astype(np.float64) if array.dtype == object else array
        is_array = array.ndim > 0 and array.dtype.kind in "biuf"
    except (TypeError, ValueError):
        is_array = False
    if not is_array:
        came = f"an array of {values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
        raise ValueError(
            f"Expected {name} as numbers, an array with a row for each row of X or a list with one array "
            f"per item, got {came}."
        )
    return array


def names_of(first: Any, second: Any) -> Sequence[str] | None:
    """Names of the variables: those of an explanation, else of a data frame."""
    for one in (first, second):
        if hasattr(one, "feature_names"):
            return tuple(one.feature_names)
    frame = as_frame(first)
    return None if frame is None else tuple(frame.columns)


def _matched(one: NDArray[Any], two: NDArray[Any], names: tuple[str, str]) -> Block:
    has_channels = one.ndim > 2 and one.shape[:-1] == two.shape
    summed = one.sum(axis=-1) if has_channels else one
    if summed.shape != two.shape:
        raise ValueError(
            f"{names[0]} {one.shape} and {names[1]} {two.shape} have different shapes. Pass one value of "
            "each for every variable or pixel."
        )
    size = prod(two.shape[1:])
    blocks = summed.reshape(len(summed), size), two.reshape(len(two), size)
    for block, name in zip(blocks, names, strict=True):
        if np.isnan(block.astype(np.float64)).any():
            raise ValueError(f"{name} has NaN in it, expected numbers. Leave out entries without relevance.")
    return blocks
