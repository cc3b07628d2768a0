"""Rows of a table in parts: the same columns and types in every part, and a model learned from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.findings.find import matched
from whyodd.findings.table import Table, listed, no_column
from whyodd.io.parts import read_batches
from whyodd.scale.arrow import as_arrow, together
from whyodd.scale.summary import TableSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whyodd.io.parts import Part


class PartReader:
    """Reads parts so that all have the columns and types of the first.

    Parameters
    ----------
    columns, drop : tuple of str
        Columns to use, all if there are none, and columns to leave out.
    id_column : str, optional
        Column that names the rows.
    encoding : str, optional
        Of text files.

    Attributes
    ----------
    model : fitted model, optional
        Once it is set, only the columns that it was fitted on are read.
    like : pyarrow.Table, optional
        No rows, but the columns and types of the parts that were read so far.
    notes : list of str
        What people should know.
    """

    def __init__(
        self,
        columns: tuple[str, ...] = (),
        drop: tuple[str, ...] = (),
        id_column: str | None = None,
        encoding: str | None = None,
    ) -> None:
        self.columns, self.drop, self.id_column, self.encoding = columns, drop, id_column, encoding
        self.model: Any = None
        self.like: Any = None
        self.notes: list[str] = []
        self._first = ""

    def batches(self, part: Part) -> Iterator[tuple[Any, float]]:
        """Arrow tables of some rows, and the share of the part that is read; errors name the part."""
        notes: list[str] = []
        tables = read_batches(part, self._needed, as_written=self._texts, encoding=self.encoding, notes=notes)
        try:
            for table, share in tables:
                yield self._as_others(self._chosen(as_arrow(table), part.name), part.name), share
        except OSError as error:  # so that it is not mistaken for an error of writing
            raise ValueError(str(error)) from error
        self.notes += [note for note in notes if note not in self.notes]

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments for another reader that reads in the same way."""
        return {name: getattr(self, name) for name in ("columns", "drop", "id_column", "encoding")}

    def use(self, model: Any, schema: Any = None) -> None:
        """Read only the columns that a model was fitted on, with these types if they are known."""
        self.model, self.like = model, None if schema is None else as_arrow(schema.empty_table())
        self._first = "before"

    def schema_of(self, part: Part) -> Any:
        """Columns and types of a part, which all others must have; None if it has no rows."""
        for _ in self.batches(part):
            break
        return None if self.like is None else self.like.schema

    @property
    def _needed(self) -> set[str] | None:
        """Columns that must be read from a file; None for all."""
        if self.like is not None:
            return set(self.like.column_names)
        return {*self.columns, *self._ids} if self.columns else None

    @property
    def _ids(self) -> tuple[str, ...]:
        return () if self.id_column is None else (self.id_column,)

    @property
    def _texts(self) -> set[str]:
        """Text columns, in which digits are texts too."""
        import pyarrow as pa

        fields = [] if self.like is None else self.like.schema
        return {*self._ids, *(field.name for field in fields if pa.types.is_large_string(field.type))}

    def _chosen(self, table: Any, name: str) -> Any:
        """The used columns, and the one that names the rows."""
        there = table.column_names
        if self.like is not None:  # the choice made for the first part
            return table.select([column for column in self.like.column_names if column in there])
        for column in (*self.columns, *self.drop, *self._ids):
            if column not in there:
                raise no_column(name, column, there)
        kept = [c for c in self.columns or there if c not in (*self.drop, *self._ids)]
        if not kept:
            raise ValueError(f"{name} has no column left to use. Choose others to --drop.")
        chosen = table.select(kept)
        if self.model is not None:
            chosen = matched(Table(chosen, name), None, self.model, self.notes)
        return chosen.append_column(self.id_column, table[self.id_column]) if self._ids else chosen

    def _as_others(self, table: Any, name: str) -> Any:
        if self.like is None:
            if table.num_rows:  # otherwise nothing shows the types
                self.like, self._first = table.slice(0, 0), name
            return table
        if table.num_rows == 0 and set(table.column_names) == set(self.like.column_names):
            return self.like
        self.like, found = together(self.like, table, (f"part {self._first}", f"part {name}"))
        return found


def first_schema(reader: PartReader, parts: Sequence[Part]) -> Any:
    """Columns and types of the first part that is readable and has rows."""
    mistakes = []
    for part in parts:
        try:
            schema = reader.schema_of(part)
        except ValueError as error:
            mistakes.append(str(error))
            continue
        if schema is not None:
            return schema
    if not mistakes:
        raise ValueError(f"None of {len(parts):,} parts has a row, expected at least one. Add rows.")
    more = f" None of the other {len(parts) - 1:,} can be used either." if len(parts) > 1 else ""
    raise ValueError(f"{mistakes[0]}{more}")


def learn_from_parts(
    reader: PartReader,
    parts: Sequence[Part],
    *,
    types: Mapping[str, str] | None = None,
    random_state: int = 0,
    report: Callable[[Part, float], None],
) -> tuple[Any, list[str]]:
    """Pipeline of :func:`whyodd.auto` from all parts, each of which is read once and summarised.

    Parameters
    ----------
    reader : PartReader
    parts : sequence of Part
    types, random_state
        As for :func:`whyodd.auto`.
    report : callable
        Told of each batch the part and the share of it that is read.

    Returns
    -------
    pipeline : fitted pipeline
    unread : list of str
        Names of the parts that could not be read: nothing of them is learned.
    """
    whole, unread = None, []
    for number, part in enumerate(parts):
        try:
            summary = summary_of(reader, part, number, random_state, report)
        except (OSError, ValueError):
            unread.append(part.name)
            continue
        if summary is not None:
            whole = summary if whole is None else whole.merge(summary)
    n_rows = 0 if whole is None else whole.n_rows
    if whole is None or n_rows < 2:
        raise ValueError(
            f"{_told(parts)} {n_rows} row{'s' * (n_rows != 1)} that can be read, expected at least two. "
            "Add rows."
        )
    return whole.fit(types=types, random_state=random_state), unread


def summary_of(
    reader: PartReader, part: Part, number: int, seed: int, report: Callable[[Part, float], None]
) -> TableSummary | None:
    """Summary of a part; None if it has no rows."""
    whole, first = None, 0
    for table, share in reader.batches(part):
        rows = table if reader.id_column is None else table.drop_columns([reader.id_column])
        piece = TableSummary.of(rows, part=number, first_row=first, seed=seed)
        whole = piece if whole is None else whole.merge(piece)
        first += table.num_rows
        report(part, share)
    return whole


def _told(parts: Sequence[Part]) -> str:
    return f"{listed([part.name for part in parts])} together have"
