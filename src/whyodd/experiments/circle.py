"""A grid with a circle in it that no edge detector sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WIDTH, RADIUS, SHIFT = 256, 20, 2
_PERIOD, _LINE, _BLUR, _NOISE = 12, 3, 0.7, 0.02
KINDS = ("shifted", "blurred")


def hidden_circle(kind: str, random: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """A grid with slight noise (256, 256) that is "shifted" or "blurred" in a disk, and where that is.

    Lines are 3 pixels wide, of height 1, and 12 pixels apart. Within 20 pixels of a random place they are
    shifted by 2 pixels both ways, or blurred by a Gaussian of 0.7 pixels.
    """
    row, column = random.integers(2 * RADIUS, WIDTH - 2 * RADIUS, size=2)
    rows, columns = np.mgrid[:WIDTH, :WIDTH]
    is_inside = (rows - row) ** 2 + (columns - column) ** 2 <= RADIUS**2
    usual = _lines(rows, columns)
    kinds = {
        "shifted": _lines(rows - SHIFT, columns - SHIFT),
        "blurred": gaussian_filter(usual, _BLUR),
    }
    return np.where(is_inside, kinds[kind], usual) + _NOISE * random.standard_normal(usual.shape), is_inside


def _lines(rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
    return np.asarray((rows % _PERIOD < _LINE) | (columns % _PERIOD < _LINE), dtype=np.float64)


def contrast(heat: Floats, is_inside: NDArray[np.bool_]) -> float:
    """How many times higher the mean of a heatmap is inside a region than outside."""
    return float(heat[is_inside].mean() / heat[~is_inside].mean())
