"""Rows that may be changed, variable by variable, and how each variable of them can move."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from whyodd.compute.points import to_dense
from whyodd.explainers.method import Task
from whyodd.explainers.support.differences import squared_parts
from whyodd.explanations.sentences import is_number
from whyodd.explanations.variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explanations.given import Given
    from whyodd.explanations.table import Explanation

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Indices = NDArray[np.intp]

# Differences below this share of a change are rounding, from scaling or from a product.
_ROUNDING = 1e-6
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Pairs:
    """q pairs of a row and a normal place towards which it moves.

    Attributes
    ----------
    rows : ndarray of int of shape (q,)
    targets : ndarray of int of shape (q,)
        The center that the place is, or belongs to.
    places : ndarray of shape (q, k)
        The place as the network knows it.
    goals : ndarray of shape (q, columns)
        The same in columns of which each belongs to one variable; that of the row where it cannot move.
    scalable : ndarray of bool of shape (q, variables)
        Numbers of which any part of the way makes sense; all other variables go the whole way.
    is_center : ndarray of bool of shape (q,)
        Whether the place is the center itself.
    """

    rows: Indices
    targets: Indices
    places: Floats
    goals: Floats
    scalable: Bools
    is_center: Bools

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Any) -> Pairs:
        return Pairs(*(getattr(self, field.name)[which] for field in fields(self)))

    def __add__(self, other: Pairs) -> Pairs:
        both = ([getattr(self, field.name), getattr(other, field.name)] for field in fields(self))
        return Pairs(*map(np.concatenate, both))


class _Freedom(NamedTuple):
    """How variables (q, V) can move: at all, partly, or only in their first column."""

    movable: Bools
    scalable: Bools
    lead_only: Bools


@dataclass(frozen=True, eq=False)
class Ground:
    """Explained rows, in columns of which each belongs to one variable.

    Attributes
    ----------
    task : Task
        The rows as they reach the network.
    lifted : Task
        The same before a linear map that mixes columns, if there is one.
    variables : Variables
        The V variables that people know.
    raw : ndarray of shape (n, V)
        Their values as they were given.
    given : Given, optional
        The context in which the rows are compared.
    """

    task: Task
    lifted: Task
    variables: Variables
    raw: NDArray[Any]
    given: Given | None = None

    @classmethod
    def of(cls, e: Explanation) -> Ground:
        """Rows of an explanation."""
        variables = e.variables or Variables(e.feature_names)
        points = np.asarray(to_dense(e.inputs), dtype=np.float64)
        own = None if (e.excluded < 0).all() else e.excluded
        task = Task(e.network, points, own=own, through=variables.through)
        return cls(task, task.in_variables(), variables, _ungrouped(to_dense(e.data), variables), e.given)

    @property
    def n_variables(self) -> int:
        """V."""
        return len(self.variables.names)

    @cached_property
    def owner(self) -> Indices:
        """(columns,) the variable of each column; -1 for a column that no variable produces."""
        origin = self.variables.origin
        owner = np.arange(self.n_variables) if origin is None else origin
        return np.concatenate([owner, np.full(self.lifted.network.n_features - owner.size, -1)])

    @cached_property
    def entry(self) -> Indices:
        """(V,) the entry of the explanation that each variable belongs to: its own, or a group."""
        entry = np.arange(self.n_variables)
        for place, members in enumerate(self.variables.groups or ()):
            entry[list(members)] = place
        return entry

    @cached_property
    def n_columns(self) -> Indices:
        """(V,) number of columns of each variable."""
        return np.bincount(self.owner[self.owner >= 0], minlength=self.n_variables)

    @cached_property
    def raw_numbers(self) -> Floats:
        """(n, V) the values that are numbers, NaN for all others."""
        if self.raw.dtype.kind in "iuf":
            return self.raw.astype(np.float64)
        is_known = np.frompyfunc(is_number, 1, 1)(self.raw).astype(bool)
        return np.where(is_known, self.raw, np.nan).astype(np.float64)

    @cached_property
    def read_numbers(self) -> Floats:
        """(n, V) the numbers, read back from the rows as they reached the network."""
        return self.numbers_at(np.asarray(self.task.X), np.arange(len(self.raw)))

    def numbers_at(self, places: Floats, rows: Indices) -> Floats:
        """(q, V) numbers of places (q, k) of the network in raw units; NaN if not a number, or unknown.

        ``rows`` (q,) are those that go there: their contexts say what numbers that are compared in one mean.
        """
        if self.variables.decode is None:
            return places
        numbers = np.full((len(places), self.n_variables), np.nan)
        if len(places):  # steps of scikit-learn undo no empty arrays
            for variable, values in self.variables.decode(places).numbers.items():
                numbers[:, variable] = values
        return numbers if self.given is None else self.given[rows].raw(numbers)

    @cached_property
    def is_seen(self) -> Bools:
        """(V,) variables that no linear map before the network mixes: a value has exactly one place."""
        seen = np.ones(self.n_variables, dtype=bool)
        through = self.variables.through
        if through is not None:
            # The diagonal of the projection B⁺B is 1 for a column that is independent of all others.
            kept = sparse.csr_array(through.shortest).multiply(through.matrix).sum(axis=0)
            seen[self.owner[np.flatnonzero(np.ravel(kept) < 1.0 - _ROUNDING)]] = False
        return seen

    @cached_property
    def lead(self) -> Indices:
        """(V,) the first column of each variable: of a number with marks for gaps, the number; 0 if none."""
        lead = np.zeros(self.n_variables, dtype=np.intp)
        columns = np.flatnonzero(self.owner >= 0)[::-1]
        lead[self.owner[columns]] = columns
        return lead

    def pairs(self, rows: Indices, targets: Indices, places: Floats | None = None) -> Pairs:
        """Pairs of rows (q,) and centers (q,), or places near them (q, k)."""
        is_center = np.full(len(rows), places is None)
        if places is None:
            places = np.asarray(to_dense(self.task.network.centers[targets]), dtype=np.float64)
        points, goals = self.points(rows), np.asarray(self.lifted.lifted(places), dtype=np.float64)
        freedom = self._freedom(rows, places, goals)
        stays = ~self._by_column(freedom.movable) | (self.owner < 0)
        is_lead = np.isin(np.arange(self.owner.size), self.lead)
        stays |= self._by_column(freedom.lead_only) & ~is_lead
        return Pairs(rows, targets, places, np.where(stays, points, goals), freedom.scalable, is_center)

    def points(self, rows: Indices) -> Floats:
        """(q, columns) rows in columns of single variables."""
        return np.asarray(self.lifted.X)[rows]

    def _freedom(self, rows: Indices, places: Floats, goals: Floats) -> _Freedom:
        if self.variables.decode is None:
            free = np.ones((len(rows), self.n_variables), dtype=bool)
            return _Freedom(free, free, ~free)
        raw, here, there = self.raw_numbers[rows], self.read_numbers[rows], self.numbers_at(places, rows)
        # Bins and values cut off at a limit are not read back as the row has them.
        is_read_back = np.abs(here - raw) <= _ROUNDING * np.abs(there - raw)
        single = (self._count_moved(rows, goals) == 1) & self.is_seen & is_read_back
        if self.variables.through is not None:
            # Behind a projection only differences of numbers are known, and only if they are linear.
            middle = self.numbers_at((np.asarray(self.task.X)[rows] + places) / 2.0, rows)
            is_straight = np.abs(middle - (here + there) / 2.0) <= _ROUNDING * np.abs(there - here)
            single |= ~self.is_seen & (self.n_columns == 1) & is_straight & np.isfinite(raw)
            return _Freedom(single | (self.is_seen & self._are_rows), single, np.zeros_like(single))
        lead_only = is_read_back & self._moves_by_lead(rows, goals, here, there)
        scalable = single | lead_only
        return _Freedom(scalable | self._are_rows, scalable, lead_only)

    @property
    def _are_rows(self) -> bool:
        """Whether centers are rows, with whole categories; those of a mixture have a little of each."""
        return self.task.network.rows is not None

    def _moves_by_lead(self, rows: Indices, goals: Floats, here: Floats, there: Floats) -> Bools:
        """(q, V) numbers whose mark for gaps is not set: the number can move, and the mark stays."""
        points = self.points(rows)
        others = self.by_variable(np.abs(points)) - np.abs(points[:, self.lead])
        candidates = (self.n_columns > 1) & (others == 0.0)
        if not candidates.any():
            return np.asarray(candidates)
        halfway, whole = points.copy(), points.copy()
        whole[:, self.lead] = goals[:, self.lead]
        halfway[:, self.lead] = (points[:, self.lead] + goals[:, self.lead]) / 2.0
        end, middle = self.numbers_at(whole, rows), self.numbers_at(halfway, rows)
        arrives = np.abs(end - there) <= _ROUNDING * np.abs(there - here)
        # Between bins there is nothing.
        is_between = (np.abs(middle - here) < np.abs(there - here)) & (middle != here)
        return np.asarray(candidates & arrives & is_between)

    def _count_moved(self, rows: Indices, goals: Floats) -> Floats:
        """(q, V) number of columns in which each variable moves."""
        points = self.points(rows)
        moves = np.abs(goals - points) > _SAME * (np.abs(goals) + np.abs(points))
        return self.by_variable(moves.astype(np.float64))

    def moving(self, pairs: Pairs) -> Bools:
        """(q, V) variables that move at all on the way to the goal."""
        moves = pairs.goals != self.points(pairs.rows)
        return np.asarray(self.by_variable(moves.astype(np.float64)) > 0.0)

    def by_variable(self, values: Floats) -> Floats:
        """Sums (q, V) over the columns (q, columns) of each variable."""
        return _sums(values, self.owner, self.n_variables)

    def by_entry(self, values: Floats) -> Floats:
        """Sums (q, entries) over the variables (q, V) of each entry."""
        return _sums(values, self.entry, int(self.entry.max()) + 1)

    def _by_column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values (q, V) of variables for each of their columns; columns of no variable get the last one's."""
        return values[:, self.owner]

    def moved(self, pairs: Pairs, fractions: Floats) -> Floats:
        """Points (q, columns) after each variable has gone a fraction (q, V) of its way."""
        points, part = self.points(pairs.rows), self._by_column(fractions)
        return np.where(part == 1.0, pairs.goals, points + part * (pairs.goals - points))

    def outlierness(self, pairs: Pairs, fractions: Floats) -> Floats:
        """Outlierness (q,) after each variable has gone a fraction (q, V) of its way."""
        return self.lifted.outlierness(self.moved(pairs, fractions), pairs.rows)

    def squared_ways(self, pairs: Pairs, fractions: Floats | None = None) -> Floats:
        """Parts (q, V) of the squared distance that such a move covers; all of the way by default."""
        points = self.points(pairs.rows)
        ends = pairs.goals if fractions is None else self.moved(pairs, fractions)
        return self.by_variable(squared_parts(self.lifted.metric, ends - points, pairs.targets))


def _sums(values: Floats, place: Indices, count: int) -> Floats:
    """Sums (q, count) of columns with the same place; -1 means no place."""
    if np.array_equal(place, np.arange(count)):
        return values
    columns = np.flatnonzero(place >= 0)
    shape = (place.size, count)
    return np.asarray(values @ sparse.csr_array((np.ones(columns.size), (columns, place[columns])), shape))


def _ungrouped(data: NDArray[Any], variables: Variables) -> NDArray[Any]:
    """Values (n, V) of single variables, taken out of an explanation's groups by name."""
    if variables.groups is None:
        return data
    out = np.empty((len(data), len(variables.names)), dtype=object)
    for place, members in enumerate(variables.groups):
        for member in members:
            name = variables.names[member]
            out[:, member] = [
                value if len(members) == 1 else value[name] for value in data[:, place].tolist()
            ]
    return out
