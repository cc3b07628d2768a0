"""A few patches that represent many: greedy k-center, and the resulting error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]

# Dimensions in which patches are compared during the choice. Distances are then off by 1/√128 = 9 % (one
# standard deviation). That affects the choice but not the reported radius, which is exact.
_PROJECTED = 64
_ROWS_AT_A_TIME = 4096


def k_centers(patches: Floats, count: int, random: Any) -> Indices:
    """Positions of ``count`` of the patches (n, d), ascending, so that no patch is far from all of them.

    The next one is always the one that is farthest from those there are (Gonzalez, 1985): without the
    projection the radius is at most twice the smallest possible.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> k_centers(points, 3, np.random.RandomState(0)).size
    3
    """
    if count >= len(patches):
        return np.arange(len(patches))
    points = _projected(patches, random)
    squares = np.einsum("ij,ij->i", points, points)
    chosen = np.empty(count, dtype=np.intp)
    chosen[0] = random.randint(len(points))
    nearest = np.full(len(points), np.inf)
    for turn in range(1, count):
        new = chosen[turn - 1]
        np.minimum(nearest, squares - 2.0 * (points @ points[new]) + squares[new], out=nearest)
        nearest[new] = -np.inf  # rounding must not choose it again
        chosen[turn] = np.argmax(nearest)
    return np.sort(chosen)


def radius(patches: Floats, centers: Floats) -> float:
    """The largest distance from a patch (n, d) to the nearest of the centers (k, d)."""
    largest = 0.0
    squares = np.einsum("ij,ij->i", centers, centers)
    for start in range(0, len(patches), _ROWS_AT_A_TIME):
        some = patches[start : start + _ROWS_AT_A_TIME]
        nearest = np.argmin(squares - 2.0 * (some @ centers.T), axis=1)
        # Differences of the found pairs keep the digits that the products lose.
        apart = np.linalg.norm(some.astype(np.float64) - centers[nearest], axis=1)
        largest = max(largest, float(apart.max()))
    return largest


def _projected(patches: Floats, random: Any) -> Floats:
    """The patches around their mean in fewer dimensions, by random signs."""
    points = patches - patches.mean(axis=0)
    if patches.shape[1] <= _PROJECTED:
        return np.asarray(points)
    signs = random.choice([-1.0, 1.0], size=(patches.shape[1], _PROJECTED)) / np.sqrt(_PROJECTED)
    return np.asarray(points @ signs.astype(points.dtype))
