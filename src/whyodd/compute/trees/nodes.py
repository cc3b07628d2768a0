"""The nodes of all trees of a forest in one set of arrays: the input of compiled code, and its checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]


class Nodes(NamedTuple):
    """Nodes of binary trees: a row goes left where its value is at most the threshold.

    Attributes
    ----------
    feature : ndarray of int of shape (m,)
        The variable that a node splits; -1 of a leaf.
    threshold : ndarray of shape (m,)
        The value at which it splits.
    left, right : ndarray of int of shape (m,)
        Its children, which come after it; -1 of a leaf.
    share : ndarray of shape (m,)
        What part of the training rows of its parent a node has, above 0; 1 of a root.
    path : ndarray of shape (m,)
        Length of the path that ends in a leaf, and of other nodes the mean over the leaves below.
    roots : ndarray of int of shape (T,)
        The first node of each tree.
    """

    feature: Indices
    threshold: Floats
    left: Indices
    right: Indices
    share: Floats
    path: Floats
    roots: Indices

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return self.roots.size

    @classmethod
    def of(
        cls,
        feature: Indices,
        threshold: Floats,
        left: Indices,
        right: Indices,
        cover: Floats,
        path: Floats,
        roots: Indices,
    ) -> Nodes:
        """Shares and mean paths of nodes that have passed :func:`check_nodes`."""
        inner = np.flatnonzero(feature >= 0)
        share = np.ones(feature.size)
        both = cover[left[inner]] + cover[right[inner]]
        share[left[inner]] = cover[left[inner]] / both
        share[right[inner]] = cover[right[inner]] / both
        means = np.array(path)
        _fill_means(feature, left, right, share, means)
        nodes = cls(feature, threshold, left, right, share, means, roots)
        for part in nodes:
            part.flags.writeable = False  # one type for compiled code, whatever was given
        return nodes


def check_nodes(
    feature: Indices,
    threshold: Floats,
    left: Indices,
    right: Indices,
    cover: Floats,
    path: Floats,
    roots: Indices,
    n_features: int,
) -> None:
    """Raise a ``ValueError`` unless the arrays are trees, because compiled code does not check them."""
    m = feature.size
    if any(part.shape != (m,) for part in (feature, threshold, left, right, cover, path)):
        raise ValueError("Expected arrays with an entry for each node of the trees, got different lengths.")
    if roots.ndim != 1 or roots.size == 0 or roots[0] != 0 or not (np.diff([*roots, m]) > 0).all():
        raise ValueError("Expected the first nodes of the trees in growing order, beginning with 0.")
    if not ((feature >= -1) & (feature < n_features)).all():
        raise ValueError(f"A node splits a variable that is not one of {n_features}.")
    is_inner = feature >= 0
    ends = np.repeat([*roots[1:], m], np.diff([*roots, m]))
    for child in (left, right):
        below = (child > np.arange(m)) & (child < ends)
        if not np.where(is_inner, below, child == -1).all():
            raise ValueError("A node has a child that does not come after it in its tree.")
    times = np.bincount(np.concatenate([left[is_inner], right[is_inner]]), minlength=m)
    times[roots] += 1
    if not (times == 1).all():
        raise ValueError("Expected each node but the first of a tree to be the child of one node.")
    if not (np.isfinite(cover).all() and (cover > 0.0).all()):
        raise ValueError("Expected every node to have training rows: a finite cover above 0.")
    if not np.isfinite(threshold[is_inner]).all():
        raise ValueError("Expected every node to split at a finite value.")
    if not (np.isfinite(path[~is_inner]).all() and (path[~is_inner] >= 0.0).all()):
        raise ValueError("Expected every leaf to end a path of finite length, at least 0.")


@njit(cache=True, nogil=True)
def _fill_means(feature: Indices, left: Indices, right: Indices, share: Floats, path: Floats) -> None:
    """Mean paths of the inner nodes; children come later in the arrays, so they are known first."""
    for node in range(feature.size - 1, -1, -1):
        if feature[node] >= 0:
            a, b = left[node], right[node]
            path[node] = share[a] * path[a] + share[b] * path[b]


@njit(cache=True, nogil=True)
def path_sizes(nodes: Nodes) -> tuple[int, int, int]:
    """Depth of the deepest leaf, most variables on a path, most nodes of a tree."""
    m = nodes.feature.size
    depth = np.zeros(m, np.int64)
    parent = np.full(m, -1, np.int64)
    distinct = np.zeros(m, np.int64)
    deepest, most, largest = 0, 0, 0
    for t in range(nodes.roots.size):
        stop = nodes.roots[t + 1] if t + 1 < nodes.roots.size else m
        largest = max(largest, stop - nodes.roots[t])
    for node in range(m):
        variable = nodes.feature[node]
        deepest, most = max(deepest, depth[node]), max(most, distinct[node])
        if variable < 0:
            continue
        above, is_new = parent[node], 1
        while above >= 0:
            if nodes.feature[above] == variable:
                is_new = 0
                break
            above = parent[above]
        for child in (nodes.left[node], nodes.right[node]):
            parent[child], depth[child] = node, depth[node] + 1
            distinct[child] = distinct[node] + is_new
    return deepest, most, largest
