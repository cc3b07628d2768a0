"""The application's storage: files, findings, marks and sessions, in a folder with an SQLite database."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyodd.io.atomic import make_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# What work may be in: it waits, runs, or has ended in one of three ways.
WAITING, RUNNING, DONE, FAILED, STOPPED = "waiting", "running", "done", "failed", "stopped"
VERDICTS = {"fine": "fine", "confirmed": "confirmed odd"}
# Work that was started this often and never ended is not started again.
_MOST_TRIES = 2
_SESSION_DAYS = 30
_PATIENCE = 30.0  # seconds that one writer waits for another
_TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    digest TEXT PRIMARY KEY, csrf TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS files (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, size INTEGER NOT NULL, place TEXT NOT NULL,
    reading TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, outline TEXT);
CREATE TABLE IF NOT EXISTS work (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, file TEXT NOT NULL REFERENCES files ON DELETE CASCADE,
    options TEXT NOT NULL, state TEXT NOT NULL, told TEXT NOT NULL DEFAULT '', share REAL,
    error TEXT, tries INTEGER NOT NULL DEFAULT 0, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    summary TEXT);
CREATE TABLE IF NOT EXISTS rows (
    work TEXT NOT NULL REFERENCES work ON DELETE CASCADE, rank INTEGER NOT NULL, row INTEGER NOT NULL,
    id TEXT, name TEXT NOT NULL, outlierness REAL NOT NULL, why TEXT NOT NULL, kind_of_reason INTEGER,
    words TEXT NOT NULL, told TEXT NOT NULL, cells TEXT, PRIMARY KEY (work, rank)) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS rows_by_row ON rows (work, row);
CREATE TABLE IF NOT EXISTS marks (
    work TEXT NOT NULL REFERENCES work ON DELETE CASCADE, row INTEGER NOT NULL, verdict TEXT NOT NULL,
    note TEXT NOT NULL, version INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (work, row)) WITHOUT ROWID;
"""
# Kinds of work that people return to.
FINDINGS, COMPARISON = ("find", "score"), "compare"


class InUseError(OSError):
    """Another server uses this folder."""


class ChangedMeanwhileError(ValueError):
    """Somebody else has marked the row since it was shown."""


