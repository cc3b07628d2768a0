"""``whyodd serve`` as tests use it: asked without a socket, or a server in a process of its own."""

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from whyodd.web.app import Application, make_app
from whyodd.web.limits import Limits
from whyodd.web.safety import Access
from whyodd.web.store import Store
from whyodd.web.work import Worker

PATIENCE = 300.0  # seconds: all tests share a machine that may be busy
HOST = "127.0.0.1:8765"
ENDED = ("done", "failed", "stopped")


def until(condition, what):
    """What a condition gives once it is true."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE:.0f} s in vain for {what}")


@dataclass
class Answer:
    status: int
    headers: dict
    text: str


@dataclass
class Visitor:
    """Somebody with a browser, without a socket between: asks the application itself."""

    app: object
    host: str = HOST
    cookie: str = ""
    csrf: str = ""

    def ask(self, method, path, body=b"", headers=(), parts=None):
        """Ask; ``parts`` are the pieces that the body comes in, None among them is silence for ever."""
        path, _, query = path.partition("?")
        own = {"host": self.host, **({"cookie": self.cookie} if self.cookie else {}), **dict(headers)}
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": query.encode(), "scheme": "http", "http_version": "1.1", "state": {},
            "server": ("127.0.0.1", 8765), "client": ("127.0.0.1", 1),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in own.items()],
        }  # fmt: skip
        return asyncio.run(_asked(self.app, scope, [body] if parts is None else parts))

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, fields, file=None, **headers):
        """Send a form as a page of ours does."""
        boundary = "whyodd-test"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in {"csrf": self.csrf, **fields}.items()
        ]
        if file is not None:
            name, content = file
            head = f'Content-Disposition: form-data; name="file"; filename="{name}"'
            parts.append(f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n")
        own = {
            "content-type": f"multipart/form-data; boundary={boundary}",
            "origin": f"http://{self.host}",
            "sec-fetch-site": "same-origin",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.ask("POST", path, b"".join(parts) + f"--{boundary}--\r\n".encode(), own)

    def come_in(self, token):
        """Exchange the token for a cookie, and read the token of forms from the page."""
        answer = self.get(f"/?token={token}")
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        self.csrf = re.search('name="csrf" value="([^"]+)"', self.get("/").text)[1]
        return self


async def _asked(app, scope, parts):
    sent, waiting = [], list(parts)

    async def receive():
        if not waiting:
            await asyncio.Event().wait()
        part = waiting.pop(0)
        if part is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    async def send(message):
        sent.append(message)

    try:
        await app(scope, receive, send)
    except Exception:
        if not sent:  # else a server would log it, and go on
            raise
    headers = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], headers, body.decode("utf-8", "replace"))


@dataclass
class House:
    """The application on a folder; nothing works on what is waiting, unless a test does."""

    folder: object
    limits: Limits = field(default_factory=Limits)
    access: Access = field(default_factory=lambda: Access("127.0.0.1"))
    data: object = None

    def __post_init__(self):
        self.store = Store(self.folder)
        self.worker = Worker(self.store, self.limits)
        self.app = make_app(Application(self.store, self.worker, self.limits, self.access, self.data))

    @contextmanager
    def at_work(self):
        """Do what is waiting, and what comes."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._start(), loop).result()
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self.worker.end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _start(self):
        self.worker.start()

    def ended(self, work):
        """Work, once it has ended."""
        return until(
            lambda: found if (found := self.store.work(work))["state"] in ENDED else None, f"work {work}"
        )

    def visitor(self, **options):
        return Visitor(self.app, **options).come_in(self.access.token)


def columns_of(house, visitor, name, content):
    """The work of looking at the columns of a file, once it has ended."""
    answer = visitor.post("/files", {}, (name, content))
    assert answer.status == 303
    file = answer.headers["location"].rpartition("/")[2]
    return house.ended(house.store.latest_work(file, "columns")["id"])


def findings_of(house, visitor, name, content, **fields):
    """The work of finding what is odd in a file, once it has ended."""
    work = columns_of(house, visitor, name, content)
    assert work["state"] == "done", work["error"]
    answer = visitor.post(f"/files/{work['file']}/find", fields)
    assert answer.status == 303
    return house.ended(answer.headers["location"].rpartition("/")[2])


class Server:
    """A server in a process of its own, on a port that is free."""

    def __init__(self, folder, *options):
        self.folder = folder
        command = [sys.executable, "-m", "whyodd", "serve", "--no-open", "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--folder", str(folder), *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            text=True,
        )
        self.address = re.search(r"http://\S+", self.process.stdout.readline())[0]
        self.origin = self.address.partition("/?")[0]

    def child(self):
        """The process that does the work, once there is one."""
        children = psutil.Process(self.process.pid).children()
        return children[0] if children else None

    def kill(self):
        """End it as the system does when memory is short."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def told(answer):
    """What a page of a mistake says."""
    return re.search('<p class="lead">(.*?)</p>', answer.text, re.S)[1]
