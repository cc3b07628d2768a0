"""Exact Shapley values of the length of paths, for all leaves of a tree and many rows at once.

A row follows its own values of the variables in a set S; at a split of any other variable it goes both ways,
by the shares of the training rows. A leaf with the path variables i, the products r_i of their shares, and
s_i = 1 if the row meets all splits of i on the path, else 0, is then reached with the probability
Π_{i in S} s_i Π_{i not in S} r_i, and the Shapley value of i for a leaf of length v is

    φ_i = v (s_i - r_i) ∫₀¹ Π_{j ≠ i} (t s_j + (1 - t) r_j) dt,

since ∫ t^a (1 - t)^b dt = a! b! / (a + b + 1)! are Shapley's weights. The integrand is a polynomial of one
degree less than the path has variables: Gauss' rule with half as many points is exact. Every factor is above
0, so that nothing cancels and one can be divided out.

The product over j is made on the way down a tree, edge by edge, and summed over leaves on the way up: a tree
of m nodes takes 3 m products per point and row. Rows lie side by side, so that products are of vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from whyodd.compute.vector_math import VECTOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.compute.trees.nodes import Nodes

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Indices = NDArray[np.int64]

# Rows side by side: enough to hide the cost of starting a loop, few enough for products to stay in cache.
_ROWS = 128
# Points of the rule are processed some at a time, because deep trees would need much memory for all.
_POINTS = 8


class Edges(NamedTuple):
    """The edges of one tree, from the first leaf to the last, each before those below it.

    Attributes
    ----------
    feature, threshold : ndarray of shape (m,)
        The split that an edge comes from.
    is_right, is_leaf : ndarray of bool of shape (m,)
        Whether it is the one of larger values; whether it ends in a leaf.
    level : ndarray of int of shape (m,)
        Edges from the root to its end.
    before : ndarray of int of shape (m,)
        Level of the edge above with the same variable; 0 if there is none.
    share, share_before : ndarray of shape (m,)
        r: the product of shares over the edges with this variable so far, and that without this edge.
    length : ndarray of shape (m,)
        v of a leaf.
    """

    feature: Indices
    threshold: Floats
    is_right: Bools
    is_leaf: Bools
    level: Indices
    before: Indices
    share: Floats
    share_before: Floats
    length: Floats


def gauss_rule(n_variables: int) -> tuple[Floats, Floats]:
    """Points and weights on (0, 1) that integrate paths with this many variables exactly."""
    points, weights = np.polynomial.legendre.leggauss(max(-(-n_variables // 2), 1))
    return 0.5 * (points + 1.0), 0.5 * weights


@njit(cache=True, nogil=True)
def add_shapley(
    nodes: Nodes, sizes: tuple[int, int, int], points: Floats, weights: Floats, x: Floats, out: Floats
) -> None:
    """Add to ``out`` (d, n) Shapley values of minus the length of the paths of x (d, n), over all trees."""
    depth, _, largest = sizes
    edges = Edges(
        np.empty(largest, np.int64),
        np.empty(largest),
        np.empty(largest, np.bool_),
        np.empty(largest, np.bool_),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest),
        np.empty(largest),
        np.empty(largest),
    )
    most = min(points.size, _POINTS)
    tables = np.empty((5, largest, most))
    rows = min(x.shape[1], _ROWS)
    meets = np.ones((depth + 1, rows), np.bool_)
    down, up = np.ones((depth + 1, most, rows)), np.zeros((depth + 1, most, rows))
    for t in range(nodes.roots.size):
        count = _lay_out(nodes, nodes.roots[t], depth, edges)
        for first in range(0, points.size, most):
            q = min(most, points.size - first)
            _fill_tables(edges, count, points[first : first + q], weights[first : first + q], tables)
            for start in range(0, x.shape[1], rows):
                stop = min(start + rows, x.shape[1])
                _add_tree(edges, count, tables, q, x, out, start, stop, meets, down, up)


@njit(cache=True, nogil=True)
def _lay_out(nodes: Nodes, root: int, depth: int, edges: Edges) -> int:
    """Fill ``edges`` with those of a tree, and return how many there are."""
    variables, shares = np.full(depth + 1, -1, np.int64), np.ones(depth + 1)
    # Nodes still to visit: at most one per level.
    ends, parents = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    levels = np.empty(depth + 1, np.int64)
    waiting, count = 0, 0
    node, level = root, 0
    while True:
        if nodes.feature[node] >= 0:
            ends[waiting], parents[waiting], levels[waiting] = nodes.right[node], node, level + 1
            parent, node, level = node, nodes.left[node], level + 1
            waiting += 1
        elif waiting > 0:
            waiting -= 1
            node, parent, level = ends[waiting], parents[waiting], levels[waiting]
        else:
            return count
        variable, before = nodes.feature[parent], level - 1
        while before > 0 and variables[before] != variable:
            before -= 1
        share_before = shares[before] if before > 0 else 1.0
        variables[level], shares[level] = variable, share_before * nodes.share[node]
        edges.feature[count], edges.threshold[count] = variable, nodes.threshold[parent]
        edges.is_right[count], edges.is_leaf[count] = nodes.right[parent] == node, nodes.feature[node] < 0
        edges.level[count], edges.before[count] = level, before
        edges.share[count], edges.share_before[count] = shares[level], share_before
        # Shapley values do not change if all lengths are shifted; small lengths round less.
        edges.length[count] = nodes.path[root] - nodes.path[node]
        count += 1


@njit(cache=True, nogil=True)
def _fill_tables(edges: Edges, count: int, points: Floats, weights: Floats, tables: Floats) -> None:
    """Factors of an edge for each way in which a row can meet its splits.

    With g = t s + (1 - t) r of an edge and g' of the one before with the same variable, the product on the
    way down is multiplied by g/g', and what comes up from below has (s - r)/g - (s' - r')/g' of relevance.
    Tables 0 to 2 have the former where the row meets this split and those before, only those before, and not
    even those; 3 and 4 the latter, which is 0 in the third case. Of a leaf, whose way up begins here, 0 to 2
    have its length too, and 3 and 4 are for the product before it.
    """
    for e in range(count):
        r, r_before = edges.share[e], edges.share_before[e]
        for q in range(points.size):
            t, other = points[q], 1.0 - points[q]
            met, before = t + other * r, t + other * r_before
            relevance_before = (1.0 - r_before) / before
            tables[0, e, q], tables[1, e, q] = met / before, other * r / before
            tables[2, e, q] = r / r_before
            tables[3, e, q] = (1.0 - r) / met - relevance_before
            tables[4, e, q] = -1.0 / other - relevance_before
            if edges.is_leaf[e]:
                length = edges.length[e] * weights[q]
                for k in range(3):
                    tables[k, e, q] *= length
                tables[3, e, q] *= tables[0, e, q]
                tables[4, e, q] *= tables[1, e, q]


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _add_tree(
    edges: Edges,
    count: int,
    tables: Floats,
    n_points: int,
    x: Floats,
    out: Floats,
    start: int,
    stop: int,
    meets: Bools,
    down: Floats,
    up: Floats,
) -> None:
    """Add the values of one tree, for some points: ``meets``, ``down`` and ``up`` have a place per level."""
    opened = np.empty(meets.shape[0], np.int64)
    at = 0  # level of the last edge that has not been passed up
    for e in range(count):
        level, variable = edges.level[e], edges.feature[e]
        while at >= level:
            last = opened[at]
            _go_up(edges, last, tables, n_points, meets, up, out[edges.feature[last], start:stop])
            at -= 1
        _meet(edges, e, x[variable, start:stop], meets)
        if edges.is_leaf[e]:
            _turn(edges, e, tables, n_points, meets, down, up, out[variable, start:stop])
        else:
            _go_down(edges, e, tables, n_points, meets, down, up, stop - start)
            opened[level], at = e, level
    while at > 0:
        last = opened[at]
        _go_up(edges, last, tables, n_points, meets, up, out[edges.feature[last], start:stop])
        at -= 1


# Loops over points are inside the called functions: passing arrays costs as much as a loop over rows.


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _meet(edges: Edges, e: int, x: Floats, meets: Bools) -> None:
    """Which rows meet the split of an edge, and all splits of its variable above."""
    threshold, before, met = edges.threshold[e], meets[edges.before[e]], meets[edges.level[e]]
    if edges.is_right[e]:
        for i in range(x.size):
            met[i] = (x[i] > threshold) & before[i]
    else:
        for i in range(x.size):
            met[i] = (x[i] <= threshold) & before[i]


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _go_down(
    edges: Edges, e: int, tables: Floats, n_points: int, meets: Bools, down: Floats, up: Floats, n: int
) -> None:
    """Multiply by the factors of an edge; nothing has been passed up to it yet."""
    level = edges.level[e]
    met, before = meets[level], meets[edges.before[e]]
    for q in range(n_points):
        a, b, c = tables[0, e, q], tables[1, e, q], tables[2, e, q]
        above, below, sums = down[level - 1, q], down[level, q], up[level, q]
        for i in range(n):
            below[i] = above[i] * (a if met[i] else (b if before[i] else c))
            sums[i] = 0.0


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _turn(
    edges: Edges, e: int, tables: Floats, n_points: int, meets: Bools, down: Floats, up: Floats, out: Floats
) -> None:
    """Go down to a leaf and back up at once."""
    level = edges.level[e]
    met, before, is_first = meets[level], meets[edges.before[e]], edges.before[e] == 0
    for q in range(n_points):
        a, b, c = tables[0, e, q], tables[1, e, q], tables[2, e, q]
        r, s = tables[3, e, q], tables[4, e, q]
        product, sums = down[level - 1, q], up[level - 1, q]
        if is_first:
            for i in range(out.size):
                sums[i] += product[i] * (a if met[i] else b)
                out[i] += product[i] * (r if met[i] else s)
        else:
            for i in range(out.size):
                sums[i] += product[i] * (a if met[i] else (b if before[i] else c))
                out[i] += product[i] * (r if met[i] else (s if before[i] else 0.0))


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _go_up(
    edges: Edges, e: int, tables: Floats, n_points: int, meets: Bools, up: Floats, out: Floats
) -> None:
    """Pass the sums of an edge up to the one above, and add its variable's part."""
    level = edges.level[e]
    met, before, is_first = meets[level], meets[edges.before[e]], edges.before[e] == 0
    for q in range(n_points):
        r, s, below, above = tables[3, e, q], tables[4, e, q], up[level, q], up[level - 1, q]
        if is_first:
            for i in range(out.size):
                above[i] += below[i]
                out[i] += below[i] * (r if met[i] else s)
        else:
            for i in range(out.size):
                above[i] += below[i]
                out[i] += below[i] * (r if met[i] else (s if before[i] else 0.0))
