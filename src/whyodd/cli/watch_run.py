"""The loop of ``whyodd watch``: judge all lines that have arrived together, and write the answers."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import typer

from whyodd.cli.watch_files import Incoming, Outgoing
from whyodd.explanations.sentences import number
from whyodd.findings.table import listed
from whyodd.io.saving import load
from whyodd.io.terminal import printable
from whyodd.scale.adapting import summary_path
from whyodd.scale.lines import BadLineError, LineCutter, LineReader
from whyodd.scale.stream import Watcher

if TYPE_CHECKING:
    from pathlib import Path

    from whyodd.scale.lines import Line

# Rows judged together at most: more would be little faster, and the first of them would wait.
_MOST_ROWS = 1_000
# Changes printed for one row; the file of --events has all of them.
_EVENTS_SAID = 4


@dataclass(frozen=True)
class Settings:
    """The options of the command, see ``whyodd watch --help``."""

    model: Path
    line_format: Any = None
    header: tuple[str, ...] = ()
    id_column: str | None = None
    top: int = 3
    odd_only: bool = False
    out: Path | None = None
    resume: bool = False
    rejects: Path | None = None
    events: Path | None = None
    drift_every: int = 0
    forget: int | None = None
    save: Path | None = None


class WatchRun:
    """One run of the command, from the first line to the last."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.watcher = self._watcher()
        self.out = Outgoing(settings.out)
        self.rejects = None if settings.rejects is None else Outgoing(settings.rejects)
        self.events = None if settings.events is None else Outgoing(settings.events)
        # Rows and bad lines that an earlier run has written.
        self._rows_done = int(self.out.last.get("row", -1)) + 1 if settings.resume else 0
        last_bad = self.rejects.last.get("line", 0) if settings.resume and self.rejects is not None else 0
        self._bad_lines_done = int(last_bad)
        self._cutter = LineCutter()
        columns = [*self.watcher.columns, *([settings.id_column] if settings.id_column else [])]
        self._reader = LineReader(settings.line_format, header=settings.header, columns=columns)
        self._known, self._has_told_extra = set(columns), False
        self._n_rows = self._n_odd = self._n_bad = self._n_skipped = 0
        self._incoming: Incoming | None = None
        self._signal = 0

    def run(self, descriptor: int = 0) -> None:
        """Judge everything from a file descriptor, until it ends or a signal arrives."""
        self._incoming = incoming = Incoming(descriptor)
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, name):  # Windows lacks one
                signal.signal(getattr(signal, name), self._on_signal)
        self._say(f"Watching {len(self.watcher.columns)} columns. {self._threshold_words()}")
        try:
            while not (incoming.has_ended or self._signal):
                self.feed(incoming.take())
            if self._signal:
                self.feed(incoming.take(wait=False))  # the last line may be incomplete
            else:
                self.finish()
        finally:
            self.watcher.close()
        self._say(self._summary())
        if self._signal == signal.SIGINT:
            raise KeyboardInterrupt

    def feed(self, data: bytes) -> None:
        """Judge the rows whose lines end in these bytes."""
        self._work(self._cutter.feed(data))

    def finish(self) -> None:
        """Judge the last row, if its line has no end."""
        self._work(self._cutter.rest())

    # ---- lines to answers ---------------------------------------------------------------------------------

    def _work(self, lines: list[Line]) -> None:
        if lines and self._reader.is_header(lines[0]):
            lines = lines[1:]
        for start in range(0, len(lines), _MOST_ROWS):
            self._judge(lines[start : start + _MOST_ROWS])

    def _judge(self, lines: list[Line]) -> None:
        """Answer lines. Bad lines and events are written first, so a run that continues later misses none."""
        first = self._n_rows
        self._n_rows += len(lines)
        skipped = min(max(self._rows_done - first, 0), len(lines))
        self._n_skipped += skipped
        rows, taken, records, bad = [], [], [], []
        for row, line in enumerate(lines[skipped:], start=first + skipped):
            try:
                records.append(self._reader.record(line))
            except BadLineError as error:
                bad.append((line, str(error)))
                continue
            rows.append(row)
            taken.append(line)
        answers = self.watcher.watch(records, rows=rows, are_texts=self._reader.is_text)
        bad += [(taken[place], reason) for place, reason in answers.wrong.items()]
        self._reject(sorted(bad, key=lambda pair: pair[0].number))
        self._note_extra(records)
        name = self.settings.id_column
        told = []
        for row, record, answer in zip(rows, records, answers.told, strict=True):
            if answer is not None:
                self._n_odd += bool(answer["is_odd"])
                told.append({"row": row, **({} if name is None else {"id": record.get(name)}), **answer})
        self._tell(answers.events)
        self.out.write(told)

    def _reject(self, bad: list[tuple[Line, str]]) -> None:
        self._n_bad += len(bad)
        if self.rejects is not None:
            self.rejects.write(
                [
                    {"line": line.number, "reason": reason, "text": line.content.decode(errors="replace")}
                    for line, reason in bad
                    if line.number > self._bad_lines_done
                ]
            )

    def _tell(self, events: list[dict[str, Any]]) -> None:
        """Write events, and print the first of those that occur together."""
        for row, together in groupby(events, key=itemgetter("row")):
            words = [event["words"] for event in together]
            more = len(words) - _EVENTS_SAID
            rest = f" And {more} more." if more > 0 else ""
            self._say(f"Row {row:,}: {' '.join(words[:_EVENTS_SAID])}{rest}")
        if self.events is not None:
            self.events.write(events)

    def _note_extra(self, records: list[Any]) -> None:
        """Say once that there are keys the model does not know."""
        if self._has_told_extra or not records:
            return
        extra = [name for name in records[0] if name not in self._known]
        if extra:
            self._has_told_extra = True
            self._say(f"Note: ignored, since the model was not fitted on them: {listed(extra)}.")

    # ---- beginning and end --------------------------------------------------------------------------------

    def _watcher(self) -> Watcher:
        kept = self.settings.save
        goes_on = self.settings.resume and kept is not None and summary_path(kept).exists()
        state = summary_path(kept).read_bytes() if kept is not None and goes_on else b""
        watcher = Watcher(
            load(self.settings.model),
            top=self.settings.top,
            only_odd=self.settings.odd_only,
            forget=self.settings.forget,
            drift_every=self.settings.drift_every or None,
            save=kept,
            state=state,
        )
        if kept is not None and goes_on:
            watcher.use(load(kept), words=f"Continuing with the model of {kept}.")
        return watcher

    def _threshold_words(self) -> str:
        threshold = self.watcher.threshold
        if threshold is None:
            return "The model has no threshold: rows get scores, but none is called odd."
        return f"Rows with an outlierness above {number(threshold)} are odd."

    def _summary(self) -> str:
        skipped = f" ({self._n_skipped:,} of them already judged before)" if self._n_skipped else ""
        where = "" if self.rejects is None or not self._n_bad else f", see {self.rejects.path}"
        return f"{self._n_rows:,} rows{skipped}: {self._n_odd:,} odd, {self._n_bad:,} bad{where}."

    # ---- signals ------------------------------------------------------------------------------------------

    def _on_signal(self, number: int, frame: Any) -> None:  # noqa: ARG002
        if number in (signal.SIGTERM, signal.SIGINT):
            if self._signal:  # the second signal
                raise KeyboardInterrupt
            self._signal = number
            if self._incoming is not None:
                self._incoming.wake()
        else:
            threading.Thread(target=self._reload, daemon=True).start()

    def _reload(self) -> None:
        """Load the model again; if that fails, keep the old one."""
        path = self.settings.model
        try:
            self.watcher.use(load(path), words=f"The model was loaded again from {path}.")
        except (OSError, ValueError, ModuleNotFoundError) as error:
            self._say(f"The model could not be loaded again, so the old one stays: {error}")

    @staticmethod
    def _say(words: str) -> None:
        typer.echo(printable(words), err=True)
        sys.stderr.flush()
