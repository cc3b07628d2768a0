"""What is told of the odd rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.groups import leading_labels
from whyodd.findings.summary.rows.cards import Cards
from whyodd.findings.summary.rows.known_rows import KnownRows
from whyodd.findings.summary.rows.trust import trust
from whyodd.findings.summary.rows.usual import usual_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.explanations.groups import ReasonGroup
    from whyodd.findings.findings import Findings

# Odd rows that are listed without details.
_LISTED = 2_000


def summarize_rows(found: Findings, top: int, checks: bool) -> dict[str, Any]:
    """Cards of the oddest rows, lines of the others, groups by shared reason, and how far to trust it all."""
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
        KnownRows(shown, normal, None if known is None else known.ids),
        None if found.table is None else found.table.ids,
        with_changes=checks,
        p_value=found.p_value,
        n_normal=found.n_normal,
    )
    n_listed = len(listed) if found.n_odd else 0
    return {
        "usual_source": usual.source,
        "groups": [_group(group, len(listed)) for group in found.groups],
        "anomalies": cards.told(group_of),
        "rest": cards.listed(listed, leading_labels(listed), group_of, len(shown)),
        "n_unlisted": max(found.n_odd - n_listed, 0),
        "trust": trust(listed, threshold=threshold) if checks else {"panels": [], "rows": 0},
        "notes": [] if found.n_odd else [_NONE_IS_ODD.format(n=len(listed))],
    }


_NONE_IS_ODD = "No row is above the threshold. The {n} oddest are shown all the same."


def _group(group: ReasonGroup, n_listed: int) -> dict[str, Any]:
    return {
        "label": group.label,
        "sentence": group.sentence,
        "count": len(group),
        "features": list(group.features),
        "judgements": list(group.judgements),
        "ranks": (group.members[group.members < n_listed] + 1).tolist(),
    }


def _group_of(groups: Sequence[ReasonGroup], n: int) -> list[int]:
    """The group of each of n rows."""
    place = np.empty(n, dtype=np.intp)
    for position, group in enumerate(groups):
        place[group.members] = position
    return [int(position) for position in place]
