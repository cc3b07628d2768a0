"""Thresholds for models that have no boundary of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.models.fitting.left_out import log_inlierness_without, some_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.kernels import Kernel
    from whyodd.models.fitting.merging import MergedRows
    from whyodd.network.distance_network import DistanceNetwork

    Floats = NDArray[np.float64]

# How often a normal row is called an outlier by default.
USUAL_SHARE = 0.1
# Rows scored for a threshold: 2,000 put a share of 0.1 within 0.007 or so.
_SCORED_ROWS = 2000


def usual_threshold(scores: Floats, weights: Floats | None = None) -> float:
    """Threshold that a tenth of the scores (by weight) exceed, halfway between two of them.

    On no row's own score: rounding would decide whether that row is an outlier.
    """
    order = np.argsort(scores)
    counts = np.ones(len(scores)) if weights is None else weights
    reached = np.cumsum(counts[order]) / counts.sum()
    last = int(np.searchsorted(reached, 1.0 - USUAL_SHARE - 1e-12))
    return float(np.mean(scores[order[last : last + 2]]))


def soft_threshold(
    merged: MergedRows, alpha: Floats, shares: Floats, kernel: Kernel, n_centers: int
) -> float:
    """Threshold that a tenth of the training rows exceed, each without its own share of the weights."""
    chosen = some_rows(merged.rows.shape[0], _SCORED_ROWS)
    log_g = log_inlierness_without(merged.rows, alpha, shares, kernel, chosen)
    weights = None if merged.weights is None else merged.weights[chosen]
    return usual_threshold(np.asarray(kernel.outlierness(log_g, n_centers), dtype=np.float64), weights)


def neighbor_threshold(network: DistanceNetwork) -> float:
    """Threshold that a tenth of the centers exceed, each without itself among its neighbours."""
    chosen = some_rows(network.n_centers, _SCORED_ROWS)
    pooling = network.pooling
    own = chosen if pooling is not None and pooling.k < network.n_centers else None
    return usual_threshold(network.outlierness(network.centers[chosen], own=own))
