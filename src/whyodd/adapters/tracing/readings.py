"""Values read back from the model's space, on their way through the steps to the raw columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]
    Bools = NDArray[np.bool_]


class Category(NamedTuple):
    """Values of a categorical variable: ``values[codes]``, -1 where it is not known."""

    codes: Ints
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Readings:
    """Values of m rows in the d columns at some point of a pipeline.

    Attributes
    ----------
    numbers : ndarray or CSR array of shape (m, d)
        NaN where a single value is not known.
    known : ndarray of bool of shape (d,)
        Columns whose ``numbers`` mean anything.
    categories : dict of int to Category
        Columns that hold categories instead.
    terms : tuple of (variables, Readings)
        Values of terms, by the numbers of their variables: no step before a vectorizer changes them.
    """

    numbers: Any
    known: Bools
    categories: dict[int, Category] = field(default_factory=dict)
    terms: tuple[tuple[Ints, Readings], ...] = ()

    @classmethod
    def of_numbers(cls, numbers: Any) -> Readings:
        """Numbers, all of them known."""
        return cls(numbers, np.ones(numbers.shape[1], dtype=bool))

    @classmethod
    def unknown(cls, n_rows: int, n_columns: int, **parts: Any) -> Readings:
        """No numbers; ``parts`` may say something else."""
        # Without entries, whatever the width: it may be that of a vocabulary.
        return cls(sparse.csr_array((n_rows, n_columns)), np.zeros(n_columns, dtype=bool), **parts)

    @property
    def n_rows(self) -> int:
        """How many rows, m."""
        return int(self.numbers.shape[0])

    def take(self, columns: ArrayLike) -> Readings:
        """Some of the columns."""
        chosen = np.asarray(columns, dtype=np.intp)
        place = {int(column): new for new, column in enumerate(chosen)}
        return replace(
            self,
            numbers=self.numbers[:, chosen],
            known=self.known[chosen],
            categories=_rekeyed(self.categories, place),
        )

    def placed(self, columns: Ints, width: int) -> Readings:
        """The columns in their places in a wider table, of which nothing else is known."""
        known = np.zeros(width, dtype=bool)
        known[columns] = self.known
        place = dict(enumerate(columns.tolist()))
        return replace(
            self,
            numbers=_spread(self.numbers, columns, width),
            known=known,
            categories=_rekeyed(self.categories, place),
        )

    def as_numbers(self) -> Readings:
        """Categories read as numbers, for steps that work on numbers."""
        if not self.categories:
            return self
        numbers, known = dense(self.numbers).copy(), self.known.copy()
        for column, category in self.categories.items():
            values = _numbers_of(category)
            known[column] = values is not None
            numbers[:, column] = 0.0 if values is None else values
        return replace(self, numbers=numbers, known=known, categories={})

    def mapped(self, undo: Callable[[Any], Any]) -> Readings:
        """Numbers changed by a function of (m, d) that keeps columns what they are."""
        as_numbers = self.as_numbers()
        return replace(as_numbers, numbers=undo(as_numbers.numbers))

    def undone(self, undo: Callable[[Readings], Readings]) -> Readings:
        """Readings of the columns before a step, by the function that undoes it; terms stay what they are."""
        return replace(undo(self), terms=self.terms)

    def value(self, column: int) -> object:
        """What is known about the first row: a category, a number, or NaN."""
        if column in self.categories:
            codes, values = self.categories[column]
            return values[codes[0]] if codes[0] >= 0 else np.nan
        return float(self.numbers[0, column]) if self.known[column] else np.nan


def undo_unknown(n_columns: int) -> Callable[[Readings], Readings]:
    """The way back if there is none: nothing is known about the columns."""
    return lambda readings: Readings.unknown(readings.n_rows, n_columns)


def merge(readings: Sequence[Readings]) -> Readings:
    """Several readings of the same rows and columns as one: each column from the first that knows it."""
    merged = readings[0]
    for other in readings[1:]:
        merged = _merge_two(merged, other)
    return merged


def _merge_two(first: Readings, second: Readings) -> Readings:
    has_category = np.zeros(first.known.size, dtype=bool)
    has_category[list(first.categories)] = True
    added = second.known & ~first.known & ~has_category
    categories = {
        column: category for column, category in second.categories.items() if not first.known[column]
    }
    return Readings(
        numbers=_overlaid(first.numbers, second.numbers, added) if added.any() else first.numbers,
        known=first.known | added,
        categories={**categories, **first.categories},
        terms=first.terms + second.terms,
    )


def _overlaid(first: Any, second: Any, columns: Bools) -> Any:
    """``first`` with ``columns`` of ``second``; sparse if one of them is."""
    if not (sparse.issparse(first) or sparse.issparse(second)):
        return np.where(columns, second, first)
    kept, taken = np.flatnonzero(~columns), np.flatnonzero(columns)
    parts = (sparse.csr_array(first)[:, kept], kept), (sparse.csr_array(second)[:, taken], taken)
    return sum(_spread(part, places, columns.size) for part, places in parts)


def dense(numbers: Any) -> Floats:
    """The numbers as an ndarray."""
    values = numbers.toarray() if sparse.issparse(numbers) else numbers
    return np.asarray(values, dtype=np.float64)


def scale_columns(numbers: Any, factors: Floats) -> Any:
    """Columns times their factors; what is sparse stays so."""
    if sparse.issparse(numbers):
        return sparse.csr_array(numbers @ sparse.diags_array(factors))
    return numbers * factors


def _spread(numbers: Any, columns: Ints, width: int) -> Any:
    if sparse.issparse(numbers):
        ones = np.ones(columns.size)
        places = sparse.csr_array((ones, (np.arange(columns.size), columns)), shape=(columns.size, width))
        return sparse.csr_array(numbers @ places)
    wide = np.zeros((numbers.shape[0], width))
    wide[:, columns] = numbers
    return wide


def _rekeyed(entries: dict[int, Any], place: dict[int, int]) -> dict[int, Any]:
    return {place[column]: entry for column, entry in entries.items() if column in place}


def _numbers_of(category: Category) -> Floats | None:
    try:
        values = np.array([np.nan if value is None else float(value) for value in category.values])
    except (TypeError, ValueError):
        return None
    return np.append(values, np.nan)[category.codes]  # code -1 is the last: not known
