"""A judged image: its odd regions, how odd each place is, and the strangest place close up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number
from whyodd.findings.summary.items.pictures import fitted
from whyodd.findings.summary.items.reasons import REASONS, reason, whole
from whyodd.patches.colours import displayed
from whyodd.patches.pictures import sized
from whyodd.plots.regions import heat_over, outlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.images import ImageExplanation

_LONGEST = 320  # pixels of a picture's longer side
_CLOSE = 40_000  # bytes of a picture of one place


def judged_item(e: ImageExplanation, i: int, each: int) -> dict[str, Any]:
    """Image ``i``: its odd regions, scores of its places, its strangest place beside a normal one."""
    pixels = displayed(e.data[i])
    shown = sized(pixels, _LONGEST)
    height, width = pixels.shape[:2]
    return {
        "type": "image",
        "picture": fitted(outlined(e, i), each),
        "heatmap": fitted(heat_over(e, i), each),
        "width": shown.width,
        "height": shown.height,
        "close": _close(e, i),
        "caption": f"{width} × {height} pixels. Odd regions are outlined. Colours show how odd each place "
        "is, on one scale for all images: purple, red, orange, yellow.",
    }


def _close(e: ImageExplanation, i: int) -> list[dict[str, str]]:
    here, normal = (_grey_or_colour(one) for one in e.nearest(i))
    apart = np.abs(here.astype(np.int16) - normal.astype(np.int16)).astype(np.uint8)
    names = ("its strangest place", "the normal place most like it", "the difference")
    pairs = zip(names, (here, normal, apart), strict=True)
    return [{"text": name, "picture": fitted(pixels, _CLOSE)} for name, pixels in pairs]


def _grey_or_colour(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return pixels[..., 0] if pixels.shape[-1] in (1, 2) else pixels[..., :3]


def judged_reasons(e: ImageExplanation, i: int) -> tuple[list[dict[str, Any]], int]:
    """The odd regions of image ``i`` by their relevance, and how many others there are."""
    regions, total = e.regions(i), whole(e, i)
    shown = [
        reason(
            region.place,
            region.relevance,
            total,
            value=f"{number(region.score, 2)} × a usual image's oddest place, {region.n_pixels:,} pixels",
            expected="",
            judgement="odd" if region.is_odd else "the strangest place",
        )
        for region in regions[:REASONS]
    ]
    # What is in no region is one part more.
    return shown, len(regions) - len(shown) + 1


def first_region(e: ImageExplanation, i: int) -> str:
    """Where image ``i`` is oddest."""
    return e.regions(i)[0].place
