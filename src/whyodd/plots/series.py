"""A series over time: its channels one above the other, shaded where they make it odd."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number, percent
from whyodd.patches.colours import common_limit
from whyodd.plots.figures import check_patches, pyplot, title_of
from whyodd.plots.time_axis import Cells, label_time, position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.patches.explanation import PatchExplanation
    from whyodd.patches.items import Item

    Doubles = NDArray[np.float64]

# Inches; fixed margins, since fitting them to some sixty channels takes most of a minute.
_WIDTH, _ROW, _FEW_ROWS, _BETWEEN, _STRIP = 11.0, 0.75, 2.6, 0.28, 0.6
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.95, 0.95, 0.6, 0.72
_BAR = 3.0
_LINE, _MARK, _UNSEEN = "#1f2d3d", "#1565c0", "#d5d8dc"
_SHADES = ("#ffffff", "#fdd49e", "#fc8d59", "#d7301f")
_SMALL = 9  # points


def series(
    e: PatchExplanation,
    i: int = 0,
    figure: Any = None,
    *,
    limit: float | None = None,
    top: int = 8,
    marks: Sequence[tuple[Any, Any]] = (),
) -> Any:
    """Channels of series ``i`` in raw units, shaded by the relevance of each time step; the total on top.

    Parameters
    ----------
    e : PatchExplanation
        Of series.
    i : int, default 0
    figure : matplotlib Figure, optional
        Where to draw; a new figure by default.
    limit : float, optional
        Relevance with the darkest colour; by default the 99.9 % quantile over all steps and channels. Pass
        the same limit to compare several series.
    top : int, default 8
        Channels to draw, those with the most relevance; the share of the others is stated in words.
    marks : sequence of (start, stop), optional
        Known spans to draw as lines on top: dates or numbers as in the time column, or else steps.

    Returns
    -------
    matplotlib Figure

    Notes
    -----
    Grey marks steps that no window without gaps covers. In a long series neighbouring steps share a cell: it
    shows their least and largest value, and their largest relevance.
    """
    check_patches(e)
    if not e.is_series:
        raise ValueError("This picture expected series, got images. Use heatmap for them.")
    if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
        raise ValueError(f"top={top!r}: expected a number of channels, a whole number of at least 1.")
    e = e[int(range(len(e))[i])]
    heat = _columns(e.heatmap(0))
    chosen = np.argsort(-heat.sum(axis=0), kind="stable")[:top]
    figure, (strip, *rows) = _axes(figure, len(chosen))
    cells = Cells.of(e.items[0])
    unseen = ~judged(e, 0)
    _draw_total(strip, cells, np.where(unseen, np.nan, heat.sum(axis=1)))
    shades = _Shades(limit if limit is not None else common_limit([heat]))
    for ax, channel in zip(rows, chosen, strict=True):
        values = _columns(e.data[0])[:, channel].astype(np.float64)
        drawn = shades.draw(ax, cells, np.where(unseen, np.nan, heat[:, channel]))
        _draw_line(ax, cells, values)
        _name(ax, e, int(channel), float(heat[:, channel].sum()))
    for start, stop in marks:
        _draw_mark([strip, *rows], *(cells.within(position(end, e.items[0])) for end in (start, stop)))
    _finish([strip, *rows], cells, e.items[0])
    _draw_scale(figure, drawn, rows)
    is_grey = bool(unseen.any() or cells.jumps.size)
    _tell(figure, e, len(chosen), float(heat[:, chosen].sum()), is_grey=is_grey)
    return figure


def _axes(figure: Any, count: int) -> tuple[Any, list[Any]]:
    """Figure with a strip and below it axes for this many channels."""
    if figure is None:
        height = _TOP + _STRIP + count * _BETWEEN + max(count * _ROW, _FEW_ROWS) + _BOTTOM
        figure = pyplot().figure(figsize=(_WIDTH, height))
    figure.set_layout_engine("none")
    width, height = figure.get_size_inches()
    room = max(height - _TOP - _BOTTOM - count * _BETWEEN, 0.1 * height)
    places = {
        "left": _LEFT / width, "right": 1 - _RIGHT / width, "top": 1 - _TOP / height,
        "bottom": _BOTTOM / height, "hspace": _BETWEEN * (count + 1) / room,
    }  # fmt: skip
    ratios = [_STRIP, *[(room - _STRIP) / count if room > 2 * _STRIP else _ROW] * count]
    return figure, list(figure.subplots(1 + count, 1, height_ratios=ratios, gridspec_kw=places))


def judged(e: PatchExplanation, i: int) -> NDArray[np.bool_]:
    """(T,) which steps of series ``i`` some window without gaps looks at."""
    item = e.items[i]
    count = np.zeros(len(item.values) + 1)
    for scale, scores in zip(e.model.scales_, e.score_maps[i], strict=True):
        grid = scale.view.grid(item.values.shape[:-1])
        first = grid.corner(0)[0] + scale.view.stride * np.flatnonzero(np.isfinite(scores))
        ends = scale.view.size * np.array([first, first + scale.view.patch[0]])
        for sign, end in zip((1, -1), np.clip(ends, 0, len(item.values)), strict=True):
            np.add.at(count, end, sign)
    covered = np.cumsum(count)[:-1, None] * np.ones(len(item.channels))
    return np.asarray(_columns(item.as_given(covered))[:, 0] > 0)


def _draw_line(ax: Any, cells: Cells, values: Doubles) -> None:
    """Draw values (T,), broken at gaps and jumps; of each cell the least and the largest."""
    ends = cells.ends(values)
    ax.plot(np.repeat(cells.middles, 2), ends.ravel(), color=_LINE, linewidth=0.7)
    alone = _is_alone(np.isfinite(ends[:, 0]))
    ax.plot(cells.middles[alone], ends[alone, 0], ".", color=_LINE, markersize=2)
    ax.set_ylim(*_around(values))


def _around(values: Doubles) -> tuple[float, float]:
    """Range of values with a margin; the shading does not affect it."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    margin = 0.06 * (high - low) or max(0.1 * abs(high), 0.1)
    return low - margin, high + margin


