"""The process that reads and learns: limited in memory, ended with the server, killed if it takes too long.

It is asked by lines of JSON on standard input, and answers by lines of JSON on standard output. Results are
files in a folder that the question names.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Task = Mapping[str, Any]

_DETAILED = 100  # rows with a card
_CELLS, _LETTERS = 300, 300  # of a row shown in full: columns at most, and letters of each
_NICENESS = 5  # pages come first
_BETWEEN = 0.2  # seconds between two words on progress
# Files that others may send: no databases.
_KINDS = ("text", "lines", "json", "parquet", "arrow", "workbook")
TOO_LARGE = (
    "This needs more memory than the server allows. Use fewer rows or columns, or start whyodd serve with a "
    "larger --memory."
)


def main() -> None:
    """Do all requested work, one after the other; end with the input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # Keep other output out of the answers.
    _bound(int(sys.argv[1]))
    asked: queue.Queue[Task] = queue.Queue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    while True:
        task = asked.get()
        answer = _answer(task, Telling(answers))
        print(json.dumps(answer), file=answers, flush=True)


def _listen(asked: queue.Queue[Task]) -> None:
    """Read requests; end if the server is gone."""
    for line in sys.stdin:
        asked.put(json.loads(line))
    os._exit(0)


def _bound(memory: int) -> None:
    """Limit the resources of this process. Windows has no such limits."""
    if os.name != "posix":
        return
    import resource

    os.nice(_NICENESS)
    # Not the address space: numba, Polars and threads reserve gigabytes that they never use.
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@dataclass
class Telling:
    """Messages on progress, at most a few a second."""

    answers: Any
    last: float = 0.0

    def say(self, told: str, share: float | None = None) -> None:
        """Report the present step, and the share of it that is done."""
        print(json.dumps({"told": told, "share": share}), file=self.answers, flush=True)
        self.last = time.monotonic()

    def listen(self, doing: str, done: int, total: int | None) -> None:
        """Report the library's progress."""
        if time.monotonic() - self.last >= _BETWEEN:
            words = f"{doing}: {done:,}" + (f" of {total:,}" if total else "")
            self.say(words, done / total if total else None)


def _answer(task: Task, telling: Telling) -> dict[str, Any]:
    """The end of a task: done, or a sentence on what is wrong."""
    from whyodd.progress import telling as progress_to

    try:
        with progress_to(telling.listen):
            TASKS[task["kind"]](task, telling)
    except MemoryError:
        return {"error": TOO_LARGE}
    except (ValueError, OSError, ModuleNotFoundError) as error:
        return {"error": _named(str(error) or type(error).__name__, task)}
    except Exception as error:  # noqa: BLE001 - of foreign files anything may come, and the next one may be fine
        traceback.print_exc()
        return {"error": f"This file cannot be used: {type(error).__name__}."}
    return {"done": True}


def _named(text: str, task: Task) -> str:
    """A sentence with people's file names in place of the stored paths."""
    for file in filter(None, (task["file"], task.get("trusted"), task.get("old"))):
        text = text.replace(file["place"], file["name"])
    return text.replace(task["model"], "the model") if task.get("model") else text


# ---- reading ----------------------------------------------------------------------------------------------


def _read(file: Mapping[str, Any], limits: Mapping[str, int], ids: tuple[str, ...], notes: list[str]) -> Any:
    """The table of a file, within limits; the declared sizes are checked before it is read."""
    from whyodd.io.table_kinds import ending_of, first_bytes, kind_of
    from whyodd.io.tables import polars, read_table
    from whyodd.io.unpacking import is_packed

    path = Path(file["place"])
    beginning = first_bytes(path)
    kind = "text" if is_packed(beginning) else kind_of(path, ending_of(path), file["name"])
    if kind not in _KINDS:
        raise ValueError(
            f"{file['name']}: expected CSV, JSON, Parquet, Arrow or Excel, got a file of {kind}."
        )
    pl = polars()
    if kind == "parquet":
        try:
            outline = pl.scan_parquet(path, glob=False)
            n_rows = outline.select(pl.len()).collect().item()
            _check_size(file["name"], n_rows, len(outline.collect_schema()), limits)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass  # the reader will say what is wrong with it
    frame = read_table(path, ids, notes=notes, **file["reading"])
    _check_size(file["name"], frame.height, frame.width, limits)
    return frame


