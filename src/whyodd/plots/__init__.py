"""Pictures of explanations, one file each: ``(explanation, ...) -> Axes`` or figure."""

from typing import TYPE_CHECKING, Any

from whyodd.plots.heatmap import heatmap, heatmaps
from whyodd.plots.series import series
from whyodd.plots.strangest import strangest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PLOTS", "heatmap", "heatmaps", "series", "strangest"]

PLOTS: dict[str, "Callable[..., Any]"] = {
    "heatmap": heatmap,
    "heatmaps": heatmaps,
    "series": series,
    "strangest": strangest,
}
