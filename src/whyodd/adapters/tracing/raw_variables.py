"""The variables that relevance is given for: raw columns, and the terms of columns that hold text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.intp]


class Closed(NamedTuple):
    """A column whose encoder accepts only values seen in training, and the setting that would change this."""

    variable: int
    values: tuple[object, ...]
    remedy: str


class RawVariables:
    """Raw columns and terms, and what tracing learns about them; filled while the steps are followed.

    A variable is known by a number: raw column c by c, terms by the numbers after the columns.

    Parameters
    ----------
    columns : sequence of str
        Names of the raw columns.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.constant: dict[int, object] = {}
        self.closed: list[Closed] = []
        self.read: set[int] = set()
        self.parts: dict[int, tuple[str, ...]] = {}
        self.relative: set[int] = set()
        self._terms: dict[tuple[int, str], int] = {}

    def is_term(self, variables: Ints) -> NDArray[np.bool_]:
        """Which of the variables are terms."""
        return np.asarray(variables) >= len(self.columns)

    def terms_of(self, column: int, terms: Iterable[str]) -> Ints:
        """Numbers of the variables for the terms of a column; a term that is there keeps its number."""
        first = len(self.columns)
        numbers = [self._terms.setdefault((column, term), first + len(self._terms)) for term in terms]
        return np.array(numbers, dtype=np.intp)

    def note_constant(self, variable: int, value: object) -> None:
        """Note that a variable never varied. An unknown value (NaN) does not replace a known one."""
        if variable not in self.constant or not _is_nan(value):
            self.constant[variable] = value

    def arranged(self, in_use: Iterable[int]) -> tuple[tuple[str, ...], Ints, Ints]:
        """Names in the order of the raw columns, terms in the place of the column they were found in.

        Parameters
        ----------
        in_use : iterable of int
            Variables that relevance reaches. Other columns stay, other terms do not; a column of text that is
            used beside its terms stays as well.

        Returns
        -------
        names : tuple of str
        column : ndarray of shape (d_raw,)
            The raw column of each name.
        number : ndarray of shape (d_raw,)
            The number by which each variable was known so far.
        """
        used, names, column, number = set(in_use), [], [], []
        terms: dict[int, list[tuple[str, int]]] = {}
        for (source, term), variable in self._terms.items():
            if variable in used:
                terms.setdefault(source, []).append((term, variable))
        for source, name in enumerate(self.columns):
            found = [] if source in terms and source not in used else [(name, source)]
            found += [(self._term_name(name, term), variable) for term, variable in terms.get(source, [])]
            names += [each for each, _ in found]
            number += [variable for _, variable in found]
            column += [source] * len(found)
        return tuple(names), np.array(column, dtype=np.intp), np.array(number, dtype=np.intp)

    def _term_name(self, column: str, term: str) -> str:
        # Beside other columns, a term could be mistaken for one of them.
        return term if len(self.columns) == 1 else f"{column}: {term}"


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value