class Store:
    """The folder and its database; safe to use from several threads.

    Each change is on the disk when its method returns: a server that is killed loses nothing.

    Parameters
    ----------
    folder : path
        Made if it is not there, readable by its owner only.
    """

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.folder = folder.resolve()
        if os.name == "posix":
            self.folder.chmod(0o700)
        self._lock = _locked(self.folder / "in-use")
        self._local = threading.local()
        self._write_lock = threading.Lock()
        for part in ("files", "results"):
            make_folder(self.folder / part)
        # Journal mode of the file, set once for all connections.
        self._connection.execute("PRAGMA journal_mode = WAL")
        with self._writing() as connection:
            for statement in filter(str.strip, _TABLES.split(";")):
                connection.execute(statement)
            connection.execute("INSERT OR IGNORE INTO about VALUES ('id', ?)", (secrets.token_hex(4),))

    @property
    def _connection(self) -> sqlite3.Connection:
        """The connection of the present thread."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            path = self.folder / "whyodd.sqlite"
            connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            self._local.connection = connection
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        with self._write_lock:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _one(self, query: str, *values: Any) -> dict[str, Any] | None:
        found = self._connection.execute(query, values).fetchone()
        return None if found is None else dict(found)

    def _all(self, query: str, *values: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in self._connection.execute(query, values)]

    def close(self) -> None:
        """Release the folder."""
        self._lock.close()

    @property
    def name(self) -> str:
        """Name of this store, unique, so that cookies of servers on other ports differ."""
        found = self._one("SELECT value FROM about WHERE key = 'id'")
        return "" if found is None else str(found["value"])

    # ---- sessions -----------------------------------------------------------------------------------------

    def begin_session(self) -> str:
        """A new session; the stored value does not reveal its key."""
        key = secrets.token_urlsafe(32)
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO sessions (digest, csrf) VALUES (?, ?)", (_digest(key), secrets.token_urlsafe(32))
            )
            connection.execute(
                "DELETE FROM sessions WHERE created < datetime('now', ?)", (f"-{_SESSION_DAYS} days",)
            )
        return key

    def csrf_of(self, key: str) -> str | None:
        """CSRF token in the forms of a session; None if there is no such session."""
        found = self._one(
            "SELECT csrf FROM sessions WHERE digest = ? AND created >= datetime('now', ?)",
            _digest(key),
            f"-{_SESSION_DAYS} days",
        )
        return None if found is None else str(found["csrf"])

    # ---- files --------------------------------------------------------------------------------------------

    def new_place(self, ending: str) -> Path:
        """Path for a new file, which never contains its own name."""
        return self.folder / "files" / f"{secrets.token_hex(8)}{ending}"

    def add_file(self, name: str, place: Path, reading: Mapping[str, str | None]) -> str:
        """Store a file's entry, and how people want it read."""
        file = secrets.token_hex(8)
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO files (id, name, size, place, reading) VALUES (?, ?, ?, ?, ?)",
                (file, name, place.stat().st_size, str(place), json.dumps(reading)),
            )
        return file

    def file(self, file: str) -> dict[str, Any] | None:
        """A file, with what is known about its columns."""
        found = self._one("SELECT * FROM files WHERE id = ?", file)
        if found is None:
            return None
        parsed = {key: json.loads(found[key] or "null") for key in ("reading", "outline")}
        return found | parsed

    def files(self) -> list[dict[str, Any]]:
        """All files whose columns are known, the latest first."""
        return self._all(
            "SELECT id, name, size, created FROM files WHERE outline IS NOT NULL ORDER BY created DESC, id"
        )

    def delete_file(self, file: str) -> None:
        """Delete a file and everything found in it; a file of the data folder itself stays there."""
        found = self.file(file)
        if found is None:
            return
        results = self.work_on(file)
        with self._writing() as connection:
            connection.execute("DELETE FROM files WHERE id = ?", (file,))
            connection.execute("DELETE FROM work WHERE json_extract(options, '$.old') = ?", (file,))
        if Path(found["place"]).parent == self.folder / "files":
            Path(found["place"]).unlink(missing_ok=True)
        for each in results:
            shutil.rmtree(self.results_of(each), ignore_errors=True)

    # ---- work ---------------------------------------------------------------------------------------------

    def results_of(self, work: str) -> Path:
        """Folder with the results of work."""
        return self.folder / "results" / work

    def model_of(self, work: str) -> Path:
        """The model that work has trained."""
        return self.results_of(work) / "model.whyodd"

    def add_work(self, kind: str, file: str, options: Mapping[str, Any]) -> str:
        """Add work, which waits for its turn."""
        work = secrets.token_hex(8)
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO work (id, kind, file, options, state, told) VALUES (?, ?, ?, ?, ?, ?)",
                (work, kind, file, json.dumps(options), WAITING, "Waiting for its turn"),
            )
        return work

    def work(self, work: str) -> dict[str, Any] | None:
        """Work, with its file name and the number of jobs before it; its summary if it is done."""
        found = self._one(
            "SELECT work.*, files.name AS file_name, (SELECT count(*) FROM work AS other WHERE"
            " other.state IN ('waiting', 'running') AND other.rowid < work.rowid) AS n_before"
            " FROM work JOIN files ON files.id = work.file WHERE work.id = ?",
            work,
        )
        if found is None:
            return None
        return found | {
            "options": json.loads(found["options"]),
            "summary": json.loads(found["summary"] or "null"),
        }

    def latest_work(self, file: str, kind: str) -> dict[str, Any] | None:
        """The latest work of a kind on a file."""
        found = self._one(
            "SELECT id FROM work WHERE file = ? AND kind = ? ORDER BY rowid DESC LIMIT 1", file, kind
        )
        return None if found is None else self.work(found["id"])

    def work_on(self, file: str) -> list[str]:
        """All work on a file, including comparisons of others with it."""
        found = self._all(
            "SELECT id FROM work WHERE file = ? OR json_extract(options, '$.old') = ?", file, file
        )
        return [row["id"] for row in found]

    def comparisons_of(self, file: str) -> list[dict[str, Any]]:
        """All comparisons of a file with others, unfinished ones included, the latest first."""
        return self._all(
            "SELECT work.id, work.state, work.created, old.name AS old_name, new.name AS new_name"
            " FROM work JOIN files AS new ON new.id = work.file"
            " JOIN files AS old ON old.id = json_extract(work.options, '$.old')"
            " WHERE work.kind = ? AND (old.id = ? OR new.id = ?) ORDER BY work.rowid DESC LIMIT 50",
            COMPARISON,
            file,
            file,
        )

    def all_findings(self) -> list[dict[str, Any]]:
        """All findings, unfinished ones included, the latest first, with their number of marks."""
        chosen = ", ".join("?" for _ in FINDINGS)
        return self._all(
            "SELECT work.id, work.file, work.kind, work.state, work.told, work.error, work.created,"
            " files.name AS file_name,"
            " json_extract(work.summary, '$.counts.rows') AS n_rows,"
            " json_extract(work.summary, '$.counts.odd') AS n_odd,"
            " (SELECT count(*) FROM marks WHERE marks.work = work.id) AS n_marked"
            f" FROM work JOIN files ON files.id = work.file WHERE work.kind IN ({chosen})"
            " ORDER BY work.rowid DESC LIMIT 200",
            *FINDINGS,
        )

    def n_waiting(self) -> int:
        """Number of unfinished jobs."""
        found = self._one("SELECT count(*) AS n FROM work WHERE state IN ('waiting', 'running')")
        return 0 if found is None else int(found["n"])

    def recover(self) -> None:
        """Let work that ran when the last server ended wait again, unless it was tried too often."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE work SET state = ?, error = ? WHERE state = ? AND tries >= ?",
                (
                    FAILED,
                    "The server stopped every time it tried this job. You can start the job again.",
                    RUNNING,
                    _MOST_TRIES,
                ),
            )
            connection.execute(
                "UPDATE work SET state = ?, told = ? WHERE state = ?",
                (WAITING, "The server was interrupted; this job starts again", RUNNING),
            )

    def take_work(self) -> dict[str, Any] | None:
        """The work that has waited longest, now marked as running."""
        with self._writing() as connection:
            found = connection.execute(
                "UPDATE work SET state = ?, told = ?, tries = tries + 1 WHERE id ="
                " (SELECT id FROM work WHERE state = ? ORDER BY rowid LIMIT 1) RETURNING id",
                (RUNNING, "Starting", WAITING),
            ).fetchone()
        return None if found is None else self.work(found["id"])

    def tell(self, work: str, told: str, share: float | None) -> None:
        """Save the progress of running work."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE work SET told = ?, share = ? WHERE id = ? AND state = ?", (told, share, work, RUNNING)
            )

    def end_work(self, work: str, state: str, error: str | None = None) -> bool:
        """Mark work as failed or stopped; returns whether it had not ended before."""
        with self._writing() as connection:
            changed = connection.execute(
                "UPDATE work SET state = ?, error = ? WHERE id = ? AND state IN (?, ?)",
                (state, error, work, WAITING, RUNNING),
            )
        return changed.rowcount > 0

    def finish_columns(self, work: str, file: str, outline: Mapping[str, Any]) -> None:
        """Save what a file's columns are."""
        with self._writing() as connection:
            connection.execute("UPDATE files SET outline = ? WHERE id = ?", (json.dumps(outline), file))
            connection.execute("UPDATE work SET state = ? WHERE id = ?", (DONE, work))

    def finish_comparison(self, work: str, summary: Mapping[str, Any]) -> None:
        """Save what changed between two files."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE work SET state = ?, summary = ?, share = 1.0 WHERE id = ? AND state = ?",
                (DONE, json.dumps(summary), work, RUNNING),
            )

    def finish_findings(
        self, work: str, summary: Mapping[str, Any], cells: Mapping[int, Sequence[Sequence[str]]]
    ) -> None:
        """Save findings: the rows one by one, and everything else at once."""
        parts = ("anomalies", "rest")
        head = {key: value for key, value in summary.items() if key not in parts} | {
            part: [] for part in parts
        }
        rows = (_row(work, row, cells.get(row["row"])) for part in parts for row in summary[part])
        with self._writing() as connection:
            connection.execute("DELETE FROM rows WHERE work = ?", (work,))
            connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.execute(
                "UPDATE work SET state = ?, summary = ?, share = 1.0 WHERE id = ? AND state = ?",
                (DONE, json.dumps(head), work, RUNNING),
            )

    # ---- rows and marks -----------------------------------------------------------------------------------

    def rows(self, work: str, where: str, values: Sequence[Any], order: str, limit: int, start: int) -> Any:
        """Rows with their marks, and their number; conditions as :class:`Choice` makes them."""
        source = (
            "FROM rows LEFT JOIN marks ON marks.work = rows.work AND marks.row = rows.row"
            f" WHERE rows.work = ? AND {where}"
        )
        found = self._all(
            f"SELECT rows.rank, rows.row, rows.id, rows.name, rows.outlierness, rows.why, rows.told,"
            f" marks.verdict, marks.note {source} ORDER BY {order} LIMIT ? OFFSET ?",
            work,
            *values,
            limit,
            start,
        )
        total = self._one(f"SELECT count(*) AS n {source}", work, *values)
        return [row | {"told": json.loads(row["told"])} for row in found], 0 if total is None else total["n"]

    def row(self, work: str, row: int) -> dict[str, Any] | None:
        """The card of one row, and its mark."""
        found = self._one(
            "SELECT rows.*, marks.verdict, marks.note, marks.version, marks.at FROM rows LEFT JOIN marks"
            " ON marks.work = rows.work AND marks.row = rows.row WHERE rows.work = ? AND rows.row = ?",
            work,
            row,
        )
        if found is None:
            return None
        return found | {"told": json.loads(found["told"]), "cells": json.loads(found["cells"] or "null")}

    def around(self, work: str, row: int, where: str, values: Sequence[Any], order: str) -> dict[str, Any]:
        """The rows before and after one, among the chosen rows in their order.

        The row itself counts as chosen: it may just have been marked, and thereby left the choice.
        """
        found = self._one(
            "SELECT before, after, place, n FROM (SELECT rows.row AS row,"
            f" lag(rows.row) OVER chosen AS before, lead(rows.row) OVER chosen AS after,"
            " row_number() OVER chosen AS place, count(*) OVER () AS n"
            " FROM rows LEFT JOIN marks ON marks.work = rows.work AND marks.row = rows.row"
            f" WHERE rows.work = ? AND (({where}) OR rows.row = ?)"
            f" WINDOW chosen AS (ORDER BY {order})) WHERE row = ?",
            work,
            *values,
            row,
            row,
        )
        return found or dict.fromkeys(("before", "after", "place", "n"))

    def rows_like(self, work: str, row: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
        """Rows that are odd for the same reason."""
        return self._all(
            "SELECT rank, row, name, outlierness, why FROM rows WHERE work = ? AND kind_of_reason = ?"
            " AND row != ? ORDER BY rank LIMIT ?",
            work,
            row["kind_of_reason"],
            row["row"],
            most,
        )

    def counts_of_marks(self, work: str) -> dict[str, int]:
        """Number of rows with each mark."""
        found = self._all("SELECT verdict, count(*) AS n FROM marks WHERE work = ? GROUP BY verdict", work)
        return dict.fromkeys(VERDICTS, 0) | {row["verdict"]: row["n"] for row in found}

    def marked_by_model(self, model: str) -> list[dict[str, Any]]:
        """Files with rows that were marked after a model judged them, each with its marks."""
        found = self._all(
            "SELECT work.file, marks.row, marks.verdict, marks.note, marks.at, rows.cells"
            " FROM marks JOIN work ON work.id = marks.work"
            " LEFT JOIN rows ON rows.work = marks.work AND rows.row = marks.row"
            " WHERE work.id = ? OR json_extract(work.options, '$.model') = ?"
            " ORDER BY work.rowid, marks.row",
            model,
            model,
        )
        marks: dict[str, list[dict[str, Any]]] = {}
        for mark in found:
            cells = json.loads(mark["cells"] or "null")
            marks.setdefault(mark.pop("file"), []).append(mark | {"cells": cells})
        files = ((self.file(file), said) for file, said in marks.items())
        return [
            {key: file[key] for key in ("name", "place", "size", "reading")} | {"marks": said}
            for file, said in files
            if file is not None
        ]

    def mark(self, work: str, row: int, verdict: str, note: str, version: int) -> None:
        """Mark a row, or remove its mark if ``verdict`` is empty.

        ``version`` is that of the mark that was seen, 0 if there was none: what somebody else has said since
        is not overwritten unseen.
        """
        with self._writing() as connection:
            found = connection.execute(
                "SELECT version FROM marks WHERE work = ? AND row = ?", (work, row)
            ).fetchone()
            if (0 if found is None else found["version"]) != version:
                raise ChangedMeanwhileError(
                    "Somebody else marked this row after you opened it. Reload the page."
                )
            if not verdict:
                connection.execute("DELETE FROM marks WHERE work = ? AND row = ?", (work, row))
                return
            now = datetime.now(UTC).isoformat(timespec="seconds")
            connection.execute(
                "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?, ?)",
                (work, row, verdict, note, secrets.randbits(53) + 1, now),
            )


def _row(work: str, row: Mapping[str, Any], cells: Iterable[Sequence[str]] | None) -> tuple[Any, ...]:
    """What the database stores of a row: what it is sorted and searched by, and its whole card."""
    why = row.get("why") or row["main"]
    words = " ".join([row["name"], str(row["row"]), why]).casefold()
    return (
        work, row["rank"], row["row"], row["id"], row["name"], row["outlierness"], why, row["group"],
        words, json.dumps(row), None if cells is None else json.dumps(cells),
    )  # fmt: skip


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _locked(path: Path) -> sqlite3.Connection:
    """A lock that ends with the process, however it ends: that of a database, which all systems have."""
    connection = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        connection.close()
        raise InUseError(
            f"{path.parent} is in use by another whyodd serve. Stop that one, or choose another --folder."
        ) from None
    return connection
