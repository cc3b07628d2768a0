"""Models on patches of images and series, and the way back onto pixels and time steps."""

from whyodd.explainers.methods.sobel import sobel
from whyodd.patches.contrast import local_contrast
from whyodd.patches.explanation import PatchExplanation
from whyodd.patches.model import PatchModel
from whyodd.patches.strangest import StrangePatch

__all__ = ["PatchExplanation", "PatchModel", "StrangePatch", "local_contrast", "sobel"]
