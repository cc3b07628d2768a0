"""Rows of a table as people give them, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import is_missing
from whyodd.inputs.frames import as_frame, count_rows
from whyodd.inputs.near_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES_TOLD, _LETTERS_TOLD = 10, 60


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and their names.

    Attributes
    ----------
    frame : data frame, array or CSR matrix of shape (n, d)
        The columns that a model sees.
    name : str
        What messages call the table.
    ids, labels : sequence of length n, optional
        What the rows are called, and what they are known to be.
    notes : tuple of str
        What was noticed when it was read.
    """

    frame: Any
    name: str = "frame"
    ids: Any = None
    labels: Any = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, frame: Any, name: str, id_column: str | None = None) -> Table:
        """Take the column that names the rows out of a frame."""
        if id_column is None:
            return cls(frame, name)
        found = as_frame(frame, what=name)
        if found is None or id_column not in found.columns:
            raise no_column(name, id_column, [] if found is None else found.columns)
        return cls(found.drop(id_column).to_native(), name, found[id_column].to_native())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return count_rows(self.frame)

    @property
    def columns(self) -> list[str]:
        """Names of the columns; none of an array."""
        frame = as_frame(self.frame)
        return [] if frame is None else frame.columns

    @property
    def kind(self) -> Any:
        """The kind of data frame, or None."""
        frame = None if self.frame is None else as_frame(self.frame)
        return None if frame is None else frame.implementation

    def called(self, row: int) -> str | None:
        """The name of a row, if it has one."""
        return called(self.ids, row)


def called(ids: Sequence[Any] | None, row: int) -> str | None:
    """The name of a row, if it has one."""
    value = None if ids is None else np.asarray(ids[row : row + 1]).tolist()[0]
    return None if is_missing(value) else str(value)


def no_column(table: str, name: str, there: Sequence[str]) -> ValueError:
    """A sentence that a table lacks a column, with the columns it has."""
    hint = did_you_mean(name, there)
    return ValueError(f"{table} has no column {shortened(name)!r}.{hint} It has: {listed(there)}.")


def listed(names: Sequence[str]) -> str:
    """Names for a sentence: not all if there are many, and shortened if they are long."""
    shown = ", ".join(repr(shortened(name)) for name in names[:_NAMES_TOLD])
    more = len(names) - _NAMES_TOLD
    return f"{shown} and {more} more" if more > 0 else shown


def shortened(name: str) -> str:
    """The beginning of a long name."""
    return name if len(name) <= _LETTERS_TOLD else f"{name[:_LETTERS_TOLD]}…"
