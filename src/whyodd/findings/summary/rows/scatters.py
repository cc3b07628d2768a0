"""Two variables of usual rows that go together, and a row in which they do not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explanations.comparisons import category_key
from whyodd.explanations.sentences import is_missing, is_number, shown, text
from whyodd.findings.summary.rows.strips import CYCLES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explanations.comparisons import Comparisons
    from whyodd.explanations.sentences import Reason
    from whyodd.explanations.table import Explanation
    from whyodd.inputs.written import Written

    Floats = NDArray[np.float64]

_POINTS = 150  # usual rows that are drawn
_DRAWN = (0.01, 0.99)  # of a number, beside the value itself
_EDGE = 0.04
_CATEGORIES = 5  # that are drawn side by side
_SPREAD = 0.6  # of the room of a category, in which its rows lie
_GOLDEN = 0.6180339887  # Its multiples are spread evenly, and are the same in each run.


@dataclass(frozen=True)
class Axis:
    """One axis of a picture.

    Attributes
    ----------
    name : str
    ticks : list of (float, str)
        Places between 0 and 1, and what stands there.
    points : ndarray of shape (n,)
        Places of usual rows, NaN where they are not known.
    at : float
        Place of the row.
    """

    name: str
    ticks: list[tuple[float, str]]
    points: Floats
    at: float


@dataclass(frozen=True, eq=False)
class Scatters:
    """Pictures of pairs, for rows that a committee explains."""

    e: Explanation
    comparisons: Comparisons

    def of(self, i: int, reason: Reason) -> dict[str, Any] | None:
        """Usual rows and the ``i``-th row in a variable and its partner; None if one of them has no place."""
        if reason.partner is None:
            return None
        up = self._axis(i, reason.name, None)
        across = self._axis(i, reason.partner.name, reason.partner.part)
        if up is None or across is None:
            return None
        both = np.column_stack([across.points, up.points])
        both = both[np.isfinite(both).all(axis=1)]
        some = both[:: 1 + (len(both) - 1) // _POINTS] if len(both) else both
        return {
            "x": {"name": across.name, "ticks": across.ticks},
            "y": {"name": up.name, "ticks": up.ticks},
            "points": [[round(x, 3), round(y, 3)] for x, y in some.tolist()],
            "at": [round(across.at, 3), round(up.at, 3)],
            "count": len(both),
        }

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.e.feature_names)}

    def _axis(self, i: int, name: str, part: str | None) -> Axis | None:
        place, usual = self._places[name], self.comparisons.usual
        if part is not None:
            return self._of_date(i, name, place, part)
        value = to_dense(self.e.data[[i]])[0, place]
        if is_missing(value):
            return None
        form = self.e.variables.format_at(place) if self.e.variables is not None else None
        if place in usual.categories:
            return _of_category(name, *usual.categories[place], value, form)
        if place not in usual.numbers or not is_number(value):
            return None
        given = None if self.e.given is None else self.e.given[np.array([i])]
        return _of_number(name, self.comparisons.usual_numbers(place, given), float(value), form)

    def _of_date(self, i: int, name: str, place: int, part: str) -> Axis:
        usual = self.comparisons.date_places(place, part, self.comparisons.network.usual)
        (value,) = self.comparisons.date_places(place, part, self.e.inputs[[i]])
        label = f"{name}, {part}"
        if part not in CYCLES:
            axis = _of_number(label, usual, float(value), None)
            ends = [(axis.ticks[0][0], "earlier"), (axis.ticks[-1][0], "later")]
            return Axis(label, ends, axis.points, axis.at)
        _, length, ends_of_cycle = CYCLES[part]
        shift = 0.5 if part == "day of the week" else 0.0
        points = _inside((usual + shift) / length)
        if shift:  # days are places of their own
            points = points + _jitter(len(points)) * _SPREAD * (1.0 - 2.0 * _EDGE) / length
        at = float(_inside(np.array([(value + shift) / length]))[0])
        return Axis(label, [(_EDGE, ends_of_cycle[0]), (1.0 - _EDGE, ends_of_cycle[1])], points, at)


def _of_number(name: str, usual: Floats, value: float, form: Written | None) -> Axis:
    known = usual[np.isfinite(usual)]
    low, high = (value, value) if known.size == 0 else np.quantile(known, _DRAWN, method="nearest").tolist()
    low, high = min(low, value), max(high, value)
    width = (high - low) or max(abs(low), 1.0)
    if not high > low:
        low, high = low - 0.5 * width, high + 0.5 * width
    places = np.where((usual >= low) & (usual <= high), (usual - low) / (high - low), np.nan)
    ticks = [(_EDGE, shown(low, form)), (1.0 - _EDGE, shown(high, form))]
    return Axis(name, ticks, _inside(places), float(_inside(np.array([(value - low) / (high - low)]))[0]))


def _of_category(
    name: str, codes: NDArray[np.intp], labels: tuple[Any, ...], value: Any, form: Written | None
) -> Axis | None:
    """Categories side by side: the row's own, and the most common others."""
    keys = [category_key(label) for label in labels]
    own = category_key(value)
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    others = [k for k in np.argsort(-counts, kind="stable").tolist() if keys[k] != own and counts[k]]
    chosen = others[: _CATEGORIES - 1]
    slots = len(chosen) + 1
    places = np.full(len(labels) + 1, np.nan)  # the last is for no category
    for slot, code in enumerate(chosen, start=1):
        places[code] = (slot + 0.5) / slots
    for code, key in enumerate(keys):
        if key == own:
            places[code] = 0.5 / slots
    points = _inside(places[codes]) + _jitter(len(codes)) * _SPREAD * (1.0 - 2.0 * _EDGE) / slots
    names = [value, *(labels[code] for code in chosen)]
    middles = _inside((np.arange(slots) + 0.5) / slots).tolist()
    ticks = [(middle, text(each, form)) for middle, each in zip(middles, names, strict=True)]
    return Axis(name, ticks, points, middles[0])


def _inside(places: Floats) -> Floats:
    """Places between 0 and 1 with a small margin at both ends."""
    return np.asarray(_EDGE + (1.0 - 2.0 * _EDGE) * places)


def _jitter(n: int) -> Floats:
    """(n,) numbers between -1/2 and 1/2, spread evenly."""
    return np.asarray((np.arange(n) * _GOLDEN) % 1.0 - 0.5)
