"""Values of a row compared with expected and usual ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explanations.sentences import Reason, is_missing, is_number, shown, value_texts
from whyodd.network.waist import offers
from whyodd.plots.figures import title_of
from whyodd.plots.reasons import (
    BLACK,
    BY_DIRECTION,
    LIGHT_GREY,
    SMALL,
    Parts,
    axes_for,
    head,
    label,
    name_rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation

_USUAL = (5.0, 95.0)  # percent
_USUAL_LETTERS = 24
_LOW, _HIGH = -1.0, 2.0  # of the axis; the usual range is from 0 to 1
# Room on either side for the numbers of values that are off the axis, and where there are none.
_BEYOND, _MARGIN = 0.7, 0.25
_BAND, _RAISED = 0.24, 0.1  # height of the band, and how far it makes room for the numbers below it


def expected(e: Explanation, i: int = 0, k: int = 10, ax: Any = None) -> Any:
    """Values of row ``i`` and the expected ones, each variable on an axis of its own.

    The band is the usual range, from 5 to 95 % of what the model compares with (or, where that is not known
    for a variable, of what is expected in all rows of ``e``). An arrow with a number is a value beyond the
    axis. A value that is not a number is described in words.

    Parameters
    ----------
    e : Explanation
    i : int, default 0
        Row of ``e``.
    k : int, default 10
        Variables shown, those of the largest relevance.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. ``layout="constrained"`` makes room for long names.

    Returns
    -------
    matplotlib Axes
    """
    parts = Parts.of(e, i, k)
    ax = axes_for(ax, len(parts.reasons))
    centers, seen = _centers(e, i, parts.columns), [0.0, 1.0]
    for place, (column, reason) in enumerate(zip(parts.columns, parts.reasons, strict=True)):
        if is_number(reason.value) and is_number(reason.expected):
            known = centers[column] if column in centers else _numbers(e.expected[:, column])
            scale = Scale.of(known, reason)
            _draw_number(ax, place, reason, scale)
            seen += [scale.at(reason.value), scale.at(reason.expected)]
        else:
            _draw_words(ax, place, reason)
    name_rows(ax, [label(reason) for reason in parts.reasons])
    ax.set_xlim(*_limits(seen))
    ax.set_xticks([0.0, 1.0], ["5 %", "95 %"])
    ax.set_xlabel("usual range of each variable, with its ends")
    head(ax, parts.title, [*_signs(), *parts.legend()], columns=5)
    return ax


@dataclass(frozen=True)
class Scale:
    """Axis of a variable: ``low`` and ``high`` are the usual range, ``zero`` and ``one`` lie at 0 and 1."""

    low: float
    high: float
    zero: float
    one: float

    @classmethod
    def of(cls, values: NDArray[np.float64], reason: Reason) -> Scale:
        """Scale of the normal values of a variable; of the difference to them if all are the same."""
        known = values[np.isfinite(values)]
        ends = np.percentile(known, _USUAL) if known.size else [reason.expected] * 2
        low, high = float(ends[0]), float(ends[1])
        if high > low:
            return cls(low, high, low, high)
        half = abs(reason.value - low) or abs(low) or 1.0
        half = half if np.isfinite(half) else 1.0
        return cls(low, high, low - half / 2, low + half / 2)

    def at(self, value: float) -> float:
        """Where a value lies."""
        return (value - self.zero) / (self.one - self.zero)


def _centers(e: Explanation, i: int, columns: Sequence[int]) -> dict[int, NDArray[np.float64]]:
    """The comparison of row ``i`` in the units of the data, for variables that have such values."""
    variables = e.variables
    if variables is None or not offers(e.network, "centers"):
        return {}
    points = e.network.centers
    members = {c: (c,) if variables.groups is None else variables.groups[c] for c in columns}
    alone = {c: group[0] for c, group in members.items() if len(group) == 1}
    if variables.decode is None:
        return {c: _numbers(to_dense(points[:, [variable]])[:, 0]) for c, variable in alone.items()}
    values = variables.decode(points).numbers
    if e.given is not None:
        context = e.given[np.array([range(len(e))[i]])]
        values |= {v: context.raw_values(v, values[v]) for v in variables.relative & values.keys()}
    return {c: values[variable] for c, variable in alone.items() if variable in values}


def _numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([float(value) for value in column.tolist() if is_number(value)], dtype=np.float64)


def _signs() -> list[tuple[Any, str]]:
    from matplotlib.lines import Line2D

    line = Line2D([], [], color=BLACK, linewidth=2.0)
    return [(LIGHT_GREY, "usual range"), (line, "expected")]


def _draw_number(ax: Any, place: int, reason: Reason, scale: Scale) -> None:
    y = place - _RAISED
    band = [scale.at(scale.low), scale.at(scale.high)]
    # The outline keeps a range of one value visible.
    shape = {"left": band[0], "height": _BAND, "linewidth": 1.5}
    ax.barh(y, band[1] - band[0], color=LIGHT_GREY, edgecolor=LIGHT_GREY, zorder=1, **shape)
    x = float(np.clip(scale.at(reason.expected), _LOW, _HIGH))
    ax.plot([x, x], [y - 0.2, y + 0.2], color=BLACK, linewidth=2.0, zorder=2)
    _draw_ends(ax, y + 0.23, scale, band, reason)
    _draw_value(ax, y, reason, scale.at(reason.value))


def _draw_ends(ax: Any, y: float, scale: Scale, band: list[float], reason: Reason) -> None:
    """Numbers below the ends of the band; one if they are the same."""
    ends = dict(zip(band, (scale.low, scale.high), strict=True))
    for x, value in ends.items():
        ax.text(x, y, shown(value, reason.form), ha="center", va="top", fontsize=SMALL - 2, color=BLACK)


def _draw_value(ax: Any, y: float, reason: Reason, x: float) -> None:
    colour = BY_DIRECTION[reason.direction]
    if _LOW <= x <= _HIGH:
        ax.plot([x], [y], "o", color=colour, markersize=7, zorder=3)
        return
    end, sign, side, shift = (_HIGH, ">", "left", 1) if x > _HIGH else (_LOW, "<", "right", -1)
    ax.plot([end + 0.1 * shift], [y], sign, color=colour, markersize=8, zorder=3)
    ax.text(end + 0.18 * shift, y, value_texts(reason)[0], ha=side, va="center", fontsize=SMALL, color=colour)


def _limits(seen: list[float]) -> tuple[float, float]:
    """Ends of the axis around all places, with space for numbers on a side where some are beyond it."""
    low, high = min(seen), max(seen)
    return (
        _LOW - _BEYOND if low < _LOW else low - _MARGIN,
        _HIGH + _BEYOND if high > _HIGH else high + _MARGIN,
    )


def _draw_words(ax: Any, place: int, reason: Reason) -> None:
    across = ax.get_yaxis_transform()  # in parts of the axes; the limits are not known yet
    colour = BY_DIRECTION[reason.direction]
    style = {"ha": "center", "va": "center", "fontsize": SMALL, "color": colour, "parse_math": False}
    ax.text(0.5, place, _compared(reason), transform=across, **style)


def _compared(reason: Reason) -> str:
    """How a value that is not a number differs from the expected one; the label has the value itself."""
    value, usual = value_texts(reason)
    if is_missing(reason.expected):
        return "expected values are unknown"
    return "as expected" if value == usual else f"instead of {title_of(usual, _USUAL_LETTERS)}"
