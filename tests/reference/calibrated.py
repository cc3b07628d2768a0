"""Relevance over what is usual as plain loops, from the formula alone."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np

FLOOR = 1e-3


def calibrate(parts: Any, normal: Any) -> tuple[np.ndarray, np.ndarray]:
    """Relevance (n, d) and rest (n,) over what normal rows receive, both given as decompositions.

    R'_i = s R_i/ū_i / D and R'_0 = R_0/ō: ū_i is the mean of R_i and a little of the mean over i, D the mean
    of Σ_i R_i/ū_i, ō the mean of o and s the share of it that belongs to variables. For R_i ≥ 0.
    """
    n, d = np.shape(normal.relevance)
    means = [fsum(row[i] for row in normal.relevance) / n for i in range(d)]
    usual = [mean + FLOOR * fsum(means) / d for mean in means]
    number = fsum(row[i] / usual[i] for row in normal.relevance for i in range(d)) / n
    rest = fsum(normal.unexplained) / n
    whole = fsum(means) + rest
    share = fsum(means) / whole
    relevance = [[share * row[i] / usual[i] / number for i in range(d)] for row in parts.relevance]
    return np.array(relevance), np.array([value / whole for value in parts.unexplained])
