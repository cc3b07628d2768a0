"""Runs work one after the other, in a child process that can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from whyodd.web.child import TOO_LARGE
from whyodd.web.store import COMPARISON, FAILED, STOPPED

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping

    from whyodd.web.limits import Limits
    from whyodd.web.store import Store

_LONGEST_LINE = 1 << 20
# A worker that holds more than this share of its memory limit is replaced before the next work.
_HEAVY = 0.5

_DELETED = "A file for this job was deleted while it waited. Upload the file again, then start a new job."


class Worker:
    """Takes work from the store, has it done, and saves its results.

    Parameters
    ----------
    store : Store
    limits : Limits
    """

    def __init__(self, store: Store, limits: Limits) -> None:
        self.store, self.limits = store, limits
        self._process: Process | None = None
        self._news = asyncio.Event()
        self._at: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start, with the work that the last server left."""
        self.store.recover()
        self._news.set()
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._work())

    async def end(self) -> None:
        """Stop; running work starts again with the next server."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._kill()

    def wake(self) -> None:
        """Signal new work; may be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._news.set)

    async def stop(self, work: str) -> None:
        """Stop work before it is done."""
        ended = await run_in_threadpool(self.store.end_work, work, STOPPED, "It was stopped.")
        if ended and self._at == work:
            await self._kill()

    @property
    def process_id(self) -> int | None:
        """Process id of the child, if there is one."""
        return None if self._process is None else self._process.pid

    async def _work(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while (work := await run_in_threadpool(self.store.take_work)) is not None:
                self._at = work["id"]
                answer = {"error": _DELETED} if self._lacks_a_file(work) else await self._answer(work)
                self._at = None
                await run_in_threadpool(self._end, work, answer)

    def _lacks_a_file(self, work: Mapping[str, Any]) -> bool:
        """Whether a file was deleted while the work waited, which would change the answer."""
        options = work["options"]
        files = [work["file"], options.get("trusted"), options.get("old")]
        return any(file is not None and self._file(file) is None for file in files)

    async def _answer(self, work: Mapping[str, Any]) -> dict[str, Any]:
        process = await self._started()
        try:
            async with asyncio.timeout(self.limits.work_seconds):
                return await self._ask(process, self._question(work), work["id"])
        except TimeoutError:
            await self._kill()
            return {
                "error": f"The job took longer than {self.limits.work_seconds:,.0f} seconds and was stopped."
            }

    def _question(self, work: Mapping[str, Any]) -> dict[str, Any]:
        """Everything that the child needs to know."""
        options = work["options"]
        return {
            "kind": work["kind"],
            "file": self._file(work["file"]),
            "trusted": self._file(options["trusted"]) if options.get("trusted") else None,
            "old": self._file(options["old"]) if "old" in options else None,
            "model": str(self.store.model_of(options["model"])) if "model" in options else None,
            "marked": self.store.marked_by_model(options["model"]) if "model" in options else [],
            "roles": options.get("roles"),
            "results": str(self.store.results_of(work["id"])),
            "limits": {"rows": self.limits.rows, "columns": self.limits.columns},
        }  # fmt: skip

    def _file(self, file: str) -> dict[str, Any] | None:
        found = self.store.file(file)
        return None if found is None else {key: found[key] for key in ("name", "place", "reading")}

    async def _ask(self, process: Process, question: Mapping[str, Any], work: str) -> dict[str, Any]:
        """The child's answer; a dead child counts as an answer."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            await process.stdin.drain()
            while line := await process.stdout.readline():
                answer: dict[str, Any] = json.loads(line)
                if "told" not in answer:
                    return answer
                await run_in_threadpool(self.store.tell, work, answer["told"], answer["share"])
        except (ConnectionError, ValueError):
            pass
        await self._kill()
        # Compiled code that gets no memory ends the process at once.
        return {"error": TOO_LARGE}

    def _end(self, work: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Save the answer."""
        if "error" in answer:
            self.store.end_work(work["id"], FAILED, answer["error"])
            return
        folder = self.store.results_of(work["id"])
        if work["kind"] == "columns":
            outline = json.loads((folder / "outline.json").read_text("utf-8"))
            self.store.finish_columns(work["id"], work["file"], outline)
            return
        if work["kind"] == COMPARISON:
            summary = json.loads((folder / "comparison.json").read_text("utf-8"))
            self.store.finish_comparison(work["id"], summary)
            return
        found = json.loads((folder / "findings.json").read_text("utf-8"))
        cells = {int(row): values for row, values in found["cells"].items()}
        self.store.finish_findings(work["id"], found["summary"], cells)

    async def _started(self) -> Process:
        """The child, which stays for the next work unless it has died or grown."""
        if self._process is not None and (self._process.returncode is not None or self._is_heavy()):
            await self._kill()
        if self._process is None:
            with (self.store.folder / "worker.log").open("wb") as log:
                # Not multiprocessing, which forks a process that has threads, or runs people's scripts again.
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "whyodd.web.child",
                    str(self.limits.memory),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    start_new_session=True,  # so that an interrupt from the keyboard does not reach it
                    limit=_LONGEST_LINE,
                )
        return self._process

    def _is_heavy(self) -> bool:
        """Whether the child still holds much memory from the last work; unknown except on Linux."""
        try:
            pages = int(Path(f"/proc/{self.process_id}/statm").read_text("ascii").split()[1])
        except OSError:
            return False
        return pages * os.sysconf("SC_PAGE_SIZE") > self.limits.memory * _HEAVY

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
