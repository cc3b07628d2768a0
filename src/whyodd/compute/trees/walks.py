"""One path through each tree: where a row ends, which splits took it there, and at which values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.trees.nodes import Nodes

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int32]

# If one side shortens paths this many times as much as the other, a value is high or low, not in between.
_CLEARLY = 2.0


@njit(cache=True, nogil=True)
def add_shortfalls(nodes: Nodes, longest: Floats, x: Floats, out: Floats) -> None:
    """Add to ``out`` (n,) how much shorter than the longest the path of each row is, over all trees.

    Every term is at least 0, and so is their sum however it rounds.
    """
    for t in range(nodes.roots.size):
        for row in range(x.shape[0]):
            node = nodes.roots[t]
            while nodes.feature[node] >= 0:
                is_left = x[row, nodes.feature[node]] <= nodes.threshold[node]
                node = nodes.left[node] if is_left else nodes.right[node]
            out[row] += longest[t] - nodes.path[node]


@njit(cache=True, nogil=True)
def add_splits(nodes: Nodes, x: Floats, out: Floats) -> None:
    """Add to ``out`` (n, d) how much each split on a row's path shortens the mean remaining path."""
    for t in range(nodes.roots.size):
        for row in range(x.shape[0]):
            node = nodes.roots[t]
            while nodes.feature[node] >= 0:
                variable = nodes.feature[node]
                is_left = x[row, variable] <= nodes.threshold[node]
                child = nodes.left[node] if is_left else nodes.right[node]
                out[row, variable] += nodes.path[node] - nodes.path[child]
                node = child


@njit(cache=True, nogil=True)
def find_cuts(nodes: Nodes, x: Floats, low: Floats, high: Floats, trees: Counts) -> None:
    """The cuts between which each value of a row is isolated (NaN for none), and in how many trees.

    A split counts for its side if it takes something off the path. A side counts unless the other one takes
    off more than ``_CLEARLY`` times as much; its cut is the median, over the trees that have any, of the
    tightest one.
    """
    n_trees, d = nodes.roots.size, x.shape[1]
    taken = np.empty((2, d))
    count, last = np.empty((2, d), np.int64), np.empty((2, d), np.int64)
    either = np.empty(d, np.int64)
    tightest = np.empty((2, d, n_trees))
    for row in range(x.shape[0]):
        taken[:], count[:], last[:], either[:] = 0.0, 0, -1, 0
        for t in range(n_trees):
            node = nodes.roots[t]
            while nodes.feature[node] >= 0:
                variable = nodes.feature[node]
                side = 0 if x[row, variable] > nodes.threshold[node] else 1
                child = nodes.right[node] if side == 0 else nodes.left[node]
                gain = nodes.path[node] - nodes.path[child]
                if gain > 0.0:
                    taken[side, variable] += gain
                    if last[side, variable] != t:
                        either[variable] += last[1 - side, variable] != t
                        last[side, variable] = t
                        count[side, variable] += 1
                    # Further down, a cut on the same side is tighter than those before.
                    tightest[side, variable, count[side, variable] - 1] = nodes.threshold[node]
                node = child
        for variable in range(d):
            above, below = taken[0, variable], taken[1, variable]
            has_low = above > 0.0 and _CLEARLY * above >= below
            has_high = below > 0.0 and _CLEARLY * below >= above
            if has_low:
                low[row, variable] = np.median(tightest[0, variable, : count[0, variable]])
                trees[row, variable] = count[0, variable]
            if has_high:
                high[row, variable] = np.median(tightest[1, variable, : count[1, variable]])
                trees[row, variable] = either[variable] if has_low else count[1, variable]
