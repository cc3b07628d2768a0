"""PyOD's ``Sampling`` as a distance network."""

from __future__ import annotations

from typing import Any

from whyodd.adapters.requirements import require_euclidean, require_fitted
from whyodd.maths.hard_poolings import Nearest
from whyodd.network.distance_network import DistanceNetwork


def from_pyod_sampling(model: Any) -> DistanceNetwork:
    """Network of a fitted ``pyod.models.sampling.Sampling``: ``decision_function`` = o, the offset is 0.

    The distance to the nearest of a few training rows, drawn at random. Which ones they are PyOD does not
    keep: a training row that was drawn has o = 0, as in PyOD, unless ``exclude_self=True`` finds it by its
    values.
    """
    require_fitted(model, "decision_scores_")
    require_euclidean(model, model.metric, model.metric_params)
    return DistanceNetwork(model.subset, pooling=Nearest.kth(1))
