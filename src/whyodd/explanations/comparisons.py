"""Compared with what a value is odd: usual rows, rows like it, or rows that agree in another variable."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from whyodd.explanations.date_parts import odd_part, told_part
from whyodd.explanations.sentences import (
    all_digits,
    as_written,
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
from whyodd.explanations.variables import Decoded, Variables, as_numbers
from whyodd.network.committee import DOES_NOT_GO_WITH, FOR_ROWS_LIKE_IT, IN_ITSELF, KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.explanations.sentences import Reason
    from whyodd.inputs.written import Written

    Floats = NDArray[np.float64]
    Kinds = NDArray[np.int8]

# Beyond these quantiles of usual rows a value is odd whatever it is compared with; and beyond those it may be
# called so.
_EXTREME, _USUAL = (0.01, 0.99), (0.05, 0.95)
# What most of the rows that a value is compared with have.
_MOST = (0.1, 0.9)
# Ranges end at values that rows have: no half children.
_METHOD: Final = "nearest"
_NEAR = 0.1  # of the known rows: those with values around a value
_ROUNDING = 1e-9  # of values that were scaled and back
_DIGITS = range(3, 15)  # as many as tell a value from the ends of its range
_ITSELF, _LIKE, _PAIR = map(KINDS.index, (IN_ITSELF, FOR_ROWS_LIKE_IT, DOES_NOT_GO_WITH))
# Words by direction, for badges, groups and sentences alike.
_IN_ITSELF_WORDS = {1: "too high", -1: "too low", 0: "unusual"}
_LIKE_WORDS = {1: "high for rows like it", -1: "low for rows like it", 0: "in an unusual combination"}
_PAIR_WORDS = "at odds with others"
_RARE = "'(infrequent)'"  # what rare categories are called together


@dataclass(frozen=True, eq=False)
class Comparisons:
    """What rows are compared with in words: the rows that a committee has learned from, in raw units.

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
        return self._decoded(self.network.centers)

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
        """(4, d) the quantiles of usual rows beyond which values are odd in themselves; NaN of no number."""
        limits = np.full((4, len(self.variables.names)), np.nan)
        for variable, values in self.usual.numbers.items():
            finite = values[np.isfinite(values)]
            if finite.size:
                # Those that are not told may lie between two values, so that few rows have extremes too.
                limits[[0, 3], variable] = np.quantile(finite, _EXTREME)
                limits[1:3, variable] = np.quantile(finite, _USUAL, method=_METHOD)
        return limits

    def usual_range(self, variable: int) -> tuple[float, float] | None:
        """What most usual rows have of a number; None of anything else."""
        low, high = self._limits[1:3, variable].tolist()
        return None if np.isnan(low) else (low, high)

    def usual_shares(self, variable: int) -> list[tuple[Any, float]] | None:
        """Categories and the share of usual rows that have each, the largest first; None of a number."""
        if variable not in self.usual.categories:
            return None
        known, _ = self._shares[variable]
        values = {_key(value): value for value in self.usual.categories[variable][1]}
        return sorted(((values[name], share) for name, share in known.items()), key=lambda pair: -pair[1])

    def kinds(self, spoken: Kinds, data: NDArray[Any], inputs: Any = None) -> Kinds:
        """(n, d) in what way each value is odd, as a place in ``KINDS``.

        What is extreme or hardly ever met among usual rows needs no comparison, and what is not must not be
        called so.

        Parameters
        ----------
        spoken : ndarray of int of shape (n, d)
            The kind of view that finds each variable most relevant.
        data : ndarray of shape (n, d)
            Numbers and categories as they were given.
        inputs : ndarray of shape (n, k), optional
            The rows as they reached the network: of a date only parts are known, and one of them may be odd.
        """
        lowest, low, high, highest = self._limits
        values = as_numbers(data)
        is_extreme = _side(values, np.minimum(lowest, low), np.maximum(highest, high)) != 0
        is_usual = (_side(values, low, high) == 0) & ~np.isnan(values + low)
        for variable in self.usual.categories:
            known, rare = self._shares[variable]
            shares = np.array([known.get(_key(value), rare) for value in data[:, variable].tolist()])
            is_extreme[:, variable], is_usual[:, variable] = shares < _EXTREME[0], shares >= _USUAL[0]
        if inputs is not None and self.variables.through is None:
            is_extreme |= self._has_extreme_part(np.asarray(inputs))
        kinds = np.where((spoken == _ITSELF) & is_usual, _LIKE, spoken)
        return np.where(is_extreme, _ITSELF, kinds).astype(np.int8)

    def _has_extreme_part(self, inputs: Floats) -> NDArray[np.bool_]:
        """(n, d) whether a column of what is neither number nor category is beyond what usual rows have."""
        found = np.zeros((len(inputs), len(self.variables.names)), dtype=bool)
        usual = np.asarray(self.network.usual, dtype=np.float64)
        for variable in range(found.shape[1]):
            columns = self._columns(variable)
            is_known = variable in self.usual.numbers or variable in self.usual.categories
            if not is_known and columns.size:
                low, high = np.quantile(usual[:, columns], _EXTREME, axis=0)
                found[:, variable] = (_side(inputs[:, columns], low, high) != 0).any(axis=1)
        return found

    def ranges(self, inputs: Any, own: NDArray[np.intp] | None) -> Floats:
        """(2, n, d) what most of the rows have that each row is compared with; NaN of no number."""
        limits = np.full((2, inputs.shape[0], len(self.variables.names)), np.nan)
        variables = list(self.known.numbers)
        values = np.column_stack([self.known.numbers[v] for v in variables] or [np.empty(0)])

        def measure(rows: Any, p: Any) -> None:
            places = np.arange(inputs.shape[0])[rows]
            for row, one in zip(places, sparse.csr_array(p), strict=True):
                limits[:, row, variables] = np.nanquantile(values[one.indices], _MOST, axis=0, method=_METHOD)

        if variables:
            self.network.assign(inputs, measure, own=own)
        return limits

    def direction(self, direction: Kinds, kinds: Kinds, values: Floats, ranges: Floats) -> Kinds:
        """(n, d) +1 where a value is above what it is compared with, -1 below, 0 within it.

        Also 0 for a value at odds with others: which way depends on what it is put beside. ``direction`` is
        that of the expected value.
        """
        _, low, high, _ = self._limits
        itself, like = _side(values, low, high), _side(values, *ranges)
        itself = np.where(itself == 0, direction, itself)
        signs = np.where(kinds == _ITSELF, itself, np.where(kinds == _LIKE, like, 0))
        is_number = np.isin(np.arange(values.shape[1]), list(self.known.numbers))
        return np.where(is_number, signs, 0).astype(np.int8)

    def words(
        self, reason: Reason, variable: int, kind: int, row: Any, own: NDArray[np.intp] | None
    ) -> tuple[str, str]:
        """Judgement and sentence on a value of one row (1, k), as it reached the network."""
        if is_missing(reason.value):
            return "missing", missing_words(reason)
        judged = judgement_of(kind, reason.direction)
        if isinstance(reason.value, dt.timedelta):
            return judged, self._of_duration(reason, variable, kind, row, own)
        if kind == _PAIR or (kind == _LIKE and reason.direction == 0):
            at_odds = self._at_odds(reason, variable, kind, row, own)
            if at_odds is not None:
                return judged, at_odds
        # Numbers with few values may be taken as categories.
        if variable not in self.known.numbers or not is_number(reason.value):
            if variable in self.variables.parts:
                return self._of_date(reason, variable, judged, row, own)
            return judged, self._of_category(reason, variable, judged)
        if kind == _ITSELF:
            low, high = self._limits[1:3, variable]
            return judged, self._with_range(reason, judged, low, high, "usually")
        low, high = self._range(variable, self._alike(row, own))
        return judged, self._with_range(reason, judged, low, high, "rows like it have")

    def _with_range(self, reason: Reason, judged: str, low: float, high: float, lead: str) -> str:
        value, between = _apart(reason, low, high)
        told = value if np.isnan(low) else f"{value}, {lead} {between}"
        return f"{name_text(reason)} is {judged} ({told})"

    def _of_duration(
        self, reason: Reason, variable: int, kind: int, row: Any, own: NDArray[np.intp] | None
    ) -> str:
        """A length of time, which was compared in seconds."""
        low, high = self._limits[1:3, variable].tolist()
        lead = "usually"
        if kind != _ITSELF:
            (low, high), lead = self._range(variable, self._alike(row, own)), "rows like it have"
        told = f"{duration(reason.value.total_seconds())}, {lead} {duration(low)} to {duration(high)}"
        return f"{name_text(reason)} is {judgement_of(kind, reason.direction)} ({told})"

    def _of_date(
        self, reason: Reason, variable: int, judged: str, row: Any, own: NDArray[np.intp] | None
    ) -> tuple[str, str]:
        """Judgement and sentence on a date, with the part of it that is odd."""
        columns, parts = self._columns(variable), self.variables.parts[variable]
        relevance = np.asarray(self.network.decompose(row, own=own).relevance)[0, columns]
        part = odd_part(parts, relevance)
        shown = columns[np.array(parts) == part]
        told, share = told_part(part, np.asarray(row)[0, shown], np.asarray(self.network.usual)[:, shown])
        value, _ = value_texts(reason)
        joined = ", " if told.startswith("a ") else "; "
        judged = _IN_ITSELF_WORDS[0] if share < _EXTREME[0] else judged
        return judged, f"{name_text(reason)} is {judged} ({value}{joined}{told})"

    def _of_category(self, reason: Reason, variable: int, judged: str) -> str:
        value, expected = value_texts(reason)
        name = name_text(reason)
        if variable not in self.usual.categories:  # of which only some function is compared
            return f"{name} is {judged} ({value})"
        known, rare = self._shares[variable]
        share = known.get(_key(reason.value), 0.0)
        rarity = "no usual row has it"
        if share > 0.0:
            rarity = f"{_percent(share)} of usual rows have it"
        elif rare > 0.0:
            rarity = f"rare or new, as in {_percent(rare)} of usual rows"
        told = ("-", _RARE, value) if share > 0.0 else ("-", _RARE)
        usual = "" if expected in told else f"; rows like it mostly have {expected}"
        return f"{name} is {value} ({rarity}{usual})"

    @cached_property
    def _shares(self) -> dict[int, tuple[dict[str, float], float]]:
        """Share of usual rows that have each category of a variable, as text, and any of the rare ones."""
        found = {}
        for variable, (codes, values) in self.usual.categories.items():
            shares: dict[str, float] = {}
            for code, value in enumerate(values):
                shares[_key(value)] = shares.get(_key(value), 0.0) + float(np.mean(codes == code))
            found[variable] = shares, shares.pop(_RARE.strip("'"), 0.0)
        return found

    def _at_odds(
        self, reason: Reason, variable: int, kind: int, row: Any, own: NDArray[np.intp] | None
    ) -> str | None:
        """What a value does not go with; None if there is nothing."""
        found = self.network.partner(row, self._columns(variable), own)
        if found is None:
            return None
        column, alike = found
        other = column if self.variables.origin is None else int(self.variables.origin[column])
        partner = f"does not go with {self._named_value(row, other)}"
        name = name_text(reason)
        if variable not in self.known.numbers or not is_number(reason.value):
            return f"{name} {value_texts(reason)[0]} {partner}" if kind == _PAIR else None
        low, high = self._range(variable, alike)
        value, between = _apart(reason, low, high)
        if _side(reason.value, low, high) != 0:
            return f"{name} {value} {partner}: such rows have {between}"
        # Between the values that such rows have there may be a gap.
        is_told = kind == _PAIR and self._is_rare(reason.value, variable, alike)
        return f"{name} {value} {partner}: few rows have both" if is_told else None

    def _is_rare(self, value: float, variable: int, rows: NDArray[np.intp]) -> bool:
        """Whether some known rows have values around this one less than half as often as all have."""
        gaps = np.abs(self.known.numbers[variable] - value)
        is_near = gaps <= np.nanquantile(gaps, _NEAR)
        return rows.size == 0 or bool(is_near[rows].mean() < 0.5 * is_near.mean())

    def _named_value(self, row: Any, variable: int) -> str:
        """A variable and its value in a row: "weight 1.2", or "its day" if the value cannot be told."""
        own, name = self._decoded(row), self.variables.names[variable]
        form = self.variables.formats.get(variable)
        if variable in own.numbers:
            return f"{name} {shown(float(own.numbers[variable][0]), form)}"
        codes, values = own.categories.get(variable, (np.array([-1]), ()))
        return f"{name} {text(values[codes[0]], form)}" if codes[0] >= 0 else f"its {name}"

    def _range(self, variable: int, rows: NDArray[np.intp]) -> tuple[float, float]:
        """What most of some known rows have; NaN if none of them has a value."""
        values = self.known.numbers[variable][rows]
        finite = values[np.isfinite(values)]
        if finite.size == 0:
            return np.nan, np.nan
        low, high = np.quantile(finite, _MOST, method=_METHOD).tolist()
        return low, high

    def _alike(self, row: Any, own: NDArray[np.intp] | None) -> NDArray[np.intp]:
        """The usual rows that a row is compared with."""
        found: list[Any] = []
        self.network.assign(row, lambda _, p: found.append(p), own=own)
        return np.asarray(sparse.csr_array(found[0]).indices)

    def _columns(self, variable: int) -> NDArray[np.intp]:
        if self.variables.origin is None:
            return np.array([variable])
        return np.flatnonzero(self.variables.origin == variable)


