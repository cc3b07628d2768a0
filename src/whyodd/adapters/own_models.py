"""The package's own detectors: they own a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from whyodd.models import DistanceDetector
    from whyodd.network import DistanceNetwork


def from_own_model(model: DistanceDetector) -> DistanceNetwork:
    """Network of a fitted detector; its ``score_samples`` is -outlierness, as it is."""
    check_is_fitted(model)
    return model.network_
