"""Columns at some point of a pipeline, and the variables they come from: z = B y."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.adapters.tracing.errors import Untraceable
from whyodd.adapters.tracing.readings import Readings, merge, undo_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from whyodd.adapters.tracing.raw_variables import RawVariables

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]
    ReadBack = Callable[[Readings], Readings]

_fresh_numbers = count(1)


@dataclass(frozen=True)
class Columns:
    """State of tracing: d columns z = B y (+ b), and for each y the one variable it belongs to.

    As long as steps work column by column, z = y. The inputs of the first step that mixes columns stay y
    from there on, in their scale at that point: relevance through a linear map depends on units, and a
    pipeline scales before it mixes. Blocks that read the same column each have their own y of it, so that the
    relevance of blocks side by side is the sum of their relevances.

    Attributes
    ----------
    variables : RawVariables
        Shared by all states of one trace.
    matrix : CSR array of shape (d, d_y)
        B; a row with a single 1 for each column that is not mixed.
    owner : ndarray of int of shape (d_y,)
        The variable of each y.
    ident : ndarray of int of shape (d_y,)
        Tells apart the y that were mixed, so that outputs of one map are recognised as such when they meet
        again after a ``ColumnTransformer``. 0 for those that were not mixed.
    mixed : ndarray of bool of shape (d,)
        Columns that a linear map made of several.
    shifted : ndarray of bool of shape (d,)
        Mixed columns with b other than 0.
    faithful : ndarray of bool of shape (d,)
        Columns that determine the value of the variable: if they are constant, so is it.
    read_back : callable
        Readings of these columns to readings of the raw columns.
    """

    variables: RawVariables
    matrix: sparse.csr_array
    owner: Ints
    ident: Ints
    mixed: Bools
    shifted: Bools
    faithful: Bools
    read_back: ReadBack

    @classmethod
    def own(
        cls, variables: RawVariables, owner: Ints, read_back: ReadBack, faithful: ArrayLike = True
    ) -> Columns:
        """One column for each entry of ``owner``, not mixed."""
        size = owner.size
        no = np.zeros(size, dtype=bool)
        return cls(
            variables=variables,
            matrix=sparse.eye_array(size, format="csr"),
            owner=owner,
            ident=np.zeros(size, dtype=np.intp),
            mixed=no,
            shifted=no,
            faithful=np.broadcast_to(np.asarray(faithful, dtype=bool), size),
            read_back=read_back,
        )

    @classmethod
    def raw(cls, variables: RawVariables) -> Columns:
        """The columns as people have them."""
        return cls.own(variables, np.arange(len(variables.columns)), lambda readings: readings)

    @property
    def count(self) -> int:
        """Number of columns d."""
        return int(self.matrix.shape[0])

    @property
    def owners(self) -> Ints:
        """The variable of each column that is not mixed, -1 for the others."""
        first = self.matrix.indptr[:-1]
        owners = np.full(self.count, -1, dtype=np.intp)
        single = ~self.mixed
        owners[single] = self.owner[self.matrix.indices[first[single]]]
        return owners

    def take(self, columns: ArrayLike) -> Columns:
        """Some of the columns."""
        chosen = np.asarray(columns, dtype=np.intp)
        rows = self.matrix[chosen]
        used = np.unique(rows.indices)
        return replace(
            self,
            matrix=sparse.csr_array(rows[:, used]),
            owner=self.owner[used],
            ident=self.ident[used],
            mixed=self.mixed[chosen],
            shifted=self.shifted[chosen],
            faithful=self.faithful[chosen],
            read_back=lambda readings: self.read_back(readings.placed(chosen, self.count)),
        )

    def scaled(self, factors: Floats, undo: ReadBack, *, shift: bool) -> Columns:
        """Each column times its factor, plus a constant if ``shift``."""
        # Columns that are not mixed are what they are in any unit.
        rows = sparse.diags_array(np.where(self.mixed, factors, 1.0))
        return replace(
            self,
            matrix=sparse.csr_array(rows @ self.matrix),
            shifted=self.shifted | (self.mixed & shift),
            read_back=lambda readings: self.read_back(readings.undone(undo)),
        )

    def mixed_by(self, matrix: Any, undo: ReadBack, *, shift: bool) -> Columns:
        """Columns A z (+ b) for a matrix A (d_new, d)."""
        product = sparse.csr_array(sparse.csr_array(matrix) @ self.matrix)
        new = self.ident == 0
        ident = self.ident.copy()
        ident[new] = [next(_fresh_numbers) for _ in range(int(new.sum()))]
        yes = np.ones(product.shape[0], dtype=bool)
        return replace(
            self,
            matrix=product,
            ident=ident,
            mixed=yes,
            shifted=yes & (shift or self.shifted.any()),
            faithful=~yes,
            read_back=lambda readings: self.read_back(readings.undone(undo)),
        )

    def expanded(self, source: ArrayLike, undo: ReadBack, *, faithful: ArrayLike = False) -> Columns:
        """Columns of which each is some function of one column, ``source``."""
        sources = np.asarray(source, dtype=np.intp)
        if self.mixed[sources].any():
            raise Untraceable("it is not linear, and an earlier step has already mixed its columns")
        return Columns.own(
            self.variables,
            self.owners[sources],
            lambda readings: self.read_back(readings.undone(undo)),
            faithful=self.faithful[sources] & np.asarray(faithful, dtype=bool),
        )

    def one_to_one(self, undo: ReadBack, *, faithful: ArrayLike = True) -> Columns:
        """Each column changed by some function of it alone, one that can be inverted if ``faithful``."""
        return self.expanded(np.arange(self.count), undo, faithful=faithful)

    def absorbed(self, n_outputs: int) -> Columns | None:
        """The n columns that a step made from these, if all of these belong to one variable; else None."""
        owners = np.unique(self.owner)
        if owners.size != 1:
            return None
        return Columns.own(
            self.variables,
            np.repeat(owners, n_outputs),
            lambda readings: self.read_back(readings.undone(undo_unknown(self.count))),
            faithful=False,
        )

    def note_constants(self, which: ArrayLike, values: ArrayLike) -> None:
        """Note columns that were constant when a step was fitted: their variables never varied."""
        constant = np.asarray(which, dtype=bool) & self.faithful & ~self.mixed
        if not constant.any():
            return
        row = np.where(constant, np.asarray(values, dtype=np.float64), 0.0)[np.newaxis]
        self._note(constant, Readings(row, constant))

    def note_constant_reading(self, column: int, readings: Readings) -> None:
        """Note one column that was constant when a step was fitted, with its value."""
        which = np.arange(self.count) == column
        if (self.faithful & ~self.mixed)[column]:
            self._note(which, readings)

    def note_always_missing(self, columns: ArrayLike) -> None:
        """Note columns that never had a value."""
        chosen = np.asarray(columns, dtype=np.intp)
        for variable in self.owners[chosen[self.faithful[chosen]]]:
            self.variables.note_constant(int(variable), None)

    def _note(self, which: Bools, readings: Readings) -> None:
        raw = self.read_back(readings)
        for variable in self.owners[which].tolist():
            known = not self.variables.is_term(variable)
            self.variables.note_constant(
                variable, raw.value(variable) if known else _term_value(raw, variable)
            )


def _term_value(readings: Readings, variable: int) -> object:
    for variables, values in readings.terms:
        for column in np.flatnonzero(variables == variable):
            return values.value(int(column))
    return np.nan


def concatenate(parts: Sequence[Columns]) -> Columns:
    """Columns side by side."""
    matrix, owner, ident = _side_by_side(parts)
    ends = np.cumsum([part.count for part in parts])
    places = [np.arange(end - part.count, end) for end, part in zip(ends, parts, strict=True)]

    # If several parts know a column, the first counts: exact ones come before bins and projections.
    in_order = sorted(zip(parts, places, strict=True), key=lambda each: _vagueness(each[0]))

    def read_back(readings: Readings) -> Readings:
        return merge([part.read_back(readings.take(place)) for part, place in in_order])

    return Columns(
        variables=parts[0].variables,
        matrix=matrix,
        owner=owner,
        ident=ident,
        mixed=np.concatenate([part.mixed for part in parts]),
        shifted=np.concatenate([part.shifted for part in parts]),
        faithful=np.concatenate([part.faithful for part in parts]),
        read_back=read_back,
    )


def _vagueness(part: Columns) -> int:
    return 2 if part.mixed.any() else 1 - int(part.faithful.all())


def _side_by_side(parts: Sequence[Columns]) -> tuple[sparse.csr_array, Ints, Ints]:
    """B, owner and ident of all parts, where y that were mixed by the same map are the same y."""
    owner = np.concatenate([part.owner for part in parts])
    ident = np.concatenate([part.ident for part in parts])
    alone = -1 - np.arange(ident.size)
    key = np.where(ident == 0, alone, ident)
    place = {number: position for position, number in enumerate(dict.fromkeys(key.tolist()))}
    same = np.array([place[number] for number in key.tolist()], dtype=np.intp)
    first = np.unique(same, return_index=True)[1]
    entries = np.ones(same.size), (np.arange(same.size), same)
    joined = sparse.csr_array(entries, shape=(same.size, first.size))
    matrix = sparse.csr_array(sparse.block_diag([part.matrix for part in parts], format="csr") @ joined)
    return matrix, owner[first], ident[first]
