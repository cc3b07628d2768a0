"""A series with its events: how odd each step is, and the channels below it."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number, percent
from whyodd.plots.figures import pyplot, title_of
from whyodd.plots.time_axis import Cells, label_time, on_time_axis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.series.explanation import SeriesExplanation

    Doubles = NDArray[np.float64]

# Inches.
_WIDTH, _ROW, _FEW_ROWS, _TOP, _BOTTOM = 11.0, 0.95, 2.2, 0.6, 0.6
_STRIP = 1.2
_LINE, _ODD, _CALM = "#1f2d3d", "#d9622b", "#8a97a5"
_SMALL = 9  # points
_NUMBERED = 12  # events
_WIDE = 20.0  # times the threshold beyond which the scale is logarithmic


def events(e: SeriesExplanation, figure: Any = None, *, top: int = 6) -> Any:
    """How odd each step of a series is, and below it the channels of its events, with events shaded.

    Parameters
    ----------
    e : SeriesExplanation
    figure : matplotlib Figure, optional
        Where to draw; a new figure by default.
    top : int, default 6
        Channels to draw, those with the most relevance.

    Returns
    -------
    matplotlib Figure

    Notes
    -----
    In a long series neighbouring steps share a cell: it shows their least and largest value.
    """
    if not hasattr(e, "events"):
        raise TypeError(f"This picture expected the events of a series, got {type(e).__name__}.")
    if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
        raise ValueError(f"top={top!r}: expected a number of channels, a whole number of at least 1.")
    chosen = np.argsort(-e.mean_shares, kind="stable")[:top]
    if figure is None:
        height = _TOP + _STRIP + max(len(chosen) * _ROW, _FEW_ROWS) + _BOTTOM
        figure = pyplot().figure(figsize=(_WIDTH, height))
    figure.set_layout_engine("constrained")
    strip, *rows = figure.subplots(
        1 + len(chosen), 1, sharex=True, height_ratios=[_STRIP, *[_ROW] * len(chosen)]
    )
    cells, x = Cells.of(e.series), on_time_axis(e.series)
    _draw_scores(strip, cells, e)
    for ax, c in zip(rows, chosen, strict=True):
        _draw_band(ax, cells, e.series.given[:, c], _LINE)
        part = float(e.mean_shares[c])
        name = title_of(e.channels[c], 80)
        told = name if len(e.channels) == 1 else f"{name}: {percent(part)} of the events' outlierness"
        ax.set_title(told, loc="left", fontsize=_SMALL, parse_math=False)
    _shade([strip, *rows], x, e)
    for ax in (strip, *rows):
        ax.tick_params(labelsize=_SMALL - 1)
        ax.set_xlim(cells.edges[0], cells.edges[-1])
        ax.spines[["top", "right"]].set_visible(False)
    label_time(rows[-1], e.series, _SMALL)
    return figure


def _draw_scores(ax: Any, cells: Cells, e: SeriesExplanation) -> None:
    o = np.where(np.isnan(e.scores.outlierness), np.nan, e.scores.outlierness)
    _draw_band(ax, cells, o, _CALM)
    ax.axhline(e.threshold, color=_ODD, linewidth=0.9, linestyle=(0, (4, 3)))
    if np.nanmax(o) > _WIDE * e.threshold:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0.0)
    title = f"outlierness of each step (1 is usual); above the dashed line, {number(e.threshold)}, it is odd"
    ax.set_title(title, loc="left", fontsize=_SMALL)


def _draw_band(ax: Any, cells: Cells, values: Doubles, colour: str) -> None:
    low, high = cells.ends(values).T
    ax.fill_between(cells.middles, low, high, color=colour, linewidth=0.0, alpha=0.55)
    ax.plot(cells.middles, (low + high) / 2.0, color=colour, linewidth=0.8)


def _shade(axes: list[Any], x: Doubles, e: SeriesExplanation) -> None:
    """Events behind the lines, the oddest with their rank."""
    half = float(np.median(np.diff(x))) / 2.0 if len(x) > 1 else 0.5
    least = (float(x[-1]) - float(x[0])) / 400.0  # so that an event of a single step can be seen
    for rank, event in enumerate(e.events, start=1):
        if e.outlierness[rank - 1] <= e.threshold:
            continue
        start, stop = x[event.start] - half, x[event.stop - 1] + half
        wider = max(least - (stop - start), 0.0) / 2.0
        for ax in axes:
            ax.axvspan(start - wider, stop + wider, color=_ODD, alpha=0.28, linewidth=0.0, zorder=0)
        if rank <= _NUMBERED:
            place = ((start + stop) / 2.0, 1.0)
            axes[0].annotate(
                str(rank), place, xycoords=axes[0].get_xaxis_transform(), xytext=(0, -2),
                textcoords="offset points", ha="center", va="top", fontsize=_SMALL - 1, color="#8f3a12",
            )  # fmt: skip