def _check_size(name: str, n_rows: int, n_columns: int, limits: Mapping[str, int]) -> None:
    for what, count in (("rows", n_rows), ("columns", n_columns)):
        if count > limits[what]:
            raise ValueError(
                f"{name} has {count:,} {what}, expected at most {limits[what]:,}. Leave some out, or start "
                f"whyodd serve with a larger --{what}."
            )


def _columns(task: Task, telling: Telling) -> None:
    """The kinds of a file's columns."""
    from whyodd.automatic.overruling import GIVEN
    from whyodd.automatic.reading import read_table
    from whyodd.automatic.written import judge_table
    from whyodd.findings.summary.summarize import told_column

    notes: list[str] = []
    telling.say("Reading the file")
    frame = _read(task["file"], task["limits"], (), notes)
    telling.say("Reading the columns")
    columns = judge_table(read_table(frame, what=task["file"]["name"]), None).columns
    outline = {
        "rows": frame.height,
        "columns": [told_column(column) for column in columns],
        "kinds": list(GIVEN),
        "names_rows": _naming(columns, frame.height),
        "notes": [_named(note, task) for note in notes],
    }
    _write(task, "outline.json", outline)


def _naming(columns: Sequence[Any], n_rows: int) -> str | None:
    """The first column whose values name the rows, if there is one."""
    naming = (c.name for c in columns if c.kind == "identifier" and c.n_distinct == n_rows)
    return next(naming, None)


# ---- finding ----------------------------------------------------------------------------------------------


def _find(task: Task, telling: Telling) -> None:
    """Learn what is normal, and find what is not."""
    from whyodd.findings.find import find_in
    from whyodd.io.saving import save

    roles: Mapping[str, Any] = task["roles"]
    notes: list[str] = []
    telling.say("Reading the file")
    whole = _read(task["file"], task["limits"], _ids(roles), notes)
    trusted = None
    if task.get("trusted"):
        telling.say("Reading the trusted file")
        trusted = _read(task["trusted"], task["limits"], _ids(roles), notes)
    table = _chosen(whole, task["file"], roles)
    known = None if trusted is None else _chosen(trusted, task["trusted"], roles)
    telling.say("Learning what is normal")
    found = find_in(
        table,
        known,
        types=roles["types"],
        given=roles["given"],
        top=_DETAILED,
        title=task["file"]["name"],
        notes=[_named(note, task) for note in notes],
        progress=True,
    )
    _keep(found, whole, task, telling)
    telling.say("Saving the model")
    save(found.model, _result(task, "model.whyodd"))


def _score(task: Task, telling: Telling) -> None:
    """Find odd rows by an existing model, after it has learned from people's marks."""
    from whyodd.findings.find import find_in
    from whyodd.io.saving import load

    roles: Mapping[str, Any] = task["roles"]
    notes: list[str] = []
    telling.say("Reading the file")
    whole = _read(task["file"], task["limits"], _ids(roles), notes)
    model = load(task["model"])
    telling.say("Scoring rows")
    found = find_in(
        _chosen(whole, task["file"], roles),
        model=model,
        top=_DETAILED,
        title=task["file"]["name"],
        notes=[_named(note, task) for note in notes],
        progress=True,
    )
    marks = ""
    if task["marked"]:
        telling.say("Taking marks along")
        found, marks = _after_marks(found, model, task)
    _keep(found, whole, task, telling, marks)


