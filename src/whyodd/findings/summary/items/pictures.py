"""An image for the page: small, with its relevance beside it, and its odd places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.findings.summary.items.reasons import reason, whole
from whyodd.patches.colours import displayed, overlay
from whyodd.patches.pictures import data_uri, sized

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.patches.explanation import PatchExplanation

_LONGEST, _SMALLEST = 320, 48  # pixels of a picture's longer side
_COLOURS = 128  # of a picture that would be too large in all of its colours
# Bytes of all pictures of a page together, which has room for 5 MB in all, and of one where there are few.
_ALL, _MOST = 2_400_000, 300_000
_PLACES = 5  # reported, of nine
# Times the relevance of a place under a uniform spread. The most relevant place of metal tiles mostly has up
# to 1.25 times as much without a fault, and 1.6 to 3.4 times with one.
_OUTSTANDING = 1.5
_NAMES_DOWN = {1: ("",), 2: ("upper", "lower"), 3: ("upper", "middle", "lower")}
_NAMES_ACROSS = {1: ("",), 2: ("left", "right"), 3: ("left", "centre", "right")}
_MARGIN = 0.95  # Smaller pictures hold more details per pixel, and take a little more than their share.


def room(n_images: int) -> int:
    """Bytes for each of the two pictures of each image."""
    return min(_ALL // (2 * max(n_images, 1)), _MOST)


def image_item(e: PatchExplanation, i: int, limit: float, each: int) -> dict[str, Any]:
    """Image ``i`` and its relevance; ``limit`` has the brightest colour, pictures have ``each`` bytes."""
    pixels = displayed(e.data[i])
    shown = sized(pixels, _LONGEST)
    height, width = pixels.shape[:2]
    return {
        "type": "image",
        "picture": fitted(pixels, each),
        "heatmap": fitted(overlay(e.data[i], e.heatmap(i), limit), each),
        "width": shown.width,
        "height": shown.height,
        "close": [],
        "caption": f"{width} × {height} pixels. A brighter pixel is more relevant, on one scale for all "
        "images: purple, red, orange, yellow.",
    }


def fitted(pixels: NDArray[np.uint8], each: int) -> str:
    """Picture as a data URI of at most ``each`` bytes: with fewer colours, then smaller, if necessary."""
    image = sized(pixels, _LONGEST)
    address = data_uri(image)
    longest = _LONGEST
    while len(address) > each and longest >= _SMALLEST:
        address = data_uri(with_few_colours(sized(pixels, longest)))
        longest = min(int(_MARGIN * longest * math.sqrt(each / len(address))), longest - 1)
    return address


def with_few_colours(image: Any) -> Any:
    """Pillow image of at most 128 colours, spread over all colours used, so that rare ones survive.

    Colours chosen by how many pixels have them, as by default, turn the few hot pixels of a heatmap grey.
    """
    from PIL.Image import Quantize

    return image.convert("RGB").quantize(_COLOURS, method=Quantize.FASTOCTREE)


def image_reasons(e: PatchExplanation, i: int) -> tuple[list[dict[str, Any]], int]:
    """Places of image ``i``, ninths of it, by their relevance, and how many others there are.

    A window by itself has next to nothing of the outlierness of all; the sentence says which is the oddest.
    """
    heat, total = e.heatmap(i), whole(e, i)
    found = relevance_of_places(heat)
    even = relevance_of_places(np.full_like(heat, heat.mean()))
    judgements = {
        name: "stands out" if part > _OUTSTANDING * max(even[name], 0.0) else "about as elsewhere"
        for name, part in found.items()
    }
    shown = [
        reason(name, found[name], total, value="", expected="", judgement=judgements[name])
        for name in sorted(found, key=lambda name: -found[name])[:_PLACES]
    ]
    return shown, len(found) - len(shown)


def relevance_of_places(heat: NDArray[np.float64]) -> dict[str, float]:
    """Sum of relevance (H, W) or (H, W, C) in each ninth of an image, or in fewer parts of a tiny one.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.findings.summary.items.pictures import relevance_of_places
    >>> relevance_of_places(np.array([[1.0, 2.0], [3.0, 4.0]]))
    {'upper left': 1.0, 'upper right': 2.0, 'lower left': 3.0, 'lower right': 4.0}
    """
    height, width = heat.shape[:2]
    return {
        " ".join(filter(None, [row, column])) or "all of it": float(part.sum())
        for row, band in zip(_NAMES_DOWN[min(height, 3)], np.array_split(heat, min(height, 3)), strict=True)
        for column, part in zip(
            _NAMES_ACROSS[min(width, 3)], np.array_split(band, min(width, 3), axis=1), strict=True
        )
    }
