"""The rows that a value is odd against: usual rows, rows like it, or rows like it in another variable."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whyodd.explanations.date_parts import judged_part, named_part, odd_part, part_places, told_part
from whyodd.explanations.resolution import resolution_of
from whyodd.explanations.sentences import (
    COMBINED,
    Partner,
    all_digits,
    as_written,
    at_resolution,
    duration,
    is_missing,
    is_number,
    missing_words,
    name_text,
    number,
    shown,
    text,
    value_texts,
)
from whyodd.explanations.sides import METHOD, nearest_of, sides_of
from whyodd.explanations.variables import Decoded, Variables, as_numbers
from whyodd.network.committee import DOES_NOT_GO_WITH, FOR_ROWS_LIKE_IT, IN_ITSELF, KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.explanations.given import Given
    from whyodd.explanations.sentences import Reason
    from whyodd.inputs.written import Written

    Floats = NDArray[np.float64]
    Kinds = NDArray[np.int8]

# Beyond the outer quantiles of usual rows a value is odd whatever it is compared with; beyond the inner ones
# it may be called so.
_EXTREME, _USUAL = (0.01, 0.99), (0.05, 0.95)
# What most of the rows that a value is compared with have.
_MOST = (0.1, 0.9)
_NEAR = 0.1  # of the known rows: those with values around a value
_ROUNDING = 1e-9  # of values that were scaled and back
_DIGITS = range(3, 15)  # until a value differs from the ends of its range
_ITSELF, _LIKE, _PAIR = map(KINDS.index, (IN_ITSELF, FOR_ROWS_LIKE_IT, DOES_NOT_GO_WITH))
# Words by direction, for badges, groups and sentences alike.
_IN_ITSELF_WORDS = {1: "too high", -1: "too low", 0: "unusual"}
_LIKE_WORDS = {1: "high for rows like it", -1: "low for rows like it", 0: COMBINED}
_PAIR_WORDS = "at odds with others"
# Words before a range: of rows like it, of all.
_LEADS = ("rows like it have", "usually")
RARE = "(infrequent)"  # the common name of rare categories


class Words(NamedTuple):
    """The words about a value: a short form, a sentence, and the other value it refers to."""

    judged: str
    told: str
    partner: Partner | None = None
    part: str | None = None


@dataclass(frozen=True, eq=False)
class Comparisons:
    """The rows that words compare with: those that a committee learned from, in raw units.

    Attributes
    ----------
    network : member of the waist with the capability "kinds"
    variables : Variables
    """

    network: Any
    variables: Variables

    @cached_property
    def known(self) -> Decoded:
        """The rows that each row is compared with, in raw units."""
        if self.variables.decode is None:
            return self._decoded(self.network.centers)
        return self.variables.decoded_centers(self.network)

    @cached_property
    def usual(self) -> Decoded:
        """Usual rows in raw units."""
        return self._decoded(self.network.usual)

    def _decoded(self, rows: Any) -> Decoded:
        if self.variables.decode is None:
            return Decoded(dict(enumerate(np.asarray(rows, dtype=np.float64).T)), {})
        return self.variables.decode(rows)

    @cached_property
    def _limits(self) -> Floats:
        """(4, d) the quantiles of usual rows beyond which a value is odd in itself; NaN if no number."""
        limits = np.full((4, len(self.variables.names)), np.nan)
        for variable, values in self.usual.numbers.items():
            finite = values[np.isfinite(values)]
            if finite.size:
                # Those that are not told may lie between two values, so that few rows have extremes too.
                limits[[0, 3], variable] = np.quantile(finite, _EXTREME)
                limits[1:3, variable] = np.quantile(finite, _USUAL, method=METHOD)
        return limits

    def resolution(self, variable: int) -> float:
        """Resolution of the usual values of a number; 0 for other variables."""
        if variable not in self._resolutions:
            self._resolutions[variable] = resolution_of(self.usual.numbers.get(variable, np.empty(0)))
        return self._resolutions[variable]

    @cached_property
    def _resolutions(self) -> dict[int, float]:
        return {}

    def usual_range(self, variable: int, given: Given | None = None) -> tuple[float, float] | None:
        """The range of most usual rows for a number; None for other variables.

        ``given``: the context of a row, without which a number that is compared in one has no range.
        """
        low, high = self._told_limits(variable)
        if np.isnan(low) or (given is None and variable in self.variables.relative):
            return None
        return (low, high) if given is None else given.raw_range(variable, low, high)

    def usual_numbers(self, variable: int, given: Given | None = None) -> Floats:
        """The range of usual rows for a number; if it is compared in a context, as it would be there."""
        found = self.usual.numbers[variable]
        is_relative = given is not None and given.is_relative(variable)
        return given.raw_values(variable, found) if given is not None and is_relative else found

    def _told_limits(self, variable: int) -> tuple[float, float]:
        """The range of most usual rows for a number, without the noise of scaling it back and forth."""
        resolution = self.resolution(variable)
        low, high = (at_resolution(end, resolution) for end in self._limits[1:3, variable].tolist())
        return low, high

    def usual_shares(self, variable: int) -> list[tuple[Any, float]] | None:
        """Categories and the share of usual rows with each, the largest first; None for a number."""
        if variable not in self.usual.categories:
            return None
        known, _ = self._shares[variable]
        values = {category_key(value): value for value in self.usual.categories[variable][1]}
        return sorted(((values[name], share) for name, share in known.items()), key=lambda pair: -pair[1])

    def kinds(
        self, spoken: Kinds, data: NDArray[Any], inputs: Any = None, given: Given | None = None
    ) -> Kinds:
        """(n, d) how each value is odd, as an index into ``KINDS``.

        What is extreme or hardly ever met among usual rows needs no comparison, and what is not must not be
        called so.

        Parameters
        ----------
        spoken : ndarray of int of shape (n, d)
            The kind of view that finds each variable most relevant.
        data : ndarray of shape (n, d)
            Numbers and categories as they were given, numbers that are compared in a context as in this.
        inputs : ndarray of shape (n, k), optional
            The rows as they reached the network: of a date only parts are known, and one of them may be odd.
        given : Given, optional
            The context of the rows, in which categories are more or less rare.
        """
        lowest, low, high, highest = self._limits
        values = as_numbers(data)
        is_extreme = _side(values, np.minimum(lowest, low), np.maximum(highest, high)) != 0
        is_usual = (_side(values, low, high) == 0) & ~np.isnan(values + low)
        for variable in self.usual.categories:
            known, rare = self._shares[variable]
            shares = np.array([known.get(category_key(value), rare) for value in data[:, variable].tolist()])
            if given is not None and variable in given.labels:
                shares = given.share[:, variable]
            is_extreme[:, variable], is_usual[:, variable] = shares < _EXTREME[0], shares >= _USUAL[0]
        if inputs is not None and self.variables.through is None:
            is_extreme |= self._has_extreme_part(np.asarray(inputs))
        kinds = np.where((spoken == _ITSELF) & is_usual, _LIKE, spoken)
        return np.where(is_extreme, _ITSELF, kinds).astype(np.int8)

    def _has_extreme_part(self, inputs: Floats) -> NDArray[np.bool_]:
        """(n, d) whether a column that is neither number nor category is beyond usual rows."""
        found = np.zeros((len(inputs), len(self.variables.names)), dtype=bool)
        usual = np.asarray(self.network.usual, dtype=np.float64)
        for variable in range(found.shape[1]):
            columns = self._columns(variable)
            is_known = variable in self.usual.numbers or variable in self.usual.categories
            if not is_known and columns.size:
                low, high = np.quantile(usual[:, columns], _EXTREME, axis=0)
                found[:, variable] = (_side(inputs[:, columns], low, high) != 0).any(axis=1)
        return found

    def alike(self, inputs: Any, own: NDArray[np.intp] | None) -> NDArray[np.intp]:
        """(n, k) the known rows that each row is compared with."""
        found: list[Any] = [None] * inputs.shape[0]

        def note(rows: Any, p: Any) -> None:
            found[rows] = nearest_of(p)

        self.network.neighborhood.assign(self.network.scaled(inputs), note, own=own)
        return np.array(found, dtype=np.intp)

    def sides(self, values: Floats, alike: NDArray[np.intp], wanted: NDArray[np.bool_]) -> Kinds:
        """(n, d) +1 above the range of most rows that each row is compared with, -1 below, else 0.

        Of values (n, d), NaN for what is no number, where it is ``wanted`` (n, d); 0 elsewhere.
        """
        is_asked = wanted & ~np.isnan(values) & self._is_number
        return sides_of(values, alike, is_asked, self._known_values, _MOST)

    @cached_property
    def _known_values(self) -> Floats:
        """(d, m) numbers of the known rows, NaN if not a number."""
        nothing = np.full(len(self.network.centers), np.nan)
        return np.stack([self.known.numbers.get(v, nothing) for v in range(len(self.variables.names))])

    @cached_property
    def _is_number(self) -> NDArray[np.bool_]:
        """(d,) variables whose numbers are known."""
        return np.isin(np.arange(len(self.variables.names)), list(self.known.numbers))

    def direction(self, direction: Kinds, kinds: Kinds, values: Floats, like: Kinds) -> Kinds:
        """(n, d) +1 where a value is above its comparison range, -1 below, 0 within it.

        Also 0 for a value at odds with others: which way depends on what it is put beside. ``direction`` is
        that of the expected value, ``like`` that of rows like it.
        """
        _, low, high, _ = self._limits
        itself = _side(values, low, high)
        itself = np.where(itself == 0, direction, itself)
        signs = np.where(kinds == _ITSELF, itself, np.where(kinds == _LIKE, like, 0))
        return np.where(self._is_number, signs, 0).astype(np.int8)

    def words(
        self,
        reason: Reason,
        variable: int,
        kind: int,
        row: Any,
        own: NDArray[np.intp] | None,
        alike: NDArray[np.intp] | None = None,
        given: Given | None = None,
        values: NDArray[Any] | None = None,
    ) -> Words:
        """The words about one value of one row (1, k), as it reached the network.

        ``alike``: the known rows that it is compared with, if they are at hand. ``given``: its context.
        ``values`` (d,): all values of the row, to know which are missing.
        """
        alike = self.alike(row, own)[0] if alike is None else alike
        if is_missing(reason.value):
            return Words("missing", missing_words(reason))
        judged = judgement_of(kind, reason.direction)
        if isinstance(reason.value, dt.timedelta):
            return Words(judged, self._of_duration(reason, variable, kind, alike, given))
        if kind == _PAIR or (kind == _LIKE and reason.direction == 0):
            at_odds = self._at_odds(reason, variable, kind, row, own, given, values)
            if at_odds is not None:
                return Words(judged, *at_odds)
        # Numbers with few values may be taken as categories.
        if variable not in self.known.numbers or not is_number(reason.value):
            if variable in self.variables.parts:
                return self._of_date(reason, variable, kind, row, own)
            if given is not None and variable in given.labels:
                return Words(judged, _of_category_in(given, reason, variable))
            return Words(judged, self._of_category(reason, variable, kind))
        low, high = self._told_range(variable, kind, alike, given)
        lead = _LEADS[kind == _ITSELF]
        if kind != _ITSELF and reason.direction == 0 and not _side(reason.value, low, high):
            usual = self._told_range(variable, _ITSELF, alike, given)
            if not _side(reason.value, *usual):
                # Not even for rows like it, whose range would suggest that all is well.
                (low, high), lead = usual, "usual in itself:"
        value, between = _apart(reason, low, high)
        between = "" if np.isnan(low) else f"{lead} {between}"
        return Words(judged, self._with_range(reason, variable, kind, value, between, given))

    def _told_range(
        self, variable: int, kind: int, alike: NDArray[np.intp], given: Given | None
    ) -> tuple[float, float]:
        """The range of usual rows, or of rows like it, in raw units; in a context, that of the context."""
        low, high = self._told_limits(variable) if kind == _ITSELF else self._range(variable, alike)
        return (low, high) if given is None else given.raw_range(variable, low, high)

    def _with_range(
        self, reason: Reason, variable: int, kind: int, value: str, compared: str, given: Given | None
    ) -> str:
        """A sentence about a value and its comparison; "" if that is unknown."""
        judged, in_context, few = judgement_of(kind, reason.direction), "", ""
        if given is not None and given.is_relative(variable):
            in_context, few = given.phrase, given.few
        if kind == _ITSELF:
            told = f", {compared}{few}" if compared else ""
            return f"{name_text(reason)} is {judged}{in_context} ({value}{told})"
        told = f", {compared}{in_context}{few}" if compared else ""
        return f"{name_text(reason)} is {judged} ({value}{told})"

    def _of_duration(
        self, reason: Reason, variable: int, kind: int, alike: NDArray[np.intp], given: Given | None
    ) -> str:
        """A length of time, which was compared in seconds."""
        low, high = self._told_range(variable, kind, alike, given)
        value = duration(reason.value.total_seconds())
        compared = f"{_LEADS[kind == _ITSELF]} {duration(low)} to {duration(high)}"
        return self._with_range(reason, variable, kind, value, compared, given)

    def _of_date(
        self, reason: Reason, variable: int, kind: int, row: Any, own: NDArray[np.intp] | None
    ) -> Words:
        """The words about a date, with its odd part."""
        ((part, judged, told),) = self.judged_dates(variable, np.array([kind]), row, own)
        value, _ = value_texts(reason)
        joined = ", " if told.startswith("a ") else "; "
        return Words(judged, f"{name_text(reason)} is {judged} ({value}{joined}{told})", part=part)

    def judged_dates(
        self, variable: int, kinds: Kinds, rows: Any, own: NDArray[np.intp] | None
    ) -> list[tuple[str, str, str]]:
        """The odd part of the date of each row (n, k), what is odd about it in a few words, and in more.

        ``kinds`` (n,): in what way each is odd. What hardly any usual row has is odd in itself.
        """
        columns, parts = self._columns(variable), self.variables.parts[variable]
        relevance = np.asarray(self.network.decompose(rows, own=own).relevance)[:, columns]
        points, found = np.asarray(rows), []
        for kind, point, of_columns in zip(kinds.tolist(), points, relevance, strict=True):
            part = odd_part(parts, of_columns)
            shown = columns[np.array(parts) == part]
            told, share = told_part(part, point[shown], np.asarray(self.network.usual)[:, shown])
            combined = _PAIR_WORDS if kind == _PAIR else COMBINED
            is_alone = kind != _PAIR and share < _EXTREME[0]
            found.append((part, judged_part(part, told) if is_alone else combined, told))
        return found

    def date_places(self, variable: int, part: str, rows: Any) -> Floats:
        """(n,) where a part of a date lies in some rows (n, k), in the sense of ``part_places``."""
        shown = self._columns(variable)[np.array(self.variables.parts[variable]) == part]
        return part_places(part, np.asarray(rows, dtype=np.float64)[:, shown])

    def _of_category(self, reason: Reason, variable: int, kind: int) -> str:
        value, expected = value_texts(reason)
        name = name_text(reason)
        if variable not in self.usual.categories:  # of which only some function is compared
            return f"{name} is {judgement_of(kind, 0)} ({value})"
        known, rare = self._shares[variable]
        share = known.get(category_key(reason.value), 0.0)
        rarity = "no usual row has it"
        if share > 0.0:
            rarity = f"{_percent(share)} of usual rows have it"
        elif rare > 0.0:
            rarity = f"rare or new, as in {_percent(rare)} of usual rows"
        told = ("-", repr(RARE), value) if share > 0.0 else ("-", repr(RARE))
        usual = "" if expected in told else f"; rows like it mostly have {expected}"
        if kind != _ITSELF and not usual:  # neither rare nor different from rows like it
            return f"{name} {value} is {judgement_of(kind, 0)} ({rarity})"
        return f"{name} is {value} ({rarity}{usual})"

    @cached_property
    def _shares(self) -> dict[int, tuple[dict[str, float], float]]:
        """Share of usual rows with each category of a variable, as text, and with any of the rare ones."""
        found = {}
        for variable, (codes, values) in self.usual.categories.items():
            shares: dict[str, float] = {}
            for code, value in enumerate(values):
                shares[category_key(value)] = shares.get(category_key(value), 0.0) + float(
                    np.mean(codes == code)
                )
            found[variable] = shares, shares.pop(RARE, 0.0)
        return found

    def _at_odds(
        self,
        reason: Reason,
        variable: int,
        kind: int,
        row: Any,
        own: NDArray[np.intp] | None,
        given: Given | None,
        values: NDArray[Any] | None,
    ) -> tuple[str, Partner] | None:
        """What a value does not go with, as a sentence and as a name; None if there is nothing."""
        found = self.network.partner(row, self._columns(variable), own)
        if found is None:
            return None
        column, alike = found
        other = column if self.variables.origin is None else int(self.variables.origin[column])
        partner = Partner(self.variables.names[other], self._part_of(other, column))
        is_gap = values is not None and is_missing(values[other])
        told = f"a missing {partner.name}" if is_gap else self._named_value(row, other, given, partner.part)
        words = f"does not go with {told}"
        name = name_text(reason)
        if variable not in self.known.numbers or not is_number(reason.value):
            return (f"{name} {value_texts(reason)[0]} {words}", partner) if kind == _PAIR else None
        low, high = self._told_range(variable, kind, alike, given)
        value, between = _apart(reason, low, high)
        seen, in_context = reason.value, ""
        if given is not None and given.is_relative(variable):
            seen, in_context = given.relative_value(variable, seen), given.phrase
        if _side(reason.value, low, high) != 0:
            return f"{name} {value} {words}: such rows have {between}{in_context}", partner
        # There may be a gap between the values that such rows have.
        is_told = kind == _PAIR and self._is_rare(seen, variable, alike)
        return (f"{name} {value} {words}: few rows have both", partner) if is_told else None

    def _part_of(self, variable: int, column: int) -> str | None:
        """The part of a date in a column of the network; None if it is not a date, or shows no part."""
        parts = self.variables.parts.get(variable, ())
        return next(
            (part for part, own in zip(parts, self._columns(variable), strict=False) if own == column), None
        )

    def _is_rare(self, value: float, variable: int, rows: NDArray[np.intp]) -> bool:
        """Whether rows like it have values around this one less than half as often as all known rows do."""
        gaps = np.abs(self.known.numbers[variable] - value)
        is_near = gaps <= np.nanquantile(gaps, _NEAR)
        return rows.size == 0 or bool(is_near[rows].mean() < 0.5 * is_near.mean())

    def _named_value(self, row: Any, variable: int, given: Given | None, part: str | None = None) -> str:
        """A variable and its value in a row: "weight 1.2", "its day (a Sunday)"."""
        own, name = self._decoded(row), self.variables.names[variable]
        form = self.variables.formats.get(variable)
        if variable in own.numbers:
            value = at_resolution(float(own.numbers[variable][0]), self.resolution(variable))
            value = value if given is None else given.raw_range(variable, value, value)[0]
            return f"{name} {shown(value, form)}"
        codes, values = own.categories.get(variable, (np.array([-1]), ()))
        if codes[0] >= 0:
            return f"{name} {text(values[codes[0]], form)}"
        columns = self._columns(variable)
        shows = columns[np.array(self.variables.parts.get(variable, ("",) * columns.size)) == part]
        told = named_part(part, np.asarray(row)[0, shows]) if part is not None else None
        return f"its {name}" if told is None else f"its {name} ({told})"

    def _range(self, variable: int, rows: NDArray[np.intp]) -> tuple[float, float]:
        """The usual value of some known rows; NaN if none of them has a value."""
        values = self.known.numbers[variable][rows]
        finite = values[np.isfinite(values)]
        if finite.size == 0:
            return np.nan, np.nan
        resolution = self.resolution(variable)
        ends = np.quantile(finite, _MOST, method=METHOD).tolist()
        low, high = (at_resolution(end, resolution) for end in ends)
        return low, high

    def _columns(self, variable: int) -> NDArray[np.intp]:
        if self.variables.origin is None:
            return np.array([variable])
        return np.flatnonzero(self.variables.origin == variable)


def _of_category_in(given: Given, reason: Reason, variable: int) -> str:
    """A sentence about a category in a context."""
    share, common = float(given.share[0, variable]), given.labels[variable][given.common[0, variable]]
    value = value_texts(reason)[0]
    rarity = f"{_percent(share)} of rows have it" if share > 0.0 else "no usual row has it"
    most = (
        ""
        if category_key(common) == category_key(reason.value)
        else f"; most have {text(common, reason.form)}"
    )
    return f"{name_text(reason)} is {value} ({rarity}{given.phrase}{most}{given.few})"


def category_key(value: Any) -> str:
    """A category as text: the same for 1 and 1.0, since a table and a model may differ in this."""
    return all_digits(float(value)) if is_number(value) else str(value)


def _percent(share: float) -> str:
    """A share above 0, with one more digit if it is small."""
    return f"{max(100.0 * share, 0.1):.{0 if share >= 0.01 else 1}f} %"


def judgement_of(kind: int, direction: int) -> str:
    """What is odd about a value, in a few words."""
    if kind == _PAIR:
        return _PAIR_WORDS
    return (_IN_ITSELF_WORDS if kind == _ITSELF else _LIKE_WORDS)[int(direction)]


def span(low: float, high: float, digits: int = 3, form: Written | None = None) -> str:
    """A range in words: "8 to 30", or "about 8" if both ends look the same.

    Examples
    --------
    >>> from whyodd.explanations.comparisons import span
    >>> span(8.0, 30.0), span(8.0, 8.0)
    ('8 to 30', 'about 8')
    """
    first, last = shown(low, form, digits), shown(high, form, digits)
    return f"about {first}" if first == last else f"{first} to {last}"


def _apart(reason: Reason, low: float, high: float) -> tuple[str, str]:
    """A value and a range, with enough digits to see whether the value is one of its ends."""
    value = float(reason.value)
    others = [end for end in (low, high) if not math.isclose(value, end, rel_tol=_ROUNDING)]
    for digits in _DIGITS:
        told = number(value, digits)
        if told not in [number(end, digits) for end in others]:
            break
    return as_written(reason) or shown(value, reason.form, digits), span(low, high, digits, reason.form)


def _side(values: Any, low: Any, high: Any) -> NDArray[np.int8]:
    """+1 above a range, -1 below it, 0 within it up to rounding, or if there is no number."""
    slack = _ROUNDING * np.abs(values)
    above, below = np.asarray(values > high + slack), np.asarray(values < low - slack)
    return above.astype(np.int8) - below.astype(np.int8)


def loudest(
    by_kind: NDArray[np.floating] | None, in_variables: Callable[[Any], Any]
) -> NDArray[np.int8] | None:
    """(n, d) the kind with the most relevance, as a place in ``KINDS``; None without kinds."""
    if by_kind is None:
        return None
    parts = np.stack([in_variables(by_kind[..., kind]) for kind in range(len(KINDS))])
    return np.asarray(parts.argmax(axis=0), dtype=np.int8)
