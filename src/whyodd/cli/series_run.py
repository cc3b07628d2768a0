"""Several series in one run of ``whyodd series``: each is judged and written before the next one."""

from __future__ import annotations

import csv
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from whyodd.cli.patch_files import unique_stems
from whyodd.cli.series import summary, write_results
from whyodd.findings.series import find_in_file
from whyodd.io.atomic import make_folder, replacing
from whyodd.io.journal import Journal, stamp
from whyodd.io.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.findings.series import Columns, SeriesFindings
    from whyodd.series import SeriesDetector

_COLUMNS = (
    *("file", "outlierness", "p_value", "is_odd", "events", "odd_steps", "steps"),
    *("when", "why", "results"),
)


@dataclass(frozen=True)
class SeriesRun:
    """What a run judges, with which model, and where it writes.

    Attributes
    ----------
    files : sequence of path
    model : SeriesDetector
    chosen : Columns
    out : path
        Folder for a folder of each series, and for scores.csv.
    key : str
        What the results of each depend on, beside its file.
    false_alarms : float, optional
    page : str, optional
        Name of the page of each series.
    quiet : bool
    """

    files: Sequence[Path]
    model: SeriesDetector
    chosen: Columns
    out: Path
    key: str
    false_alarms: float | None = None
    page: str | None = None
    quiet: bool = False

    def judge(self) -> list[dict[str, Any]]:
        """Judge all series that earlier runs have not; return a line for each, the oddest first."""
        make_folder(self.out)
        journal = Journal(self.out / ".unfinished.jsonl", self.key, (*_COLUMNS, "stamp", "summary"))
        folders = dict(zip(self.files, (self.out / stem for stem in unique_stems(self.files)), strict=True))
        earlier = {Path(line["file"]): line for line in journal.lines()}
        done = {file: earlier[file] for file in folders if self._is_done(earlier.get(file), folders[file])}
        if done:
            self._say(
                f"{len(done):,} of {len(self.files):,} series were already judged by an interrupted run."
            )
        began, left = time.monotonic(), [file for file in self.files if file not in done]
        try:
            with journal.writing(done.values()) as add:
                for i, file in enumerate(left):
                    self._say(f"{printable(file.name)}: {_progress(i, len(left), time.monotonic() - began)}")
                    line = self._one(file, folders[file])
                    if line is not None:
                        done[file] = line
                        add(line)
        except KeyboardInterrupt:
            self._say(
                f"{len(done):,} of {len(self.files):,} series are judged: run the same command "
                "again to continue."
            )
            raise
        finally:  # also the results of an interrupted run can be read
            lines = sorted(done.values(), key=lambda line: -line["outlierness"])
            _write_scores(lines, self.out / "scores.csv")
        if not lines:
            raise ValueError("None of the series can be used: see the warnings above.")
        journal.done()
        return lines

    def _is_done(self, line: dict[str, Any] | None, folder: Path) -> bool:
        return (
            line is not None
            and (line["stamp"], line["results"]) == (stamp(Path(line["file"])), str(folder))
            and all(Path(file).exists() for file in line["summary"]["files"])
        )

    def _one(self, file: Path, folder: Path) -> dict[str, Any] | None:
        try:
            found = find_in_file(
                file, self.chosen, model=self.model, false_alarms=self.false_alarms, progress=not self.quiet
            )
        except (OSError, ValueError) as error:
            told = str(error) if str(file) in str(error) else f"{file}: {error}"
            print(f"Warning: left out: {printable(told)}", file=sys.stderr)
            return None
        files = write_results(found, folder)
        if self.page is not None:
            files.append(folder / self.page)
            found.report(files[-1])
        return {**_line(found, file, folder), "stamp": stamp(file), "summary": summary(found, files)}

    def _say(self, text: str) -> None:
        if not self.quiet:
            typer.echo(text, err=True)


def _progress(done: int, total: int, seconds: float) -> str:
    """Number of the series and of all, and the time left if the others take as long as those before."""
    left = f", about {seconds / done * (total - done):.0f} s left" if done else ""
    return f"{done + 1} of {total}{left}"


def _line(found: SeriesFindings, file: Path, folder: Path) -> dict[str, Any]:
    """One series in a line: its oddest event, and how many there are."""
    e = found.explanation
    values = (
        *(str(file), float(e.outlierness[0]), float(found.p_value[e.rows[0]]), found.n_odd > 0),
        *(found.n_events, found.n_odd, len(found), e.names[0], e.why(0), str(folder)),
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _write_scores(lines: Sequence[dict[str, Any]], path: Path) -> None:
    with (
        replacing(path) as draft,
        # Names of files may hold bytes that are no letters.
        draft.open("x", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(lines)
