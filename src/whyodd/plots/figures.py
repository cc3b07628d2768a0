"""What all pictures share: figures and axes to draw on, and names that fit above them."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from whyodd.explanations.base import IMAGES, SERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.explanations.base import Kind

_LONGEST = 40
UNKNOWN = "▯"  # matplotlib's own font has it


def pyplot() -> Any:
    """Matplotlib's module ``pyplot``, or one sentence on how to install it."""
    return _matplotlib("pyplot")


def blank_figure(size: tuple[float, float]) -> Any:
    """Figure of ``size`` inches that no window shows, for files."""
    return _matplotlib("figure").Figure(figsize=size)


def _matplotlib(part: str) -> Any:
    try:
        return import_module(f"matplotlib.{part}")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Plots need matplotlib, which is not installed. Run: pip install 'whyodd[plots]'"
        ) from None


def check_kind(e: Any, kinds: Sequence[Kind], advice: str) -> None:
    """Raise a ``TypeError`` with an ``advice`` if ``e`` explains other kinds of items."""
    if getattr(e, "kind", None) not in kinds:
        told = " or ".join(kind.nouns for kind in kinds)
        raise TypeError(
            f"This picture expected a whyodd explanation of {told}, got {type(e).__name__}. {advice}"
        )


def check_patches(e: Any) -> None:
    """Refuse anything but an explanation of images or series."""
    check_kind(e, (IMAGES, SERIES), "Draw rows of tables with bars or waterfall.")


def add_panel(
    figure: Any, size: tuple[float, float], left: float, top: float, width: float, height: float
) -> Any:
    """Axes at a place in inches from the upper left corner, on a figure planned to have ``size``.

    Fixed places, unlike a layout that is worked out, keep panels in line whatever the shapes of pictures.
    """
    across, down = size
    return figure.add_axes((left / across, 1.0 - (top + height) / down, width / across, height / down))


def lay_out(ax: Any) -> None:
    """Compute the layout of the figure, as drawing does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters of a name that the font does not have
        ax.figure.canvas.figure.draw_without_rendering()


def drawable(text: str) -> str:
    """Text on one line, with rectangles for letters that matplotlib's fonts lack.

    matplotlib would draw boxes too, and warn at every drawing.

    Examples
    --------
    >>> from whyodd.plots.figures import drawable
    >>> drawable("naïve 字")
    'naïve ▯'
    """
    fonts = _matplotlib("font_manager")
    families = [fonts.FontProperties(family=[name]) for name in fonts.FontProperties().get_family()]
    known: set[int] = set().union(*(_letters(str(fonts.findfont(family))) for family in families))
    plain = (letter if letter.isprintable() else " " for letter in text)
    return "".join(letter if ord(letter) in known else UNKNOWN for letter in plain)


@cache
def _letters(path: str) -> frozenset[int]:
    return frozenset(_matplotlib("font_manager").get_font(path).get_charmap())


def title_of(name: str, longest: int = _LONGEST) -> str:
    """Name in one line, its middle left out if it is long.

    Examples
    --------
    >>> from whyodd.plots.figures import title_of
    >>> title_of("scan.png"), title_of("a_very_long_name_of_a_picture.png", 20)
    ('scan.png', 'a_very_lo…icture.png')
    """
    line = "".join(letter if letter.isprintable() else " " for letter in name)
    if len(line) <= longest:
        return line
    return f"{line[: (longest - 1) // 2]}…{line[-(longest // 2) :]}"
