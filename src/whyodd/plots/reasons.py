"""What pictures of the reasons of one row share: the reasons shown, the others, colours, labels and axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unicodedata import bidirectional

import numpy as np

from whyodd.explanations.base import TABLE, at_least_one
from whyodd.explanations.sentences import UNEXPLAINED, Reason, is_missing, number, value_texts
from whyodd.plots.figures import check_kind, pyplot, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence, Sized

    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation

# Okabe and Ito's colours, which colour-blind people can distinguish.
BLUE, VERMILLION, GREEN, GREY, LIGHT_GREY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#7F7F7F", "#C4C4C4", "#333333",
)  # fmt: skip
BY_DIRECTION = {1: VERMILLION, -1: BLUE, 0: GREEN}
MEANING = {1: "too high", -1: "too low", 0: "neither"}
SMALL = 9  # points
# Inches: the width of a figure, of each row in it, and what is above and below them.
_WIDTH, _ROW, _AROUND = 8.5, 0.42, 1.5
_NAME, _VALUE, _LINE = 30, 16, 40  # letters of a name, of a value, and of one line of a label
_LEGEND_ROW = 17.0  # points


@dataclass(frozen=True)
class Parts:
    """The outlierness of one row in the form that a picture shows.

    Attributes
    ----------
    name : str
        What the row is called.
    outlierness, unexplained : float
        o, and what belongs to no single variable; NaN if relevance is in other units.
    whole : float
        What shares are of: the outlierness, or the sum of all |R_i| in other units.
    columns : tuple of int
        The variables shown, those of the largest |R_i| first.
    reasons : tuple of Reason
        Their parts.
    others : tuple of float
        The relevance of each variable that is not shown.
    """

    name: str
    outlierness: float
    unexplained: float
    whole: float
    columns: tuple[int, ...]
    reasons: tuple[Reason, ...]
    others: tuple[float, ...]

    @classmethod
    def of(cls, e: Explanation, i: int, k: int) -> Parts:
        """The ``k`` main reasons of row ``i``, and the rest."""
        check_table(e)
        k = at_least_one(k, "variables")
        reasons = e.reasons(i)
        columns = np.argsort(-e.relevance[i], kind="stable").tolist()  # in the order of the reasons
        # Relevance against the oddness counts as much as relevance for it.
        order = sorted(range(len(reasons)), key=lambda place: -abs(reasons[place].relevance))
        return cls(
            name=e.name(i),
            outlierness=float(e.outlierness[i]),
            unexplained=float(e.unexplained[i]),
            whole=float(e[i].whole[0]),
            columns=tuple(columns[place] for place in order[:k]),
            reasons=tuple(reasons[place] for place in order[:k]),
            others=tuple(reasons[place].relevance for place in order[k:]),
        )

    @property
    def is_additive(self) -> bool:
        """Whether relevance is in units of the outlierness."""
        return not math.isnan(self.unexplained)

    @property
    def bars(self) -> list[tuple[str, float, str]]:
        """Label, relevance and colour of each reason, and of the others together if there are any."""
        shown = [(label(reason), reason.relevance, BY_DIRECTION[reason.direction]) for reason in self.reasons]
        count = len(self.others)
        if count > 0:
            name = "1 other variable" if count == 1 else f"{count} other variables"
            shown.append((name, math.fsum(self.others), LIGHT_GREY))
        return shown

    @property
    def unexplained_bar(self) -> tuple[str, float, str]:
        """Label, size and colour of the unexplained part."""
        return UNEXPLAINED, self.unexplained, GREY

    @property
    def title(self) -> str:
        """The row and how odd it is."""
        name = title_of(self.name)
        return f"{name[:1].upper()}{name[1:]}: outlierness {number(self.outlierness)}"

    def legend(self) -> list[tuple[str, str]]:
        """Colours of the directions that occur, and their meaning."""
        found = {reason.direction for reason in self.reasons}
        return [(BY_DIRECTION[sign], MEANING[sign]) for sign in (1, -1, 0) if sign in found]


def check_rows(e: Sized) -> None:
    """Refuse an explanation that has nothing to show."""
    if len(e) == 0:
        raise ValueError("The explanation has no rows: there is nothing to draw. Explain at least one row.")


def check_table(e: Explanation) -> None:
    """Refuse anything but an explanation of table rows, or one without rows."""
    check_kind(e, (TABLE,), "Draw images with heatmap, series with series.")
    check_rows(e)


def evenly_by_oddness(e: Explanation, most: int) -> NDArray[np.intp]:
    """Positions of all rows, or of ``most``, evenly from the oddest to the least odd."""
    ranks = np.linspace(0, len(e) - 1, min(most, len(e))).round().astype(np.intp)
    return np.asarray(np.argsort(-e.outlierness, kind="stable")[ranks])


def label(reason: Reason) -> str:
    """Name, value and expected value, on two lines if they are long.

    Examples
    --------
    >>> from whyodd.plots.reasons import label
    >>> from whyodd.explanations.sentences import Reason
    >>> label(Reason("amount", 12000.0, 35.5, direction=1, relevance=1.0, share=0.5))
    'amount = 12000, expected 35.5'
    """
    name = name_of(reason.name, _NAME)
    value, expected = (title_of(part, _VALUE) for part in value_texts(reason))
    value = "missing" if is_missing(reason.value) else value
    if reason.never_varied:
        told = f"{value}, always {'missing' if is_missing(reason.expected) else expected}"
    else:
        told = value if is_missing(reason.expected) else f"{value}, expected {expected}"
    # Numbers on the line of a name that is read from the right would be moved to its other side.
    is_short = len(name) + len(told) + 3 <= _LINE and not _reads_from_right(name)
    return f"{name} = {told}" if is_short else f"{name} =\n{told}"


def name_of(feature: str, longest: int) -> str:
    """Name of a variable on one line; quotes where there is nothing to see."""
    name = title_of(feature, longest)
    return name if name.strip() else repr(name)


def _reads_from_right(name: str) -> bool:
    return any(bidirectional(letter) in ("R", "AL") for letter in name)


def axes_for(ax: Any, rows: int) -> Any:
    """The axes given, or new ones with room for this many rows."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=(_WIDTH, _AROUND + _ROW * rows), layout="constrained")[1]


