"""Heavy-tailed numbers: a log scale where the likelihood asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A log scale draws far values nearer and so hides some; it must describe the column decidedly better.
_NATS_PER_ROW = 2.0


@dataclass(frozen=True)
class LogScale:
    """z = asinh((x - center)/unit): linear near the center, logarithmic far from it, never saturated.

    ``gain`` says by how much the column is likelier on this scale: nats per row under a Gaussian.
    """

    center: float
    unit: float
    gain: float


def choose_log_scale(numbers: NDArray[np.float64]) -> LogScale | None:
    """Log scale for numbers (n,), at least two different ones; None if they need none.

    As for Box's and Cox's power transformations, scales are compared by the Gaussian likelihood of the
    transformed numbers times the Jacobian: -½ log var z + mean log dz/dx. Unlike power transformations
    with a negative exponent these are unbounded: what is far away stays far away.
    """
    largest = np.abs(numbers).max()
    x = numbers / largest
    plain = -0.5 * np.log(np.var(x)) if np.var(x) > 0.0 else -np.inf
    best: LogScale | None = None
    for center in (0.0, float(np.median(x))):
        distances = np.abs(x - center)
        unit = float(np.median(distances[distances > 0.0]))
        ratios = (x - center) / unit
        variance = float(np.var(np.arcsinh(ratios)))
        if not (np.isfinite(variance) and variance > 0.0):
            continue
        likelihood = -0.5 * np.log(variance) - np.mean(np.log(np.hypot(1.0, ratios))) - np.log(unit)
        gain = float(likelihood - plain)
        if gain > (best.gain if best else _NATS_PER_ROW):
            best = LogScale(center * largest, unit * largest, gain)
    return best
