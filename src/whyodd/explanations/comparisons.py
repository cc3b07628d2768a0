"""Compared with what a value is odd: usual rows, rows like it, or rows that agree in another variable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.explanations.sentences import is_missing, is_number, name_text, number, text, value_texts
from whyodd.explanations.variables import Decoded, Variables, as_numbers
from whyodd.network.committee import DOES_NOT_GO_WITH, FOR_ROWS_LIKE_IT, IN_ITSELF, KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whyodd.explanations.sentences import Reason

    Floats = NDArray[np.float64]
    Kinds = NDArray[np.int8]

# Beyond these quantiles of usual rows a value is odd whatever it is compared with; and beyond those it may be
# called so.
_EXTREME, _USUAL = (0.01, 0.99), (0.05, 0.95)
# What most of the rows that a value is compared with have.
_MOST = (0.1, 0.9)
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
                shares = [_EXTREME[0], _USUAL[0], _USUAL[1], _EXTREME[1]]
                limits[:, variable] = np.quantile(finite, shares)
        return limits

    def kinds(self, spoken: Kinds, data: NDArray[Any]) -> Kinds:
        """(n, d) in what way each value is odd, as a place in ``KINDS``.

        What is extreme or hardly ever met among usual rows needs no comparison, and what is not must not be
        called so.

        Parameters
        ----------
        spoken : ndarray of int of shape (n, d)
            The kind of view that finds each variable most relevant.
        data : ndarray of shape (n, d)
            Numbers and categories as they were given.
        """
        lowest, low, high, highest = self._limits
        values = as_numbers(data)
        is_extreme = (values < lowest) | (values > highest)
        for variable in self.usual.categories:
            known, rare = self._shares[variable]
            shares = [known.get(str(value), rare) for value in data[:, variable].tolist()]
            is_extreme[:, variable] = np.array(shares) < _EXTREME[0]
        is_usual = (values >= low) & (values <= high)
        kinds = np.where((spoken == _ITSELF) & is_usual, _LIKE, spoken)
        return np.where(is_extreme, _ITSELF, kinds).astype(np.int8)

    def ranges(self, inputs: Any, own: NDArray[np.intp] | None) -> Floats:
        """(2, n, d) what most of the rows have that each row is compared with; NaN of no number."""
        limits = np.full((2, inputs.shape[0], len(self.variables.names)), np.nan)
        variables = list(self.known.numbers)
        values = np.column_stack([self.known.numbers[v] for v in variables] or [np.empty(0)])

        def measure(rows: Any, p: Any) -> None:
            places = np.arange(inputs.shape[0])[rows]
            for row, one in zip(places, sparse.csr_array(p), strict=True):
                limits[:, row, variables] = np.nanquantile(values[one.indices], _MOST, axis=0)

        if variables:
            self.network.assign(inputs, measure, own=own)
        return limits

    def direction(self, direction: Kinds, kinds: Kinds, values: Floats, ranges: Floats) -> Kinds:
        """(n, d) +1 where a value is above what it is compared with, -1 below, 0 within it.

        ``direction`` is that of the expected value, for values at odds with others.
        """
        _, low, high, _ = self._limits
        itself = np.where(values > high, 1, np.where(values < low, -1, direction))
        like = np.where(values > ranges[1], 1, np.where(values < ranges[0], -1, 0))
        signs = np.where(kinds == _ITSELF, itself, np.where(kinds == _LIKE, like, direction))
        return np.where(direction == 0, 0, signs).astype(np.int8)

    def words(
        self, reason: Reason, variable: int, kind: int, row: Any, own: NDArray[np.intp] | None
    ) -> tuple[str, str]:
        """Judgement and sentence on a value of one row (1, k), as it reached the network."""
        if is_missing(reason.value):
            return "missing", f"{name_text(reason)} is missing"
        judged = judgement_of(kind, reason.direction)
        if kind == _PAIR:
            found = self.network.partner(row, self._columns(variable), own)
            if found is not None:
                return judged, self._at_odds(reason, variable, row, *found)
            kind = _LIKE
        if not is_number(reason.value):
            return judged, self._of_category(reason, variable, judged)
        if kind == _ITSELF:
            low, high = self._limits[1:3, variable]
            return judged, self._with_range(reason, judged, low, high, "usually")
        low, high = self._range(variable, self._alike(row, own))
        return judged, self._with_range(reason, judged, low, high, "rows like it have")

    def _with_range(self, reason: Reason, judged: str, low: float, high: float, lead: str) -> str:
        value, _ = value_texts(reason)
        return f"{name_text(reason)} is {judged} ({value}, {lead} {span(low, high)})"

    def _of_category(self, reason: Reason, variable: int, judged: str) -> str:
        value, expected = value_texts(reason)
        name = name_text(reason)
        if variable not in self.usual.categories:  # a date, of which only parts are compared
            return f"{name} is {judged} ({value})"
        known, rare = self._shares[variable]
        share = known.get(str(reason.value), 0.0)
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
                shares[str(value)] = shares.get(str(value), 0.0) + float(np.mean(codes == code))
            found[variable] = shares, shares.pop(_RARE.strip("'"), 0.0)
        return found

    def _at_odds(self, reason: Reason, variable: int, row: Any, column: int, alike: NDArray[np.intp]) -> str:
        other = column if self.variables.origin is None else int(self.variables.origin[column])
        value, _ = value_texts(reason)
        partner = f"{self.variables.names[other]} {self._value(row, other)}"
        told = f"{name_text(reason)} {value} does not go with {partner}"
        if variable in self.known.numbers and is_number(reason.value):
            low, high = self._range(variable, alike)
            return f"{told}: such rows have {span(low, high)}"
        return told

    def _value(self, row: Any, variable: int) -> str:
        """A value of a row in raw units."""
        own = self._decoded(row)
        if variable in own.numbers:
            return number(float(own.numbers[variable][0]))
        codes, values = own.categories.get(variable, (np.array([-1]), ()))
        return text(values[codes[0]]) if codes[0] >= 0 else "as it is"

    def _range(self, variable: int, rows: NDArray[np.intp]) -> tuple[float, float]:
        values = self.known.numbers[variable][rows]
        low, high = np.nanquantile(values, _MOST)
        return float(low), float(high)

    def _alike(self, row: Any, own: NDArray[np.intp] | None) -> NDArray[np.intp]:
        """The usual rows that a row is compared with."""
        found: list[Any] = []
        self.network.assign(row, lambda _, p: found.append(p), own=own)
        return np.asarray(sparse.csr_array(found[0]).indices)

    def _columns(self, variable: int) -> NDArray[np.intp]:
        if self.variables.origin is None:
            return np.array([variable])
        return np.flatnonzero(self.variables.origin == variable)


def _percent(share: float) -> str:
    """A share that is not 0, with a digit more where it is small."""
    return f"{max(100.0 * share, 0.1):.{0 if share >= 0.01 else 1}f} %"


def judgement_of(kind: int, direction: int) -> str:
    """What is odd about a value, in a few words."""
    if kind == _PAIR:
        return _PAIR_WORDS
    return (_IN_ITSELF_WORDS if kind == _ITSELF else _LIKE_WORDS)[int(direction)]


def span(low: float, high: float) -> str:
    """A range in words: "8 to 30", or "about 8" if its ends read the same.

    Examples
    --------
    >>> from whyodd.explanations.comparisons import span
    >>> span(8.0, 30.0), span(8.0, 8.0)
    ('8 to 30', 'about 8')
    """
    first, last = number(low), number(high)
    return f"about {first}" if first == last else f"{first} to {last}"


def loudest(
    by_kind: NDArray[np.floating] | None, in_variables: Callable[[Any], Any]
) -> NDArray[np.int8] | None:
    """(n, d) the kind with the most relevance, as a place in ``KINDS``; None without any."""
    if by_kind is None:
        return None
    parts = np.stack([in_variables(by_kind[..., kind]) for kind in range(len(KINDS))])
    return np.asarray(parts.argmax(axis=0), dtype=np.int8)
