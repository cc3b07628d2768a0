"""One series of any length: how odd each of its steps is, in which channels, and the events it is made of."""

from whyodd.series.detector import SeriesDetector
from whyodd.series.explanation import SeriesExplanation

__all__ = ["SeriesDetector", "SeriesExplanation"]