def name_rows(ax: Any, labels: Sequence[str]) -> None:
    """Labels down the left side, the first on top, as they are: a dollar sign is no formula."""
    ax.set_yticks(range(len(labels)))
    ax.set_yticklabels(labels, fontsize=SMALL, parse_math=False)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    tidy(ax)


def tidy(ax: Any) -> None:
    """Keep only the spines that are needed."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="x", labelsize=SMALL)


def head(ax: Any, title: str, entries: Sequence[tuple[Any, str]], columns: int = 4) -> None:
    """Title, and below it a legend: colours or drawn things with their meaning. Neither covers the data."""
    from matplotlib.patches import Patch

    rows = -(-len(entries) // columns)
    ax.set_title(title, loc="left", fontsize=SMALL + 2, pad=8 + _LEGEND_ROW * rows, parse_math=False)
    if not entries:
        return
    handles = [Patch(color=sign) if isinstance(sign, str) else sign for sign, _ in entries]
    legend = ax.legend(
        handles, [text for _, text in entries], ncols=columns, loc="lower left", bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2, borderpad=0.2, labelspacing=0.3, frameon=False, fontsize=SMALL, handlelength=1.4,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def draw_bars(ax: Any, starts: Sequence[float], widths: Sequence[float], colours: Sequence[str]) -> None:
    """Horizontal bars from top to bottom, and a line at 0."""
    ax.barh(range(len(widths)), widths, left=starts, color=colours, height=0.62)
    ax.axvline(0.0, color=BLACK, linewidth=0.8, zorder=3)


def write_at_ends(ax: Any, ends: Sequence[tuple[float, bool]], texts: Sequence[str]) -> list[Any]:
    """Text beyond the end of each bar: right of it, or left of a negative bar."""
    return [
        ax.annotate(
            text, (end, place), xytext=(-4 if is_back else 4, 0), textcoords="offset points",
            ha="right" if is_back else "left", va="center", fontsize=SMALL, zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
        for place, ((end, is_back), text) in enumerate(zip(ends, texts, strict=True))
    ]  # fmt: skip


def make_room(ax: Any, points: Sequence[float], *, left: bool) -> None:
    """Limits around all points and 0, with space for text on the right, and on the left if requested."""
    low, high = min(0.0, *points), max(0.0, *points)
    size = (high - low) or 1.0
    ax.set_xlim(low - (0.14 * size if left else 0.0), high + 0.14 * size)
