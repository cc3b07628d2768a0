"""One series of any length: how odd each step is, in which channels, and its events."""

from whyodd.series.detector import SeriesDetector
from whyodd.series.explanation import SeriesExplanation

__all__ = ["SeriesDetector", "SeriesExplanation"]
