"""Exact distances to the nearest other row, by matrix products or a k-d tree, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from sklearn.neighbors import NearestNeighbors

from whyodd.compute.points import is_sparse, squared_norms
from whyodd.compute.training.gram import TILE_COLUMNS, TILE_ROWS, for_row_tiles, spans

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whyodd.compute.points import Points
    from whyodd.compute.training.gram import Float64Array, IndexArray

# Up to this many columns a k-d tree finds neighbours faster than matrix products do.
_TREE_COLUMNS = 6
# Squared distances below this share of the squared norms have lost half of their digits to cancellation.
_CANCELLED = 1e-8


def nearest_neighbor_distances(X: Points) -> Float64Array:
    """d_i = min_{j ≠ i} ‖x_i - x_j‖, exactly.

    Parameters
    ----------
    X : ndarray (n, d) or CSR array, n ≥ 2

    Returns
    -------
    ndarray (n,)
    """
    if is_sparse(X):
        nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(return_distance=False)[:, 0]
        return np.sqrt(squared_norms(X.astype(np.float64) - X[nearest].astype(np.float64)))
    points = np.asarray(X, dtype=np.float64)
    points = points - points.mean(axis=0)
    if X.shape[1] <= _TREE_COLUMNS:
        tree = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(points)
        return np.asarray(tree.kneighbors()[0][:, 0])
    norms = squared_norms(points)
    nearest = _nearest_by_products(points, 0.5 * norms)
    distances = np.sqrt(np.sum((points - points[nearest]) ** 2, axis=1))
    # Cancellation can mistake the neighbour only of rows this close to theirs; none is closer than 0.
    doubtful = (distances > 0.0) & (distances**2 <= _CANCELLED * (norms + norms[nearest]))
    for i in np.flatnonzero(doubtful):
        squares = np.sum((points - points[i]) ** 2, axis=1)
        distances[i] = np.sqrt(np.delete(squares, i).min())
    return np.asarray(distances)


def _nearest_by_products(points: Float64Array, half_norms: Float64Array) -> IndexArray:
    """Find the nearest other row of every row by ‖x‖²/2 + ‖u‖²/2 - ⟨x, u⟩; a tile serves its transpose."""
    n = len(points)

    def work(tiles: Iterable[slice]) -> tuple[Float64Array, IndexArray]:
        closest, nearest = np.full(n, np.inf), np.zeros(n, np.intp)
        buffer = np.empty(TILE_ROWS * TILE_COLUMNS)
        for rows in tiles:
            for columns in [*spans(rows.start, TILE_COLUMNS), rows]:
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                tile = buffer[: shape[0] * shape[1]].reshape(shape)
                np.matmul(points[rows], points[columns].T, out=tile)
                _update_nearest(tile, half_norms, rows.start, columns.start, closest, nearest)
        return closest, nearest

    closest, nearest = zip(*for_row_tiles(n, work), strict=True)
    winner = np.argmin(closest, axis=0)
    return np.asarray(np.array(nearest)[winner, np.arange(n)])


@njit(cache=True, nogil=True)
def _update_nearest(
    tile: Float64Array,
    half_norms: Float64Array,
    first_row: int,
    first_column: int,
    closest: Float64Array,
    nearest: IndexArray,
) -> None:
    """Take the half squared distances of one tile into the nearest of its rows and of its columns.

    The tile on the diagonal is symmetric: its columns suffice, once a row is not its own neighbour.
    """
    b, m = tile.shape
    on_diagonal = first_row == first_column
    last = first_column + m
    norms = half_norms[first_column:last]
    column_closest, column_nearest = closest[first_column:last], nearest[first_column:last]
    for i in range(b):
        row, here, norm = tile[i], first_row + i, half_norms[first_row + i]
        for j in range(m):
            row[j] = (norm + norms[j]) - row[j]
        if on_diagonal:
            row[i] = np.inf
        lowest = np.inf
        for j in range(m):
            s = row[j]
            closer = s < column_closest[j]
            column_closest[j] = s if closer else column_closest[j]
            column_nearest[j] = here if closer else column_nearest[j]
            lowest = min(lowest, s)
        if not on_diagonal and lowest < closest[here]:
            closest[here] = lowest
            for j in range(m):
                if row[j] == lowest:
                    nearest[here] = first_column + j
                    break
