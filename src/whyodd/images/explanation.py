"""The frozen result for images: whether each is odd, which regions, and the relevance of every pixel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.explanations.base import IMAGES, BaseExplanation, Kind, at_least_one
from whyodd.explanations.sentences import Reason, number
from whyodd.images.regions import odd_regions
from whyodd.inputs.frames import build_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.images.detector import ImageDetector
    from whyodd.images.regions import Region

    Doubles = NDArray[np.float64]

_PLACES = 5  # reported unless another number is given


@dataclass(frozen=True, eq=False, repr=False)
class ImageExplanation(BaseExplanation):
    """Outlierness of n images, decomposed onto their pixels: Σ R = O.

    Made by :meth:`whyodd.ImageDetector.explain`. ``e[i]`` takes an image, a slice, a mask or positions.

    Attributes
    ----------
    data : tuple of ndarray
        The images as they were given.
    relevance : tuple of ndarray of shape (H, W)
        R of each pixel. Most of it is where the image is oddest: O is close to the score of the most
        surprising place.
    places : tuple of ndarray of shape (H, W)
        Score of the place at each pixel, 1 is the oddest place of a usual image.
    outlierness : ndarray of shape (n,)
        O: 1 is a usual image.
    rows : ndarray of shape (n,)
        Position of each image among those that were given.
    model : ImageDetector
    ids : tuple of str, optional
        Names of the images.
    """

    kind: ClassVar[Kind] = IMAGES
    method: ClassVar[str] = "dtd"  # the only one
    is_series: ClassVar[bool] = False
    channels: ClassVar[tuple[str, ...]] = ("value",)
    _told: ClassVar[int] = 5
    _per_item: ClassVar[tuple[str, ...]] = ("data", "relevance", "places", "outlierness", "rows", "ids")

    data: tuple[NDArray[Any], ...]
    relevance: tuple[Doubles, ...]
    places: tuple[Doubles, ...]
    outlierness: Doubles
    rows: NDArray[np.intp]
    model: ImageDetector
    ids: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, parts: Sequence[dict[str, Any]], model: ImageDetector, ids: tuple[str, ...] | None
    ) -> ImageExplanation:
        """Combine what is reported about each image."""
        return cls(
            data=tuple(part["data"] for part in parts),
            relevance=tuple(part["relevance"] for part in parts),
            places=tuple(part["places"] for part in parts),
            outlierness=np.array([part["outlierness"] for part in parts]),
            rows=np.arange(len(parts)),
            model=model,
            ids=ids,
        )

    @property
    def threshold(self) -> float | None:
        """Outlierness above which an image is odd; None if too few normal images were learned."""
        return self.model.threshold_

    @property
    def unexplained(self) -> Doubles:
        """(n,) zeros: distances to normal places belong to features, and these to pixels."""
        return np.zeros(len(self))

    @property
    def p_value(self) -> Doubles | None:
        """(n,) share of normal images at least as odd; None if too few were learned to know."""
        return self.model.p_values(self.outlierness)

    @property
    def summed_relevance(self) -> Doubles:
        """(n,) relevance of all pixels."""
        return np.array([each.sum() for each in self.relevance])

    def heatmap(self, i: int) -> Doubles:
        """Relevance (H, W) of image ``i``."""
        return self.relevance[self._position(i)]

    def mask(self, i: int) -> NDArray[np.bool_]:
        """(H, W) which pixels of image ``i`` are odd: above the model's threshold for places."""
        return np.asarray(self.places[self._position(i)] > self.model.place_threshold_)

    def regions(self, i: int) -> list[Region]:
        """Odd regions of image ``i``, the most relevant first; for a normal image, its strangest place."""
        i = self._position(i)
        return self._regions.setdefault(
            i, odd_regions(self.places[i], self.relevance[i], self.model.place_threshold_)
        )

    @cached_property
    def _regions(self) -> dict[int, list[Region]]:
        return {}

    def nearest(self, i: int, region: Region | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """A region's oddest pixel up close (default: the first region), and the most similar normal place."""
        from whyodd.images.drawn import SHOWN

        i = self._position(i)
        row, column = (region or self.regions(i)[0]).peak
        pixels = self.model._pixels(self.data[i])
        half = SHOWN // 2
        padded = np.pad(pixels, ((half, half), (half, half), (0, 0)), mode="edge")
        here = np.clip(np.round(padded[row : row + SHOWN, column : column + SHOWN]), 0, 255).astype(np.uint8)
        return here, self.model.nearest_place(self.data[i], row, column)[0]

    def reasons(self, i: int, k: int | None = None) -> list[Reason]:
        """The odd regions of image ``i``, the most relevant first: at most ``k``, 5 by default."""
        i, k = self._position(i), _PLACES if k is None else at_least_one(k, "reasons")
        return [self._reason(i, region) for region in self.regions(i)[:k]]

    def _reason(self, i: int, region: Region) -> Reason:
        return Reason(
            name=region.place,
            value=region.score,
            expected=1.0,
            direction=0,
            relevance=region.relevance,
            share=self.share(i, region.relevance),
            judged="odd" if region.is_odd else "strangest",
            told=f"{region.place} ({number(region.score, 2)} times as odd as a usual image's oddest place)",
        )

    def why(self, i: int = 0, k: int = 1) -> str:
        """Where image ``i`` is odd, in one sentence with its ``k`` main regions."""
        i, k = self._position(i), at_least_one(k, "reasons")
        first, *others = self.regions(i)
        if not first.is_odd:
            return f"no region is odd by itself; the strangest place is at {self._reason(i, first).words}"
        shown = [self._reason(i, region) for region in (first, *others[: k - 1])]
        told = [f"odd at {shown[0].words}", *(f"then at {reason.words}" for reason in shown[1:])]
        if (more := len(others) - (k - 1)) > 0:
            told.append(f"{more} more {'region' if more == 1 else 'regions'}")
        return "; ".join(told)

    def table(self) -> dict[str, list[Any]]:
        """A line for each image, by column."""
        p_value, first = self.p_value, [self.regions(i)[0] for i in range(len(self))]
        n_odd = [sum(region.is_odd for region in self.regions(i)) for i in range(len(self))]
        return {
            "item": list(self.names),
            "outlierness": self.outlierness.tolist(),
            "p_value": [None] * len(self) if p_value is None else p_value.tolist(),
            "is_odd": [None] * len(self) if self.is_odd is None else self.is_odd.tolist(),
            "regions": n_odd,
            "odd_pixels": [int(self.mask(i).sum()) for i in range(len(self))],
            "largest_place": [region.score for region in first],
            "where": [region.place for region in first],
        }

    def to_frame(self) -> Any:
        """Data frame with a line for each image (pandas, or another installed package)."""
        return build_frame(self.table(), None)

    def _plain(self) -> dict[str, Any]:
        table = self.table()
        lines = [dict(zip(table, line, strict=True)) for line in zip(*table.values(), strict=True)]
        for i, line in enumerate(lines):
            line["regions"] = [vars(region) for region in self.regions(i) if region.is_odd]
        return {"place_threshold": float(self.model.place_threshold_), "items": lines}

    def _html(self, shown: ImageExplanation) -> str:
        from whyodd.patches.notebook import items_table

        drawn: Any = shown  # has everything that the table needs
        return items_table(drawn, self.relevance)

    def _legend(self) -> list[str]:
        from whyodd.patches.notebook import legend

        return legend(False)
