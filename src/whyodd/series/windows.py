"""Windows on a grid of time steps: their positions, their content, and the way back onto the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]


def whole_starts(values: Floats, width: int) -> Indices:
    """First steps of all windows (n,) of the values (G, C) that hold no gap."""
    if len(values) < width:
        return np.empty(0, dtype=np.intp)
    missing = np.concatenate([[0], np.cumsum(np.isnan(values).any(axis=1))])
    return np.flatnonzero(missing[width:] == missing[:-width])


def covering(starts: Indices, width: int, stride: int) -> Indices:
    """Windows without a gap at every ``stride``-th step, and those needed at the ends.

    The first and the last window of each stretch between gaps are always among them.
    """
    if stride == 1 or starts.size == 0:
        return starts
    is_end = np.diff(starts, prepend=starts[0] - 2) > 1
    is_end |= np.append(is_end[1:], True)
    return np.asarray(starts[is_end | (starts % min(stride, width) == 0)])


def thinned(starts: Indices, most: int) -> Indices:
    """At most ``most`` of them, evenly spread."""
    if starts.size <= most:
        return starts
    return starts[np.linspace(0, starts.size - 1, most).astype(np.intp)]


def cut(values: Floats, starts: Indices, width: int) -> Floats:
    """Windows (n, width · C), step by step."""
    steps = starts[:, None] + np.arange(width)
    return np.asarray(values[steps].reshape(len(starts), -1))


def mean_over_covering(parts: Floats, starts: Indices, width: int, length: int) -> Floats:
    """Mean (G, C) at each step over the parts (n, C) of the windows that cover it; NaN where none does.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.series.windows import mean_over_covering
    >>> mean_over_covering(np.array([[1.0], [3.0]]), np.array([0, 1]), 2, 4).ravel()
    array([ 1.,  2.,  3., nan])
    """
    # Offset by offset, not by running sums: one window must leave no trace in others.
    sums = np.zeros((length, parts.shape[1]))
    for offset in range(width):
        sums[starts + offset] += parts  # all starts differ
    counts = covered(starts, width, length)[:, None]
    return np.asarray(np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0))


def covered(starts: Indices, width: int, length: int) -> Indices:
    """Number of windows that cover each step (G,)."""
    ends = np.bincount(starts, minlength=length + 1) - np.bincount(starts + width, minlength=length + 1)
    return np.cumsum(ends)[:length]
