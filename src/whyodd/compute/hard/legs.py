"""Compiled loops over nearest points: which they are, relevance along legs to them, values beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from whyodd.compute.vector_math import VECTOR, smaller

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Wide = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Every so many values of a row belong to one lane, or every 2k. The k-th smallest of the lanes' minima is a
# bound for the k smallest values, which are in the few lanes that have a minimum up to it.
_LANES = 256
# Up to this many minima are found by insertion, more by sorting all.
_INSERTED = 64
# Shorter runs are sorted by insertion.
_SHORT_RUN = 16
# Ends of runs that wait to be sorted: the longer half waits, so that they are few.
_WAITING = 128


@njit(cache=True, nogil=True)
def select_nearest(
    products: Wide, half_norms: Wide, row_half_norms: Wide, k: int, d: Wide, nearest: Indices
) -> None:
    """The k nearest of m points to each row, ascending, by ‖x - u‖² = 2 (‖x‖²/2 + ‖u‖²/2 - ⟨x, u⟩).

    Parameters
    ----------
    products : array of shape (n, m)
        ⟨x, u⟩; overwritten.
    half_norms, row_half_norms : arrays of shape (m,) and (n,)
        ‖u‖²/2 and ‖x‖²/2.
    k : int
    d, nearest : arrays of shape (n, k)
        Filled with distances and places. Of points at the same distance the first counts.
    """
    n, m = products.shape
    values, places = np.empty(m), np.empty(m, np.intp)
    ends = np.empty(_WAITING, np.intp)
    minima = np.empty(min(max(min(_LANES, m // 4), 2 * k), m))
    for i in range(n):
        row = products[i]
        _fill_minima(row, half_norms, minima)
        bound = _kth_smallest(minima, k, values, places, ends)
        count = _up_to(row, minima, bound, values, places)
        _sort(values, places, count, ends)
        for r in range(k):
            d[i, r] = np.sqrt(max(2.0 * (values[r] + row_half_norms[i]), 0.0))
            nearest[i, r] = places[r]


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _fill_minima(row: Wide, half_norms: Wide, minima: Wide) -> None:
    """Turn products into ‖u‖²/2 - ⟨x, u⟩ in place, with the smallest of each lane."""
    minima[:] = np.inf
    lanes = minima.size
    for start in range(0, row.size, lanes):
        _fill_run(row[start : start + lanes], half_norms[start : start + lanes], minima)


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _fill_run(row: Wide, half_norms: Wide, minima: Wide) -> None:
    for j in range(row.size):
        value = half_norms[j] - row[j]
        row[j] = value
        minima[j] = smaller(minima[j], value)


@njit(cache=True, nogil=True)
def _kth_smallest(minima: Wide, k: int, values: Wide, places: Indices, ends: Indices) -> float:
    """The k-th smallest of the lanes' minima; ``values``, ``places`` and ``ends`` are room for work."""
    if k > _INSERTED:
        values[: minima.size] = minima
        _sort(values, places, minima.size, ends)
        return float(values[k - 1])
    values[:k] = np.inf
    for value in minima:
        if value < values[k - 1]:
            j = k - 1
            while j > 0 and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
    return float(values[k - 1])


@njit(cache=True, nogil=True)
def _up_to(row: Wide, minima: Wide, bound: float, values: Wide, places: Indices) -> int:
    """Copy the values up to ``bound``, and where they are, from the lanes that have any; how many."""
    count = 0
    for lane in range(minima.size):
        if minima[lane] <= bound:
            for j in range(lane, row.size, minima.size):
                if row[j] <= bound:
                    values[count], places[count] = row[j], j
                    count += 1
    return count


@njit(cache=True, nogil=True)
def _sort(values: Wide, places: Indices, count: int, ends: Indices) -> None:
    """Sort values with their places; equal ones by place."""
    low, high, waiting = 0, count - 1, 0
    while True:
        while high - low >= _SHORT_RUN:
            first, middle, last = values[low], values[(low + high) >> 1], values[high]
            pivot = max(min(first, middle), min(max(first, middle), last))
            i, j = low, high
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while values[j] > pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    places[i], places[j] = places[j], places[i]
                    i += 1
                    j -= 1
            if j - low < high - i:
                ends[waiting], ends[waiting + 1], high = i, high, j
            else:
                ends[waiting], ends[waiting + 1], low = low, j, i
            waiting += 2
        if waiting == 0:
            break
        waiting -= 2
        low, high = ends[waiting], ends[waiting + 1]
    for i in range(1, count):
        value, place, j = values[i], places[i], i - 1
        while j >= 0 and (values[j] > value or (values[j] == value and places[j] > place)):
            values[j + 1], places[j + 1] = values[j], places[j]
            j -= 1
        values[j + 1], places[j + 1] = value, place


@njit(cache=True, nogil=True, fastmath=VECTOR)
def add_relevance(
    x: Wide,
    points: Wide,
    nearest: Indices,
    explained: Wide,
    limits: tuple[float, float],
    relevance: Wide,
) -> NDArray[np.bool_]:
    """Add Σ_r Δ_r (x - u_r)² / ‖x - u_r‖² over the legs of each row to the nearest points.

    Parameters
    ----------
    x : array of shape (n, d)
    points : array of shape (m, d)
    nearest : array of int of shape (n, k)
    explained : array of shape (n, k)
        Δ.
    limits : pair of float
        Squared lengths between which nothing over- or underflowed.
    relevance : array of shape (n, d)
        What is added to.

    Returns
    -------
    ndarray of bool of shape (n,)
        Rows with other legs, of which nothing was added.
    """
    (n, d), (least, most) = x.shape, limits
    squares, total = np.empty(d), np.empty(d)
    left = np.zeros(n, np.bool_)
    for i in range(n):
        total[:] = 0.0
        for r in range(nearest.shape[1]):
            if explained[i, r] == 0.0:
                continue
            point, length = points[nearest[i, r]], 0.0
            for c in range(d):
                squares[c] = (x[i, c] - point[c]) * (x[i, c] - point[c])
            for c in range(d):
                length += squares[c]
            if not least < length < most:
                left[i] = True
                break
            weight = explained[i, r] / length
            for c in range(d):
                total[c] += weight * squares[c]
        if not left[i]:
            for c in range(d):
                relevance[i, c] += total[c]
    return left


@njit(cache=True, nogil=True)
def count_beside(
    values: Wide, rows: Indices, columns: Indices, nearest: Indices, points: Wide, slack: float
) -> NDArray[np.intp]:
    """How many of the nearest points of a row lie clearly below a value, clearly above it, and are known.

    Parameters
    ----------
    values : array of shape (e,)
    rows, columns : arrays of int of shape (e,)
        The row of each value, and its column.
    nearest : array of int of shape (n, k)
        The points of each row.
    points : array of shape (d, m)
        NaN where a value is not known. Column by column, so that a column is in cache.
    slack : float
        Relative difference up to which values count as equal.

    Returns
    -------
    ndarray of int of shape (e, 3)
    """
    counts = np.zeros((values.size, 3), np.intp)
    for e in range(values.size):
        column, value = points[columns[e]], values[e]
        near = slack * abs(value)
        for place in nearest[rows[e]]:
            point = column[place]
            counts[e, 0] += value > point + near
            counts[e, 1] += value < point - near
            counts[e, 2] += point == point
    return counts
