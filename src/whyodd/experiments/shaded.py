"""Drawing of messages with shaded words, set line by line so that nothing overlaps."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Inches: the page's width, its margin, the height of a line, the room between words and between blocks.
_WIDTH, _MARGIN, _LINE, _SPACE, _BLOCK = 8.0, 0.2, 0.22, 0.055, 0.15
_POINTS = 9.0
_HINTED = 1.03  # letters on a screen are a little wider than the font's outlines
_LONGEST = 40  # characters of a word on one line; longer ones are cut into parts
# White to a red on which black letters can still be read.
_RED = np.array((0.93, 0.27, 0.22))


@dataclass(frozen=True)
class Piece:
    """Part of a text that is not broken: its letters, how dark it is shaded (0 to 1), and how it is set."""

    text: str
    shade: float = 0.0
    is_glued: bool = False  # to the piece before it, without a space
    is_bold: bool = False


def plain_pieces(text: str, *, is_bold: bool = False) -> list[Piece]:
    """Words of a text without shades."""
    return [Piece(word, is_bold=is_bold) for word in _printable(text).split()]


def message_pieces(text: str, places: Iterable[tuple[int, int, float]]) -> list[Piece]:
    """A message with its words shaded; what is between words is not.

    Parameters
    ----------
    text : str
    places : iterable of (start, end, shade)
        Words in their order.
    """
    pieces: list[Piece] = []
    at = 0
    for start, end, shade in places:
        pieces += _between(text[at:start], at == 0)
        glued = start > 0 and not text[start - 1].isspace()
        parts = [text[i : min(i + _LONGEST, end)] for i in range(start, end, _LONGEST)]
        pieces += [Piece(_printable(part), shade, glued or k > 0) for k, part in enumerate(parts)]
        at = end
    return pieces + _between(text[at:], at == 0)


def _between(gap: str, is_first: bool) -> list[Piece]:
    """Signs between two words; the first is glued to the word before it unless there is a space."""
    signs = _printable(gap).split()
    glued = not is_first and not gap[:1].isspace()
    cut = [(sign[i : i + _LONGEST], i) for sign in signs for i in range(0, len(sign), _LONGEST)]
    return [Piece(part, is_glued=i > 0 or (glued and k == 0)) for k, (part, i) in enumerate(cut)]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def set_lines(pieces: Sequence[Piece]) -> list[list[tuple[float, float, Piece]]]:
    """Lines of (left, width, piece), in inches, that end before the margin."""
    lines: list[list[tuple[float, float, Piece]]] = [[]]
    at = _MARGIN
    for piece in pieces:
        width = _width(piece.text, piece.is_bold)
        left = at + (0.0 if piece.is_glued or not lines[-1] else _SPACE)
        if lines[-1] and left + width > _WIDTH - _MARGIN:
            lines.append([])
            left = _MARGIN
        lines[-1].append((left, width, piece))
        at = left + width
    return lines


@cache
def _width(text: str, is_bold: bool) -> float:
    """Inches that a text takes, from the font's own measures."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(weight="bold" if is_bold else "normal", size=_POINTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font does not have
        width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return _HINTED * float(width) / 72.0


def shaded_figure(blocks: Sequence[Sequence[Piece]]) -> Any:
    """Blocks of text below one another."""
    from whyodd.plots.figures import blank_figure

    lines = [set_lines(block) for block in blocks]
    height = 2 * _MARGIN + _LINE * sum(map(len, lines)) + _BLOCK * (len(blocks) - 1)
    figure = blank_figure((_WIDTH, height))
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(0.0, _WIDTH), ylim=(height, 0.0))
    ax.set_axis_off()
    top = _MARGIN
    for block in lines:
        for line in block:
            _draw_line(ax, line, top)
            top += _LINE
        top += _BLOCK
    return figure


def _draw_line(ax: Any, line: Sequence[tuple[float, float, Piece]], top: float) -> None:
    from matplotlib.patches import Rectangle

    middle = top + _LINE / 2
    for left, width, piece in line:
        if piece.shade > 0.0:
            colour = 1.0 - piece.shade * (1.0 - _RED)
            ax.add_patch(Rectangle((left, top + 0.02), width, _LINE - 0.04, color=colour, linewidth=0))
        ax.text(
            left,
            middle,
            piece.text,
            fontsize=_POINTS,
            fontweight="bold" if piece.is_bold else "normal",
            va="center_baseline",
            parse_math=False,
        )
