"""Squared differences from a point, in the metric of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.maths.metrics import ComponentMetric, LinearMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.maths.metrics import Metric

    Floats = NDArray[np.floating]


def squared_parts(
    metric: Metric | None, differences: Floats, centers: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Parts δ_i [AᵀA δ]_i (n, d) of squared distances: δ_i² under the plain distance, and a sum d² always.

    ``centers`` (n,) says whose map A counts for each row, where every center has its own.
    """
    if metric is None:
        return np.asarray(differences**2, dtype=np.float64)
    if isinstance(metric, LinearMetric):
        return differences * (differences @ metric.matrix.T @ metric.matrix)
    assert isinstance(metric, ComponentMetric)
    factors = metric.factors[centers]
    if metric.is_diagonal:
        return np.asarray((differences * factors) ** 2)
    mapped = np.einsum("nkd,nd->nk", factors, differences)
    return np.asarray(differences * np.einsum("nkd,nk->nd", factors, mapped))
