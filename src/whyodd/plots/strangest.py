"""The strangest window of an image or a series, beside the most similar normal patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number
from whyodd.patches.colours import displayed
from whyodd.patches.places import place_text
from whyodd.plots.figures import add_panel, check_patches, pyplot, title_of
from whyodd.plots.time_axis import label_time, on_time_axis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.patches.explanation import PatchExplanation
    from whyodd.patches.strangest import StrangePatch

    Floats = NDArray[np.floating]

# Inches: the figure of an image, its panels, the room above them and between them, and the bar's width.
SIZE = (11.2, 3.5)
_PANEL, _TOP, _GAP, _BAR = 2.4, 0.8, 0.15, 0.1
_MARK = "#00e5ff"  # stands out on any grey
_HERE, _NORMAL = "#d9622b", "#3b82c4"
_CHANNELS = 4
_SMALL = 9  # points


def strangest(e: PatchExplanation, i: int = 0, figure: Any = None) -> Any:
    """The strangest window of item ``i``: place, content, the most similar normal one, the difference.

    Parameters
    ----------
    e : PatchExplanation
        Of images or series.
    i : int, default 0
    figure : matplotlib Figure, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Figure
    """
    check_patches(e)
    window = e.strangest(i)
    if e.is_series:
        figure = pyplot().figure(figsize=_series_size(e), layout="constrained") if figure is None else figure
        _draw_series(figure, e, i, window)
    else:
        figure = pyplot().figure(figsize=SIZE) if figure is None else figure
        _draw_image(figure, e, i, window)
    # Two lines, since a long name would run into the edges of the figure.
    figure.suptitle(
        f"{title_of(e.name(i), 80)}\n{_told(e, i, window)}", fontsize=_SMALL + 2, parse_math=False
    )
    return figure


def _told(e: PatchExplanation, i: int, window: StrangePatch) -> str:
    seen = "" if e.model.prepare is None else "; patches as the model sees them, prepared"
    return f"strangest at {place_text(window, e.items[i])}, outlierness {number(window.outlierness)}{seen}"


def _draw_image(figure: Any, e: PatchExplanation, i: int, window: StrangePatch) -> None:
    place, here, normal, apart = (
        add_panel(figure, SIZE, _GAP + k * (_PANEL + _GAP), _TOP, _PANEL, _PANEL) for k in range(4)
    )
    _draw_place(place, e.data[i], window)
    low, high = _range(window.values, window.nearest)
    _draw_patch(here, window.values, low, high, "the strangest window")
    _draw_patch(normal, window.nearest, low, high, _origin(e, i, window))
    for ax in (here, normal):
        ax.set_xlabel(f"black {number(low)}, white {number(high)}", fontsize=_SMALL - 1)
    bar = add_panel(figure, SIZE, 4 * (_PANEL + _GAP) + _GAP, _TOP, _BAR, _PANEL)
    _draw_difference(apart, bar, e, window)


def _draw_place(ax: Any, image: Any, window: StrangePatch) -> None:
    from matplotlib.patches import Rectangle

    ax.imshow(displayed(image), cmap="gray", vmin=0, vmax=255)
    (top, left), (bottom, right) = window.start, window.stop
    frame = (left - 1.5, top - 1.5), right - left + 2, bottom - top + 2
    ax.add_patch(Rectangle(*frame, fill=False, edgecolor="black", linewidth=3.5, clip_on=False))
    ax.add_patch(Rectangle(*frame, fill=False, edgecolor=_MARK, linewidth=1.5, clip_on=False))
    ax.set_title("where it is", fontsize=_SMALL)
    ax.set_axis_off()


def _draw_patch(ax: Any, values: Floats, low: float, high: float, title: str) -> None:
    pixels = displayed(np.clip((values - low) / (high - low), 0.0, 1.0))
    ax.imshow(pixels, cmap="gray", vmin=0, vmax=255)
    ax.set_title(title, fontsize=_SMALL)
    ax.set(xticks=[], yticks=[])


def _draw_difference(ax: Any, bar: Any, e: PatchExplanation, window: StrangePatch) -> None:
    """Difference of the channel that differs most, with 0 in the middle of the colours."""
    squares = (window.difference.astype(np.float64) ** 2).sum(axis=(0, 1))
    channel = int(squares.argmax())
    values = window.difference[..., channel]
    limit = float(np.abs(values).max()) or 1.0
    drawn = ax.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit)
    where = f", {e.channels[channel]} channel" if squares.size > 1 else ""
    ax.set_title(f"the window minus the normal{where}", fontsize=_SMALL)
    ax.set(xticks=[], yticks=[])
    ax.figure.colorbar(drawn, cax=bar, ticks=[-limit, -limit / 2, 0.0, limit / 2, limit], format=_few_digits)
    bar.tick_params(labelsize=_SMALL - 1)


def _few_digits(value: float, _: int) -> str:
    return number(value, 2)


def _origin(e: PatchExplanation, i: int, window: StrangePatch) -> str:
    if window.training_item is not None and window.training_item == e.twins[i]:
        return "most like it, in the same picture"
    return "the normal patch most like it"


def _range(*parts: Floats) -> tuple[float, float]:
    """Least and largest number of all, apart."""
    low, high = min(float(part.min()) for part in parts), max(float(part.max()) for part in parts)
    return low, high if high > low else low + 1.0


def _draw_series(figure: Any, e: PatchExplanation, i: int, window: StrangePatch) -> None:
    """Relevance over time with the window marked, then the channels that differ most, here and normally."""
    channels = _most_different(window)
    place, *others = figure.subplots(1 + len(channels), 1)
    _draw_moment(place, e, i, window)
    steps = np.arange(len(window.values))
    for ax, channel in zip(others, channels, strict=True):
        ax.plot(steps, window.values[:, channel], color=_HERE, label="the strangest window")
        ax.plot(steps, window.nearest[:, channel], color=_NORMAL, label="the normal one most like it")
        ax.set_title(title_of(e.channels[channel]), fontsize=_SMALL, parse_math=False)
        ax.tick_params(labelsize=_SMALL - 1)
    more = len(e.channels) - len(channels)
    left_out = f"; {more} more channels differ less" if more else ""
    others[-1].set_xlabel(f"steps from the beginning of the window{left_out}", fontsize=_SMALL)
    figure.legend(
        *others[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=_SMALL
    )


def _draw_moment(ax: Any, e: PatchExplanation, i: int, window: StrangePatch) -> None:
    relevance, x = e.heatmap(i).reshape(len(e.data[i]), -1).sum(axis=1), on_time_axis(e.items[i])
    ax.fill_between(x, relevance, color=_HERE, linewidth=0.5)
    ax.axvspan(x[window.start[0]], x[window.stop[0] - 1], color=_NORMAL, alpha=0.35)
    ax.set_title("relevance over time, and the window in blue", fontsize=_SMALL)
    label_time(ax, e.items[i], _SMALL)
    ax.tick_params(labelsize=_SMALL - 1)


def _most_different(window: StrangePatch) -> NDArray[np.intp]:
    squares = (window.difference.astype(np.float64) ** 2).sum(axis=0)
    return np.asarray(np.argsort(-squares, kind="stable")[:_CHANNELS])


def _series_size(e: PatchExplanation) -> tuple[float, float]:
    return 8.0, 2.6 + 1.5 * min(len(e.channels), _CHANNELS)
