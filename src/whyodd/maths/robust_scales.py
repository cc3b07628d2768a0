"""Centers and scales of columns that gross values cannot move, and distances that stay finite beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# A scale is the range between two quantiles, this one and its mirror image: the first of these in which
# the column varies at all.
_TAILS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
# Beyond so many scales distances grow as a root: a far value counts as far, but one alone does not decide
# about all others.
FAR = 15.0


def center_and_scale(X: Floats) -> tuple[Floats, Floats]:
    """Median (d,) and robust scale (d,) of columns (n, d); the scale of a normal distribution is its σ.

    The scale follows from the range of the middle 80 % of the values. Where these are all the same it is
    that of the middle 90 %, 96 % and so on, and at last the median of what deviates. A column that never
    varies is measured in units of its own size.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.maths.robust_scales import center_and_scale
    >>> center_and_scale(np.array([[1.0], [2.0], [3.0], [4.0], [1e9]]))[0]
    array([3.])
    """
    center = np.median(X, axis=0)
    scale = np.zeros(X.shape[1])
    for tail in _TAILS:
        if (scale > 0.0).all():
            break
        low, high = np.quantile(X, [tail, 1.0 - tail], axis=0)
        scale = np.where(scale > 0.0, scale, (high - low) / (-2.0 * ndtri(tail)))
    for i in np.flatnonzero(scale <= 0.0):
        gaps = np.abs(X[:, i] - center[i])
        scale[i] = np.median(gaps[gaps > 0.0]) if gaps.any() else np.abs(center[i]) or 1.0
    return center, scale


def soften(Z: Floats) -> Floats:
    """Distances in scales (n, d): z itself up to ``FAR``, and beyond it FAR √(z / FAR), with the sign of z.

    Examples
    --------
    >>> from whyodd.maths.robust_scales import soften
    >>> soften([3.0, -15.0, 60.0])
    array([  3., -15.,  30.])
    """
    values = np.asarray(Z, dtype=np.float64)
    sizes = np.abs(values)
    if sizes.size == 0 or sizes.max() <= FAR:
        return values
    return np.where(sizes <= FAR, values, np.copysign(np.sqrt(FAR * np.maximum(sizes, FAR)), values))
