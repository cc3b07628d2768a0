"""How the outlierness of a row adds up, variable by variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number
from whyodd.plots.figures import lay_out
from whyodd.plots.reasons import (
    BLACK,
    Parts,
    axes_for,
    check_table,
    draw_bars,
    head,
    make_room,
    name_rows,
    write_at_ends,
)

if TYPE_CHECKING:
    from whyodd.explanations.table import Explanation

_CLEAR = 2.0  # pixels


def waterfall(e: Explanation, i: int = 0, k: int = 10, ax: Any = None) -> Any:
    """From the unexplained part to the outlierness of row ``i``, through its main reasons.

    Parameters
    ----------
    e : Explanation
        Its relevance must add up to the outlierness.
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
    check_table(e)
    if not e.is_additive:
        raise ValueError(
            f"A waterfall needs relevance that adds up to the outlierness, which method={e.method!r} does "
            "not give. Draw bars instead, or explain with method='dtd'."
        )
    parts = Parts.of(e, i, k)
    bars = [parts.unexplained_bar, *parts.bars]
    labels, widths, colours = zip(*bars, strict=True)
    stops = np.cumsum(widths)
    starts = stops - widths
    ax = axes_for(ax, len(bars))
    draw_bars(ax, starts.tolist(), widths, colours)
    _connect(ax, stops.tolist())
    ax.axvline(parts.outlierness, color=BLACK, linewidth=1.2, linestyle="--", zorder=1)
    ends = [(stop, width < 0) for stop, width in zip(stops, widths, strict=True)]
    numbers = write_at_ends(ax, ends, _signed(widths))
    make_room(ax, [*starts, *stops, parts.outlierness], left=min(widths) < 0)
    name_rows(ax, labels)
    ax.set_xlabel("outlierness, added up bar by bar; the dashed line is the row's total")
    head(ax, parts.title, parts.legend())
    _clear_line(ax, numbers, parts.outlierness)
    return ax


def _connect(ax: Any, stops: list[float]) -> None:
    """Thin lines from where a bar stops to where the next one starts."""
    for place, stop in enumerate(stops[:-1]):
        ax.plot([stop, stop], [place - 0.31, place + 1.31], color=BLACK, linewidth=0.6)


def _clear_line(ax: Any, numbers: list[Any], x: float) -> None:
    """Move numbers that would cross the vertical line at ``x`` beyond it."""
    lay_out(ax)
    line = ax.transData.transform((x, 0.0))[0]
    for text in numbers:
        box = text.get_window_extent()
        if box.x0 - _CLEAR < line < box.x1 + _CLEAR:
            text.xy = (x, text.xy[1])


def _signed(widths: tuple[float, ...]) -> list[str]:
    return [f"+{number(width)}" if width > 0 else number(width) for width in widths]
