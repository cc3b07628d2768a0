"""Resolution of the numbers of a column: a smaller difference means nothing to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DECIMALS = 9  # Numbers with more decimals than these were computed, not written.
# Part of the size of a column: scaling back and forth causes smaller errors.
_ROUNDING = 1e-9
# Part of the middle half of a column: four digits of the spread of its values.
_FINE = 1e-4
_MOST_VALUES = 1_000  # are enough to see how many decimals a column has


def resolution_of(values: Floats) -> float:
    """The smallest meaningful difference among numbers (n,): that of their last decimal, or of rounding.

    Where numbers have more decimals than anybody reads, it is a ten-thousandth of the range of the middle
    half. 0 of no numbers at all.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.explanations.resolution import resolution_of
    >>> resolution_of(np.array([3.0, 4.0, 12.0])), resolution_of(np.array([0.25, 0.5, 4.44e-16]))
    (1.0, 0.01)
    """
    known = values[np.isfinite(values)]
    if known.size == 0:
        return 0.0
    low, high = np.quantile(known, [0.25, 0.75])
    some = known[:: 1 + known.size // _MOST_VALUES]
    return max(_last_decimal(some), _FINE * float(high - low))


def _last_decimal(values: Floats) -> float:
    """The unit of the last decimal that any value has, or of rounding if they have too many."""
    noise = _ROUNDING * float(np.abs(values).max())
    for decimals in range(_DECIMALS + 1):
        if float(np.abs(values - np.round(values, decimals)).max()) <= noise:
            return 10.0**-decimals
    return noise
