"""What is usual of a view, from normal images that were not learned: of a place, and of a whole image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whyodd.images.pooling import pooled
from whyodd.patches.features.axes import on_grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Floats = NDArray[np.floating]

# Places this near to the border are compared with others equally near. There the features see beyond the
# image, and distances are larger: otherwise most normal images would be oddest at their border.
_FRAME = 4
# Images needed to know what is usual at a place, and the weight of all places' value, in values.
_LEAST_IMAGES, _PRIOR = 8, 4.0
# Features are in units of their spread: distances that vary by less than this do not vary.
_LEAST_SPREAD = 1e-3
# Quantiles of the levels of normal images. Quantiles are used for all statistics of whole images, because
# some training images may be odd.
_SPAN = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class Calibration:
    """From distances o_t to scores s_t = (z_t - slope · (level - middle))⁺ / unit.

    z_t = (o_t - mean) / spread, with the ``mean`` and ``spread`` of normal places as near to the border, or
    at the same place where images are aligned. ``level`` is the median of z over the image itself: a normal
    image of unusual light or grain is a little odd everywhere, a defect stands out from its own image. How
    much that matters, ``slope``, normal images show. Levels beyond theirs count as the last of theirs, so
    that an image that is odd all over stays odd.

    Attributes
    ----------
    mean, spread : ndarray of shape (rings,) or (h, w)
        Of distances: of places 0, 1, 2, ... from the border, the last one for all beyond; or of each place.
    slope : float
        By how much the largest z of a normal image grows with its level.
    levels : tuple of float
        The level of a normal image, and of those that are lower and higher than all but a twentieth.
    unit : float
        With it the scores of every other normal image are pooled to more than 1.
    """

    mean: Doubles
    spread: Doubles
    slope: float = 0.0
    levels: tuple[float, float, float] = (0.0, 0.0, 0.0)
    unit: float = 1.0

    @classmethod
    def of(cls, maps: Sequence[Floats]) -> Calibration:
        """From distances (h, w) of the places of normal images."""
        places = cls(*(_by_place(maps) if is_aligned(maps) else _by_ring(maps)))
        found = [(np.median(z), z.max()) for z in map(places.standardised, maps)]
        levels, largest = np.array(found, dtype=np.float64).T
        least, middle, most = (float(level) for level in np.quantile(levels, _SPAN))
        image = replace(places, slope=_slope(levels, largest), levels=(least, middle, most))
        unit = float(np.median([pooled(image.scores(one)) for one in maps]))
        # If the oddest places are within one spread of the mean, nothing varies, and they cannot be the unit.
        return replace(image, unit=max(unit, 1.0))

    @property
    def has_places(self) -> bool:
        """Whether each place has its own mean, because images are aligned."""
        return self.mean.ndim == 2

    def scores(self, distances: Floats) -> Doubles:
        """Scores (h, w) of places: 0 is usual, 1 the largest of a usual image."""
        z = self.standardised(distances)
        least, middle, most = self.levels
        beyond = z - self.slope * (float(np.clip(np.median(z), least, most)) - middle)
        # A place exactly like a normal one is not odd, whatever is subtracted.
        return np.where(distances > 0.0, np.maximum(beyond, 0.0) / self.unit, 0.0)

    def standardised(self, distances: Floats) -> Doubles:
        """Distances of all places of an image as z (h, w)."""
        if self.has_places:
            mean, spread = (on_grid(one, distances.shape) for one in (self.mean, self.spread))
        else:
            ring = np.minimum(_ring(distances.shape), len(self.mean) - 1)
            mean, spread = self.mean[ring], self.spread[ring]
        return np.asarray((distances - mean) / spread)


def is_aligned(maps: Sequence[Floats]) -> bool:
    """Whether the same place of other images predicts a distance better than places as near to the border."""
    if len(maps) < _LEAST_IMAGES or len({one.shape for one in maps}) > 1:
        return False
    total, ring = np.sum(maps, axis=0, dtype=np.float64), _ring(maps[0].shape)
    sizes = np.bincount(ring.ravel())
    by_place = by_ring = 0.0
    for one in maps:
        others = (total - one) / (len(maps) - 1)
        alike = (np.bincount(ring.ravel(), others.ravel()) / sizes)[ring]
        by_place += float(np.mean((one - others) ** 2))
        by_ring += float(np.mean((one - alike) ** 2))
    return by_place < by_ring


def looks_the_same(straight: Sequence[Floats], turned: Sequence[Floats]) -> bool:
    """Whether most normal images still look normal upside down, by the median distance of their places.

    False if there are none: features that turn with the image.
    """
    if not turned:
        return False
    levels, others = ([float(np.median(one)) for one in maps] for maps in (straight, turned))
    return bool(np.median(others) <= np.quantile(levels, _SPAN[-1]))


def _by_place(maps: Sequence[Floats]) -> tuple[Doubles, Doubles]:
    """Mean and spread (h, w) over images."""
    sums, squares = np.zeros((2, *maps[0].shape))
    for one in maps:
        sums += one
        squares += one.astype(np.float64) ** 2
    return _leaning(sums, squares, np.full(sums.shape, float(len(maps))))


def _by_ring(maps: Sequence[Floats]) -> tuple[Doubles, Doubles]:
    """Mean and spread (rings,) over all places of all images as near to the border."""
    sums, squares, count = np.zeros((3, _FRAME + 1))
    for one in maps:
        ring = _ring(one.shape).ravel()
        values = one.astype(np.float64).ravel()
        for total, each in ((sums, values), (squares, values**2), (count, np.ones_like(values))):
            total += np.bincount(ring, each, _FRAME + 1)
    seen = count > 0.0  # small images have no places far from the border
    return _leaning(sums[seen], squares[seen], count[seen])


def _leaning(sums: Doubles, squares: Doubles, count: Doubles) -> tuple[Doubles, Doubles]:
    """Mean and spread of groups, from their sums; small groups are moved towards the overall values."""
    first, second = (_PRIOR * float(one.sum() / count.sum()) for one in (sums, squares))
    mean, square = (sums + first) / (count + _PRIOR), (squares + second) / (count + _PRIOR)
    return mean, np.maximum(np.sqrt(np.maximum(square - mean**2, 0.0)), _LEAST_SPREAD)


def _ring(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """(h, w) distance of each place from the border, in places; everything beyond the frame is equal."""
    down, right = (np.minimum(np.arange(size), np.arange(size)[::-1]) for size in shape)
    return np.minimum(np.minimum(down[:, None], right), _FRAME)


def _slope(levels: Doubles, largest: Doubles) -> float:
    """Median slope between two images (Theil and Sen), never negative; with few images nearer to 0."""
    one, other = np.triu_indices(len(levels), k=1)
    apart = levels[one] - levels[other]
    differ = apart != 0.0
    if not differ.any():
        return 0.0
    slope = float(np.median((largest[one] - largest[other])[differ] / apart[differ]))
    return max(slope, 0.0) * len(levels) / (len(levels) + _PRIOR)
