"""The report of the odd rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.groups import leading_labels
from whyodd.findings.summary.panels import rests_on_panel
from whyodd.findings.summary.rows.cards import Cards
from whyodd.findings.summary.rows.known_rows import KnownRows
from whyodd.findings.summary.rows.trust import trust
from whyodd.findings.summary.rows.usual import usual_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.explanations.groups import ReasonGroup
    from whyodd.explanations.table import Explanation
    from whyodd.findings.findings import Findings

# Odd rows that are listed without details.
_LISTED = 2_000
_SIMILAR = 6  # rows that a card links to


def summarize_rows(found: Findings, top: int, checks: bool) -> dict[str, Any]:
    """Cards of the oddest rows, lines for the others, groups by shared reason, and panels on trust."""
    e, known = found.explanation, found.known
    threshold = np.inf if found.threshold is None else found.threshold
    listed = found.odd[:_LISTED]
    shown = listed[:top]
    group_of = _group_of(found.groups, len(found.odd))
    normal = None if known is None else known.frame
    usual = usual_values(e, normal, e.outlierness <= threshold)
    cards = Cards(
        shown,
        threshold,
        usual,
        KnownRows(
            shown, normal, None if known is None else known.ids, normal is not None and known is found.table
        ),
        None if found.table is None else found.table.ids,
        with_changes=checks,
        p_value=found.p_value,
        n_normal=found.n_normal,
    )
    n_listed = len(listed) if found.n_odd else 0
    anomalies = cards.told(group_of, listed)
    rest = cards.listed(listed, leading_labels(listed), group_of, len(shown))
    groups = [_group(group, len(listed)) for group in found.groups]
    names = [row["name"] for row in (*anomalies, *rest)]
    return {
        "usual_source": usual.source,
        "groups": groups,
        "anomalies": [row | {"similar": _similar(row, groups[row["group"]], names)} for row in anomalies],
        "rest": rest,
        "compared": cards.compared(),
        "n_unlisted": max(found.n_odd - n_listed, 0),
        "trust": _trust(found, listed, threshold) if checks else {"panels": [], "rows": 0},
        "notes": [] if found.n_odd else [_NONE_IS_ODD.format(n=len(listed))],
    }


def _trust(found: Findings, listed: Explanation, threshold: float) -> dict[str, Any]:
    told = trust(listed, threshold=threshold)
    has_choice = listed.relevance.shape[1] > 1
    return {**told, "panels": [*told["panels"], *([rests_on_panel(found.audit())] if has_choice else [])]}


_NONE_IS_ODD = "No row is above the threshold. The {n} oddest are shown anyway."


def _group(group: ReasonGroup, n_listed: int) -> dict[str, Any]:
    return {
        "label": group.label,
        "sentence": group.sentence,
        "count": len(group),
        "features": list(group.features),
        "judgements": list(group.judgements),
        "ranks": (group.members[group.members < n_listed] + 1).tolist(),
    }


def _similar(row: dict[str, Any], group: dict[str, Any], names: Sequence[str]) -> dict[str, Any] | None:
    """Other rows that are odd for the same reason, the oddest first; None if there are none."""
    ranks = [rank for rank in group["ranks"] if rank != row["rank"]]
    if not ranks or not group["features"]:
        return None
    rows = [{"rank": rank, "name": names[rank - 1]} for rank in ranks[:_SIMILAR]]
    return {"label": group["label"], "count": group["count"] - 1, "rows": rows}


def _group_of(groups: Sequence[ReasonGroup], n: int) -> list[int]:
    """The group of each of n rows."""
    place = np.empty(n, dtype=np.intp)
    for position, group in enumerate(groups):
        place[group.members] = position
    return [int(position) for position in place]