def _after_marks(found: Any, model: Any, task: Task) -> tuple[Any, str]:
    """Findings of the model after people's marks, and their effect; the model is saved, too."""
    from whyodd.io.saving import save
    from whyodd.web.teaching import teach

    taught = teach(model, task["marked"], lambda file: _read_again(file, task, model))
    if not taught.counts:
        return found, taught.sentence(0, 0)
    save(model, _result(task, "model.whyodd"))
    was_odd, changed = found.is_odd, found.rejudge(model)
    n_normal, n_odd = (int(each.sum()) for each in (was_odd & ~changed.is_odd, changed.is_odd & ~was_odd))
    return changed, taught.sentence(n_normal, n_odd)


def _read_again(file: Mapping[str, Any], task: Task, model: Any) -> tuple[Any, Callable[[int], Any]]:
    """A file of earlier findings: the columns that the model uses, and rows in full."""
    from whyodd.findings.find import matched

    if Path(file["place"]).stat().st_size != file["size"]:
        raise ValueError(f"{file['name']} has changed.")
    whole = _read(file, task["limits"], _ids(task["roles"]), [])
    frame = matched(_chosen(whole, file, task["roles"]), None, model, [])
    return frame, lambda row: [list(cell) for cell in _cells(whole, row)]


def _ids(roles: Mapping[str, Any]) -> tuple[str, ...]:
    return () if roles["id"] is None else (roles["id"],)


def _chosen(frame: Any, file: Mapping[str, Any], roles: Mapping[str, Any]) -> Any:
    """The used columns, and the one that names the rows."""
    from whyodd.findings.table import Table

    left_out = {*roles["ignore"], roles["id"]}
    kept = [name for name in frame.columns if name not in left_out]
    if not kept:
        raise ValueError(f"{file['name']} has no column left to use. Ignore fewer columns.")
    ids = frame[roles["id"]] if roles["id"] in frame.columns else None
    return Table(frame.select(kept), file["name"], ids=ids)


def _keep(found: Any, whole: Any, task: Task, telling: Telling, marks: str = "") -> None:
    """Write the findings: the plain dict, the report, and the odd rows in full."""
    from whyodd.report.render import render

    telling.say("Explaining the oddest rows")
    summary = found.to_dict(_DETAILED)
    cells = {row["row"]: _cells(whole, row["row"]) for row in summary["anomalies"]}
    telling.say("Writing the report")
    _write(task, "findings.json", {"summary": {**summary, "marks": marks}, "cells": cells})
    _result(task, "report.html").write_text(render(summary), encoding="utf-8", newline="\n")


def _cells(frame: Any, row: int) -> list[tuple[str, str]]:
    """Names and values of a row, as read."""
    names = frame.columns[:_CELLS]
    values = frame.select(names).row(row)
    return [
        (name[:_LETTERS], "" if value is None else str(value)[:_LETTERS])
        for name, value in zip(names, values, strict=True)
    ]


def _result(task: Task, name: str) -> Path:
    folder = Path(task["results"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def _write(task: Task, name: str, content: Mapping[str, Any]) -> None:
    _result(task, name).write_text(json.dumps(content, allow_nan=False), encoding="utf-8")


# ---- comparing --------------------------------------------------------------------------------------------


def _compare(task: Task, telling: Telling) -> None:
    """What changed from another file to this one."""
    from whyodd.changes.compare import compare
    from whyodd.report.comparison import render_comparison

    if task["old"] is None:
        raise ValueError("The other file was deleted.")
    files, notes = (task["old"], task["file"]), list[str]()
    telling.say("Reading both files")
    old, new = (_read(file, task["limits"], (), notes) for file in files)
    names = [file["name"] for file in files]
    called = (names[0], names[1]) if names[0] != names[1] else (f"{names[0]} (old)", f"{names[1]} (new)")
    found = compare(old, new, names=called, progress=True)
    telling.say("Writing the report")
    summary = found.to_dict() | {"notes": [*(_named(note, task) for note in notes), *found.notes]}
    _write(task, "comparison.json", summary)
    _result(task, "report.html").write_text(render_comparison(summary), encoding="utf-8", newline="\n")


# Kind of work -> its function.
TASKS: dict[str, Callable[[Task, Telling], None]] = {
    "columns": _columns,
    "find": _find,
    "score": _score,
    "compare": _compare,
}


if __name__ == "__main__":
    main()