def _is_alone(there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which points have a gap on either side, and so are not on a line."""
    around = np.concatenate([[False], there, [False]])
    return np.asarray(there & ~around[:-2] & ~around[2:])


class _Shades:
    """Colours of relevance, on one scale for all channels."""

    def __init__(self, limit: float) -> None:
        from matplotlib.colors import LinearSegmentedColormap, Normalize

        colours = LinearSegmentedColormap.from_list("relevance", _SHADES)
        self._style = {"cmap": colours.with_extremes(bad=_UNSEEN), "norm": Normalize(0.0, limit)}

    def draw(self, ax: Any, cells: Cells, relevance: Doubles) -> Any:
        """Colour the background of a channel; grey where there is hardly any relevance."""
        shown = np.ma.masked_invalid(cells.largest(relevance)[None])
        # Corners in units of the axis: the shading fills it, whatever the values.
        across = ax.get_xaxis_transform()
        return ax.pcolormesh(
            cells.edges, [0.0, 1.0], shown, transform=across, rasterized=True, zorder=0, **self._style
        )


def _draw_total(ax: Any, cells: Cells, total: Doubles) -> None:
    ax.fill_between(cells.middles, cells.largest(total), color=_SHADES[-1], linewidth=0.6)
    ax.set_ylim(bottom=0.0)
    ax.set_title("relevance of each time step, all channels together", loc="left", fontsize=_SMALL)


def _name(ax: Any, e: PatchExplanation, channel: int, part: float) -> None:
    share = percent(part / float(e.outlierness[0])) if e.outlierness[0] > 0 else "0 %"
    name = title_of(e.channels[channel], 80)
    ax.set_title(f"{name}: {share} of the outlierness", loc="left", fontsize=_SMALL, parse_math=False)


def _draw_mark(axes: Sequence[Any], start: float, stop: float) -> None:
    """Draw a known span: a line above the topmost axes, and its ends through all of them."""
    if start >= stop:  # before or after all that is drawn
        return
    above = axes[0].get_xaxis_transform()
    axes[0].plot([start, stop], [1.0, 1.0], transform=above, color=_MARK, linewidth=4, clip_on=False)
    for ax in axes:
        for end in (start, stop):
            ax.axvline(end, color=_MARK, linewidth=0.8, linestyle=(0, (4, 3)))


def _finish(axes: Sequence[Any], cells: Cells, item: Item) -> None:
    """Ticks and limits; the time below the last axes only."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for ax in axes:
        ax.yaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
        # As they are: a common factor of the ticks would stand where the name is.
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.8g}"))
        ax.tick_params(labelsize=_SMALL - 1)
        ax.set_xlim(cells.edges[0], cells.edges[-1])
    for ax in axes[:-1]:
        ax.set_xticks([])
    label_time(axes[-1], item, _SMALL)


def _draw_scale(figure: Any, drawn: Any, rows: Sequence[Any]) -> None:
    """What each colour means, beside the topmost channels."""
    width, height = figure.get_size_inches()
    right, top = 1 - _RIGHT / width, rows[0].get_position().y1
    tall = min(_BAR / height, top - rows[-1].get_position().y0)
    place = figure.add_axes((right + 0.12 / width, top - tall, 0.13 / width, tall))
    bar = figure.colorbar(drawn, cax=place, extend="max")
    bar.set_label("relevance", fontsize=_SMALL - 1)
    bar.ax.tick_params(labelsize=_SMALL - 1)


def _tell(figure: Any, e: PatchExplanation, shown: int, part: float, *, is_grey: bool) -> None:
    """In words whatever the axes do not show."""
    # Shares of the outlierness, or of all relevance if that has other units.
    whole = float(e.outlierness[0] if e.is_additive else e.relevance[0].sum()) or 1.0
    unexplained = float(e.unexplained[0]) if e.is_additive else 0.0
    told = []
    if e.is_additive:
        told.append(f"{percent(unexplained / whole)} of the outlierness belongs to no single time step")
    if more := len(e.channels) - shown:
        rest = max(whole - unexplained - part, 0.0) / whole
        told.insert(0, f"{more} more {'channel has' if more == 1 else 'channels have'} {percent(rest)}")
    if is_grey:
        told.append("grey: gaps, and steps too close to one for a whole window")
    _, height = figure.get_size_inches()
    figure.text(
        0.5, 0.1 / height, "; ".join(told), ha="center", va="bottom", fontsize=_SMALL - 1, color="#555555"
    )
    title = f"{title_of(e.name(0), 80)}, outlierness {number(float(e.outlierness[0]))}"
    figure.suptitle(title, y=1 - 0.1 / height, fontsize=_SMALL + 2, parse_math=False)


def _columns(values: NDArray[Any]) -> NDArray[Any]:
    """(T, C) of (T,) or (T, C)."""
    return values.reshape(len(values), -1)
