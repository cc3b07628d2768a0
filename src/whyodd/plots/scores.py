"""How odd all rows are: the distribution of the outlierness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import number
from whyodd.plots.figures import pyplot, title_of
from whyodd.plots.reasons import BLACK, BLUE, VERMILLION, check_rows, head, tidy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explanations.base import BaseExplanation

    Wide = NDArray[np.float64]

_FEWEST, _MOST = 10, 60  # bins
_SKEWED = 50.0  # times the largest bin over the smallest that is not empty
_FAR = 30.0  # times the median: beyond it all others would be in one bin
# If the range of scores is this small relative to them, they differ only by rounding: no bins fit.
_ROUNDING = 1e-9
_RUG = 20  # rows
_SIZE = (7.5, 3.8)  # inches


def scores(e: BaseExplanation, threshold: float | None = None, ax: Any = None) -> Any:
    """Histogram of the outlierness, with the threshold and marks of the 20 oddest rows below.

    Parameters
    ----------
    e : Explanation
        Of rows, images, series or messages.
    threshold : float, optional
        Rows above it are anomalies; by default that of the model, if it has one.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Counts have a logarithmic axis where the fullest bin has more than 50 times the rows of the emptiest one,
    and so has the outlierness where the highest is more than 30 times the median.
    """
    check_rows(e)
    threshold = e.threshold if threshold is None else threshold
    if threshold is not None and not np.isfinite(threshold):
        raise ValueError(f"threshold={threshold!r}: expected a number, such as 1.5.")
    values = np.asarray(e.outlierness, dtype=np.float64)
    ax = pyplot().subplots(figsize=_SIZE, layout="constrained")[1] if ax is None else ax
    is_log = _draw_counts(ax, values, threshold)
    top = np.sort(values)[-_RUG:]
    height = ax.get_xaxis_transform()  # along the axis in its units, upwards in parts of the axes
    ax.plot(top, np.full(top.size, 0.02), "|", color=BLACK, markersize=8, transform=height, zorder=4)
    entries = [] if threshold is None else [_draw_threshold(ax, values, threshold, e.kind.nouns)]
    nouns = e.kind.nouns
    ax.set_xlabel(f"outlierness; marks are the {top.size} oddest {nouns}" if top.size > 1 else "outlierness")
    ax.set_ylabel(f"{nouns} (logarithmic)" if is_log else nouns)
    tidy(ax)
    head(ax, _title(e), entries)
    return ax


def _draw_counts(ax: Any, values: Wide, threshold: float | None) -> bool:
    """Bars of the rows up to the threshold and above it; whether counts are on a logarithmic axis."""
    edges = bin_edges(values, threshold)
    if is_far_reaching(values):
        ax.set_xscale("log")
    limit = np.inf if threshold is None else threshold
    # A row at the threshold is not above it: its bin is the one that ends there.
    up_to = np.clip(values[values <= limit], edges[0], np.nextafter(limit, -np.inf))
    below, above = (np.histogram(part, edges)[0] for part in (up_to, values[values > limit]))
    total = below + above
    is_log = bool(total.max() > _SKEWED * total[total > 0].min())
    if is_log:
        ax.set_yscale("log")
        ax.set_ylim(0.5, 2.0 * total.max())
    widths = np.diff(edges)
    for counts, base, colour in ((below, np.zeros_like(below), BLUE), (above, below, VERMILLION)):
        ax.bar(edges[:-1], counts, widths, bottom=base, align="edge", color=colour, ec="white", lw=0.4)
    return is_log


def is_far_reaching(values: Wide) -> bool:
    """Whether a few scores are so large that the others can only be distinguished as logarithms."""
    return bool(values.min() > 0.0 and values.max() / _FAR > np.median(values))


def bin_edges(values: Wide, threshold: float | None) -> Wide:
    """Edges of equal bins over all values, or over their logarithms if some are far out.

    One edge is at the threshold if it is among the values.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.plots.scores import bin_edges
    >>> bin_edges(np.array([0.0, 10.0]), threshold=2.5)[:4]
    array([-0.5,  0.5,  1.5,  2.5])
    """
    if not is_far_reaching(values):
        return _equal_bins(values, threshold)
    known = None if threshold is None or threshold <= 0.0 else float(np.log(threshold))
    edges = np.exp(_equal_bins(np.log(values), known))
    # Rounding must leave no value outside, and the threshold where it is.
    edges[0], edges[-1] = min(edges[0], values.min()), max(edges[-1], values.max())
    if known is not None and edges[0] < threshold < edges[-1]:
        edges[np.argmin(np.abs(np.log(edges) - known))] = threshold
    return edges


def _equal_bins(values: Wide, threshold: float | None) -> Wide:
    middle, count = float(np.median(values)), int(np.clip(np.sqrt(values.size), _FEWEST, _MOST))
    if not np.ptp(values) > _ROUNDING * abs(middle):
        around = 0.5 * abs(middle) or 0.5
        return np.linspace(middle - around, middle + around, _FEWEST + 1)
    edges = np.histogram_bin_edges(values, count)
    if threshold is None or not edges[0] < threshold < edges[-1]:
        return np.asarray(edges)
    width = (edges[-1] - edges[0]) / count
    before = int(np.ceil((threshold - edges[0]) / width))
    after = int(np.ceil((edges[-1] - threshold) / width))
    return np.asarray(threshold + width * np.arange(-before, after + 1))


def _draw_threshold(ax: Any, values: Wide, threshold: float, nouns: str) -> tuple[Any, str]:
    above = int(np.count_nonzero(values > threshold))
    line = ax.axvline(threshold, color=BLACK, linestyle="--", linewidth=1.4)
    share = f"{above:,} of {values.size:,} {nouns} above"
    return line, f"threshold {number(float(threshold))}: {share}"


def _title(e: BaseExplanation) -> str:
    oddest = int(np.argmax(e.outlierness))
    count = f"{len(e):,} {e.kind.noun if len(e) == 1 else e.kind.nouns}"
    return f"{count}; the oddest is {title_of(e.name(oddest))} ({number(float(e.outlierness[oddest]))})"
