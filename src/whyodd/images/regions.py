"""Odd regions of an image: connected pixels whose places are odd, outlined and measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

# Eight neighbours: a thin slanted scratch is one region.
_TOUCHING = np.ones((3, 3), dtype=int)


@dataclass(frozen=True)
class Region:
    """Connected odd pixels.

    Attributes
    ----------
    start, stop : tuple of int
        First row and column of its bounding box, and those after the last.
    peak : tuple of int
        Row and column of its oddest pixel.
    score : float
        Score of the place there: 1 is the oddest place of a usual image.
    n_pixels : int
    relevance : float
        Relevance of its pixels.
    is_odd : bool
        Whether its places are above the model's threshold; False of the strangest place of a calm image.
    """

    start: tuple[int, int]
    stop: tuple[int, int]
    peak: tuple[int, int]
    score: float
    n_pixels: int
    relevance: float
    is_odd: bool = True

    @property
    def place(self) -> str:
        """Where it is, in words.

        Examples
        --------
        >>> from whyodd.images.regions import Region
        >>> Region((3, 8), (10, 9), (4, 8), 5.0, 7, 1.0).place
        'rows 3 to 9, column 8'
        """
        rows, columns = (_span(*ends) for ends in zip(self.start, self.stop, strict=True))
        return f"row{rows}, column{columns}"


def odd_regions(places: Doubles, relevance: Doubles, threshold: float) -> list[Region]:
    """Regions with scores (H, W) above the threshold, the most relevant first; else the strangest place."""
    labels, count = ndimage.label(places > threshold, structure=_TOUCHING)
    if count == 0:
        return [_region(places, relevance, _around_peak(places), is_odd=False)]
    found = [
        _region(places, relevance, box, labels[box] == number)
        for number, box in enumerate(ndimage.find_objects(labels), start=1)
    ]
    return sorted(found, key=lambda region: -region.relevance)


def _region(
    places: Doubles,
    relevance: Doubles,
    box: tuple[slice, slice],
    inside: NDArray[np.bool_] | None = None,
    *,
    is_odd: bool = True,
) -> Region:
    scores = places[box] if inside is None else np.where(inside, places[box], -np.inf)
    row, column = np.unravel_index(int(np.argmax(scores)), scores.shape)
    part = relevance[box] if inside is None else relevance[box][inside]
    return Region(
        start=(box[0].start, box[1].start),
        stop=(box[0].stop, box[1].stop),
        peak=(box[0].start + int(row), box[1].start + int(column)),
        score=float(scores[row, column]),
        n_pixels=int(part.size),
        relevance=float(part.sum()),
        is_odd=is_odd,
    )


def _around_peak(places: Doubles, reach: int = 8) -> tuple[slice, slice]:
    peak = np.unravel_index(int(np.argmax(places)), places.shape)
    rows, columns = (
        slice(max(int(at) - reach, 0), min(int(at) + reach, size))
        for at, size in zip(peak, places.shape, strict=True)
    )
    return rows, columns


def _span(first: int, end: int) -> str:
    return f" {first}" if end - first == 1 else f"s {first} to {end - 1}"
