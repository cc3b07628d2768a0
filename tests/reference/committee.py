"""A committee as plain loops, from the formulas alone: robust scales, views, relevance over its usual size.

Of the committee only the parameters are read: centers, scales, what each view learned and divides by.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

FAR = 15.0


def explain_committee(X: Any, committee: Any, own: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relevance (n, d), outlierness (n,), and the mean of the rows compared with (n, d)."""
    rows = np.asarray(X, dtype=np.float64)
    own = [-1] * len(rows) if own is None else own
    found = [_explain_row(x, committee, int(j)) for x, j in zip(rows, own, strict=True)]
    relevance = np.array([row[0] for row in found])
    return relevance, np.array([math.fsum(row) for row in relevance]), np.array([row[1] for row in found])


def scaled(x: Any, committee: Any) -> list[float]:
    """What the views see of a row."""
    out = []
    for value, center, scale in zip(x, committee.center, committee.scale, strict=True):
        z = (value - center) / scale
        out.append(z if abs(z) <= FAR else math.copysign(math.sqrt(FAR * abs(z)), z))
    return out


def _explain_row(x: Any, committee: Any, left_out: int) -> tuple[list[float], list[float]]:
    z = scaled(x, committee)
    relevance = [0.0] * len(z)
    for view in committee.views:
        parts = _VIEWS[type(view.score).__name__](z, view.score, left_out)
        for i, part in enumerate(parts):
            relevance[i] += view.weight * part / view.usual[i]
    nearest = _nearest(z, committee.views[0].score, left_out)
    k = len(nearest)
    expected = [sum(committee.centers[j][i] for _, j in nearest) / k for i in range(len(z))]
    return relevance, expected


def _nearest(z: list[float], network: Any, left_out: int) -> list[tuple[float, int]]:
    distances = [
        (math.sqrt(sum((a - b) ** 2 for a, b in zip(z, u, strict=True))), j)
        for j, u in enumerate(network.centers)
        if j != left_out
    ]
    return sorted(distances)[: network.pooling.k]


def _neighbourhood(z: list[float], network: Any, left_out: int) -> list[float]:
    """Mean distance to the nearest: each of them is shared out by squared differences."""
    nearest = _nearest(z, network, left_out)
    relevance = [0.0] * len(z)
    for distance, j in nearest:
        for i, value in enumerate(z):
            if distance > 0.0:
                relevance[i] += (value - network.centers[j][i]) ** 2 / distance / len(nearest)
    return relevance


def _residuals(z: list[float], view: Any, left_out: int) -> list[float]:  # noqa: ARG001
    columns = range(len(z)) if view.columns is None else view.columns
    gaps = [z[column] - mean for column, mean in zip(columns, view.mean, strict=True)]
    relevance = [0.0] * len(z)
    for place, column in enumerate(columns):
        if view.precision.ndim == 1:
            relevance[column] = gaps[place] ** 2 * view.precision[place]
        else:
            product = sum(view.precision[place][other] * gap for other, gap in enumerate(gaps))
            relevance[column] = product**2 / view.precision[place][place]
    return relevance


def _pairs(z: list[float], view: Any, left_out: int) -> list[float]:
    def place(column: int) -> int:
        return sum(edge < z[column] for edge in view.edges[:, column])

    relevance = [0.0] * len(z)
    for (i, k), counts, chance in zip(view.pairs, view.counts, view.chance, strict=True):
        seen = counts[place(i)][place(k)] - (left_out >= 0)
        surprise = max(0.0, math.log((chance[place(i)][place(k)] + 1.0) / (max(seen, 0.0) + 1.0)))
        relevance[i] += surprise / 2.0
        relevance[k] += surprise / 2.0
    return relevance


_VIEWS = {"DistanceNetwork": _neighbourhood, "Residuals": _residuals, "Pairs": _pairs}
