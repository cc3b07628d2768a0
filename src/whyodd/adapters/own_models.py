"""Detectors of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyodd.adapters.requirements import require_fitted

if TYPE_CHECKING:
    from whyodd.models.base import DistanceDetector
    from whyodd.network.distance_network import DistanceNetwork


def from_own_model(model: DistanceDetector) -> DistanceNetwork:
    """Network of a fitted detector of the package: o grows as its ``score_samples`` falls."""
    require_fitted(model, "network_")
    return model.network_
