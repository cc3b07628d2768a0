"""Many rows on a map: those that are odd for similar reasons lie close together."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.groups import count_of_rows, group_by_reason, label_of
from whyodd.plots.embedding import embed
from whyodd.plots.figures import drawable, lay_out, pyplot
from whyodd.plots.reasons import (
    BLACK,
    BLUE,
    GREEN,
    LIGHT_GREY,
    SMALL,
    VERMILLION,
    check_table,
    evenly_by_oddness,
    head,
    name_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from whyodd.explanations.groups import ReasonGroup
    from whyodd.explanations.table import Explanation

    Wide = NDArray[np.float64]
    Box = tuple[float, float, float, float]

# Okabe and Ito's colours, each with a sign of its own.
_SIGNS = (
    (BLUE, "o"), (VERMILLION, "s"), (GREEN, "^"), ("#E69F00", "D"), ("#CC79A7", "v"), ("#56B4E9", "P"),
    ("#F0E442", "X"), (BLACK, "*"),
)  # fmt: skip
_OTHER_SIGN = (LIGHT_GREY, "o")
_MOST_ROWS, _NUMBERED = 5_000, 12
_SMALLEST, _LARGEST = 16.0, 130.0  # square points of a dot
_NAME, _LINE = 26, 44  # letters of a name, and of a line of the legend
_FIGURE = (9.0, 5.6)  # inches
_AWAY = (1.0, 5.0, 9.0)  # points from a dot to its number
_CENTERED = {"xytext": (0.0, 0.0), "ha": "center", "va": "center", "color": BLACK, "zorder": 4}
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (-0.7, -0.7))


def reasons_map(e: Explanation, ax: Any = None) -> Any:
    """A dot for each row, close to rows with similar reasons, larger the odder it is.

    Colours and markers show the groups by shared reason, at most eight; other rows are grey. The oddest rows
    have their number. Of more than 5,000 rows, 5,000 are drawn, evenly from the oddest to the least odd.

    Parameters
    ----------
    e : Explanation
        Of rows of a table, preferably the odd ones: ``e.top(500)``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. ``layout="constrained"`` makes room for the legend.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    A row is the point with coordinates ±√(R_i / Σ R_i) over positive relevances, negative where a value is
    too low: the distance of two rows is Hellinger's, of their shares. The axes have no meaning of their own.
    """
    check_table(e)
    ax = pyplot().subplots(figsize=_FIGURE, layout="constrained")[1] if ax is None else ax
    drawn = evenly_by_oddness(e, _MOST_ROWS)
    places = np.full((len(e), 2), np.nan)
    places[drawn] = embed(signed_roots(e[drawn]))
    areas = _areas(e.outlierness)
    groups = group_by_reason(e, max_groups=len(_SIGNS) + 1)
    handles = [_scatter(ax, places[members], areas[members], sign) for members, sign, _ in _layers(groups)]
    _frame(ax, places[drawn])
    ax.set_xlabel("close together: similar reasons; large: very odd; numbers name rows", fontsize=SMALL)
    head(ax, _title(e, len(drawn)), [])
    _add_legend(ax, handles, [words for _, _, words in _layers(groups)])
    oddest = drawn[:_NUMBERED]
    _number(ax, places, areas, oddest, [str(row) for row in e.rows[oddest]])
    return ax


def signed_roots(e: Explanation) -> Wide:
    """(n, d) ±√(R_i / Σ R_i) over positive relevances, negative where a value is too low."""
    held = np.maximum(np.asarray(e.relevance, dtype=np.float64), 0.0)
    whole = held.sum(axis=1, keepdims=True)
    shares = np.divide(held, whole, out=np.zeros_like(held), where=whole > 0.0)
    return np.asarray(np.where(e.direction < 0, -1.0, 1.0) * np.sqrt(shares))


def _areas(outlierness: NDArray[np.floating]) -> Wide:
    """Areas of dots, from roots, since the oddest rows are often far odder than all others."""
    above = np.asarray(outlierness, dtype=np.float64) - float(outlierness.min())
    return np.asarray(_SMALLEST + (_LARGEST - _SMALLEST) * np.sqrt(above / (float(above.max()) or 1.0)))


def _layers(groups: Sequence[ReasonGroup]) -> list[tuple[NDArray[np.intp], tuple[str, str], str]]:
    """Members, colour, sign and words of each group that has a colour; the others together."""
    named = [group for group in groups if group.features][: len(_SIGNS)]
    layers = [(group.members, sign, _words(group)) for group, sign in zip(named, _SIGNS, strict=False)]
    others = [group.members for group in groups[len(named) :]]
    if others:
        members = np.concatenate(others)
        layers.append((members, _OTHER_SIGN, f"{count_of_rows(len(members))}: other reasons"))
    return layers


def _words(group: ReasonGroup) -> str:
    names = [drawable(name_of(name, _NAME)) for name in group.features]
    return fill(f"{count_of_rows(len(group))}: {label_of(names, group.judgements)}", _LINE)


def _scatter(ax: Any, places: Wide, areas: Wide, sign: tuple[str, str]) -> Any:
    colour, marker = sign
    # Without an edge yellow would be lost on white.
    edge, zorder = (0.3, 2) if sign != _OTHER_SIGN else (0.0, 1)
    return ax.scatter(
        *places.T, s=areas, c=colour, marker=marker, alpha=0.85, zorder=zorder, ec=BLACK, lw=edge
    )  # fmt: skip


def _frame(ax: Any, places: Wide) -> None:
    """A square around all dots, so that distances mean the same in all directions."""
    low, high = places.min(axis=0), places.max(axis=0)
    middle, half = (low + high) / 2, 0.54 * float((high - low).max()) or 1.0
    ax.set(xticks=[], yticks=[], aspect="equal", anchor="W")
    ax.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    ax.spines[:].set_color(LIGHT_GREY)


def _title(e: Explanation, n_drawn: int) -> str:
    some = "" if n_drawn == len(e) else f" ({n_drawn:,} are drawn)"
    by = "" if e.method == "dtd" else f" by {e.method}"
    return f"Map of the reasons{by} of {count_of_rows(len(e))}{some}"


def _add_legend(ax: Any, handles: list[Any], words: list[str]) -> None:
    legend = ax.legend(
        handles, words, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False,
        fontsize=SMALL, labelspacing=0.7, handletextpad=0.4,
    )  # fmt: skip
    for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
        text.set_parse_math(False)
        handle.set_sizes([50.0])


def _number(ax: Any, places: Wide, areas: Wide, oddest: NDArray[np.intp], numbers: list[str]) -> None:
    """Number the dots of the oddest rows, where a number covers no other one and the fewest dots."""
    lay_out(ax)
    seen = ~np.isnan(places[:, 0])
    pixels = ax.figure.dpi / 72
    dots = ax.transData.transform(places[seen])
    radii = pixels * np.sqrt(areas[seen]) / 2
    taken: list[Box] = []
    for row, number in zip(oddest, numbers, strict=True):
        text = ax.annotate(number, places[row], textcoords="offset points", fontsize=SMALL - 1, **_CENTERED)
        size = text.get_window_extent().size
        dot, radius = ax.transData.transform(places[row]), pixels * np.sqrt(areas[row]) / 2
        free = [
            (covered(box, dots, radii), shift, box)
            for shift in _shifts(size, radius, pixels)
            if _is_free(box := _box(dot + shift, size), taken, ax.get_window_extent().extents)
        ]
        if not free:
            text.remove()
            continue
        _, shift, box = min(free, key=lambda entry: entry[0])
        text.set_position(shift / pixels)
        taken.append(box)


def covered(box: Box, dots: Wide, radii: Wide) -> int:
    """How many dots with these centers (n, 2) and radii (n,) a box touches."""
    left, bottom, right, top = box
    gaps = dots - np.clip(dots, (left, bottom), (right, top))
    return int(np.count_nonzero((gaps**2).sum(axis=1) < radii**2))


def _shifts(size: Wide, radius: float, pixels: float) -> Iterator[Wide]:
    """Offsets from a dot to the centers of boxes beside it, the nearest first."""
    for away in _AWAY:
        for direction in _DIRECTIONS:
            yield np.array(direction) * (radius + pixels * away + size / 2)


def _box(middle: Wide, size: Wide) -> Box:
    left, bottom, right, top = (*(middle - size / 2), *(middle + size / 2))
    return float(left), float(bottom), float(right), float(top)


def _is_free(box: Box, taken: Sequence[Box], inside: Wide) -> bool:
    """Whether a box is in the axes and a pixel away from all others."""
    lows, highs, others = np.array(box[:2]), np.array(box[2:]), np.array(taken).reshape(-1, 2, 2)
    is_inside = (lows >= inside[:2]).all() and (highs <= inside[2:]).all()
    meets = (lows < others[:, 1] + 1).all(axis=1) & (others[:, 0] < highs + 1).all(axis=1)
    return bool(is_inside and not meets.any())
