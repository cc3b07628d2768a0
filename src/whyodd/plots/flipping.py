"""How fast outlierness falls when variables are removed, method by method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.evaluation.flipping import area
from whyodd.explanations.sentences import number
from whyodd.plots.figures import pyplot, title_of
from whyodd.plots.reasons import BLACK, BLUE, GREEN, GREY, VERMILLION, head, tidy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Wide = NDArray[np.float64]

_COLOURS = (BLUE, VERMILLION, GREEN, "#E69F00", "#CC79A7", "#56B4E9", BLACK, GREY)
_STYLES = ("-", "--", ":", "-.")
_NAME = 30  # letters
_SIZE = (7.5, 4.6)  # inches


def flipping(curves: Mapping[str, Any], ax: Any = None) -> Any:
    """Mean flipping curves over their first value, with their standard errors; the best method first.

    Parameters
    ----------
    curves : mapping of str to array of shape (n, s + 1)
        By method, as :func:`whyodd.evaluation.flip` gives them.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    falls = {name: _falls(values, name) for name, values in _checked(curves).items()}
    areas = {name: float(area(values).mean()) for name, values in falls.items()}
    ax = pyplot().subplots(figsize=_SIZE, layout="constrained")[1] if ax is None else ax
    entries = []
    for place, name in enumerate(sorted(falls, key=areas.__getitem__)):
        line = _draw(ax, falls[name], _COLOURS[place % 8], _STYLES[place // 8 % 4])
        entries.append((line, f"{title_of(name, _NAME)}: area {number(areas[name])}"))
    ax.set(xlim=(0, 100), xlabel="variables removed, the most relevant first (%)")
    ax.set_ylim(0.0, None)
    ax.set_ylabel("outlierness, relative to the start")
    tidy(ax)
    n = max(len(values) for values in falls.values())
    head(ax, f"Flipping: mean of {n:,} row{'s' if n > 1 else ''}, ± standard error", entries, columns=2)
    return ax


def _checked(curves: Any) -> Mapping[str, Any]:
    if not isinstance(curves, Mapping):
        raise TypeError(
            f"curves is of type {type(curves).__name__}, expected a mapping from names to curves: pass "
            "{'dtd': curves}."
        )
    if not curves:
        raise ValueError("curves is an empty mapping: expected at least one method.")
    return curves


def _falls(values: Any, name: str) -> Wide:
    """(n, s + 1) curves over their first value; 0 where nothing was odd at the start."""
    area(values)  # checks that these are curves
    curves = np.asarray(values, dtype=np.float64)
    if curves.ndim != 2 or len(curves) == 0:
        raise ValueError(f"The curves of {name!r} have shape {curves.shape}, expected (n, s + 1) with n ≥ 1.")
    first = curves[:, :1]
    return np.divide(curves, first, out=np.zeros_like(curves), where=first > 0.0)


def _draw(ax: Any, falls: Wide, colour: str, style: str) -> Any:
    x = np.linspace(0.0, 100.0, falls.shape[1])
    mean, n = falls.mean(axis=0), len(falls)
    if n > 1:
        error = falls.std(axis=0, ddof=1) / np.sqrt(n)
        ax.fill_between(x, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    return ax.plot(x, mean, color=colour, linestyle=style, linewidth=1.8)[0]
