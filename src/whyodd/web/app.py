"""The application: addresses, and the functions that answer them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from whyodd.report.comparison import comparison_parts
from whyodd.web.choice import MARKS, PAGE, SORTS, Choice
from whyodd.web.columns_form import KINDS_BESIDE, roles_of
from whyodd.web.csv_rows import as_csv
from whyodd.web.files import files_in, kept_upload
from whyodd.web.pages import card, page, policy
from whyodd.web.safety import Guard, checked_form, welcome
from whyodd.web.store import (
    COMPARISON,
    DONE,
    FAILED,
    FINDINGS,
    STOPPED,
    VERDICTS,
    ChangedMeanwhileError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection
    from pathlib import Path

    from starlette.datastructures import FormData
    from starlette.requests import Request

    from whyodd.web.limits import Limits
    from whyodd.web.safety import Access
    from whyodd.web.store import Store
    from whyodd.web.work import Worker

_MOST_UPLOADS = 4  # at a time
_THREADS = 8
_MOST_WAITING = 50
_LONGEST_NOTE = 2_000
_SIMILAR = 8
_ALL = 1_000_000  # rows of a CSV
_FIELDS_BESIDE = 20
_DOWNLOADS = {"report.html": "text/html", "model.whyodd": "application/octet-stream"}


@dataclass(frozen=True)
class Application:
    """The services that the answers need.

    Attributes
    ----------
    store : Store
    worker : Worker
    limits : Limits
    access : Access
    data : path, optional
        A folder whose files can be chosen.
    """

    store: Store
    worker: Worker
    limits: Limits
    access: Access
    data: Path | None = None
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST_UPLOADS))

    # ---- files --------------------------------------------------------------------------------------------

    def home(self, request: Request) -> Response:
        """Home page: a file to look at, and the files of before."""
        return self._page(
            request,
            "home.html",
            findings=self.store.all_findings(),
            files=self.store.files(),
            folder=None if self.data is None else [path.name for path in files_in(self.data)],
            megabytes=self.limits.megabytes,
        )

    async def upload(self, request: Request) -> Response:
        """Take a file: to look at its columns, or to judge it by an existing model."""
        if self.uploads.locked():
            raise HTTPException(
                503, "Too many files are being uploaded at the same time. Try again in a moment."
            )
        async with self.uploads, request.form(max_files=1, max_fields=_FIELDS_BESIDE) as form:
            checked_form(form, request.state.csrf)
            upload = form.get("file")
            if not isinstance(upload, UploadFile) or not upload.filename:
                raise HTTPException(400, "No file was chosen. Go back and choose one.")
            model = _text(form, "model")
            if model:
                await run_in_threadpool(self._findings, model)  # without it the file is not kept
            reading = {key: _text(form, key) or None for key in ("sheet", "encoding")}
            kept = partial(kept_upload, self.store, upload.file, upload.filename, reading)
            file = await run_in_threadpool(kept)
            return await run_in_threadpool(self._begin, file, model)

    async def choose(self, request: Request) -> Response:
        """Take a file from the folder given when the server started."""
        form = await self._form(request)
        name = _text(form, "name")
        files = [] if self.data is None else await run_in_threadpool(files_in, self.data)
        chosen = next((path for path in files if path.name == name), None)  # a name never becomes a path
        if chosen is None:
            raise HTTPException(404, "There is no such file in the folder. Go back and choose one.")
        reading = {"sheet": None, "encoding": None}
        file = await run_in_threadpool(self.store.add_file, chosen.name, chosen, reading)
        return await run_in_threadpool(self._begin, file, "")

    def _begin(self, file: str, model: str) -> Response:
        """Work on a new file."""
        if not model:
            self._add_work("columns", file, {})
            return RedirectResponse(f"/files/{file}", 303)
        learned = self._findings(model)
        options = {"roles": learned["options"]["roles"], "model": learned["options"].get("model", model)}
        work = self._add_work("score", file, options)
        self._add_work("columns", file, {})  # so that it can be compared with others, too
        return RedirectResponse(f"/work/{work}", 303)

    def _add_work(self, kind: str, file: str, options: dict[str, Any]) -> str:
        if self.store.n_waiting() >= _MOST_WAITING:
            raise HTTPException(503, "Too many jobs are waiting. Try again when some of it is done.")
        work = self.store.add_work(kind, file, options)
        self.worker.wake()
        return work

    def file(self, request: Request) -> Response:
        """The columns of a file, to be corrected."""
        found = self._file(request)
        if found["outline"] is None:
            work = self.store.latest_work(found["id"], "columns")
            return RedirectResponse("/" if work is None else f"/work/{work['id']}", 303)
        return self._columns_page(request, found)

    def _columns_page(
        self, request: Request, found: dict[str, Any], mistake: str | None = None, given: Any = None
    ) -> Response:
        others = [file for file in self.store.files() if file["id"] != found["id"]]
        return self._page(
            request,
            "file.html",
            422 if mistake else 200,
            file=found,
            others=others,
            comparisons=self.store.comparisons_of(found["id"]),
            beside=KINDS_BESIDE,
            mistake=mistake,
            given=given or {},
        )

    async def find(self, request: Request) -> Response:
        """Begin to look for what is odd in a file."""
        found = await run_in_threadpool(self._file, request)
        if found["outline"] is None:
            return RedirectResponse(f"/files/{found['id']}", 303)
        form = await self._form(request, 2 * len(found["outline"]["columns"]))
        try:
            roles = roles_of(found["outline"], form)
        except ValueError as error:
            given = {key: value for key, value in form.items() if isinstance(value, str)}
            return await run_in_threadpool(self._columns_page, request, found, str(error), given)
        trusted = _text(form, "trusted")
        if trusted and await run_in_threadpool(self.store.file, trusted) is None:
            raise HTTPException(404, "The trusted file was deleted. Go back and choose one.")
        options = {"roles": roles, "trusted": trusted or None}
        work = await run_in_threadpool(self._add_work, "find", found["id"], options)
        return RedirectResponse(f"/work/{work}", 303)

    async def compare(self, request: Request) -> Response:
        """Begin to compare a file with another one."""
        found = await run_in_threadpool(self._file, request)
        form = await self._form(request)
        other = _text(form, "other")
        if other == found["id"] or await run_in_threadpool(self.store.file, other) is None:
            raise HTTPException(404, "The other file was deleted. Go back and choose one.")
        work = await run_in_threadpool(self._add_work, COMPARISON, found["id"], {"old": other})
        return RedirectResponse(f"/work/{work}", 303)

    async def delete(self, request: Request) -> Response:
        """Delete a file and everything found in it."""
        found = await run_in_threadpool(self._file, request)
        await self._form(request)
        for work in await run_in_threadpool(self.store.work_on, found["id"]):
            await self.worker.stop(work)
        await run_in_threadpool(self.store.delete_file, found["id"])
        return RedirectResponse("/", 303)

    # ---- work ---------------------------------------------------------------------------------------------

    def work(self, request: Request) -> Response:
        """Progress of work, or its result once it is done."""
        found = self._work(request)
        if found["state"] == DONE:
            return RedirectResponse(_result_of(found), 303)
        return self._page(request, "work.html", work=found, has_ended=found["state"] in (FAILED, STOPPED))

    def state(self, request: Request) -> Response:
        """The same for a script."""
        found = self._work(request)
        return JSONResponse({key: found[key] for key in ("state", "told", "share", "n_before")})

    async def stop(self, request: Request) -> Response:
        """Stop work before it is done."""
        found = await run_in_threadpool(self._work, request)
        await self._form(request)
        await self.worker.stop(found["id"])
        return RedirectResponse(f"/work/{found['id']}", 303)

    async def again(self, request: Request) -> Response:
        """Repeat the same work."""
        found = await run_in_threadpool(self._work, request)
        await self._form(request)
        if found["state"] not in (FAILED, STOPPED):
            return RedirectResponse(f"/work/{found['id']}", 303)
        work = await run_in_threadpool(self._add_work, found["kind"], found["file"], found["options"])
        return RedirectResponse(f"/work/{work}", 303)

    # ---- findings -----------------------------------------------------------------------------------------

    def findings(self, request: Request) -> Response:
        """The odd rows."""
        found = self._findings(request.path_params["work"])
        choice = Choice.of(request.query_params)
        rows, total = self.store.rows(
            found["id"], *choice.condition, choice.order, PAGE, PAGE * (choice.page - 1)
        )
        return self._page(
            request,
            "findings.html",
            work=found,
            s=found["summary"],
            choice=choice,
            rows=rows,
            total=total,
            pages=-(-total // PAGE),
            marks=MARKS,
            sorts=SORTS,
            counts=self.store.counts_of_marks(found["id"]),
            verdicts=VERDICTS,
            holds_marks=found["kind"] == "score" and self.store.model_of(found["id"]).is_file(),
        )

    def about(self, request: Request) -> Response:
        """How far to trust the reasons, and how they were computed."""
        found = self._findings(request.path_params["work"])
        return self._page(request, "about.html", work=found, s=found["summary"])

    def row(self, request: Request) -> Response:
        """One row: why it is odd, similar rows, and people's marks."""
        found = self._findings(request.path_params["work"])
        return self._row_page(request, found, request.path_params["row"])

    def _row_page(
        self, request: Request, found: dict[str, Any], number: int, status: int = 200, **more: Any
    ) -> Response:
        row = self.store.row(found["id"], number)
        if row is None:
            raise HTTPException(404, "This row has no explanation. Go back and choose one that has.")
        choice = Choice.of(request.query_params)
        address = f"/findings/{found['id']}"
        around = self.store.around(found["id"], number, *choice.condition, choice.order)
        return self._page(
            request,
            "row.html",
            status,
            work=found,
            s=found["summary"],
            row=row,
            a=row["told"],
            # Rows further down the list have none.
            card=card(found["summary"], row["told"], address) if "reasons" in row["told"] else None,
            choice=choice,
            around=around,
            similar=self.store.rows_like(found["id"], row, _SIMILAR),
            verdicts=VERDICTS,
            **{"mistake": None, **more},
        )

    def rank(self, request: Request) -> Response:
        """The row with a rank, by which the pages refer to rows."""
        found = self._findings(request.path_params["work"])
        rank = request.path_params["rank"]
        rows, _ = self.store.rows(found["id"], "rows.rank = ?", [rank], "rows.rank", 1, 0)
        if not rows:
            raise HTTPException(404, "There is no such row.")
        return RedirectResponse(f"/findings/{found['id']}/rows/{rows[0]['row']}", 303)

    async def mark(self, request: Request) -> Response:
        """Save a person's mark on a row."""
        found = await run_in_threadpool(self._findings, request.path_params["work"])
        form, row = await self._form(request), request.path_params["row"]
        verdict, note, version = _text(form, "verdict"), _text(form, "note"), _text(form, "version")
        if verdict not in ("", *VERDICTS) or not version.isdigit():
            raise HTTPException(400, "Expected a mark: fine, confirmed or none.")
        if len(note) > _LONGEST_NOTE:
            raise HTTPException(
                400, f"The note has {len(note):,} characters, expected at most {_LONGEST_NOTE:,}. Shorten it."
            )
        if await run_in_threadpool(self.store.row, found["id"], row) is None:
            raise HTTPException(404, "This row has no explanation. Go back and choose one that has.")
        try:
            await run_in_threadpool(self.store.mark, found["id"], row, verdict, note, int(version))
        except ChangedMeanwhileError as error:
            again = partial(self._row_page, request, found, row, 409, mistake=str(error))
            return await run_in_threadpool(again)
        query = Choice.of(request.query_params).query
        return RedirectResponse(f"/findings/{found['id']}/rows/{row}{query}#mark", 303)

    def csv(self, request: Request) -> Response:
        """The chosen rows, with their marks."""
        found = self._findings(request.path_params["work"])
        choice = Choice.of(request.query_params)
        rows, _ = self.store.rows(found["id"], *choice.condition, choice.order, _ALL, 0)
        headers = {"Content-Disposition": 'attachment; filename="findings.csv"'}
        return Response(as_csv(rows), media_type="text/csv; charset=utf-8", headers=headers)

    def download(self, request: Request) -> Response:
        """The report or the model."""
        found = self._done(request.path_params["work"], (*FINDINGS, COMPARISON))
        name = request.path_params["name"]
        path = self.store.results_of(found["id"]) / name
        if name == "model.whyodd" and not path.is_file():
            path = self.store.model_of(found["options"].get("model", found["id"]))  # the one that judged it
        if name not in _DOWNLOADS or not path.is_file():
            raise HTTPException(404, "There is no such page.")
        headers = {"Content-Security-Policy": "sandbox; default-src 'none'"}
        return FileResponse(path, media_type=_DOWNLOADS[name], filename=name, headers=headers)

    # ---- comparisons --------------------------------------------------------------------------------------

    def comparison(self, request: Request) -> Response:
        """What changed from one file to another."""
        found = self._done(request.path_params["work"], (COMPARISON,))
        return self._page(request, "changes.html", work=found, **comparison_parts(found["summary"]))

    # ---- coming in ----------------------------------------------------------------------------------------

    async def login(self, request: Request) -> Response:
        """Ask for the password."""
        if self.access.password is None:
            return RedirectResponse("/", 303)
        if request.method != "POST":
            return page("login.html", mistake=None)
        form = await request.form(max_files=0, max_fields=_FIELDS_BESIDE)
        is_right = self.access.try_password(_text(form, "password"))
        if is_right:
            return await welcome(self.store)
        if is_right is None:
            return page("login.html", 429, mistake="Too many attempts. Wait a minute.")
        return page("login.html", 403, mistake="The password is wrong. Try again.")

    # ---- what they share ----------------------------------------------------------------------------------

    def _page(self, request: Request, template: str, status: int = 200, **context: Any) -> Response:
        return page(template, status, csrf=request.state.csrf, **context)

    async def _form(self, request: Request, most: int = 0) -> FormData:
        """A form that this session has sent."""
        form = await request.form(max_files=0, max_fields=_FIELDS_BESIDE + most)
        checked_form(form, request.state.csrf)
        return form

    def _file(self, request: Request) -> dict[str, Any]:
        found = self.store.file(request.path_params["file"])
        if found is None:
            raise HTTPException(404, "There is no such file.")
        return found

    def _work(self, request: Request) -> dict[str, Any]:
        found = self.store.work(request.path_params["work"])
        if found is None:
            raise HTTPException(404, "There is no such job.")
        return found

    def _findings(self, work: str) -> dict[str, Any]:
        return self._done(work, FINDINGS)

    def _done(self, work: str, kinds: Collection[str]) -> dict[str, Any]:
        """Finished work of certain kinds."""
        found = self.store.work(work)
        if found is None or found["kind"] not in kinds or found["state"] != DONE or found["summary"] is None:
            raise HTTPException(404, "There are no such findings.")
        return found

    def routes(self) -> list[Route]:
        """All addresses."""
        row = "/findings/{work}/rows/{row:int}"
        return [
            Route("/", self.home),
            Route("/login", self.login, methods=["GET", "POST"]),
            Route("/files", self.upload, methods=["POST"]),
            Route("/folder", self.choose, methods=["POST"]),
            Route("/files/{file}", self.file),
            Route("/files/{file}/find", self.find, methods=["POST"]),
            Route("/files/{file}/compare", self.compare, methods=["POST"]),
            Route("/files/{file}/delete", self.delete, methods=["POST"]),
            Route("/work/{work}", self.work),
            Route("/work/{work}/state", self.state),
            Route("/work/{work}/stop", self.stop, methods=["POST"]),
            Route("/work/{work}/again", self.again, methods=["POST"]),
            Route("/findings/{work}", self.findings),
            Route("/findings/{work}/about", self.about),
            Route("/findings/{work}/findings.csv", self.csv),
            Route("/findings/{work}/ranks/{rank:int}", self.rank),
            Route(row, self.row),
            Route(f"{row}/mark", self.mark, methods=["POST"]),
            Route("/findings/{work}/{name}", self.download),
            Route("/comparisons/{work}", self.comparison),
            Route("/comparisons/{work}/{name}", self.download),
        ]


