"""A model that keeps learning from a stream, in a separate process, so that no row waits for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from whyodd.findings.thresholds import share_above
from whyodd.io.atomic import replacing
from whyodd.io.saving import load, save
from whyodd.scale.summary import MAX_ROWS, TableSummary

if TYPE_CHECKING:
    from collections.abc import Callable

# A first model is learned after a half-life of rows, but at least this many; a new one after each quarter of
# the half-life.
_FEWEST_ROWS, _PER_HALF_LIFE = 200, 4
# Niceness of the learning process: judging rows comes first.
_NICENESS = 10
_SIZE = 8  # bytes that say how long a message is


class Adaptation:
    """Repeatedly learns what is usual in a stream; a row's weight halves with each half-life.

    Rows are handed over as they come. Another process keeps a :class:`whyodd.TableSummary` of them, learns a
    model from it and sends it back in whyodd's own format. What :func:`whyodd.auto` made is learned by it
    again, any other model by the ``fit`` of a copy. The new model calls the same share of normal rows odd.
    Rows that come while a model is being learned wait, the latest 20,000 of them.

    Parameters
    ----------
    model : fitted model or pipeline
        What to learn again.
    forget : int
        Half-life in rows.
    deliver : callable
        Takes each new model; called in a thread.
    complain : callable
        Takes a sentence if a model could not be learned; called in a thread.
    path : path, optional
        Keeps each new model in this file, and the summary beside it, see :func:`summary_path`.
    state : bytes, optional
        The summary that was kept in a run before.
    """

    def __init__(
        self,
        model: Any,
        forget: int,
        *,
        deliver: Callable[[Any], None],
        complain: Callable[[str], None],
        path: Path | None = None,
        state: bytes = b"",
    ) -> None:
        self.forget = forget
        self._path, self._state = path, state
        self._first = _as_bytes(model)
        self._deliver, self._complain = deliver, complain
        self._every = max(forget // _PER_HALF_LIFE, _FEWEST_ROWS)
        self._wanted = self._every if state else max(forget, _FEWEST_ROWS)
        self._waiting: list[Any] = []
        self._n_waiting = 0
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, table: Any) -> None:
        """Take in rows, an Arrow table; starts learning if it is time."""
        self._waiting.append(table)
        self._n_waiting += table.num_rows
        while self._n_waiting - self._waiting[0].num_rows >= MAX_ROWS:
            self._n_waiting -= self._waiting.pop(0).num_rows
        if self._n_waiting >= self._wanted and not self.is_learning:
            handed, self._waiting, self._n_waiting = self._waiting, [], 0
            self._wanted = self._every
            self._thread = threading.Thread(target=self._learn, args=(handed,), daemon=True)
            self._thread.start()

    @property
    def is_learning(self) -> bool:
        """Whether a model is being learned."""
        return self._thread is not None and self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until nothing is being learned."""
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        """End the other process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _learn(self, tables: list[Any]) -> None:
        """Request a model and deliver it; runs in a thread."""
        import pyarrow as pa

        try:
            process = self._started()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, tables[0].schema) as writer:
                for table in tables:
                    writer.write_table(table)
            _send(process.stdin, sink.getvalue())
            problem, content, state = (_receive(process.stdout) for _ in range(3))
            if problem:
                self._complain(problem.decode())
                return
            self._state = state
            self._keep(content, state)
            self._deliver(_from_bytes(content))
        except (OSError, EOFError, ValueError) as error:
            self._complain(str(error) or "the learning process has ended")
            self.close()

    def _keep(self, content: bytes, state: bytes) -> None:
        if self._path is not None:
            for path, kept in ((self._path, content), (summary_path(self._path), state)):
                with replacing(path) as draft:
                    draft.write_bytes(kept)

    def _started(self) -> Any:
        if self._process is None:
            # Not multiprocessing, which forks a process that has threads, or runs people's scripts again.
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from whyodd.scale.adapting import keep_learning; keep_learning()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # so that an interrupt from the keyboard does not reach it
            )
            for message in (json.dumps({"forget": self.forget}).encode(), self._first, self._state):
                _send(self._process.stdin, message)
        return self._process


def summary_path(model: Path) -> Path:
    """Path of the summary that a model was learned from."""
    return model.with_name(f"{model.name}.summary")


# ---- the process that learns ------------------------------------------------------------------------------


def keep_learning() -> None:
    """Learn a model from each table on standard input and those before it; ends with the input."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(_NICENESS)
    # Keep other output out of the answers.
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    forget = json.loads(_receive(source))["forget"]
    model, state = _from_bytes(_receive(source)), _receive(source)
    summary = TableSummary.from_bytes(state) if state else None
    while True:
        try:
            rows = _receive(source)
        except EOFError:
            return
        answer = [b"", b"", b""]
        try:
            summary = _with_rows(summary, rows, forget)
            answer[1:] = _as_bytes(learned_again(model, summary)), summary.to_bytes()
        except (ValueError, TypeError, ArithmeticError) as error:
            answer[0] = str(error).encode() or b"unknown"
        for message in answer:
            _send(answers, message)


def _with_rows(summary: TableSummary | None, rows: bytes, forget: int) -> TableSummary:
    import pyarrow as pa

    table = pa.ipc.open_stream(rows).read_all()
    first_row = 0 if summary is None else int(summary.sample.now) + 1
    new = TableSummary.of(table, first_row=first_row, forget=forget)
    return new if summary is None else summary.merge(new)


def learned_again(model: Any, summary: TableSummary) -> Any:
    """A model like this one, trained on other rows; it calls the same share of normal rows odd."""
    if hasattr(model, "auto_report_"):
        new, old = summary.fit(), model[-1]
        allowed = share_above(old.threshold_, old.distribution_)
        new[-1].threshold_ = new[-1].distribution_.threshold(allowed)
        return new
    from sklearn.base import clone

    frame = _as_frame(summary.rows)
    return clone(model).fit(frame if hasattr(model, "feature_names_in_") else frame.to_numpy())


def _as_frame(table: Any) -> Any:
    try:
        import pandas as pd  # noqa: F401
    except ModuleNotFoundError:
        import polars as pl

        return pl.from_arrow(table)
    return table.to_pandas()


# ---- messages ---------------------------------------------------------------------------------------------


def _send(stream: BinaryIO | Any, message: Any) -> None:
    stream.write(len(message).to_bytes(_SIZE, "little"))
    stream.write(message)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> bytes:
    size = stream.read(_SIZE)
    if len(size) < _SIZE:
        raise EOFError
    message = stream.read(int.from_bytes(size, "little"))
    return bytes(message)


def _as_bytes(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.whyodd"
        save(model, path)
        return path.read_bytes()


def _from_bytes(content: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.whyodd"
        path.write_bytes(content)
        return load(path)
