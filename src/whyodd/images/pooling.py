"""From the places of an image to the image: a power mean that one odd place moves, and its relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

# Close to the maximum, but a defect of several places counts more than one of a single place. The mean over
# places keeps images of different size comparable.
POWER = 32.0
# Relevance goes to places by a lower power, so that a heatmap shows everything odd about an image and not
# only its oddest place.
_SHARING = 2.0
# Places: neighbours that see the same defect support each other, single grains do not.
SMOOTHING = 1.0


def smoothed(distances: Doubles) -> Doubles:
    """Distances (h, w) averaged nearby; a symmetric map whose rows and columns sum to 1."""
    return np.asarray(gaussian_filter(distances.astype(np.float64), SMOOTHING, mode="reflect"))


def pooled(scores: Doubles, power: float = POWER) -> float:
    """O = (mean_t s_t^p)^(1/p) over places.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.images.pooling import pooled
    >>> round(pooled(np.full((8, 8), 2.0)), 12)
    2.0
    """
    largest = float(scores.max())
    if largest <= 0.0:
        return 0.0
    return float(largest * np.mean((scores / largest) ** power) ** (1.0 / power))


def shared(scores: Doubles) -> Doubles:
    """The part of O of each place (h, w): the share s_t² / Σ s². A usual place, s_t = 0, has none."""
    largest = float(scores.max())
    if largest <= 0.0:
        return np.zeros_like(scores)
    parts = (scores / largest) ** _SHARING
    return np.asarray(pooled(scores) * parts / parts.sum())
