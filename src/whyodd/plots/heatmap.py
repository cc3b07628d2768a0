"""Relevance over images, on one colour scale for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.explainers.methods.sobel import sobel as edges
from whyodd.explanations.sentences import number
from whyodd.patches.colours import common_limit, displayed, legend, overlay
from whyodd.plots.figures import add_panel, check_patches, pyplot, title_of

if TYPE_CHECKING:
    from whyodd.patches.explanation import PatchExplanation

# Inches: a panel's width, the room above it, between panels, of the bar, and below that.
PANEL, _TITLE, _GAP, _BAR, _SCALE = 2.6, 0.3, 0.1, 0.1, 0.45
_TALLEST, _FLATTEST = 2.0, 0.25  # height of a panel over its width
_LETTERS = 32  # of a name above a panel
_SMALL = 9  # points


def heatmap(e: PatchExplanation, i: int = 0, ax: Any = None, limit: float | None = None) -> Any:
    """Picture ``i`` in grey with its relevance over it, and a bar that explains the colours.

    Parameters
    ----------
    e : PatchExplanation
        Of images.
    i : int, default 0
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    limit : float, optional
        Relevance with the brightest colour; :func:`whyodd.patches.colours.common_limit` of all images of
        ``e`` by default, so that calm ones look calm.

    Returns
    -------
    matplotlib Axes
    """
    _check_images(e)
    limit = common_limit(e.relevance) if limit is None else limit
    ax = pyplot().subplots(layout="compressed")[1] if ax is None else ax
    _draw(ax, overlay(e.data[i], e.heatmap(i), limit), _headline(e, i, title_of(e.name(i))))
    _add_bar(ax.figure, limit, ax=ax)
    return ax


def heatmaps(
    e: PatchExplanation, limit: float | None = None, *, sobel: bool = True, figure: Any = None
) -> Any:
    """One row per image: the picture, its relevance, and its edges; one colour scale for all rows.

    Parameters
    ----------
    e : PatchExplanation
        Of images; ``e.top(5)`` shows the oddest.
    limit : float, optional
        Relevance with the brightest colour; :func:`whyodd.patches.colours.common_limit` by default.
    sobel : bool, default True
        Show the squared Sobel gradient as a reference: what any edge would light up. It has a scale of its
        own, also one for all rows.
    figure : matplotlib Figure, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Figure
    """
    _check_images(e)
    limit = common_limit(e.relevance) if limit is None else limit
    size = figure_size(e, sobel=sobel)
    figure = pyplot().figure(figsize=size) if figure is None else figure
    gradients = [edges(image) for image in e.data] if sobel else []
    sharpest = common_limit(gradients)
    top = _TITLE
    for i, image in enumerate(e.data):
        panels = [
            (displayed(image), title_of(e.name(i), _LETTERS)),
            (overlay(image, e.heatmap(i), limit), _headline(e, i, "relevance")),
        ]
        if sobel:
            panels.append((overlay(image, gradients[i], sharpest), "edges (Sobel), for comparison"))
        for column, (pixels, title) in enumerate(panels):
            left = _GAP + column * (PANEL + _GAP)
            _draw(add_panel(figure, size, left, top, PANEL, _height(image)), pixels, title)
        top += _height(image) + _TITLE
    # Below the relevance only: the edges have a scale of their own.
    bar = add_panel(figure, size, PANEL + 2 * _GAP, top - _TITLE + 2 * _GAP, PANEL, _BAR)
    _add_bar(figure, limit, cax=bar, location="bottom")
    return figure


def figure_size(e: PatchExplanation, *, sobel: bool = True) -> tuple[float, float]:
    """Inches (width, height) that :func:`heatmaps` of ``e`` plans for."""
    columns = 2 + sobel
    heights = sum(_height(image) + _TITLE for image in e.data)
    return columns * (PANEL + _GAP) + _GAP, heights + 2 * _GAP + _BAR + _SCALE


def _height(image: Any) -> float:
    return PANEL * float(min(max(image.shape[0] / image.shape[1], _FLATTEST), _TALLEST))


def _headline(e: PatchExplanation, i: int, what: str) -> str:
    return f"{what}, outlierness {number(float(e.outlierness[i]))}"


def _draw(ax: Any, pixels: Any, title: str) -> None:
    ax.imshow(pixels, cmap="gray", vmin=0, vmax=255)
    # Names may hold dollar signs, which are no formulas.
    ax.set_title(title, fontsize=_SMALL, parse_math=False)
    ax.set_axis_off()


def _add_bar(figure: Any, limit: float, **place: Any) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.ticker import MaxNLocator

    colours = ScalarMappable(Normalize(0.0, limit), ListedColormap(legend()))
    bar = figure.colorbar(colours, extend="max", **place)
    bar.set_label("relevance of a pixel", fontsize=_SMALL)
    bar.ax.tick_params(labelsize=_SMALL - 1)
    if bar.orientation == "horizontal":
        bar.locator = MaxNLocator(3)  # numbers of pixels are small and long: more would touch


def _check_images(e: PatchExplanation) -> None:
    check_patches(e)
    if e.is_series:
        raise ValueError("A heatmap expected images, got series. Use whyodd.plots.series.")
    if len(e) == 0:
        raise ValueError("The explanation holds no images: there is nothing to draw.")
