"""Channels in units of their own, which gross values cannot change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Share of the values on either side that are cut off before the unit is measured.
_GROSS = 0.001
# Units between the constant of a channel that never varied and any other value: no scale says how far.
MOVED = 5.0
# Share of a value: smaller differences are rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Units:
    """Center and size of each channel in training.

    Attributes
    ----------
    center : ndarray of shape (C,)
        Median of each channel; the value of one that never varied.
    size : ndarray of shape (C,)
        Standard deviation with gross values drawn in; 0 of a channel that never varied.
    """

    center: Floats
    size: Floats

    @classmethod
    def of(cls, values: Floats) -> Units:
        """From the values (G, C) of a series, which may have gaps."""
        columns = [column[np.isfinite(column)] for column in values.T]
        pairs = [_unit(column) for column in columns]
        return cls(np.array([center for center, _ in pairs]), np.array([size for _, size in pairs]))

    @property
    def never_varied(self) -> NDArray[np.bool_]:
        """(C,) channels that never varied."""
        return np.asarray(self.size == 0.0)

    def scaled(self, values: Any) -> Floats:
        """Values (G, C) in these units. A channel that never varied has 0, or ±``MOVED`` if it does now."""
        away = np.asarray(values, dtype=np.float64) - self.center
        still = self.never_varied
        scaled = away / np.where(still, 1.0, self.size)
        if still.any():
            has_moved = np.abs(away[:, still]) > _ROUNDING * np.abs(self.center[still])
            moved = np.where(has_moved, MOVED * np.sign(away[:, still]), 0.0)
            scaled[:, still] = np.where(np.isnan(away[:, still]), np.nan, moved)
        return np.asarray(scaled)

    def raw(self, scaled: Floats) -> Floats:
        """Values in their own units again."""
        return np.asarray(self.center + scaled * self.size)


def _unit(known: Floats) -> tuple[float, float]:
    if known.size == 0:
        return 0.0, 0.0
    low, middle, high = np.quantile(known, [_GROSS, 0.5, 1.0 - _GROSS])
    size = float(np.clip(known, low, high).std())
    # A channel that moves only now and then has only gross values.
    size = size if size > 0.0 else float(known.std())
    is_still = np.ptp(known) <= _ROUNDING * float(np.abs(known).max())
    return float(middle), 0.0 if is_still else size
