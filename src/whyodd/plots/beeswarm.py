"""Relevance over many rows: a dot for each row and variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.base import at_least_one
from whyodd.explanations.sentences import number
from whyodd.plots.figures import lay_out
from whyodd.plots.reasons import (
    BLACK,
    BY_DIRECTION,
    MEANING,
    axes_for,
    check_table,
    evenly_by_oddness,
    head,
    name_of,
    name_rows,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation

    Floats = NDArray[np.floating]

_MOST_ROWS = 5_000
_NAME = 36  # letters
_DOT, _SMALL_DOT, _MANY = 4.5, 3.0, 200  # points; points of dots where there are many rows
_MOST_DOTS, _SKEWED = 95.0, 30.0  # percent of the dots, and how far beyond them the axis may go evenly
_HALF = 0.44  # of the room of a variable, on either side


def beeswarm(e: Explanation, k: int = 10, ax: Any = None) -> Any:
    """A dot for each row at its relevance, for the ``k`` variables with the largest mean |relevance|.

    Dots move aside where they would cover each other, as far as there is room. Of more than 5,000 rows, 5,000
    are drawn, spread evenly from the oddest to the least odd; means are over all of them.

    Parameters
    ----------
    e : Explanation
    k : int, default 10
        Variables shown.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. ``layout="constrained"`` makes room for long names.

    Returns
    -------
    matplotlib Axes
    """
    check_table(e)
    chosen = np.argsort(-np.abs(e.relevance).mean(axis=0), kind="stable")[: at_least_one(k, "variables")]
    drawn = _spread_sample(e)
    ax = axes_for(ax, len(chosen))
    name_rows(ax, [name_of(e.feature_names[c], _NAME) for c in chosen])
    ax.axvline(0.0, color=BLACK, linewidth=0.8, zorder=1)
    unit = _limit(ax, drawn.relevance[:, chosen])
    by = "relevance" if e.is_additive else f"relevance by {e.method}"
    ax.set_xlabel(by if unit is None else f"{by} (logarithmic beyond {number(unit)})")
    signs = [sign for sign in (1, -1, 0) if (drawn.direction[:, chosen] == sign).any()]
    head(ax, _title(e, len(drawn), len(chosen)), [(BY_DIRECTION[s], MEANING[s]) for s in signs])
    dot = _DOT if len(drawn) <= _MANY else _SMALL_DOT
    width, height = _in_axes(ax, dot)
    for place, c in enumerate(chosen):
        x = drawn.relevance[:, c]
        y = place + offsets(_along(ax, x), width, height)
        colours = [BY_DIRECTION[sign] for sign in drawn.direction[:, c].tolist()]
        ax.scatter(x, y, s=dot**2, c=colours, linewidths=0, zorder=2)
    return ax


def offsets(x: Floats, width: float, height: float) -> Floats:
    """(n,) how far each dot moves aside: to the nearest free level, or to the one free for the longest.

    Parameters
    ----------
    x : ndarray of shape (n,)
    width, height : float
        Size of a dot along both axes.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.plots.beeswarm import offsets
    >>> offsets(np.array([0.0, 0.0, 0.5, 3.0]), width=1.0, height=0.1)
    array([ 0. ,  0.1, -0.1,  0. ])
    """
    steps = np.arange(1, max(1, int(_HALF / height)) + 1)
    levels = height * np.concatenate([[0], np.column_stack([steps, -steps]).ravel()])
    taken_to = np.full(levels.size, -np.inf)
    out = np.empty(x.size)
    for place in np.argsort(x, kind="stable"):
        free = taken_to <= x[place]
        level = int(free.argmax()) if free.any() else int(taken_to.argmin())
        out[place], taken_to[level] = levels[level], x[place] + width
    return out


def _spread_sample(e: Explanation) -> Explanation:
    """All rows, or as many as are drawn, evenly by their rank in outlierness."""
    if len(e) <= _MOST_ROWS:
        return e
    return e[evenly_by_oddness(e, _MOST_ROWS)]


def _limit(ax: Any, x: Floats) -> float | None:
    """Limits around all dots. If a few are far from the others, the axis is logarithmic beyond a unit."""
    low, high = min(0.0, float(x.min())), max(0.0, float(x.max()))
    margin = 0.03 * (high - low) or 1.0
    most = float(np.percentile(np.abs(x), _MOST_DOTS))
    if not 0.0 < _SKEWED * most < high - low:
        ax.set_xlim(low - margin, high + margin)
        return None
    unit = 10.0 ** np.ceil(np.log10(most))
    ax.set_xscale("symlog", linthresh=unit)
    ax.set_xlim(1.5 * low - 0.1 * unit, 1.5 * high)
    return float(unit)


def _title(e: Explanation, n_drawn: int, n_variables: int) -> str:
    n, d = e.relevance.shape
    rows = "1 row" if n == 1 else f"{n:,} rows"
    rows = rows if n_drawn == n else f"{n_drawn:,} of {rows}, evenly sampled"
    if n_variables == d:
        return rows
    return f"{rows}; the {n_variables} of {d} variables with the largest mean relevance"


def _along(ax: Any, x: Floats) -> Floats:
    """Where dots are on the axis, in pixels."""
    return np.asarray(ax.transData.transform(np.column_stack([x, np.zeros(x.size)]))[:, 0])


def _in_axes(ax: Any, points: float) -> tuple[float, float]:
    """Width of a dot in pixels and height in rows, after names have taken their space."""
    lay_out(ax)
    dot = points * ax.figure.dpi / 72
    bottom, top = ax.get_ylim()
    return dot, dot * abs(top - bottom) / ax.get_window_extent().height
