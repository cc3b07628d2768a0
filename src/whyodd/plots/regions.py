"""Odd regions of images: outlined, and coloured by how odd each place is; and many images on one sheet."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import binary_dilation

from whyodd.patches.colours import displayed, overlay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from whyodd.images import ImageExplanation

    Bytes = NDArray[np.uint8]

# Okabe and Ito's sky blue: seen by all, and in none of the colours of the heat.
_OUTLINE = (86, 180, 233)
# Places below this part of the threshold are calm and have no colour.
_CALM = 0.5
_CELL, _ROOM, _GAP = (408, 200), 30, 8  # pixels of a cell of a sheet, for its words, between cells
_LETTERS = 56
_ODD, _CALM_WORDS = (180, 30, 30), (70, 70, 70)


def heat_over(e: ImageExplanation, i: int) -> Bytes:
    """Image ``i`` (H, W, 3) in grey with how odd its places are over it; calm places stay grey."""
    threshold = e.model.place_threshold_
    heat = np.maximum(e.places[i] - _CALM * threshold, 0.0)
    return overlay(e.data[i], heat, (1.2 - _CALM) * threshold)


def outlined(e: ImageExplanation, i: int) -> Bytes:
    """Image ``i`` (H, W, 3) as it is, with a line around each odd region."""
    pixels = displayed(e.data[i])
    colours = np.repeat(pixels[..., None], 3, axis=-1) if pixels.ndim == 2 else pixels.copy()
    mask = e.mask(i)
    # As wide as the picture is large, so that it stays visible in a shrunken picture.
    width = max(round(max(mask.shape) / 200), 1)
    line = binary_dilation(mask, iterations=width) & ~mask
    colours[line] = _OUTLINE
    return np.asarray(colours)


def side_by_side(e: ImageExplanation, i: int) -> Bytes:
    """Image ``i`` outlined, and its heat, beside each other."""
    left, right = outlined(e, i), heat_over(e, i)
    gap = np.full((left.shape[0], _GAP, 3), 255, dtype=np.uint8)
    return np.concatenate([left, gap, right], axis=1)


def contact_sheet(pictures: Iterable[tuple[str, bool, Any]]) -> Any:
    """Pillow image of many pictures: each with a line of words, which is red if the picture is odd.

    Parameters
    ----------
    pictures : iterable of (str, bool, Pillow image)
        The words, whether it is odd, and the picture, such as :func:`side_by_side` of an image.
    """
    from PIL import Image, ImageDraw, ImageFont

    cells = []
    for words, is_odd, picture in pictures:
        small = picture.convert("RGB")
        small.thumbnail(_CELL)
        cells.append((words, is_odd, small))
    columns = max(math.ceil(math.sqrt(len(cells) / 1.3)), 1)
    wide, tall = _CELL[0] + 2 * _GAP, _CELL[1] + _ROOM + 2 * _GAP
    sheet = Image.new("RGB", (columns * wide, -(-len(cells) // columns) * tall), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    for place, (words, is_odd, small) in enumerate(cells):
        left, top = place % columns * wide + _GAP, place // columns * tall + _GAP
        draw.text((left, top + 6), _short(words), fill=_ODD if is_odd else _CALM_WORDS, font=font)
        sheet.paste(small, (left, top + _ROOM))
    return sheet


def _short(words: str) -> str:
    plain = "".join(letter if letter.isprintable() and ord(letter) < 0x2000 else "?" for letter in words)
    return plain if len(plain) <= _LETTERS else f"{plain[: _LETTERS // 2]}…{plain[-_LETTERS // 2 :]}"
