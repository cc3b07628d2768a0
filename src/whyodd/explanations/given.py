"""Comparison in a context: rows with a similar context, in raw units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.variables import as_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

CONTEXT = "context"  # the word for a variable that is only used to compare rows
_PER_ROW = ("n_alike", "is_few", "location", "spread", "share", "common")


@dataclass(frozen=True, eq=False)
class Given:
    """The context of n rows, and what is usual of d variables in it.

    A model of rows in context sees a number y as (y - location) / spread: what it compares with has to be
    read back for the context of each row.

    Attributes
    ----------
    contexts : tuple of int
        The variables that are context, and never blamed.
    words : tuple of str
        The context in words: "a Sunday at 03:00 and machine 'B7'".
    n_alike : ndarray of int of shape (n,)
        How many known rows are alike.
    is_few : ndarray of bool of shape (n,)
        Whether these are so few that others count too.
    location, spread : ndarray of shape (n, d)
        Of numbers in this context; NaN of all else.
    extent : ndarray of shape (2, d)
        The smallest and the largest number in training.
    share : ndarray of shape (n, d)
        The share that a category has in this context; NaN of all else.
    common : ndarray of int of shape (n, d)
        The most common one, as a place in ``labels``; -1 of all else.
    labels : dict of int to tuple
        The categories of variables.
    """

    contexts: tuple[int, ...]
    words: tuple[str, ...]
    n_alike: Indices
    is_few: NDArray[np.bool_]
    location: Floats
    spread: Floats
    extent: Floats
    share: Floats
    common: Indices
    labels: Mapping[int, tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: Indices) -> Given:
        """Some of the rows."""
        parts = {name: getattr(self, name)[rows] for name in _PER_ROW}
        return replace(self, words=tuple(self.words[i] for i in rows), **parts)

    @property
    def _is_number(self) -> NDArray[np.bool_]:
        """(d,) which variables are numbers that are compared in context."""
        return np.asarray(np.isfinite(self.extent[0]))

    def is_relative(self, variable: int) -> bool:
        """Whether a variable is a number that is compared in context."""
        return bool(self._is_number[variable])

    def relative(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values (n, d), with numbers as the model sees them."""
        numbers = self._is_number
        if not numbers.any():
            return values
        seen = (as_numbers(values[:, numbers]) - self.location[:, numbers]) / self.spread[:, numbers]
        out = values.copy() if values.dtype == object else values.astype(np.float64)
        out[:, numbers] = seen
        return out

    def raw(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values (n, d) whose numbers are given as the model sees them, in raw units for these contexts."""
        numbers = self._is_number
        if not numbers.any():
            return values
        out = values.copy() if values.dtype == object else values.astype(np.float64)
        read = as_numbers(values[:, numbers])
        out[:, numbers] = self.location[:, numbers] + self.spread[:, numbers] * read
        return out

    def expected(self, values: NDArray[Any]) -> NDArray[Any]:
        """Expected numbers (n, d) in raw units, and of categories the most common ones.

        No number leaves the range of training: no count is below 0 if none ever was.
        """
        out, numbers = self.raw(values), self._is_number
        out[:, numbers] = np.clip(as_numbers(out[:, numbers]), *self.extent[:, numbers])
        for variable, labels in self.labels.items():
            out[:, variable] = [labels[code] for code in self.common[:, variable].tolist()]
        return out

    def relative_value(self, variable: int, value: float) -> float:
        """A number of the first row as the model sees it."""
        return float((value - self.location[0, variable]) / self.spread[0, variable])

    def raw_range(self, variable: int, low: float, high: float) -> tuple[float, float]:
        """A range of one variable in raw units, for the first row."""
        if not self.is_relative(variable):
            return low, high
        low, high = self.raw_values(variable, np.array([low, high])).tolist()
        return low, high

    def raw_values(self, variable: int, values: Floats) -> Floats:
        """Numbers (m,) of one variable in raw units, within the range of training, for the first row."""
        read = self.location[0, variable] + self.spread[0, variable] * values
        return np.asarray(np.clip(read, *self.extent[:, variable]))

    @property
    def phrase(self) -> str:
        """The context of the first row, in the form that sentences use."""
        return f" for {self.words[0]}"

    @property
    def sentence(self) -> str:
        """The rows that the first row is compared with, in words."""
        n = int(self.n_alike[0])
        rows = f"{n} row{'' if n == 1 else 's'} alike"
        more = ", and others since these are few" if self.is_few[0] else ""
        return f"Compared with {rows} in context{more}: {self.words[0]}."

    @property
    def few(self) -> str:
        """Words after the first row's range on whether other rows count too; "" if enough are alike."""
        n = int(self.n_alike[0])
        if not self.is_few[0]:
            return ""
        rows = "no such row is known" if n == 0 else f"only {n} such row{'s are' if n > 1 else ' is'} known"
        return f"; {rows}, so others count too"


def joined(parts: Sequence[Given]) -> Given:
    """Rows of several blocks as one."""
    together: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _PER_ROW
    }
    return replace(parts[0], words=tuple(word for part in parts for word in part.words), **together)
