"""Relevance of the variables of a row, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.explanations.sentences import number, percent
from whyodd.plots.reasons import Parts, axes_for, draw_bars, head, make_room, name_rows, write_at_ends

if TYPE_CHECKING:
    from whyodd.explanations.table import Explanation


def bars(e: Explanation, i: int = 0, k: int = 10, ax: Any = None) -> Any:
    """Relevance of the main reasons of row ``i``, with their shares; colours say what is odd about values.

    Parameters
    ----------
    e : Explanation
        By any method. Where relevance does not add up to the outlierness, shares are of Σ |R|.
    i : int, default 0
        Row of ``e``.
    k : int, default 10
        Variables with a bar of their own, those of the largest relevance; the others share one.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. ``layout="constrained"`` makes room for long names.

    Returns
    -------
    matplotlib Axes
    """
    parts = Parts.of(e, i, k)
    shown = [*parts.bars, *([parts.unexplained_bar] if parts.is_additive else [])]
    labels, widths, colours = zip(*shown, strict=True)
    ax = axes_for(ax, len(shown))
    draw_bars(ax, [0.0] * len(shown), widths, colours)
    write_at_ends(ax, [(width, width < 0) for width in widths], _shares(widths, parts.whole))
    make_room(ax, widths, left=min(widths) < 0)
    name_rows(ax, labels)
    by = "share of the outlierness" if parts.is_additive else f"by {e.method}; share of its sum"
    ax.set_xlabel(f"relevance, {by}")
    head(ax, parts.title, parts.legend())
    return ax


def _shares(widths: tuple[float, ...], whole: float) -> list[str]:
    """Percentages, or the numbers themselves where shares are undefined."""
    return [percent(width / whole) if whole > 0 else number(width) for width in widths]
