"""A table in short: the training data of a model. Summaries of parts merge into that of the whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.automatic.auto import auto, auto_of_sample
from whyodd.automatic.whole import Whole
from whyodd.maths.priority_sample import PrioritySample, part_number
from whyodd.scale.arrow import as_arrow, together
from whyodd.scale.columns import ColumnSummary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sklearn.pipeline import Pipeline

    from whyodd.automatic.whole import WholeColumn

# A committee learns from 4,000 trusted rows at most and compares them with as many others. Shares among
# 20,000 rows are off by 0.35 % of the rows at most (one standard error).
MAX_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class TableSummary:
    """Summary of a table of any length: a sample of its rows, and what is known about its columns.

    Summaries of parts ``merge`` into the summary of all of them, in any order: the sample does not depend on
    the order at all. Up to ``max_rows`` rows it is the whole table, so that ``fit`` gives the pipeline of
    :func:`whyodd.auto`, to the last bit.

    Attributes
    ----------
    n_rows : int
        Rows of all parts.
    parts : dict of tuple of int to int
        How many rows each part has.
    columns : dict of str to ColumnSummary
        What is known about each column over all rows.
    rows : pyarrow.Table
        The sample, in the order of parts and rows.
    sample : PrioritySample
        Where each of these rows comes from.

    Examples
    --------
    >>> import polars as pl
    >>> from whyodd import TableSummary
    >>> first = TableSummary.of(pl.DataFrame({"speed": [1.0, 2.0]}), part=0)
    >>> second = TableSummary.of(pl.DataFrame({"speed": [6.0, None]}), part=1)
    >>> both = first.merge(second)
    >>> both.n_rows, both.columns["speed"].largest, both.columns["speed"].missing
    (4, 6.0, 1)
    """

    n_rows: int
    parts: dict[tuple[int, ...], int]
    columns: dict[str, ColumnSummary]
    rows: Any
    sample: PrioritySample

    @classmethod
    def of(
        cls,
        frame: Any,
        *,
        part: int | Sequence[int] = 0,
        first_row: int = 0,
        seed: int = 0,
        max_rows: int = MAX_ROWS,
        forget: float | None = None,
    ) -> TableSummary:
        """Summary of a part of a table.

        Parameters
        ----------
        frame : Arrow batch or table, pandas or Polars frame
            It may have no rows.
        part : int or sequence of int, default 0
            Number of the part, different for each part: rows are kept in the order of the parts.
        first_row : int, default 0
            Number of the first row within the part. A part may come in pieces: the result is the same.
        seed : int, default 0
            The same for all parts. The same number gives the same sample.
        max_rows : int, default 20,000
            Largest number of rows to keep. The same for all parts.
        forget : float, optional
            Half-life in rows, for streams: a row this many rows ago counts half. The same for all
            parts.

        Returns
        -------
        TableSummary
        """
        _check_options(first_row, seed, max_rows, forget)
        table = as_arrow(frame)
        sample, kept = PrioritySample.draw(
            table.num_rows, max_rows, seed=seed, part=part, first_row=first_row, half_life=forget
        )
        columns = {name: ColumnSummary.of(table[name].combine_chunks()) for name in table.column_names}
        parts = dict.fromkeys([part_number(part)] if table.num_rows else [], first_row + table.num_rows)
        return cls(table.num_rows, parts, columns, table.take(kept), sample)

    def merge(self, other: TableSummary) -> TableSummary:
        """Summary of the rows of both; parts without rows change nothing."""
        if self.n_rows == 0 or other.n_rows == 0:
            return other if self.n_rows == 0 else self
        if list(other.parts) < list(self.parts):  # columns are in the order of the first part
            self, other = other, self
        import pyarrow as pa

        rows = together(self.rows, other.rows, (self._parts_told, other._parts_told))
        sample, kept = self.sample.merge(other.sample)
        columns = {name: column.merge(other.columns[name]) for name, column in self.columns.items()}
        both = pa.concat_tables(rows).unify_dictionaries().take(kept)
        parts = {
            part: max(self.parts.get(part, 0), other.parts.get(part, 0))
            for part in sorted({*self.parts, *other.parts})
        }
        return TableSummary(self.n_rows + other.n_rows, parts, columns, both.combine_chunks(), sample)

    def fit(
        self,
        *,
        trusted: bool = False,
        types: Mapping[str, str] | None = None,
        random_state: int = 0,
        progress: bool = False,
    ) -> Pipeline:
        """Pipeline trained on the table; parameters are those of :func:`whyodd.auto`."""
        options: dict[str, Any] = {
            "trusted": trusted,
            "types": types,
            "random_state": random_state,
            "progress": progress,
        }
        if len(self.rows) == self.n_rows:
            return auto(self.rows, **options)
        return auto_of_sample(self.rows, self._whole(), **options)

    def to_bytes(self) -> bytes:
        """The summary as bytes, to be sent or stored: Arrow, JSON and sketches, no pickle."""
        from whyodd.scale.summary_bytes import write

        return write(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> TableSummary:
        """The summary from the result of :meth:`to_bytes`; damaged bytes are refused."""
        from whyodd.scale.summary_bytes import read

        return cls(*read(data))

    def _whole(self) -> Whole:
        """What is known about all rows, for steps that are fitted to some of them."""
        starts, n_rows = {}, 0
        for part, size in sorted(self.parts.items()):
            starts[part], n_rows = n_rows, n_rows + size
        offsets = np.array([starts[part] for part in self.sample.parts])
        columns: dict[str | int, WholeColumn] = {}
        if math.isinf(self.sample.half_life):  # otherwise the sample knows what is forgotten
            kinds = {field.name: field.type for field in self.rows.schema}
            told = {name: column for name, column in self.columns.items() if column.is_plain}
            columns = {name: column.whole(name, kinds[name]) for name, column in told.items()}
        return Whole(offsets[self.sample.part] + self.sample.row, n_rows, columns)

    @property
    def _parts_told(self) -> str:
        names = [str(part[0] if len(part) == 1 else part) for part in self.parts]
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        return f"part {shown}" if len(names) == 1 else f"parts {shown}"


def _check_options(first_row: Any, seed: Any, max_rows: Any, forget: float | None) -> None:
    for name, value, least in (("first_row", first_row, 0), ("seed", seed, 0), ("max_rows", max_rows, 2)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}={value!r}: expected a whole number, at least {least}.")
    if forget is not None and not (isinstance(forget, Real) and 0.0 < forget < math.inf):
        raise ValueError(f"forget={forget!r}: expected a half-life in rows, above 0, or None.")
