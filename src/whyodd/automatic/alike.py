"""Rows with a similar context, and what is usual among them, without the row in question."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri
from sklearn.neighbors import KDTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Bools = NDArray[np.bool_]

# With this many similar rows, no others are needed.
ENOUGH = 20
# A spread is the range between two quantiles, this one and its mirror image, in units of a normal one.
_TAIL = 0.1
_OF_NORMAL = -2.0 * float(ndtri(_TAIL))
# Below this difference, distances count as equal, since only rounding separates them.
_ROUNDING = 1e-9
# Numbers held at once.
_BLOCK = 2_000_000


class Alike:
    """Known rows by their context: a cell, by codes that must be equal, and a point that must be near.

    Codes count in their order: level l asks for the first l of them to be equal, level 0 for none.

    Parameters
    ----------
    codes : ndarray of int of shape (m, levels)
        Of the known rows.
    points : ndarray of shape (m, c)
        Where they are; c may be 0.
    """

    def __init__(self, codes: Indices, points: Floats) -> None:
        self.codes, self.points = codes, points

    @property
    def n_levels(self) -> int:
        """How many codes rows have."""
        return int(self.codes.shape[1])

    @cached_property
    def _cells(self) -> list[dict[bytes, Indices]]:
        """For each level the rows of each cell."""
        cells = []
        for level in range(self.n_levels + 1):
            found: dict[bytes, list[int]] = {}
            for row, key in enumerate(_keys(self.codes[:, :level])):
                found.setdefault(key, []).append(row)
            cells.append({key: np.array(rows, dtype=np.intp) for key, rows in found.items()})
        return cells

    @cached_property
    def _trees(self) -> dict[tuple[int, bytes], KDTree]:
        return {}

    def rows(self, level: int, codes: Indices, points: Floats) -> list[Indices]:
        """The known rows alike to each of some contexts (u, levels) and (u, c).

        Those of the cell; where it has many, the nearest, with all that are as near as the last of these:
        as many as are enough, or the root of all, so that they are nearer and more the more rows there are.
        """
        none = np.empty(0, dtype=np.intp)
        found = [none] * len(codes)
        asking: dict[bytes, list[int]] = {}
        for place, key in enumerate(_keys(codes[:, :level])):
            asking.setdefault(key, []).append(place)
        for key, places in asking.items():
            members = self._cells[level].get(key, none)
            nearest = self._nearest(level, key, members, points[places])
            for place, rows in zip(places, nearest, strict=True):
                found[place] = rows
        return found

    def _nearest(self, level: int, key: bytes, members: Indices, points: Floats) -> list[Indices]:
        wanted = max(ENOUGH, round(members.size**0.5))
        if members.size <= wanted or points.shape[1] == 0:
            return [members] * len(points)
        if (level, key) not in self._trees:
            self._trees[level, key] = KDTree(self.points[members])
        tree = self._trees[level, key]
        distances, _ = tree.query(points, k=wanted)
        # Enough rows at exactly the same place need no others.
        reach = np.where(distances[:, ENOUGH - 1] <= _ROUNDING, 0.0, distances[:, -1])
        near = tree.query_radius(points, reach + _ROUNDING)
        return [members[places] for places in near]


class Middle(NamedTuple):
    """What is usual among rows: median, spread and number of values (n, d); NaN where there are none."""

    median: Floats
    spread: Floats
    size: Floats


def middles(values: Floats, alike: list[Indices], context: Indices, own: Floats, is_known: Bools) -> Middle:
    """What is usual of numbers among the rows alike to each of n rows, without the row itself.

    The spread is that of the middle 80 %. Where more than half of the values are the same, it is at least the
    median distance of the others from them, as in ``whyodd.maths.robust_scales``; 0 where all are the same.

    Parameters
    ----------
    values : ndarray of shape (m, d)
        Of the known rows, NaN where missing.
    alike : list of ndarray of int
        The known rows that are alike to each of some contexts.
    context : ndarray of int of shape (n,)
        Which of them each row has.
    own : ndarray of shape (n, d)
        The row's own values.
    is_known : ndarray of bool of shape (n,)
        Whether the row is a known one, and must not count.
    """
    shape = len(context), values.shape[1]
    found = Middle(np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape))
    for contexts, rows in _padded(alike):
        asking = np.flatnonzero(np.isin(context, contexts))
        place = np.searchsorted(contexts, context[asking])
        step = max(_BLOCK // rows.shape[1], 1)
        for j in range(shape[1]):
            known = np.append(values[:, j], np.nan)[rows]
            known = np.sort(np.where(np.isnan(known), np.inf, known), axis=1)
            count = np.isfinite(known).sum(axis=1)
            for start in range(0, asking.size, step):
                some, at = asking[start : start + step], place[start : start + step]
                left_out = is_known[some] & ~np.isnan(own[some, j])
                parts = _middle(known[at], count[at], own[some, j], left_out)
                for whole, part in zip(found, parts, strict=True):
                    whole[some, j] = part
    return found


def _middle(sorted_values: Floats, count: Indices, own: Floats, left_out: Bools) -> Middle:
    """Middle of one column: sorted values (n, longest), of which the first ``count`` are filled."""
    first = (sorted_values < own[:, None]).sum(axis=1)
    n = count - left_out
    nobody = np.where(left_out, first, sorted_values.shape[1])  # the place that does not count

    def quantile(q: float) -> Floats:
        at = q * np.maximum(n - 1, 0)
        low = np.floor(at).astype(np.intp)
        ends = [np.minimum(low + more, np.maximum(n - 1, 0)) for more in (0, 1)]
        a, b = (_at(sorted_values, end + (end >= nobody)) for end in ends)
        return np.where(n > 0, a + (at - low) * (b - a), np.nan)

    with np.errstate(invalid="ignore"):
        median = quantile(0.5)
        spread = (quantile(1.0 - _TAIL) - quantile(_TAIL)) / _OF_NORMAL
        gaps = np.abs(sorted_values - median[:, None])
    gaps[~np.isfinite(gaps) | (gaps == 0.0)] = np.nan
    gaps[np.flatnonzero(left_out), first[left_out]] = np.nan
    n_apart = np.isfinite(gaps).sum(axis=1)
    is_rare = (n_apart > 0) & ((n_apart < 0.5 * n) | (spread <= 0.0))
    if is_rare.any():
        spread[is_rare] = np.maximum(spread[is_rare], np.nanmedian(gaps[is_rare], axis=1))
    return Middle(median, spread, n.astype(np.float64))


def _at(values: Floats, columns: Indices) -> Floats:
    inside = np.minimum(columns, values.shape[1] - 1)
    return np.asarray(values[np.arange(len(values)), inside])


def counts(codes: Indices, n_labels: int, alike: list[Indices]) -> Floats:
    """Number of similar rows with each label (u, labels), by its code; -1 means no label."""
    found = np.zeros((len(alike), n_labels))
    for place, rows in enumerate(alike):
        of_rows = codes[rows]
        found[place] = np.bincount(of_rows[of_rows >= 0], minlength=n_labels)
    return found


def _padded(alike: list[Indices]) -> Iterator[tuple[Indices, Indices]]:
    """Contexts of about as many rows each, ascending, and their rows (contexts, longest); -1 is none."""
    sizes = np.array([rows.size for rows in alike], dtype=np.intp)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    start = 0
    while start < order.size:
        # Rows of a block are at most twice as many as the fewest in it.
        stop = int(np.searchsorted(sizes[order], 2 * sizes[order[start]], side="right"))
        stop = max(min(stop, start + _BLOCK // int(2 * sizes[order[start]])), start + 1)
        contexts = np.sort(order[start:stop])
        rows = np.full((contexts.size, int(sizes[contexts].max())), -1, dtype=np.intp)
        for place, context in enumerate(contexts.tolist()):
            rows[place, : sizes[context]] = alike[context]
        yield contexts, rows
        start = stop


def _keys(codes: Indices) -> list[bytes]:
    """Rows of codes as bytes, equal for equal rows."""
    return [row.tobytes() for row in np.ascontiguousarray(codes, dtype=np.intp)]
