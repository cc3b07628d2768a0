"""Changes in raw units: numbers rounded so that the sentence stays true, categories by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import is_missing
from whyodd.findings.summary.changes.search import fractions_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explanations.variables import Decoded
    from whyodd.findings.summary.changes.search import Search

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Indices = NDArray[np.intp]

# Digits, and units to go further, tried one after the other: rounding may lift a value near the threshold
# above it. If none works, the exact number is reported.
_TRIALS = ((3, 0), (4, 0), (6, 0), (9, 0), (3, 1), (3, 2), (3, 4), (3, 8))
_BEYOND = 1.05  # a rounded value may lie this far past the target, as part of the way
_ROUNDING = 1e-9
_ENOUGH = 10  # this many whole values are no coincidence
_HALVINGS = 40  # to 1e-12 of the way


@dataclass(frozen=True)
class Value:
    """A variable before and after a change.

    Attributes
    ----------
    name : str
    before, after : number, str or other value
    is_exact : bool
        Whether it was checked that ``after``, as it is, suffices.
    is_known : bool
        Whether ``after`` is known at all.
    """

    name: str
    before: Any
    after: Any
    is_exact: bool = True
    is_known: bool = True


@dataclass(frozen=True)
class Told:
    """A change in raw units, the variable that contributes most first, and the outlierness after it."""

    values: tuple[Value, ...]
    outlierness: float


def tell(search: Search) -> list[Told]:
    """Every change that was found, in raw units."""
    if not search.found:
        return []
    ground, pairs = search.ground, search.pairs
    moves = search.chosen & (
        ground.by_variable((pairs.goals != ground.points(pairs.rows)).astype(np.float64)) > 0
    )
    line = _Line.of(search, moves & pairs.scalable)
    numbers, fractions = _rounded(search, line)
    outlierness = ground.outlierness(pairs, fractions)
    decoded = None if ground.variables.decode is None else ground.variables.decode(pairs.places)
    ways, told = ground.squared_ways(pairs), []
    for q in range(len(pairs)):
        order = sorted(np.flatnonzero(moves[q]).tolist(), key=lambda v: -ways[q, v])
        values = [_value(search, decoded, q, v, numbers.get((q, v))) for v in order]
        told.append(Told(tuple(values), float(outlierness[q])))
    return told


def _value(search: Search, decoded: Decoded | None, q: int, v: int, number: float | None) -> Value:
    ground = search.ground
    name, before = ground.variables.names[v], _plain(ground.raw[search.pairs.rows[q], v])
    if number is not None:
        return Value(name, before, number)
    assert decoded is not None  # otherwise every variable is a number
    if v in decoded.categories:
        codes, labels = decoded.categories[v]
        is_known = codes[q] >= 0
        return Value(name, before, labels[codes[q]] if is_known else None, is_known=bool(is_known))
    places, rows = search.pairs.places[[q]], search.pairs.rows[[q]]
    after = float(ground.numbers_at(places, rows)[0, v]) if v in decoded.numbers else math.nan
    # A number may have a mark for gaps, which is set in the target unless it is in the row.
    is_known = math.isfinite(after) and (ground.n_columns[v] == 1 or is_missing(before))
    if isinstance(before, bool) and is_known:
        return Value(name, before, bool(round(after)))
    return Value(name, before, after if is_known else None, is_exact=False, is_known=bool(is_known))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, eq=False)
class _Line:
    """Numbers on their straight ways through the network's space, one entry for each pair and variable.

    Attributes
    ----------
    search : Search
    pair, variable : ndarray of int of shape (k,)
    shift : ndarray of shape (k,)
        What to add to a number that is read back.
    """

    search: Search
    pair: Indices
    variable: Indices
    shift: Floats

    @classmethod
    def of(cls, search: Search, which: Bools) -> _Line:
        """The numbers that can move partly, (q, V)."""
        ground, (pair, variable) = search.ground, np.nonzero(which)
        rows = search.pairs.rows[pair]
        # Through a projection, reading back gives the nearest row it knows, so only differences count.
        gap = ground.raw_numbers[rows, variable] - ground.read_numbers[rows, variable]
        return cls(search, pair, variable, np.where(ground.is_seen[variable], 0.0, gap))

    def __getitem__(self, which: Indices) -> _Line:
        return _Line(self.search, self.pair[which], self.variable[which], self.shift[which])

    def at(self, part: Floats) -> Floats:
        """Raw numbers after a part (k,) of the way."""
        ground, pairs = self.search.ground, self.search.pairs
        starts, ends = np.asarray(ground.task.X)[pairs.rows[self.pair]], pairs.places[self.pair]
        places = np.where(part[:, None] == 1.0, ends, starts + part[:, None] * (ends - starts))
        read = ground.numbers_at(places, pairs.rows[self.pair])[np.arange(len(places)), self.variable]
        return np.asarray(read + self.shift)

    @cached_property
    def start(self) -> Floats:
        """Raw numbers (k,) of the rows."""
        return self.at(np.zeros(self.pair.size))

    @cached_property
    def end(self) -> Floats:
        """Raw numbers (k,) of the targets."""
        return self.at(np.ones(self.pair.size))

    def part_of(self, wanted: Floats) -> Floats:
        """Part (k,) of the way at which a number has the wanted value; NaN if it is out of reach."""
        way = self.end - self.start
        with np.errstate(invalid="ignore", divide="ignore"):
            part = (wanted - self.start) / way
        is_near = (part >= 0.0) & (part <= _BEYOND)
        part = np.where(is_near, part, 0.0)
        curved = np.flatnonzero(is_near & (np.abs(self.at(part) - wanted) > _ROUNDING * np.abs(way)))
        if curved.size:
            part[curved] = self[curved]._bisected(wanted[curved], np.sign(way[curved]))
        return np.where(is_near, part, np.nan)

    def _bisected(self, wanted: Floats, sign: Floats) -> Floats:
        """Parts of the way, by bisection, for numbers that do not change evenly along it."""
        low, high = np.zeros(self.pair.size), np.full(self.pair.size, _BEYOND)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            is_past = sign * (self.at(middle) - wanted) >= 0.0
            low, high = np.where(is_past, low, middle), np.where(is_past, middle, high)
        return high


def _rounded(search: Search, line: _Line) -> tuple[dict[tuple[int, int], float], Floats]:
    """The numbers to report, by pair and variable, and the fractions (q, V) of the ways they stand for."""
    fractions = fractions_of(search.pairs, search.chosen, search.t)
    values = line.at(search.t[line.pair])
    is_whole = _are_whole(search)
    is_open = np.ones(len(search.pairs), dtype=bool)
    for digits, further in _TRIALS:
        which = np.flatnonzero(is_open[line.pair])
        if which.size == 0:
            break
        some = line[which]
        goals = zip(values[which], some.end, is_whole[some.variable], strict=True)
        wanted = np.array([_round_towards(*of, digits, further) for of in goals])
        trial = fractions.copy()
        trial[some.pair, some.variable] = some.part_of(wanted)
        holds = _holding(search, trial, is_open)
        fractions[holds] = trial[holds]
        values[which] = np.where(holds[some.pair], wanted, values[which])
        is_open &= ~holds
    _go_all_the_way(search, line, is_open, values, fractions)
    told = zip(line.pair.tolist(), line.variable.tolist(), values.tolist(), strict=True)
    return {(q, v): value for q, v, value in told}, fractions


def _go_all_the_way(search: Search, line: _Line, is_open: Bools, values: Floats, fractions: Floats) -> None:
    """Where no short number works, report the values of the target, if it is a row.

    Rounding one number may break what it has to do with another one; in a row all goes together.
    """
    which = np.flatnonzero((is_open & search.pairs.is_center)[line.pair])
    some, trial = line[which], fractions.copy()
    trial[some.pair, some.variable] = 1.0
    holds = _holding(search, trial, is_open & search.pairs.is_center)
    fractions[holds] = trial[holds]
    ends = [float(f"{end:.12g}") for end in some.end.tolist()]  # as they were before scaling
    values[which] = np.where(holds[some.pair], ends, values[which])


def _holding(search: Search, fractions: Floats, is_asked: Bools) -> Bools:
    """(q,) which of the given pairs stay at or below the threshold."""
    holds = is_asked & np.isfinite(fractions).all(axis=1)
    which = np.flatnonzero(holds)
    if which.size:
        o = search.ground.outlierness(search.pairs[which], fractions[which])
        holds[which] = o <= search.threshold
    return holds


def _round_towards(value: float, goal: float, is_whole: bool, digits: int, further: int = 0) -> float:
    """The next short number between a value and a goal; the nearest one if it is the goal.

    ``further``: this many units nearer to the goal, but not beyond it.
    """
    if not math.isfinite(value) or value == 0.0:
        return value
    size = math.floor(math.log10(abs(value)))
    # As numbers are written: whole numbers of up to nine digits keep all of them.
    decimals = digits - 1 - size if not -5 <= size < 9 else max(0, digits - 1 - size)
    decimals = 0 if is_whole else decimals
    if not -300 < decimals < 300:
        return value
    unit = 10.0**-decimals
    steps, towards = value / unit, math.copysign(1.0, goal - value)
    near = round(steps)
    if value == goal or abs(steps - near) <= _ROUNDING * abs(steps):
        return float(round(near * unit, decimals))
    past = (math.ceil(steps) if towards > 0 else math.floor(steps)) + towards * further
    if further and towards * (past * unit - goal) > 0.0:
        return float(goal)
    return float(round(past * unit, decimals))


def _are_whole(search: Search) -> Bools:
    """(V,) variables that are whole numbers in all rows, and in the training rows examined."""
    numbers = search.all_numbers
    if search.ground.task.network.rows is not None:
        pairs, ground = search.pairs[search.pairs.is_center], search.ground
        of_centers = ground.numbers_at(pairs.places, pairs.rows)
        of_centers[:, list(ground.variables.relative)] = np.nan  # they had other contexts
        numbers = np.vstack([numbers, of_centers])
    gaps = np.abs(numbers - np.rint(numbers))
    is_whole = np.isnan(numbers) | (gaps <= _ROUNDING * np.maximum(np.abs(numbers), 1.0))
    is_sure = np.isfinite(numbers).sum(axis=0) >= _ENOUGH
    return np.asarray(is_whole.all(axis=0) & is_sure)
