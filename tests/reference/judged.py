"""Rows that people judged, pooled with a score, as plain loops from the formula alone."""

from __future__ import annotations

from math import dist, inf
from typing import Any


def learned_distance(x: Any, rows: Any) -> float:
    """Mean distance of a row from the nearest tenth of some rows, copies counted once."""
    points = {tuple(map(float, row)) for row in rows}
    k = min(max(round(0.1 * len(points)), 10), len(points))
    return sum(sorted(dist(x, point) for point in points)[:k]) / k


def judged_outlierness(o: float, x: Any, accepted: Any, rejected: Any, rows: Any, level: float) -> float:
    """o' of one row x with outlierness o, beside accepted and rejected rows; ``rows`` were learned from."""
    a = min((dist(x, row) for row in accepted), default=inf)
    b = min((dist(x, row) for row in rejected), default=inf)
    u = learned_distance(x, rows)
    kept = o * a / u if a < u else o
    if b == 0.0:
        return kept + level
    return kept + level * (1.0 - b / min(a, u)) if b < min(a, u) else kept
