"""Tables of database files, opened for reading only."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyodd.io.cell_frames import frame_of_cells, with_dates
from whyodd.io.chosen_part import choose_part
from whyodd.io.column_names import clean_names
from whyodd.io.table_mistakes import first_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyodd.io.reading import Reading
    from whyodd.io.table_mistakes import Source

# SQLite takes some tens of steps for a row of a table; a damaged file may ask for endless ones.
_MOST_STEPS_PER_BYTE, _LEAST_STEPS, _STEPS_AT_ONCE = 1_000, 10_000_000, 1_000_000
# DuckDB may read this file, and nothing else.
_CLOSED: dict[str, Any] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "threads": "2",
}


def read_sqlite(source: Source, reading: Reading) -> Any:
    """A table of an SQLite file. Views are left out, because they are programs."""
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    try:
        with closing(_sqlite(source)) as file:
            _limit_work(file, size)
            # No functions of the file's own schema, and damaged pages are noticed.
            file.execute("PRAGMA trusted_schema = OFF")
            file.execute("PRAGMA cell_size_check = ON")
            file.text_factory = _text
            # A damaged name may be of any type.
            there = [row[0] for row in file.execute(_SQLITE_TABLES) if isinstance(row[0], str)]
            full = [part for part in there if _has_rows(file, part)]
            part = choose_part(reading.table, there, full, reading.name, "table")
            frame = _frame_of_query(file.execute(f"SELECT * FROM {_quoted(part)}"), reading)
            return with_dates(frame, reading.as_written)
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        raise _unreadable(reading.name, "SQLite", error) from None


_SQLITE_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
    "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY rowid"
)


def _sqlite(source: Source) -> sqlite3.Connection:
    if isinstance(source, bytes):
        file = sqlite3.connect(":memory:")
        file.deserialize(source)
        return file
    # Neither a journal nor a lock is made beside it.
    return sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


def _limit_work(file: sqlite3.Connection, size: int) -> None:
    left = max(_LEAST_STEPS, _MOST_STEPS_PER_BYTE * size) // _STEPS_AT_ONCE

    def is_too_long() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    file.set_progress_handler(is_too_long, _STEPS_AT_ONCE)


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")


def read_duckdb(source: Source, reading: Reading) -> Any:
    """A table of a DuckDB file."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{reading.name} is a DuckDB file, and the package duckdb is not installed. "
            "Run: pip install 'whyodd[duckdb]'"
        ) from None
    try:
        with _as_file(source) as path, duckdb.connect(str(path), read_only=True, config=_CLOSED) as file:
            there = [row[0] for row in file.execute(_DUCKDB_TABLES).fetchall()]
            full = [part for part in there if _has_rows(file, part)]
            part = choose_part(reading.table, there, full, reading.name, "table")
            return _frame_of_query(file.execute(f"SELECT * FROM {_quoted(part)}"), reading)
    except (duckdb.Error, UnicodeError, OverflowError) as error:
        raise _unreadable(reading.name, "DuckDB", error) from None


_DUCKDB_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_oid"


@contextmanager
def _as_file(source: Source) -> Iterator[Path]:
    """Refuse anything but a file, because DuckDB opens files only."""
    if not isinstance(source, bytes):
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.duckdb"
        path.write_bytes(source)
        yield path


def _has_rows(file: Any, part: str) -> bool:
    return file.execute(f"SELECT 1 FROM {_quoted(part)} LIMIT 1").fetchone() is not None


def _quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"'


def _frame_of_query(answer: Any, reading: Reading) -> Any:
    names = [str(column[0]) for column in answer.description]
    columns: list[list[Any]] = [[] for _ in names]
    while rows := answer.fetchmany(10_000):
        for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(cells)
    return frame_of_cells(clean_names(names, reading.name, reading.notes), columns, reading.as_written)


def _unreadable(name: str, kind: str, error: Exception) -> ValueError:
    return ValueError(
        f"{name} cannot be read: it is not a {kind} file, or it is damaged or in use "
        f"({first_words(error)}). Get it again."
    )
