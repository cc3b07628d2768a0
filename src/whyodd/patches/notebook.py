"""The notebook view of images and series: the oddest ones, with pictures of where they are odd."""

from __future__ import annotations

from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whyodd.explanations.sentences import number
from whyodd.patches.colours import common_limit, displayed, overlay
from whyodd.patches.pictures import NO_PICTURES, data_uri, sized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LONGEST_SIDE = 200  # pixels of a picture on the page
_STRIP = (400, 40)  # pixels of the relevance of a series
_COLOUR = "#d9622b"  # a mid-tone that stands out on white and on black alike
_PLAIN = "background:none;border:none;color:inherit;font-size:inherit;"
_CELL = f"{_PLAIN}padding:6px 14px 6px 0;text-align:left;vertical-align:top;"
_TEXT = f"{_CELL}overflow-wrap:anywhere;min-width:12em;max-width:26em;white-space:normal;"


class Items(Protocol):
    """The items shown of an explanation of images or series."""

    @property
    def is_series(self) -> bool: ...  # noqa: D102

    @property
    def data(self) -> Sequence[Any]: ...  # noqa: D102

    @property
    def outlierness(self) -> NDArray[np.floating]: ...  # noqa: D102

    def name(self, i: int) -> str: ...  # noqa: D102

    def why(self, i: int = 0) -> str: ...  # noqa: D102

    def heatmap(self, i: int) -> NDArray[np.float64]: ...  # noqa: D102

    def __len__(self) -> int: ...


def items_table(shown: Items, relevance: Sequence[NDArray[np.float64]]) -> str:
    """HTML table of items: name, outlierness, where it is odd, the picture, its relevance over it.

    All pictures have the same colour scale, that of the ``relevance`` of the whole set. Of a series there is
    a strip of its relevance over time. Without pillow there are words only. Everything that comes from the
    data is escaped.
    """
    limit = 1.0 if shown.is_series else common_limit(relevance)
    lines = [_line(_words(shown, i) + _views(shown, i, limit)) for i in range(len(shown))]
    return f"<table style='{_PLAIN}border-collapse:collapse'>{''.join(lines)}</table>"


def legend(is_series: bool) -> list[str]:
    """Explanation of the pictures, or how to get them."""
    if is_series:
        return ["The strips show the relevance of each time step, from the first to the last."]
    if not _has_pillow():
        return [NO_PICTURES]
    return ["A brighter pixel is more relevant: purple, red, orange, yellow."]


def _words(e: Items, i: int) -> str:
    return (
        f"<td style='{_TEXT}'><div style='font-weight:600'>{escape(e.name(i))}</div>"
        f"<div>outlierness {number(float(e.outlierness[i]))}</div>"
        f"<div style='opacity:.75'>{escape(e.why(i))}</div></td>"
    )


def _views(e: Items, i: int, limit: float) -> str:
    if e.is_series:
        return f"<td style='{_CELL}'>{_strip(e.heatmap(i))}</td>"
    if not _has_pillow():
        return ""
    pictures = {
        "the picture": displayed(e.data[i]),
        "its relevance": overlay(e.data[i], e.heatmap(i), limit),
    }
    images = "&nbsp;&nbsp;".join(_picture(pixels, what) for what, pixels in pictures.items())
    return f"<td style='{_CELL}white-space:nowrap'>{images}</td>"


def _has_pillow() -> bool:
    return find_spec("PIL") is not None


def _picture(pixels: NDArray[np.uint8], what: str) -> str:
    """Picture inside the page: no file beside it."""
    image = sized(pixels, _LONGEST_SIDE)
    size = f"width='{image.width}' height='{image.height}'"
    return f"<img alt='{what}' title='{what}' {size} style='max-width:none' src='{data_uri(image)}'>"


def _strip(relevance: NDArray[np.float64]) -> str:
    """Relevance over time as a filled curve; for many steps the maximum over each stretch."""
    width, height = _STRIP
    steps = relevance.reshape(len(relevance), -1).sum(axis=1)
    starts = np.unique(np.linspace(0, len(steps), min(len(steps), width), endpoint=False).astype(int))
    heights = np.maximum(np.maximum.reduceat(steps, starts), 0.0)
    heights = height * heights / (heights.max() or 1.0)
    across = (np.arange(len(heights)) + 0.5) * width / len(heights)
    points = " ".join(f"{x:.1f},{height - y:.1f}" for x, y in zip(across, heights, strict=True))
    return (
        f"<svg width='{width}' height='{height}' viewBox='0 0 {width} {height}' role='img'>"
        "<title>relevance over time</title>"
        f"<polygon fill='{_COLOUR}' points='0,{height} {points} {width},{height}'/></svg>"
    )


def _line(cells: str) -> str:
    return f"<tr style='background:none;border-top:1px solid rgba(128,128,128,.45)'>{cells}</tr>"
