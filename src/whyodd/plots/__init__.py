"""Pictures of explanations, one file each: ``(explanation, ...) -> Axes`` or figure."""

from typing import TYPE_CHECKING, Any

from whyodd.plots.bars import bars
from whyodd.plots.beeswarm import beeswarm
from whyodd.plots.events import events
from whyodd.plots.expected import expected
from whyodd.plots.flipping import flipping
from whyodd.plots.heatmap import heatmap, heatmaps
from whyodd.plots.patterns import patterns
from whyodd.plots.reasons_map import reasons_map
from whyodd.plots.scores import scores
from whyodd.plots.series import series
from whyodd.plots.strangest import strangest
from whyodd.plots.text import text
from whyodd.plots.waterfall import waterfall

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "PLOTS",
    "bars",
    "beeswarm",
    "events",
    "expected",
    "flipping",
    "heatmap",
    "heatmaps",
    "patterns",
    "reasons_map",
    "scores",
    "series",
    "strangest",
    "text",
    "waterfall",
]

PLOTS: dict[str, "Callable[..., Any]"] = {
    "bars": bars,
    "beeswarm": beeswarm,
    "events": events,
    "expected": expected,
    "flipping": flipping,
    "heatmap": heatmap,
    "heatmaps": heatmaps,
    "patterns": patterns,
    "reasons_map": reasons_map,
    "scores": scores,
    "series": series,
    "strangest": strangest,
    "text": text,
    "waterfall": waterfall,
}
