"""Tables that commands read, and what is odd in them."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from whyodd.findings.find import check_not_id, find_in
from whyodd.findings.table import Table, no_column
from whyodd.io.tables import STANDARD_INPUT, polars, read_table, shown, table_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from whyodd.findings.findings import Findings


@dataclass(frozen=True)
class ChosenColumns:
    """Which columns are used, and which are only kept."""

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id_column: str | None = None
    label: str | None = None

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that the model never sees."""
        return tuple(name for name in (self.id_column, self.label) if name is not None)

    def of(self, table: Table) -> Table:
        """The requested columns, and the id column."""
        there = table.columns
        kept = [name for name in self.columns or there if name in there]
        kept = [name for name in kept if name not in (*self.drop, *self.beside)]
        if not kept:
            raise ValueError(f"{table.name} has no column left to use. Choose others to --drop.")
        ids, labels = (_beside(table, name) for name in (self.id_column, self.label))
        return replace(table, frame=table.frame.select(kept), ids=ids, labels=labels)


@dataclass(frozen=True)
class FileOptions:
    """Reading options that people chose: see :func:`whyodd.io.tables.read_table`."""

    encoding: str | None = None
    sheet: str | None = None
    table: str | None = None


def find_in_file(
    data: Path,
    *,
    train: Path | None = None,
    model: Path | None = None,
    chosen: ChosenColumns | None = None,
    files: FileOptions | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    **options: Any,
) -> Findings:
    """Score all rows of a file, and explain those that are odd.

    Parameters
    ----------
    data : path
        Table, see :func:`whyodd.io.tables.read_table`.
    train : path, optional
        Table of normal rows to learn from; by default the same, each row judged by all others.
    model : path, optional
        Model to use instead, as written by :func:`whyodd.save`.
    chosen : ChosenColumns, optional
        Which columns are used, and which names the rows.
    files : FileOptions, optional
        How files are read.
    groups, **options
        As for :func:`whyodd.findings.find.find_in`.
    """
    chosen = chosen or ChosenColumns()
    check_not_id(options.get("given"), chosen.id_column)
    table, known = read_tables(data, train, chosen, files)
    _check_groups(groups or {}, table)
    title = table.name if data == STANDARD_INPUT else shown(data.name)
    return find_in_tables(table, known, model, groups=groups, title=title, **options)


def find_in_tables(table: Table, known: Table | None, model: Path | None, **options: Any) -> Findings:
    """The same for tables that are already read."""
    notes = [*table.notes, *(() if known is None else known.notes)]
    learned = None if model is None else load_model(model, notes)
    return find_in(table, known, model=learned, notes=notes, **options)


def read_tables(
    data: Path, train: Path | None, chosen: ChosenColumns, files: FileOptions | None = None
) -> tuple[Table, Table | None]:
    """The rows to judge, and the rows to learn from if these differ."""
    files = FileOptions() if files is None else files
    table, known = _read(data, chosen, files), None if train is None else _read(train, chosen, files)
    _check_named(chosen, table, known)
    return chosen.of(table), None if known is None else chosen.of(known)


def read_both(old: Path, new: Path, chosen: ChosenColumns, files: FileOptions) -> tuple[Table, Table]:
    """Two tables to compare; columns that are chosen must be in both."""
    before, after = _read(old, chosen, files), _read(new, chosen, files)
    _check_named(chosen, before, after)
    return chosen.of(before), chosen.of(after)


def _read(path: Path, chosen: ChosenColumns, files: FileOptions) -> Table:
    ids = () if chosen.id_column is None else (chosen.id_column,)
    notes: list[str] = []
    frame = read_table(path, ids, notes=notes, **asdict(files))
    return Table(frame, table_name(path), notes=tuple(notes))


def _beside(table: Table, name: str | None) -> Any:
    """A column that is kept but not used."""
    if name is None or name not in table.columns:
        return None
    series = table.frame[name]
    if series.dtype.is_nested() or series.dtype == polars().Binary:
        raise ValueError(
            f"Column {name!r} of {table.name} holds lists, objects or bytes, expected texts or "
            "numbers. Leave it out with --drop."
        )
    return series


def _check_named(chosen: ChosenColumns, table: Table, known: Table | None) -> None:
    there = set(table.columns)
    in_any = there if known is None else there | set(known.columns)
    for name in (*chosen.columns, *chosen.drop, *chosen.beside):
        # What is left out need not be in both.
        if name not in (in_any if name in chosen.drop else there):
            raise no_column(table.name, name, table.columns)
    for name in chosen.columns:
        if known is not None and name not in known.columns:
            raise no_column(known.name, name, known.columns)


def _check_groups(groups: Mapping[str, Sequence[str]], table: Table) -> None:
    for group, members in groups.items():
        for name in members:
            if name not in table.columns:
                raise ValueError(f"--groups {group}: {no_column(table.name, name, table.columns)}")


def load_model(path: Path, notes: list[str]) -> Any:
    """A model from a file; its warnings become notes."""
    from whyodd.io.saving import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load(path)
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]
    return model
