"""All that a report tells of a table, as a plain dictionary: for the page, the command line and machines."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.groups import group_by_reason, leading_labels
from whyodd.explanations.sentences import number, percent
from whyodd.findings.summary.rows.cards import Cards
from whyodd.findings.summary.rows.histogram import histogram
from whyodd.findings.summary.rows.known_rows import KnownRows
from whyodd.findings.summary.rows.trust import trust
from whyodd.findings.summary.rows.usual import usual_values
from whyodd.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from whyodd.automatic.auto import AutoReport
    from whyodd.explanations.groups import ReasonGroup
    from whyodd.explanations.table import Explanation

# Odd rows that are listed without details.
_LISTED = 2_000
# What is listed if nothing is above the threshold.
_OUTSIDE_CHOICE = 10
# Of the rows of a model that has no threshold: the oddest so many are called odd.
_SHARE_WITHOUT_THRESHOLD = 0.05


@dataclass(frozen=True)
class Threshold:
    """Outlierness above which rows are odd, and who says so.

    Attributes
    ----------
    value : float
    source : str
        A sentence.
    """

    value: float
    source: str

    @classmethod
    def of(
        cls, e: Explanation, scores: NDArray[np.float64], given: float | None, source: str | None
    ) -> Threshold:
        """The one that was given, or that of the model, or one that the oddest rows exceed."""
        if given is not None:
            return cls(float(given), source or "The threshold was chosen for this report.")
        if e.threshold is not None:
            return cls(e.threshold, "The threshold is the model's own.")
        return cls.of_oddest(scores)

    @classmethod
    def of_oddest(cls, scores: NDArray[np.float64]) -> Threshold:
        """One that the oddest rows exceed, for a model that has none of its own."""
        value = float(np.quantile(scores, 1.0 - _SHARE_WITHOUT_THRESHOLD, method="lower"))
        share = percent(_SHARE_WITHOUT_THRESHOLD)
        return cls(value, f"The model has no threshold of its own: the {share} oddest rows are called odd.")


def summarize(
    e: Explanation,
    *,
    scores: ArrayLike | None = None,
    threshold: float | None = None,
    threshold_source: str | None = None,
    title: str | None = None,
    ids: Sequence[Any] | None = None,
    known_ids: Sequence[Any] | None = None,
    normal: Any = None,
    top: int = 50,
    auto_report: AutoReport | None = None,
    notes: Sequence[str] = (),
    made_by: str | None = None,
) -> dict[str, Any]:
    """Summary of what is odd in a table and why, ready for JSON.

    Parameters
    ----------
    e : Explanation
        Of all rows, or of the oddest.
    scores : array of shape (N,), optional
        Outlierness of all rows, if ``e`` explains only some of them: ``e.rows`` are positions in it.
    threshold : float, optional
        Outlierness above which a row is odd; by default that of the model.
    threshold_source : str, optional
        A sentence that says where that threshold comes from.
    title : str, optional
        What the table is called.
    ids : sequence of length N, optional
        What each row is called, by its position.
    known_ids : sequence, optional
        The same for the rows the model was trained on.
    normal : data frame or array, optional
        Normal rows, to tell what is usual; by default the explained rows that are not odd.
    top : int, default 50
        How many rows are told in detail.
    auto_report : AutoReport, optional
        What :func:`whyodd.auto` did, ``pipeline.auto_report_``.
    notes : sequence of str
        Further sentences.
    made_by : str, optional
        The command that made it.

    Returns
    -------
    dict
        Of numbers, texts, lists and dictionaries, without NaN.
    """
    all_scores = np.asarray(e.outlierness if scores is None else scores, dtype=np.float64)
    n_rows = len(e.rows) and max(all_scores.size, int(e.rows.max()) + 1)
    _check(e, top, threshold)
    _check_length("scores", scores, n_rows)
    _check_length("ids", ids, n_rows)
    _check_length("known_ids", known_ids, getattr(e.network, "n_rows", None) or 0)
    cut = Threshold.of(e, all_scores, threshold, threshold_source)
    is_odd = e.outlierness > cut.value
    n_odd = int(np.count_nonzero(all_scores > cut.value))
    odd = e[_odd_rows(e, is_odd)]
    groups = group_by_reason(odd)
    listed = odd[:_LISTED]  # after the groups, which have computed what is expected
    shown = listed[:top]
    group_of = _group_of(groups, len(odd))
    usual = usual_values(e, normal, ~is_odd)
    cards = Cards(shown, cut.value, usual, KnownRows(shown, normal, known_ids), ids)
    n_listed = len(listed) if n_odd else 0
    return {
        "version": __version__,
        "kind": "table",
        "title": title or f"{len(all_scores):,} rows",
        "noun": "row",
        "method": e.method,
        "is_additive": e.is_additive,
        "counts": {"rows": len(all_scores), "odd": n_odd, "explained": len(e), "shown": len(shown)},
        "threshold": {
            "value": cut.value,
            "text": number(cut.value),
            "source": threshold_source or cut.source,
        },
        "scores": histogram(all_scores, cut.value),
        "usual_source": usual.source,
        "groups": [_group(group, len(listed)) for group in groups],
        "anomalies": cards.told(group_of),
        "rest": cards.listed(listed, leading_labels(listed), group_of, len(shown)),
        "n_unlisted": max(n_odd - n_listed, 0),
        "trust": trust(listed, threshold=cut.value),
        "columns": None if auto_report is None else _columns(auto_report),
        "notes": [*notes, *_notes(n_odd, len(listed))],
        "made_by": made_by,
    }


def _check(e: Explanation, top: int, threshold: float | None) -> None:
    if len(e) == 0:
        raise ValueError("The explanation has no rows: there is nothing to report. Explain at least one row.")
    if not isinstance(top, Integral) or top < 1:
        raise ValueError(f"top={top!r}: expected the number of rows to tell in detail, at least 1.")
    if threshold is not None and not (isinstance(threshold, Real) and np.isfinite(threshold)):
        raise ValueError(f"threshold={threshold!r}: expected an outlierness, such as 1.5.")


def _check_length(name: str, values: Any, needed: int) -> None:
    """Positions of rows must be within what is given for all of them."""
    if values is not None and len(values) < needed:
        raise ValueError(f"{name} has {len(values)} entries, expected one for each of {needed} rows.")


def _odd_rows(e: Explanation, is_odd: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Positions of the odd rows, or of a few if there are none, the oddest first."""
    order = np.argsort(-e.outlierness, kind="stable")
    odd = order[is_odd[order]]
    return odd if odd.size else order[:_OUTSIDE_CHOICE]


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


def _columns(report: AutoReport) -> dict[str, Any]:
    used = [column for column in report.columns if column.kind != "set aside"]
    return {
        "used": [{"name": column.name, "kind": column.kind, "note": column.note} for column in used],
        "set_aside": [{"name": name, "note": note} for name, note in report.set_aside.items()],
        "model": f"{report.choice.chosen.name}: {report.choice.reason}.",
    }


def _notes(n_odd: int, n_listed: int) -> list[str]:
    if n_odd:
        return []
    return [f"No row is above the threshold. The {n_listed} oddest are shown all the same."]
