"""The patterns of relevance that recur over many items, each beside its most typical ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.audit import Audit, audit
from whyodd.explanations.base import TABLE
from whyodd.explanations.sentences import percent
from whyodd.patches.colours import common_limit, overlay
from whyodd.plots.figures import drawable, pyplot, title_of
from whyodd.plots.reasons import GREY, SMALL, VERMILLION, name_of

if TYPE_CHECKING:
    from whyodd.evaluation.audit import Pattern
    from whyodd.explanations.table import Explanation
    from whyodd.patches.explanation import PatchExplanation

_MOST, _EXAMPLES, _BARS = 4, 3, 6  # patterns, items beside each, columns of a profile
_WIDTH, _ROW = 9.0, 1.9  # inches
_NAME, _TITLE = 22, 60  # letters


def patterns(e: Any, figure: Any = None) -> Any:
    """One row per pattern: the mean of its relevance, then its most typical items.

    Parameters
    ----------
    e : Audit, Findings, Explanation or PatchExplanation
        Of rows of a table, or of images. The four patterns that carry most are drawn.
    figure : matplotlib Figure, optional
        Where to draw; a new figure by default. ``layout="constrained"`` makes room for names.

    Returns
    -------
    matplotlib Figure
    """
    found = e if isinstance(e, Audit) else audit(e)
    shown = found.patterns[:_MOST]
    if not shown:
        raise ValueError("Nothing stands out in any item: there is no pattern to draw.")
    if figure is None:
        figure = pyplot().figure(figsize=(_WIDTH, _ROW * len(shown) + 0.3), layout="constrained")
    draw = _draw_rows if found.kind is TABLE else _draw_pictures
    for strip, pattern in zip(np.atleast_1d(figure.subfigures(len(shown))), shown, strict=True):
        strip.suptitle(_headline(found, pattern), fontsize=SMALL + 1, x=0.01, ha="left", parse_math=False)
        panels = strip.subplots(1, 1 + _EXAMPLES)
        draw(panels, found.explanation, pattern)
        for ax in panels[1 + len(pattern) :]:
            ax.set_axis_off()
    return figure


def _headline(found: Audit, pattern: Pattern) -> str:
    name = drawable(title_of(pattern.name, _TITLE))
    return (
        f"{name}: {found.kind.count(len(pattern))}, {percent(pattern.share)} of the outlierness above usual"
    )


def _draw_rows(panels: Any, e: Explanation, pattern: Pattern) -> None:
    """Shares of the same columns in all panels, named once."""
    largest = np.argsort(-pattern.profile, kind="stable")[:_BARS]
    _draw_bars(panels[0], pattern.profile[largest], "on average", VERMILLION)
    names = [drawable(name_of(e.feature_names[c], _NAME)) for c in largest]
    panels[0].set_yticks(np.arange(len(largest)), names, fontsize=SMALL - 2, parse_math=False)
    for ax, i in zip(panels[1:], pattern.members, strict=False):
        held = np.maximum(np.asarray(e.relevance[i], dtype=np.float64), 0.0)
        _draw_bars(ax, held[largest] / (held.sum() or 1.0), title_of(e.name(i), _NAME), GREY)


def _draw_bars(ax: Any, shares: Any, title: str, colour: str) -> None:
    ax.barh(np.arange(len(shares)), shares, color=colour)
    ax.set(xlim=(0.0, 1.0), yticks=[])
    ax.set_xticks([0.0, 0.5, 1.0], ["0", "50 %", "100 %"], fontsize=SMALL - 2)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(drawable(title), fontsize=SMALL, parse_math=False)


def _draw_pictures(panels: Any, e: PatchExplanation, pattern: Pattern) -> None:
    """The mean on a grid of the shape of the first picture, then pictures with colours as in heatmaps."""
    height, width = e.data[int(pattern.members[0])].shape[:2]
    panels[0].imshow(pattern.profile, cmap="Reds", vmin=0.0, extent=(0.0, width, height, 0.0))
    panels[0].set(xticks=[], yticks=[])
    panels[0].set_title("on average", fontsize=SMALL)
    limit = common_limit(e.relevance)
    for ax, i in zip(panels[1:], pattern.members.tolist(), strict=False):
        ax.imshow(overlay(e.data[i], e.heatmap(i), limit), cmap="gray", vmin=0, vmax=255)
        ax.set_title(drawable(title_of(e.name(i), _NAME)), fontsize=SMALL, parse_math=False)
        ax.set_axis_off()
