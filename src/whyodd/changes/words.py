"""What changed, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.changes.tables import MISSING
from whyodd.explanations.sentences import distinct_numbers, percent, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyodd.changes.evidence import Group
    from whyodd.changes.tables import Element

    Mask = NDArray[np.bool_]

# A smaller correlation counts as none.
_WEAK = 0.2
_LONGEST = 60  # characters of a name
_MOST = (0.1, 0.9)  # what most rows have


def named(name: str) -> str:
    """A name on one line, cut if it is very long."""
    plain = " ".join(name.split()) or repr(name)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def told(element: Element, is_new: Mask, code: int | None = None) -> tuple[str, Any, Any]:
    """How an element changed in some rows, as the words after its name, and its values before and after.

    ``is_new`` of these rows; ``code``: the category to speak of, by default the one that changed most.
    """
    if element.kind != "number":
        return _shares_told(element, is_new, code)
    old, new = (element.values[mask & ~np.isnan(element.values)] for mask in (~is_new, is_new))
    if not old.size or not new.size:
        whole = "in all old rows" if not old.size else "in all new rows"
        return f"is missing {whole}", None, None
    was, now = float(np.median(old)), float(np.median(new))
    edges = [np.quantile(part, _MOST, method="nearest") for part in (old, new)]
    widest = float(np.abs(edges[1] - edges[0]).max())
    if was != now and abs(now - was) >= 0.5 * widest:
        verb = "rose" if now > was else "fell"
        before, after = distinct_numbers(was, now, element.form)
        return f"{verb} from {before} to {after} (median)", was, now
    (low, high), (new_low, new_high) = (map(float, edge) for edge in edges)
    if widest > 0.0:
        spans = [_span(a, b, element) for a, b in ((low, high), (new_low, new_high))]
        if spans[0] != spans[1]:
            words = f"has other values: most rows had {spans[0]}, now {spans[1]}"
            return words, [low, high], [new_low, new_high]
    at = _furthest(old, new)
    share, now_share = (float(np.mean(part <= at)) for part in (old, new))
    words = f"is {shown(at, element.form)} or less in {percent(now_share)} of the rows, before in"
    return f"{words} {percent(share)}", share, now_share


def _shares_told(element: Element, is_new: Mask, code: int | None) -> tuple[str, float, float]:
    counts = [np.bincount(element.values[mask], minlength=len(element.labels)) for mask in (~is_new, is_new)]
    old, new = (count / max(int(count.sum()), 1) for count in counts)
    most = int(np.argmax(np.abs(new - old))) if code is None else code
    before, after = float(old[most]), float(new[most])
    label = element.labels[most]
    verb = "rose" if after > before else "fell"
    if element.kind == "gap" or label == MISSING:
        missing = (1.0 - before, 1.0 - after) if label != MISSING else (before, after)
        return f"is missing in {percent(missing[1])} of the rows, before in {percent(missing[0])}", *missing
    if before == 0.0:
        return f"is {label} in {percent(after)} of the rows, which it never was", before, after
    if after == 0.0:
        return f"is never {label} any more, before in {percent(before)} of the rows", before, after
    return f"is {label} in {percent(after)} of the rows ({verb} from {percent(before)})", before, after


def _span(low: float, high: float, element: Element) -> str:
    if low == high:
        return shown(low, element.form)
    return " to ".join(distinct_numbers(low, high, element.form))


def _furthest(old: NDArray[Any], new: NDArray[Any]) -> float:
    """The value up to which the shares of rows differ most."""
    points = np.unique(np.concatenate([old, new]))
    gaps = [np.searchsorted(np.sort(part), points, side="right") / part.size for part in (old, new)]
    return float(points[np.argmax(np.abs(gaps[0] - gaps[1]))])


def relation_told(names: Sequence[str], correlation: tuple[float, float] | None) -> str:
    """How the relation of two columns changed.

    Examples
    --------
    >>> from whyodd.changes.words import relation_told
    >>> relation_told(["load", "heat"], (0.82, 0.03))
    'load and heat no longer rise together (rank correlation 0.82 before, 0.03 now)'
    """
    both = f"{named(names[0])} and {named(names[1])}"
    if correlation is None:
        return f"{both} are related differently than before"
    before, after = correlation
    numbers = f"(rank correlation {before:.2f} before, {after:.2f} now)"
    if max(abs(before), abs(after)) < _WEAK or abs(after - before) < 0.5 * _WEAK:
        return f"{both} are related differently than before {numbers}"
    way = {True: "rise together", False: "go against each other"}
    if abs(after) < _WEAK:
        return f"{both} no longer {way[before > 0]} {numbers}"
    if abs(before) < _WEAK:
        return f"{both} now {way[after > 0]} {numbers}"
    if (before > 0) != (after > 0):
        return f"{both} now {way[after > 0]}, before the opposite {numbers}"
    how = "more" if abs(after) > abs(before) else "less"
    return f"{both} {way[after > 0]} {how} closely {numbers}"


def group_told(group: Group, element: Element) -> str:
    """Which rows a group has: "plan 'basic'", "load above 12"."""
    name = named(element.name)
    if group.most is not None:
        bound = shown(group.most, element.form)
        or_missing = " or missing" if np.isnan(element.values).any() else ""
        return f"{name} above {bound}{or_missing}" if group.is_turned else f"{name} up to {bound}"
    label = element.labels[group.code or 0]
    if label == MISSING:
        return f"{name} not missing" if group.is_turned else f"{name} missing"
    return f"{name} other than {label}" if group.is_turned else f"{name} {label}"
