"""Nearest points without looking at most of them, with a certificate for each that is skipped.

Points are seen along their principal axes: the coordinates on the first few, and the length of the rest.
Distances seen so are never larger than true ones. Points near each other share a leaf, and a leaf has a box.
A leaf is skipped where its box is farther than the k-th nearest point found so far, and a point where it is
seen farther; what is left is measured exactly, from differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from whyodd.compute.announce import announced_compilation
from whyodd.compute.points import squared_norms
from whyodd.compute.soft.centers import power_of_two
from whyodd.compute.vector_math import VECTOR, smaller

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Wide = NDArray[np.float64]
    Narrow = NDArray[np.float32]
    Indices = NDArray[np.intp]

# Numbers by which a point is seen: the length of what remains is the last of them.
_SEEN = 16
# Points in a leaf, and rows that go over the leaves together: what both need stays in the nearest caches.
_LEAF, _BLOCK = 64, 64
# Shares of the squared limit up to which leaves are looked into: what near ones hold lowers the limit.
_STAGES = np.array([0.3, 1.0], dtype=np.float32)
# Rows farther than so many times the farthest point would overflow in single precision.
_FAR = 1e15
# Rounding of a sum of squares in single precision, a little more than _SEEN units.
_ROUNDED_UP = 1.0 + 4e-6
# Points that tell the axes, and points whose neighbours are looked for to see whether leaves are of use.
_SAMPLED, _PROBED, _PROBED_NEIGHBORS = 20_000, 64, 6
# Nanoseconds, for the choice between leaves and products: a box, a leaf, a point measured; a pair of a
# product, and each of its columns. Only their ratios count, which change little between machines.
_PER_BOX, _PER_LEAF, _PER_POINT, _PER_PAIR, _PER_COLUMN = 2.5, 80.0, 60.0, 1.3, 0.05


class Leaves(NamedTuple):
    """Points in leaves, as the compiled loops see them."""

    points: Wide  # (m, d) in the order of leaves
    order: Indices  # (m,) which point that is
    starts: Indices  # (leaves + 1,) where each leaf begins
    seen: Narrow  # (leaves, _SEEN, _LEAF) what is seen of its points; beyond its last point infinite
    low: Narrow  # (leaves, _SEEN) its box
    high: Narrow


@dataclass(frozen=True)
class LeafSearch:
    """Points sorted into leaves, and the axes from which they are seen, in units of the farthest point."""

    leaves: Leaves
    origin: Wide
    axes: Wide
    unit: float

    @classmethod
    def of(cls, points: Wide) -> LeafSearch:
        """Sort points (m, d) into leaves."""
        some = points[:: -(-len(points) // _SAMPLED)]
        origin = some.mean(axis=0)
        axes = np.linalg.eigh((some - origin).T @ (some - origin))[1][:, ::-1]
        seen = _seen(points, origin, axes)
        unit = power_of_two(float(np.sqrt(squared_norms(seen).max())))
        seen /= unit
        order, starts = _split(seen)
        narrow = np.full((len(starts) - 1, _SEEN, _LEAF), np.inf, dtype=np.float32)
        low, high = (np.empty((len(starts) - 1, _SEEN), dtype=np.float32) for _ in range(2))
        for leaf, (start, stop) in enumerate(pairwise(starts)):
            members = narrow[leaf, :, : stop - start]
            members[:] = seen[order[start:stop]].T
            low[leaf], high[leaf] = members.min(axis=1), members.max(axis=1)
        leaves = Leaves(np.ascontiguousarray(points[order]), order, starts, narrow, low, high)
        return cls(leaves, origin, axes, unit)

    def nearest(self, x: Wide, k: int) -> tuple[Wide, Indices]:
        """Distances (n, k) to the k nearest points, ascending, and which: of equally near ones the first."""
        return self._search(x, k)[:2]

    @property
    def is_worthwhile(self) -> bool:
        """Whether so many points are skipped that a search takes less time than products with all."""
        m, d = self.leaves.points.shape
        some = self.leaves.points[:: -(-m // _PROBED)]
        with announced_compilation("leaves"):
            leaves, measured = self._search(some, min(_PROBED_NEIGHBORS, m))[2] / len(some)
        boxes = len(self.leaves.starts) - 1
        ours = _PER_BOX * boxes + _PER_LEAF * leaves + (_PER_POINT + _PER_COLUMN * d) * measured
        return bool(ours < (_PER_PAIR + _PER_COLUMN * d) * m)

    def within(self, x: Wide, squares: Wide, most: int) -> tuple[Indices, Indices, Wide]:
        """How many points lie within squared distances (n,), which (n, most), and at what squared distance.

        Where there are more than ``most`` the number is ``most`` + 1, and which they are means nothing.
        Nothing lies within a negative square.
        """
        counts = np.zeros(len(x), dtype=np.intp)
        found, at = np.empty((len(x), most), dtype=np.intp), np.empty((len(x), most))
        seen, slack = self._narrow(x)
        with np.errstate(over="ignore"):  # infinite limits leave nothing out
            limits = ((np.sqrt(np.maximum(squares, 0.0)) / self.unit + slack) ** 2 * _ROUNDED_UP).astype(
                np.float32
            )
        limits[squares < 0.0] = -1.0
        collect_leaves(x, seen, limits, squares, self.leaves, counts, found, at)
        return counts, found, at

    def _search(self, x: Wide, k: int) -> tuple[Wide, Indices, Wide]:
        """The k nearest, with the number of leaves looked into and of points measured."""
        squares, nearest = np.full((len(x), k), np.inf), np.full((len(x), k), len(self.leaves.order))
        looked = np.zeros(2)
        seen, slack = self._narrow(x)
        search_leaves(x, seen, slack, 1.0 / self.unit, self.leaves, squares, nearest, looked)
        return np.sqrt(squares), nearest, looked

    def _narrow(self, x: Wide) -> tuple[Narrow, Wide]:
        """What is seen of rows, and how much nearer or farther rounding may make them."""
        seen = _seen(x, self.origin, self.axes) / self.unit
        size = np.sqrt(squared_norms(seen))
        # Rounding of a row and of a point to single precision, each by half a unit of its length, at most 2.
        slack = 2.0**-23 * (size + 2.0)
        is_far = size > _FAR
        seen[is_far], slack[is_far] = 0.0, np.inf  # nothing is skipped
        return seen.astype(np.float32), slack


def _seen(x: Wide, origin: Wide, axes: Wide) -> Wide:
    """Coordinates along the first axes, and the length of the rest: (n, _SEEN)."""
    turned = (x - origin) @ axes
    out = np.zeros((len(x), _SEEN))
    most = turned.shape[1] if turned.shape[1] <= _SEEN else _SEEN - 1
    out[:, :most] = turned[:, :most]
    if most < turned.shape[1]:
        out[:, -1] = np.sqrt(squared_norms(turned[:, most:]))
    return out


def _split(seen: Wide) -> tuple[Indices, Indices]:
    """Order of points by halves along the longest side, and where leaves begin."""
    order = np.arange(len(seen))
    done, todo = [], [(0, len(seen))]
    while todo:
        start, stop = todo.pop()
        if stop - start <= _LEAF:
            done.append(start)
            continue
        part = order[start:stop]
        members = seen[part]
        side = int(np.argmax(members.max(axis=0) - members.min(axis=0)))
        middle = (stop - start) // 2
        order[start:stop] = part[np.argpartition(members[:, side], middle)]
        todo += [(start, start + middle), (start + middle, stop)]
    return order, np.array([*sorted(done), len(seen)], dtype=np.intp)


@njit(cache=True, nogil=True)
def search_leaves(
    x: Wide,
    narrow: Narrow,
    slack: Wide,
    per_unit: float,
    leaves: Leaves,
    squares: Wide,
    nearest: Indices,
    looked: Wide,
) -> None:
    """Fill ``squares`` and ``nearest`` (n, k); ``looked`` counts leaves looked into and points measured."""
    points, order, starts, seen, low, high = leaves
    count = starts.size - 1
    rows = np.empty((_SEEN, _BLOCK), np.float32)
    bounds, limits = np.empty((count, _BLOCK), np.float32), np.empty(_BLOCK, np.float32)
    least, where = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.int32)
    hits, room = np.empty(_BLOCK + 1, np.intp), np.empty(_LEAF, np.float32)
    for first in range(0, x.shape[0], _BLOCK):
        many = min(_BLOCK, x.shape[0] - first)
        rows[:] = np.float32(0.0)
        for r in range(many):
            rows[:, r] = narrow[first + r]
        limits[:], least[:], where[:] = np.inf, np.inf, 0
        limits[many:] = -1.0
        for leaf in range(count):
            _box_distances(rows, low[leaf], high[leaf], bounds[leaf])
            _keep_nearest(bounds[leaf], leaf, least, where)
        for stage in range(-1, _STAGES.size):  # before all others the nearest leaf of each row
            for step in range(many if stage < 0 else count):
                leaf = where[step] if stage < 0 else step
                hits[0] = step
                some = 1 if stage < 0 else _those_near(bounds[leaf], limits, _STAGES[stage], hits)
                looked[0] += some
                members = seen[leaf]
                for h in range(some):
                    r = hits[h]
                    i = first + r
                    bounds[leaf, r] = np.nan  # never again
                    # Most leaves end here, so that the rest is a call of its own.
                    if _seen_distances(narrow, i, members, room) <= limits[r]:
                        span = starts[leaf], starts[leaf + 1]
                        limits[r], measured = _measure(
                            x, i, points, order, span, room, limits[r], per_unit, slack[i], squares, nearest
                        )
                        looked[1] += measured


@njit(cache=True, nogil=True)
def collect_leaves(
    x: Wide,
    narrow: Narrow,
    limits: Narrow,
    reach: Wide,
    leaves: Leaves,
    counts: Indices,
    found: Indices,
    squares: Wide,
) -> None:
    """Fill ``found`` and ``squares`` (n, most) with the points within ``reach``, ``counts`` with how many."""
    points, order, starts, seen, low, high = leaves
    most = found.shape[1]
    rows, bounds = np.empty((_SEEN, _BLOCK), np.float32), np.empty(_BLOCK, np.float32)
    hits, room = np.empty(_BLOCK + 1, np.intp), np.empty(_LEAF, np.float32)
    for first in range(0, x.shape[0], _BLOCK):
        some = limits[first : first + _BLOCK]
        rows[:] = np.float32(0.0)
        for r in range(some.size):
            rows[:, r] = narrow[first + r]
        for leaf in range(starts.size - 1):
            _box_distances(rows, low[leaf], high[leaf], bounds)
            members = seen[leaf]
            for h in range(_those_near(bounds, some, np.float32(1.0), hits)):
                i = first + hits[h]
                if counts[i] > most or _seen_distances(narrow, i, members, room) > limits[i]:
                    continue
                for j in range(starts[leaf + 1] - starts[leaf]):
                    if room[j] > limits[i] or counts[i] > most:
                        continue
                    square = _square(x, i, points, starts[leaf] + j)
                    if square <= reach[i]:
                        if counts[i] < most:
                            found[i, counts[i]], squares[i, counts[i]] = order[starts[leaf] + j], square
                        counts[i] += 1


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _box_distances(rows: Narrow, low: Narrow, high: Narrow, out: Narrow) -> None:
    """Squared distances of rows, seen as (_SEEN, rows), to a box."""
    out[:] = np.float32(0.0)
    zero = np.float32(0.0)
    for s in range(_SEEN):
        lowest, highest, values = low[s], high[s], rows[s]
        for r in range(out.size):
            gap = max(max(lowest - values[r], values[r] - highest), zero)
            out[r] += gap * gap


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _keep_nearest(bounds: Narrow, leaf: int, least: Narrow, where: NDArray[np.int32]) -> None:
    """Put the leaf in the place of each row's nearest one so far if it is nearer."""
    for r in range(bounds.size):
        is_less = bounds[r] < least[r]
        least[r] = bounds[r] if is_less else least[r]
        where[r] = np.int32(leaf) if is_less else where[r]


