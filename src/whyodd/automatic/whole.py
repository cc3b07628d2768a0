"""A table of which only some rows are in memory: what is known about all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.automatic.reading import plain_values, read_columns, read_values
from whyodd.inputs.frames import as_frame, count_rows, take_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whyodd.automatic.reading import RawColumn

    Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class WholeColumn:
    """A column over all rows.

    Attributes
    ----------
    n_rows : int
        Of the whole table.
    n_gaps : int
        How many of these have no value.
    seen : data frame or array of shape (k, 1)
        All different values, a gap among them if there is any. If they are too many: the smallest and the
        largest value, and perhaps a gap.
    counts : ndarray of int, shape (k,), or None
        How many rows have each of them; None if values are too many to be counted.
    """

    n_rows: int
    n_gaps: int
    seen: Any
    counts: NDArray[np.int64] | None

    @cached_property
    def column(self) -> RawColumn:
        """The values that were seen."""
        return read_columns(self.seen)[0]

    def counted(self, *, as_text: bool) -> Counter[Any] | None:
        """How many rows have each value, as the categories of a model; None if there are too many."""
        if self.counts is None:
            return None
        counts: Counter[Any] = Counter()
        for value, count in zip(plain_values(self.column, as_text), self.counts.tolist(), strict=True):
            counts[value] += count
        return counts

    def completed(self, column: RawColumn) -> RawColumn:
        """A column of some rows, with all values of the whole table that these rows lack.

        The smallest value comes first, so that values that go up with the rows still do.
        """
        known = set(plain_values(column, as_text=False).tolist())
        is_new = np.array([v not in known for v in plain_values(self.column, as_text=False).tolist()], bool)
        new = self.column.values[is_new]
        n_first = int(is_new[:1].sum())
        values = np.concatenate([new[:n_first], column.values, new[n_first:]])
        return replace(
            read_values(values),
            is_category=column.is_category,
            is_ordered=column.is_ordered,
            n_whole=self.n_rows - self.n_gaps,
            has_all=self.counts is not None,
        )


@dataclass(frozen=True, eq=False)
class Whole:
    """A table of which some rows are in memory.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
        The places in it of the rows that are at hand, ascending.
    n_rows : int
        How many it has.
    columns : dict of str or int to WholeColumn
        What is known of columns, by what a ``ColumnTransformer`` calls them.
    """

    rows: Indices
    n_rows: int
    columns: Mapping[str | int, WholeColumn]

    def seen_in(self, data: Any) -> Any:
        """Rows like those of ``data``, in which each column has all values seen in the whole table."""
        sizes = {key: count_rows(column.seen) for key, column in self.columns.items()}
        rows = np.arange(max([1, *sizes.values()]))
        some = take_rows(data, rows % count_rows(data))
        frame = as_frame(some)
        if frame is None or not self.columns:
            return some
        seen = [as_frame(take_rows(self.columns[key].seen, rows % size)) for key, size in sizes.items()]
        return frame.with_columns(one[:, 0] for one in seen if one is not None).to_native()

    def read_by(self, written: Any) -> Whole:
        """The same after texts are read as the values they stand for."""
        columns = dict(self.columns)
        for key in [column.key for column in written.columns if column.key in columns]:
            column = columns.pop(key)
            if column.counts is None:  # the first and the last in the alphabet say nothing about values
                continue
            read = replace(column, seen=written.transform(column.seen))
            columns[key] = replace(read, n_gaps=int(column.counts[read.column.gaps].sum()))
        return replace(self, columns=columns)