def _key(value: Any) -> str:
    """A category as text: the same for 1 and 1.0, of which a table and a model may have either."""
    return all_digits(float(value)) if is_number(value) else str(value)


def _percent(share: float) -> str:
    """A share that is not 0, with a digit more where it is small."""
    return f"{max(100.0 * share, 0.1):.{0 if share >= 0.01 else 1}f} %"


def judgement_of(kind: int, direction: int) -> str:
    """What is odd about a value, in a few words."""
    if kind == _PAIR:
        return _PAIR_WORDS
    return (_IN_ITSELF_WORDS if kind == _ITSELF else _LIKE_WORDS)[int(direction)]


def span(low: float, high: float, digits: int = 3, form: Written | None = None) -> str:
    """A range in words: "8 to 30", or "about 8" if its ends read the same.

    Examples
    --------
    >>> from whyodd.explanations.comparisons import span
    >>> span(8.0, 30.0), span(8.0, 8.0)
    ('8 to 30', 'about 8')
    """
    first, last = shown(low, form, digits), shown(high, form, digits)
    return f"about {first}" if first == last else f"{first} to {last}"


def _apart(reason: Reason, low: float, high: float) -> tuple[str, str]:
    """A value and a range, with as many digits as it takes to see whether it is one of its ends."""
    value = float(reason.value)
    others = [end for end in (low, high) if not math.isclose(value, end, rel_tol=_ROUNDING)]
    for digits in _DIGITS:
        told = number(value, digits)
        if told not in [number(end, digits) for end in others]:
            break
    return as_written(reason) or shown(value, reason.form, digits), span(low, high, digits, reason.form)


def _side(values: Any, low: Any, high: Any) -> NDArray[np.int8]:
    """+1 above a range, -1 below it, 0 within it to rounding, or where there is no number."""
    slack = _ROUNDING * np.abs(values)
    above, below = np.asarray(values > high + slack), np.asarray(values < low - slack)
    return above.astype(np.int8) - below.astype(np.int8)


def loudest(
    by_kind: NDArray[np.floating] | None, in_variables: Callable[[Any], Any]
) -> NDArray[np.int8] | None:
    """(n, d) the kind with the most relevance, as a place in ``KINDS``; None without any."""
    if by_kind is None:
        return None
    parts = np.stack([in_variables(by_kind[..., kind]) for kind in range(len(KINDS))])
    return np.asarray(parts.argmax(axis=0), dtype=np.int8)
