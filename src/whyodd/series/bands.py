"""Relevance by frequency: an orthonormal transform of windows, and its inverse before the network.

A window x = Qᵀy is made of coefficients y = Qx, level and waves of each whole number of periods. Distances
are the same in both, ‖x - u‖ = ‖y - Qu‖, so that relevance is redistributed onto coefficients as onto steps,
and sums up to the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyodd.series.passes import network_of
from whyodd.series.views import Values
from whyodd.series.windows import cut, whole_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Bands:
    """Relevance of a stretch of a series by period and channel.

    Attributes
    ----------
    names : tuple of str
        "level", and ranges of periods in steps, from long to short.
    periods : ndarray of shape (B, 2)
        Shortest and longest period of each band, in steps; infinite for the level.
    relevance : ndarray of shape (B, C)
        Sums to the outlierness of the windows of this length.
    """

    names: tuple[str, ...]
    periods: Floats
    relevance: Floats

    @property
    def shares(self) -> dict[str, float]:
        """Share of each band."""
        parts = self.relevance.sum(axis=1)
        whole = float(parts.sum()) or 1.0
        return {name: float(part) / whole for name, part in zip(self.names, parts, strict=True)}


def waves(width: int) -> Floats:
    """Orthonormal Q (width, width): level, cosine and sine of each whole number of periods in a window.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.series.bands import waves
    >>> bool(np.abs(waves(7) @ waves(7).T - np.eye(7)).max() < 1e-12)
    True
    """
    angles = 2.0 * np.pi * np.outer(np.arange(width // 2 + 1), np.arange(width) + 0.5) / width
    rows = [np.ones(width)]
    for k in range(1, width // 2 + 1):
        # With two steps per period, sampled in the middle, only the sine is left.
        rows += [np.sin(angles[k])] if 2 * k == width else [np.cos(angles[k]), np.sin(angles[k])]
    Q = np.array(rows)
    return np.asarray(Q / np.linalg.norm(Q, axis=1, keepdims=True))


def frequencies(width: int) -> Indices:
    """Number of periods of each row of :func:`waves` in a window (width,)."""
    return (np.arange(width) + 1) // 2


def bands_of(
    values: Floats,
    span: tuple[int, int],
    width: int,
    learned: tuple[Floats, Indices],
    factors: Floats,
    is_known: bool,
) -> Bands:
    """Mean relevance by band of the windows that cover a span of the grid, or as much of it as possible.

    ``learned``: values and first steps of the normal windows; ``is_known``: these are the same values, and
    windows near the span are not compared with.
    """
    start, stop = span
    known, starts = learned
    all_starts = whole_starts(values, width)
    shared = np.minimum(all_starts + width, stop) - np.maximum(all_starts, start)
    if not (shared > 0).any():
        raise ValueError("A gap is too close to these rows for any window.")
    rows = all_starts[shared == shared.max()]
    if is_known:
        starts = starts[(starts <= rows[0] - width) | (starts >= rows[-1] + width)]
    network = network_of(known, starts, Values(width))
    Q, n_channels = waves(width), values.shape[1]

    def transformed(windows: Floats) -> Floats:
        by_step = windows.reshape(-1, width, n_channels).astype(np.float64)
        return np.asarray(np.einsum("kt,ntc->nkc", Q, by_step).reshape(len(windows), -1))

    in_waves = type(network)(transformed(np.asarray(network.centers)), pooling=network.pooling)
    parts = in_waves.decompose(transformed(cut(values, rows, width))).relevance
    mean = parts.reshape(len(rows), width, n_channels).mean(axis=0) * factors
    return _in_bands(mean, width)


def _in_bands(by_wave: Floats, width: int) -> Bands:
    """Waves grouped by octaves of their periods."""
    k = frequencies(width)
    octave = np.where(k == 0, -1, np.floor(np.log2(np.maximum(k, 1))).astype(int))
    found = np.unique(octave)
    names, periods = [], []
    for each in found:
        inside = k[octave == each]
        if each < 0:
            names.append("level")
            periods.append((np.inf, np.inf))
            continue
        short, long = width / inside.max(), width / inside.min()
        names.append(
            f"period of {long:.3g} steps" if short == long else f"periods of {short:.3g} to {long:.3g} steps"
        )
        periods.append((short, long))
    sums = np.array([by_wave[octave == each].sum(axis=0) for each in found])
    return Bands(tuple(names), np.array(periods), sums)
