"""The package's own detectors: they own a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyodd.adapters.requirements import require_fitted

if TYPE_CHECKING:
    from whyodd.models.registry import DistanceDetector
    from whyodd.network.distance_network import DistanceNetwork


def from_own_model(model: DistanceDetector) -> DistanceNetwork:
    """Network of a fitted detector; its ``score_samples`` is -outlierness, or a log-density."""
    require_fitted(model, "network_")
    return model.network_