@njit(cache=True, nogil=True)
def _those_near(bounds: Narrow, limits: Narrow, share: np.float32, hits: Indices) -> int:
    """Fill ``hits`` with the rows whose bound is up to that share of their limit; returns how many."""
    count = 0
    for r in range(limits.size):  # without a branch, which nothing could predict
        hits[count] = r
        count += bounds[r] <= limits[r] * share
    return count


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _seen_distances(narrow: Narrow, i: int, seen: Narrow, room: Narrow) -> np.float32:
    """Fill ``room`` with squared distances as seen from a row to a leaf's points; returns the smallest."""
    smallest = np.float32(np.inf)
    for j in range(_LEAF):
        square = np.float32(0.0)
        for s in range(_SEEN):  # unrolled: the lanes are those of j
            difference = narrow[i, s] - seen[s, j]
            square += difference * difference
        room[j] = square
        smallest = smaller(smallest, square)
    return smallest


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _square(x: Wide, i: int, points: Wide, j: int) -> float:
    """Squared distance of a row to a point."""
    total = 0.0
    for c in range(x.shape[1]):
        difference = x[i, c] - points[j, c]
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def _measure(
    x: Wide,
    i: int,
    points: Wide,
    order: Indices,
    span: tuple[int, int],
    room: Narrow,
    limit: np.float32,
    per_unit: float,
    slack: float,
    squares: Wide,
    nearest: Indices,
) -> tuple[np.float32, int]:
    """Take points of a leaf into the nearest of a row; returns its new limit and the number measured."""
    count = 0
    for j in range(span[1] - span[0]):
        if room[j] <= limit:
            count += 1
            place = span[0] + j
            _take(_square(x, i, points, place), order[place], squares[i], nearest[i])
            length = np.sqrt(squares[i, -1]) * per_unit + slack
            limit = np.float32(length * length * _ROUNDED_UP)
    return limit, count


@njit(cache=True, nogil=True)
def _take(square: float, place: int, squares: Wide, nearest: Indices) -> None:
    """Put a point among the nearest of a row, if it is one."""
    j = squares.size - 1
    if square > squares[j] or (square == squares[j] and place > nearest[j]):
        return
    while j > 0 and (squares[j - 1] > square or (squares[j - 1] == square and nearest[j - 1] > place)):
        squares[j], nearest[j] = squares[j - 1], nearest[j - 1]
        j -= 1
    squares[j], nearest[j] = square, place
