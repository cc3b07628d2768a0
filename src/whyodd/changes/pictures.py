"""The drawings of a change: two distributions on top of each other, two scatter plots side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.changes.tables import Element

    Mask = NDArray[np.bool_]

_BINS = 30
_LABELS = 8
# Values beyond these quantiles are drawn at the edge.
_EDGES = (0.005, 0.995)


def of_column(element: Element, is_new: Mask, rows: str | None = None) -> dict[str, Any]:
    """Shares of the old and the new rows in bins, or of each category.

    ``rows``: which rows these are, if not all.
    """
    name = element.name if rows is None else f"{element.name}, {rows}"
    if element.kind != "number":
        return {"kind": "shares", "name": name, **_shares(element, is_new)}
    present = ~np.isnan(element.values)
    values, new = element.values[present], is_new[present]
    low, high = (float(edge) for edge in np.quantile(values, _EDGES, method="nearest"))
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    counts = [np.histogram(np.clip(values[new == which], low, high), edges)[0] for which in (False, True)]
    old, now = (count / max(int(count.sum()), 1) for count in counts)
    ticks = [low, (low + high) / 2.0, high]
    return {
        "kind": "bins",
        "name": name,
        "old": old.tolist(),
        "new": now.tolist(),
        "medians": [
            (float(np.median(values[new == which])) - low) / ((high - low) or 1.0)
            if (new == which).any()
            else None
            for which in (False, True)
        ],
        "ticks": [shown(tick, element.form) for tick in ticks],
    }


def _shares(element: Element, is_new: Mask) -> dict[str, Any]:
    counts = [
        np.bincount(element.values[is_new == which], minlength=len(element.labels)) for which in (False, True)
    ]
    old, new = (count / max(int(count.sum()), 1) for count in counts)
    order = np.argsort(-np.abs(new - old), kind="stable")[:_LABELS]
    return {
        "labels": [element.labels[code] for code in order],
        "old": old[order].tolist(),
        "new": new[order].tolist(),
        "n_more": len(element.labels) - order.size,
    }


def of_pair(first: Element, second: Element, is_new: Mask) -> dict[str, Any]:
    """Points of the old and the new rows, each between 0 and 1 across and up."""
    present = ~(np.isnan(first.values) | np.isnan(second.values))
    ends = []
    points = []
    for element in (first, second):
        values = element.values[present]
        low, high = (float(edge) for edge in np.quantile(values, _EDGES, method="nearest"))
        points.append(np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0))
        ends.append([shown(low, element.form), shown(high, element.form)])
    both, new = np.column_stack(points).round(4), is_new[present]
    return {
        "kind": "pair",
        "name": f"{first.name} and {second.name}",
        "names": [first.name, second.name],
        "ends": ends,
        "old": both[~new].tolist(),
        "new": both[new].tolist(),
    }
