"""Why-cards: all that is told of one odd row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import (
    OTHERS,
    UNEXPLAINED,
    VISIBLE,
    is_number,
    judgement,
    number,
    percent,
    shown,
    text,
    value_texts,
)
from whyodd.findings.rarity import how_odd, rarity
from whyodd.findings.summary.changes.smallest import Change, smallest_change
from whyodd.findings.summary.rows.known_rows import outlierness_of_centers
from whyodd.findings.summary.rows.usual import scale
from whyodd.findings.table import called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.explanations.sentences import OddRow, Reason
    from whyodd.explanations.table import Explanation, Neighbor
    from whyodd.findings.summary.rows.known_rows import KnownRows
    from whyodd.findings.summary.rows.usual import Usual

_REASONS = 8
_IN_A_SENTENCE = 3
_NEIGHBORS = 3
_COMPARED = 4  # reasons that are shown of a normal row
_AMONG_ITS_LIKE = {"too high": "high for rows like it", "too low": "low for rows like it"}


@dataclass(frozen=True, eq=False)
class Cards:
    """Odd rows, and what they are told with.

    Attributes
    ----------
    shown : Explanation
        Of the rows that are told in detail, the oddest first.
    threshold : float
    usual : Usual
    known : KnownRows
        What the rows are compared with.
    ids : sequence, optional
        What rows are called.
    with_changes : bool, default True
        Whether to look for the smallest change that would make each row normal.
    p_value : ndarray of shape (n,), optional
        Share of normal rows that are at least as odd as each row of the table.
    n_normal : int, optional
        How many normal rows tell that.
    """

    shown: Explanation
    threshold: float
    usual: Usual
    known: KnownRows
    ids: Sequence[Any] | None
    with_changes: bool = True
    p_value: NDArray[np.float64] | None = None
    n_normal: int | None = None

    def told(self, groups: Sequence[int]) -> list[dict[str, Any]]:
        """A card for each row, whose groups come in the same order."""
        return [self._card(i) | {"group": groups[i]} for i in range(len(self.shown))]

    def listed(
        self, e: Explanation, reasons: Sequence[str], groups: Sequence[int], start: int
    ) -> list[dict[str, Any]]:
        """A line for each row of an explanation from ``start`` on, with its reasons in words."""
        return [self._head(e, i) | {"main": reasons[i], "group": groups[i]} for i in range(start, len(e))]

    def _head(self, e: Explanation, i: int) -> dict[str, Any]:
        row, o = int(e.rows[i]), float(e.outlierness[i])
        name = called(self.ids, row)
        return {
            "rank": i + 1,
            "row": row,
            "id": name,
            "name": f"row {row}" if name is None else name,
            "outlierness": o,
            "outlierness_text": number(o),
            "times": o / self.threshold if self.threshold > 0.0 else None,
            "times_text": times_text(o, self.threshold),
        }

    def _card(self, i: int) -> dict[str, Any]:
        odd = self.shown.odd_row(i, _REASONS)
        change = self._changes[i]
        return self._head(self.shown, i) | {
            **self._rarity(i),
            "why": self.shown.why(i, _IN_A_SENTENCE),
            "reasons": [self._reason(reason, _shown_share(reason, odd)) for reason in odd.reasons],
            "others": self._others(odd),
            "unexplained": _part(odd.unexplained_share / _measured(odd)) if odd.is_additive else None,
            "neighbors": [self._neighbor(n, odd) for n in self._neighbors[i]],
            "change": change.to_dict() if isinstance(change, Change) else None,
            "change_missing": getattr(change, "reason", None),
            "item": None,
            "brief": _brief(self.shown.odd_row(i, _IN_A_SENTENCE)),
        }

    def _rarity(self, i: int) -> dict[str, str | None]:
        if self.p_value is None or self.n_normal is None:
            return {"how_odd": None, "rarity": None}
        o, p = float(self.shown.outlierness[i]), float(self.p_value[int(self.shown.rows[i])])
        return {"how_odd": how_odd(o, p, self.n_normal), "rarity": rarity(p, self.n_normal)}

    @cached_property
    def _changes(self) -> list[Any]:
        return smallest_change(self.shown, self.threshold) if self.with_changes else [None] * len(self.shown)

    @cached_property
    def _neighbors(self) -> list[list[Neighbor]]:
        # Those without any weight are not nearer than all others.
        rows = self.shown.neighbors(_NEIGHBORS)
        return [[neighbor for neighbor in row if neighbor.assignment > 0.0] for row in rows]

    def _reason(self, reason: Reason, share: float | None) -> dict[str, Any]:
        value, expected = value_texts(reason)
        usual = self._usual_range(reason)
        return {
            "name": reason.feature,
            "value": value,
            "expected": expected,
            "direction": reason.direction,
            "judgement": _judgement(reason, None if usual is None else usual["side"]),
            "relevance": reason.relevance,
            "share": share,
            "share_text": "" if share is None else percent(share),
            "usual": usual,
            "common": self._common(reason),
        }

    def _usual_range(self, reason: Reason) -> dict[str, Any] | None:
        found = self.usual.range(reason.feature)
        if found is None or not is_number(reason.value) or not np.isfinite(reason.value):
            return None
        low, high = found
        places = {"at": float(reason.value), "low_at": low, "high_at": high}
        if is_number(reason.expected) and np.isfinite(reason.expected):
            places["expected_at"] = float(reason.expected)
        side = "above" if reason.value > high else "below" if reason.value < low else "inside"
        ends = {"low": shown(low, reason.form), "high": shown(high, reason.form)}
        return {**ends, "side": side, "expected_at": None} | scale(places)

    def _common(self, reason: Reason) -> list[dict[str, str]] | None:
        found = self.usual.common(reason.feature)
        if found is None:
            return None
        return [{"value": text(value, reason.form), "share_text": percent(share)} for value, share in found]

    def _others(self, odd: OddRow) -> dict[str, Any] | None:
        count = len(self.shown.feature_names) - len(odd.reasons)
        return None if count <= 0 else _part(odd.other_share / _measured(odd)) | {"count": count}

    def _neighbor(self, neighbor: Neighbor, odd: OddRow) -> dict[str, Any]:
        values = dict(zip(self.shown.feature_names, self._center_values[neighbor.center], strict=True))
        return {
            "name": self.known.name(neighbor.center),
            "assignment_text": percent(neighbor.assignment),
            "is_odd": self._odd_centers[neighbor.center],
            "values": [_compared(reason, values[reason.feature]) for reason in odd.reasons[:_COMPARED]],
        }

    @cached_property
    def _centers(self) -> NDArray[np.intp]:
        found = {neighbor.center for row in self._neighbors for neighbor in row}
        return np.array(sorted(found), dtype=np.intp)

    @cached_property
    def _center_values(self) -> dict[int, Any]:
        return dict(zip(self._centers.tolist(), self.known.values(self._centers), strict=True))

    @cached_property
    def _odd_centers(self) -> dict[int, bool]:
        odd = outlierness_of_centers(self.shown, self._centers) > self.threshold
        return dict(zip(self._centers.tolist(), odd.tolist(), strict=True))


def _judgement(reason: Reason, side: str | None) -> str:
    """What is odd about a value; one that is not beyond what is usual is so only among rows like it."""
    if reason.judged is not None:
        return reason.judged
    words = judgement(reason)
    is_relative = side is not None and (words, side) not in (("too high", "above"), ("too low", "below"))
    return _AMONG_ITS_LIKE.get(words, words) if is_relative else words


def _measured(odd: OddRow) -> float:
    """What shares are of, as in sentences: without variables that training gave no scale to measure by."""
    return odd.measured_share if odd.measured_share > 0.0 else 1.0


def _shown_share(reason: Reason, odd: OddRow) -> float | None:
    return None if reason.never_varied else reason.share / _measured(odd)


def times_text(outlierness: float, threshold: float) -> str:
    """How many times the threshold; nothing if that is no measure."""
    ratio = outlierness / threshold if threshold > 0.0 else math.nan
    return number(ratio, 2) if math.isfinite(ratio) else ""


def _brief(odd: OddRow) -> list[dict[str, Any]]:
    """The main reasons, then the rest, a line each; shares are those of the sentence."""
    rest = max(odd.measured_share, 0.0)
    # Of what never varied there is no scale to measure it by.
    shares = [None if reason.never_varied else reason.share for reason in odd.reasons]
    told = [_line(reason.words, s, rest) for reason, s in zip(odd.reasons, shares, strict=True)]
    unexplained = odd.unexplained_share if odd.is_additive else 0.0
    told += [_line(OTHERS, odd.other_share, rest) | {"is_rest": True}]
    told += [_line(UNEXPLAINED, unexplained, rest) | {"is_rest": True}]
    return [line for line in told if line.pop("is_visible")]


def _line(words: str, share: float | None, rest: float) -> dict[str, Any]:
    is_visible = share is None or (rest > 0.0 and share / rest >= VISIBLE)
    share_text = percent(share / rest) if share is not None and is_visible else ""
    return {"words": words, "share_text": share_text, "is_rest": False, "is_visible": is_visible}


def _part(share: float) -> dict[str, Any]:
    return {"share": share, "share_text": percent(share)}


def _compared(reason: Reason, value: Any) -> dict[str, Any]:
    """The value of a normal row beside that of the odd one."""
    value = value.item() if isinstance(value, np.generic) else value
    told, other = text(value, reason.form), value_texts(reason)[0]
    return {"name": reason.feature, "value": told, "same": told == other}
