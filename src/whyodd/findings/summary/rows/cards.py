"""Cards: the report of one odd row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.comparisons import category_key
from whyodd.explanations.sentences import (
    OTHERS,
    UNEXPLAINED,
    VISIBLE,
    Reason,
    at_resolution,
    is_as_expected,
    is_missing,
    is_number,
    judgement,
    name_text,
    number,
    percent,
    shown,
    text,
    value_texts,
    words_of,
)
from whyodd.findings.rarity import how_odd, rarity
from whyodd.findings.summary.changes.smallest import Change, smallest_change
from whyodd.findings.summary.rows.known_rows import outlierness_of_centers
from whyodd.findings.summary.rows.scatters import Scatters
from whyodd.findings.summary.rows.strips import date_strip, number_strip
from whyodd.findings.table import called

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.explanations.sentences import OddRow
    from whyodd.explanations.table import Explanation, Neighbor
    from whyodd.findings.summary.rows.known_rows import KnownRows
    from whyodd.findings.summary.rows.usual import Column, Range, Usual

_REASONS = 8
_IN_A_SENTENCE = 3
_NEIGHBORS = 3
_COMMON = 3  # categories shown beside the row's own
SAME = "the same"
_SCATTERS = 2  # pictures of pairs in a card
_COLUMNS = 6  # of the table of known rows
_LINKS = 6  # from a known row to the odd ones near it
_COMPARED = 4  # reasons shown for a normal row
_AMONG_ITS_LIKE = {"too high": "high for rows like it", "too low": "low for rows like it"}


@dataclass(frozen=True, eq=False)
class Cards:
    """Odd rows, and everything that their cards need.

    Attributes
    ----------
    shown : Explanation
        The rows reported in detail, the oddest first.
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
        Number of normal rows behind that.
    """

    shown: Explanation
    threshold: float
    usual: Usual
    known: KnownRows
    ids: Sequence[Any] | None
    with_changes: bool = True
    p_value: NDArray[np.float64] | None = None
    n_normal: int | None = None

    def told(self, groups: Sequence[int], listed: Explanation) -> list[dict[str, Any]]:
        """A card for each row, with its group and with links to rows ``listed`` on the page.

        ``groups``: the group of each listed row, in their order.
        """
        rank = {int(row): place + 1 for place, row in enumerate(listed.rows.tolist())}
        return [self._card(i, rank) | {"group": groups[i]} for i in range(len(self.shown))]

    def compared(self) -> dict[str, Any] | None:
        """The known rows that cards name, each once, with their values of the variables most often at fault.

        None if there are none.
        """
        if self._centers.size == 0:
            return None
        columns = self._often_at_fault
        near: dict[int, list[int]] = {}
        for i, row in enumerate(self._neighbors):
            for neighbor in row:
                near.setdefault(neighbor.center, []).append(i)
        return {
            "columns": columns,
            "rows": [
                {
                    "center": center,
                    "name": self.known.name(center),
                    "is_odd": self._odd_centers[center],
                    "values": [self._value_text(center, name) for name in columns],
                    "near": [self._link(i) for i in near[center][:_LINKS]],
                    "n_near": len(near[center]),
                }
                for center in sorted(near, key=lambda center: near[center][0])
            ],
        }

    @cached_property
    def _often_at_fault(self) -> list[str]:
        held = np.maximum(self.shown.relevance, 0.0).astype(np.float64)
        shares = held / np.maximum(held.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        order = np.argsort(-shares.sum(axis=0), kind="stable")[:_COLUMNS]
        return [self.shown.feature_names[place] for place in order.tolist()]

    def _value_text(self, center: int, name: str) -> str:
        value, place = self._center_values[center][self._place[name]], self._place[name]
        value = value.item() if isinstance(value, np.generic) else value
        form = None if self.shown.variables is None else self.shown.variables.format_at(place)
        return text(value, form)

    def _link(self, i: int) -> dict[str, Any]:
        head = self._head(self.shown, i)
        return {"rank": head["rank"], "name": head["name"]}

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

    def _card(self, i: int, rank: Mapping[int, int]) -> dict[str, Any]:
        odd = _visible(self.shown.odd_row(i, _REASONS))
        change = self._changes[i]
        pairs = [reason for reason in odd.reasons if reason.partner is not None][:_SCATTERS]
        return self._head(self.shown, i) | {
            **self._rarity(i),
            "context": None if self.shown.given is None else self.shown.given[np.array([i])].sentence,
            "why": self.shown.why(i, _IN_A_SENTENCE),
            "reasons": [
                self._reason(i, reason, _shown_share(reason, odd), reason in pairs) for reason in odd.reasons
            ],
            "others": self._others(odd),
            "unexplained": _part(odd.unexplained_share / _measured(odd)) if odd.is_additive else None,
            "neighbors": [self._neighbor(n, odd, rank) for n in self._neighbors[i]],
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
        if not self.with_changes:
            return [None] * len(self.shown)
        return smallest_change(self.shown, self.threshold, value_of=self.known.value)

    @cached_property
    def _neighbors(self) -> list[list[Neighbor]]:
        # Rows without weight are no nearer than all others.
        rows = self.shown.neighbors(_NEIGHBORS)
        return [[neighbor for neighbor in row if neighbor.assignment > 0.0] for row in rows]

    def _reason(self, i: int, reason: Reason, share: float | None, is_drawn: bool) -> dict[str, Any]:
        value, expected = value_texts(reason)
        usual = self._usual_range(i, reason)
        return {
            "name": reason.feature,
            "value": value,
            "expected": SAME if is_as_expected(reason) else expected,
            "direction": reason.direction,
            "judgement": _judgement(reason, None if usual is None else usual["side"]),
            "relevance": reason.relevance,
            "share": share,
            "share_text": "" if share is None else percent(share),
            "usual": usual,
            "common": self._common(reason),
            "strip": self._strip(i, reason),
            "scatter": self._scatters.of(i, reason) if is_drawn and self._scatters is not None else None,
        }

    def _usual_range(self, i: int, reason: Reason) -> dict[str, Any] | None:
        _, found = self._compared_with(i, reason)
        if found is None:
            return None
        low, high = (at_resolution(end, reason.resolution) for end in found)
        ends = {"low": shown(low, reason.form), "high": shown(high, reason.form)}
        if not is_number(reason.value):
            return {**ends, "side": None}
        side = "above" if reason.value > high else "below" if reason.value < low else "inside"
        return {**ends, "side": side}

    def _compared_with(self, i: int, reason: Reason) -> tuple[Column | None, Range | None]:
        """The usual numbers and their range: in the row's context, if they are compared in one."""
        comparisons, name = self.shown.comparisons, reason.feature
        if self.shown.given is None or comparisons is None:
            return self.usual.numbers(name), self.usual.range(name)
        place, context = self._place[name], self.shown.given[np.array([i])]
        if not context.is_relative(place):
            return self.usual.numbers(name), self.usual.range(name)
        numbers = comparisons.usual_numbers(place, context)
        return (numbers, np.ones(numbers.size)), comparisons.usual_range(place, context)

    def _strip(self, i: int, reason: Reason) -> dict[str, Any] | None:
        """The distribution of a variable with the value marked: of a number, or of the odd part of a date."""
        if reason.part is not None and self.shown.comparisons is not None:
            comparisons, place = self.shown.comparisons, self._place[reason.feature]
            usual = comparisons.date_places(place, reason.part, comparisons.network.usual)
            (value,) = comparisons.date_places(place, reason.part, self.shown.inputs[[i]]).tolist()
            drawn = date_strip(reason.part, usual, value)
            return None if drawn is None else {**drawn, "caption": reason.part}
        column, ends = self._compared_with(i, reason)
        if column is None or ends is None:
            return None
        value, expected = (_finite(number) for number in (reason.value, reason.expected))
        drawn = number_strip(column, ends, value, expected)
        return None if drawn is None else {**drawn, "caption": None}

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.shown.feature_names)}

    @cached_property
    def _scatters(self) -> Scatters | None:
        comparisons = self.shown.comparisons
        return None if comparisons is None else Scatters(self.shown, comparisons)

    def _common(self, reason: Reason) -> list[dict[str, Any]] | None:
        """The most common categories and the row's own, with their shares."""
        found = self.usual.common(reason.feature)
        if found is None or reason.context:  # in a context other values are common
            return None
        own = None if is_missing(reason.value) else category_key(reason.value)
        chosen = found[:_COMMON] + [pair for pair in found[_COMMON:] if category_key(pair[0]) == own]
        told = [
            {
                "value": text(value, reason.form),
                "share": round(share, 4),
                "share_text": percent(share),
                "is_here": category_key(value) == own,
            }
            for value, share in chosen
        ]
        if own is not None and not any(each["is_here"] for each in told):
            told.append(
                {"value": value_texts(reason)[0], "share": 0.0, "share_text": "none", "is_here": True}
            )
        return told

    def _others(self, odd: OddRow) -> dict[str, Any] | None:
        count = len(self.shown.feature_names) - len(odd.reasons)
        return None if count <= 0 else _part(odd.other_share / _measured(odd)) | {"count": count}

    def _neighbor(self, neighbor: Neighbor, odd: OddRow, rank: Mapping[int, int]) -> dict[str, Any]:
        row = self.known.row(neighbor.center)
        values = dict(zip(self.shown.feature_names, self._center_values[neighbor.center], strict=True))
        return {
            "name": self.known.name(neighbor.center),
            "center": neighbor.center,
            "rank": None if row is None else rank.get(row),
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


def _visible(odd: OddRow) -> OddRow:
    """Without the reasons whose share rounds to nothing, except the first."""
    seen = [r for r in odd.reasons if r.never_varied or abs(r.share) / _measured(odd) >= VISIBLE]
    return replace(odd, reasons=tuple(seen) or odd.reasons[:1])


def _finite(value: Any) -> float | None:
    return float(value) if is_number(value) and np.isfinite(value) else None


def _judgement(reason: Reason, side: str | None) -> str:
    """What is odd about a value; one within the usual range is odd only among rows like it."""
    if reason.partner is not None:
        return f"at odds with {name_text(Reason(reason.partner.name, None, None, 0, 0.0, 0.0))}"
    if reason.judged is not None:
        return reason.judged
    words = judgement(reason)
    is_relative = side is not None and (words, side) not in (("too high", "above"), ("too low", "below"))
    return _AMONG_ITS_LIKE.get(words, words) if is_relative else words


def _measured(odd: OddRow) -> float:
    """The whole of the shares, as in sentences: without variables that never varied in training."""
    return odd.measured_share if odd.measured_share > 0.0 else 1.0


def _shown_share(reason: Reason, odd: OddRow) -> float | None:
    return None if reason.never_varied else reason.share / _measured(odd)


def times_text(outlierness: float, threshold: float) -> str:
    """How many times the threshold; None if that is meaningless."""
    ratio = outlierness / threshold if threshold > 0.0 else math.nan
    return number(ratio, 2) if math.isfinite(ratio) else ""


def _brief(odd: OddRow) -> list[dict[str, Any]]:
    """The main reasons, then the rest, a line each, with the shares of the sentence."""
    rest = max(odd.measured_share, 0.0)
    # A variable that never varied has no scale to measure it by.
    shares = [None if reason.never_varied else reason.share for reason in odd.reasons]
    told = [_line(words, s, rest) for words, s in zip(words_of(odd.reasons), shares, strict=True)]
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
