"""Whether an image is odd, and where: views of features, calibrated on normal images, pooled over places."""

from whyodd.images.detector import ImageDetector
from whyodd.images.explanation import ImageExplanation

__all__ = ["ImageDetector", "ImageExplanation"]
