"""Positions in the plane for points of many dimensions, as far apart as the points are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.compute.points import squared_norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Wide = NDArray[np.float64]

_LANDMARKS, _ROUNDS, _FEW_ROUNDS = 200, 200, 30
_SETTLED = 1e-4  # of the size of the picture
_TILT = 0.2


def embed(points: Wide) -> Wide:
    """(n, 2) metric multidimensional scaling of ``points`` (n, d), the least of Σ (‖x_i − x_j‖ − d_ij)².

    PCA shows two directions only, and lays groups that differ in others on top of each other. t-SNE takes
    minutes for thousands of rows, and another rounding gives another picture. Majorisation (SMACOF) from a
    fixed start never makes it worse and always ends the same: first for landmarks, evenly over the rows in
    their order, then for each row by its distances to them.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.plots.embedding import embed
    >>> corners = embed(np.eye(3))
    >>> sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    >>> np.round(sides, 2).tolist()
    [1.41, 1.41, 1.41]
    """
    chosen = np.linspace(0, len(points) - 1, min(len(points), _LANDMARKS)).round().astype(np.intp)
    landmarks = points[chosen]
    places = _settled(_start(landmarks), distances(landmarks, landmarks))
    if len(points) <= _LANDMARKS:
        return places
    apart = distances(points, landmarks)
    rows = np.asarray(places[apart.argmin(axis=1)])
    for _ in range(_FEW_ROUNDS):
        rows = _majorised(rows, places, apart)
    return rows


def distances(points: Wide, others: Wide) -> Wide:
    """(n, m) Euclidean distances."""
    squares = squared_norms(points)[:, None] + squared_norms(others) - 2.0 * points @ others.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _start(points: Wide) -> Wide:
    """Principal components, the first two tilted by two more, to separate points that differ only there."""
    centered = points - points.mean(axis=0)
    left, sizes, right = np.linalg.svd(centered, full_matrices=False)
    # The sign of a component is arbitrary: the variable that has most of it points up.
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])
    parts = np.zeros((len(points), 4))
    count = min(4, sizes.size)
    parts[:, :count] = (left * sizes * signs)[:, :count]
    return parts[:, :2] + _TILT * parts[:, 2:]


def _settled(places: Wide, apart: Wide) -> Wide:
    for _ in range(_ROUNDS):
        moved = _majorised(places, places, apart)
        moved -= moved.mean(axis=0)
        step = float(np.abs(moved - places).max())
        places = moved
        if step <= _SETTLED * float(np.abs(places).max()):
            break
    return places


def _majorised(places: Wide, others: Wide, apart: Wide) -> Wide:
    """Each position moved to the mean of those that the others want: at their distance, in its direction."""
    now = distances(places, others)
    scale = np.divide(apart, now, out=np.zeros_like(apart), where=now > 1e-12)
    pull = others.mean(axis=0) + (scale.sum(axis=1)[:, None] * places - scale @ others) / len(others)
    return np.asarray(pull)