def make_app(application: Application) -> Guard:
    """The ASGI application, behind its guard."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        # Pages are rendered one by one anyway: more threads would only wait for each other.
        current_default_thread_limiter().total_tokens = _THREADS
        application.worker.start()
        yield
        await application.worker.end()
        application.store.close()

    inner = Starlette(
        routes=application.routes(),
        exception_handlers={HTTPException: _mistake, Exception: _accident},
        lifespan=lifespan,
    )
    # Around everything, so that error pages have the headers, too.
    return Guard(
        inner,
        access=application.access,
        store=application.store,
        limits=application.limits,
        policy=policy(),
        refuse=_refused,
    )


def _refused(request: Request, status: int, sentence: str) -> Response:
    """A page with an error message."""
    # A visitor from a link elsewhere arrives without the cookie; a click here sends it.
    return page("message.html", status, sentence=sentence, again=request.url.path if status == 403 else None)


def _mistake(request: Request, error: Exception) -> Response:  # noqa: ARG001
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: "There is no such page.", 405: "This address does not accept that kind of request."}
    detail = str(getattr(error, "detail", ""))
    plain = known.get(status, detail) if detail in ("Not Found", "Method Not Allowed") else detail
    answer = page("message.html", status, sentence=plain, again=None)
    if status in (408, 413):
        answer.headers["Connection"] = "close"
    return answer


def _accident(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return page(
        "message.html",
        500,
        sentence="The server hit an unexpected error. Nothing you saved is lost.",
        again=None,
    )


def _text(form: FormData, key: str) -> str:
    value = form.get(key, "")
    return value.strip() if isinstance(value, str) else ""


def _result_of(work: dict[str, Any]) -> str:
    if work["kind"] == "columns":
        return f"/files/{work['file']}"
    return f"/{'comparisons' if work['kind'] == COMPARISON else 'findings'}/{work['id']}"
