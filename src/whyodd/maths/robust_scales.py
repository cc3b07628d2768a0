"""Centers and scales of columns that resist gross values, and distances that stay moderate beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# A scale is the range between two quantiles, this one and its mirror image.
_TAIL = 0.1
# Beyond this many scales, distances grow as a root: a far value counts as far, but it alone does not decide
# about all others.
FAR = 15.0


def center_and_scale(X: Floats) -> tuple[Floats, Floats]:
    """Median (d,) and robust scale (d,) of columns (n, d); the scale of a normal distribution is its σ.

    The scale follows from the range of the middle 80 % of the values. Where more than half of all values are
    the same, it is at least the median distance of the others from that: else it would depend on how many
    they are. A column that never varies is measured in units of its own size.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.maths.robust_scales import center_and_scale
    >>> center_and_scale(np.array([[1.0], [2.0], [3.0], [4.0], [1e9]]))[0]
    array([3.])
    """
    center = np.median(X, axis=0)
    low, high = np.quantile(X, [_TAIL, 1.0 - _TAIL], axis=0)
    scale = (high - low) / (-2.0 * ndtri(_TAIL))
    deviates = center != X
    for i in np.flatnonzero((deviates.mean(axis=0) < 0.5) | (scale <= 0.0)):
        gaps = np.abs(X[deviates[:, i], i] - center[i])
        scale[i] = max(scale[i], np.median(gaps)) if gaps.size else np.abs(center[i]) or 1.0
    return center, scale


def soften(Z: Floats, far: float = FAR) -> Floats:
    """Distances in scales (n, d): z itself up to ``far``, and beyond it far √(z / far), with the sign of z.

    Examples
    --------
    >>> from whyodd.maths.robust_scales import soften
    >>> soften([3.0, -15.0, 60.0])
    array([  3., -15.,  30.])
    """
    values = np.asarray(Z, dtype=np.float64)
    sizes = np.abs(values)
    if sizes.size == 0 or sizes.max() <= far:
        return values
    return np.where(sizes <= far, values, np.copysign(np.sqrt(far * np.maximum(sizes, far)), values))
