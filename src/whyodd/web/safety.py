"""Checks before anything else: who asks, from where, how much, and for how long."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from whyodd.web.limits import Limits
    from whyodd.web.store import Store

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SAFE_METHODS = ("GET", "HEAD")
_UPLOADS = "/files"  # the only address that takes more than a form
_FORM = 2_000_000  # bytes of a form: two fields for each of thousands of columns
_TRIES, _WINDOW = 5, 60.0  # passwords per so many seconds
_COOKIE_AGE = 30 * 24 * 3600
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # Nothing for others. Not "no-referrer", with which browsers hide the origin of forms from this server,
    # too.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass
class Access:
    """Who has access.

    Attributes
    ----------
    host : str
        What the server listens on.
    token : str
        Part of the address that is printed; only for a server on this machine alone.
    password : str, optional
        For a server that others reach.
    """

    host: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    password: str | None = None
    _tries: deque[float] = field(default_factory=deque)

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches the server."""
        return self.host in LOOPBACK

    def knows_host(self, header: str) -> bool:
        """Whether a request is for this server, and not for another name that points to it.

        Such a name needs a domain: an address of numbers cannot be pointed elsewhere.
        """
        name = _host_name(header)
        if self.is_local:
            return name in LOOPBACK
        known = {*LOOPBACK, self.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        return name in known or _is_address(name)

    def has_token(self, given: str) -> bool:
        """Whether this is the token of the printed address."""
        return self.password is None and _are_equal(given, self.token)

    def try_password(self, given: str, clock: Callable[[], float] = time.monotonic) -> bool | None:
        """Whether this is the password; None if there were too many tries and it was not checked."""
        now = clock()
        while self._tries and now - self._tries[0] > _WINDOW:
            self._tries.popleft()
        if len(self._tries) >= _TRIES:
            return None
        self._tries.append(now)
        return self.password is not None and _are_equal(given, self.password)


def _are_equal(given: str, right: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), right.encode())


def _host_name(header: str) -> str:
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """The outermost layer of the application.

    Parameters
    ----------
    app : ASGI application
    access : Access
    store : Store
    limits : Limits
    policy : str
        Content-Security-Policy of pages.
    refuse : callable
        ``refuse(request, status, sentence)`` gives the page that says no.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Access,
        store: Store,
        limits: Limits,
        policy: str,
        refuse: Callable[[Request, int, str], Response],
    ) -> None:
        self.app, self.access, self.store, self.limits, self.refuse = app, access, store, limits, refuse
        self.cookie = _cookie_of(store)
        self.headers = {"Content-Security-Policy": policy, **_HEADERS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send, self.headers)
        request = Request(scope)
        answer = self._refusal(request) or await self._unknown(request)
        if answer is not None:
            await answer(scope, receive, send)
            return
        await self.app(scope, self._bounded(scope, receive), send)

    def _refusal(self, request: Request) -> Response | None:
        """Refuse a request that no page of ours can have made."""
        headers = request.headers
        if not self.access.knows_host(headers.get("host", "")):
            return self.refuse(request, 421, "This server does not answer to that host name.")
        if request.method in _SAFE_METHODS:
            return None
        if request.method != "POST":
            return self.refuse(request, 405, "This server accepts only GET and POST.")
        if not _is_from_here(headers):
            return self.refuse(request, 403, "This request came from another site and was refused.")
        declared = headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared) > self._room(request.scope):
            return self.refuse(request, 413, _too_large(self._room(request.scope)))
        return None

    async def _unknown(self, request: Request) -> Response | None:
        """Refuse a visitor without a session; with one, the state holds its CSRF token."""
        path = request.url.path
        key = request.cookies.get(self.cookie)
        csrf = None if key is None else self.store.csrf_of(key)  # faster than passing it to a thread
        request.state.csrf = csrf
        if path == "/" and self.access.has_token(request.query_params.get("token", "")):
            return await welcome(self.store)
        if csrf is not None or path == "/login":
            return None
        if self.access.password is not None:
            return RedirectResponse("/login", 303)
        return self.refuse(
            request,
            403,
            "Open the full address that whyodd serve printed: it ends with the key to this page.",
        )

    def _room(self, scope: Scope) -> int:
        return self.limits.bytes + _FORM if scope["path"] == _UPLOADS else _FORM

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The request body, up to a size, read without waiting too long."""
        room, ends = self._room(scope), time.monotonic() + self.limits.upload_seconds
        is_over = False

        async def bounded() -> Message:
            nonlocal room, is_over
            if is_over:  # then it waits for the end of the connection
                return await receive()
            left = min(self.limits.silence_seconds, ends - time.monotonic())
            if left <= 0:
                raise _too_slow()
            try:
                async with asyncio.timeout(left):
                    message = await receive()
            except TimeoutError:
                raise _too_slow() from None
            room -= len(message.get("body", b""))
            if room < 0:
                raise HTTPException(413, _too_large(self._room(scope)))
            is_over = not message.get("more_body", False)
            return message

        return bounded


def _too_slow() -> HTTPException:
    return HTTPException(408, "The upload took too long and was stopped. Try again.")


def _too_large(room: int) -> str:
    return (
        f"The upload is too large, expected at most {room // 1_000_000:,} MB. Start whyodd serve with a "
        "larger --megabytes."
    )


def _is_from_here(headers: Headers) -> bool:
    """Whether a page of this server sent a form, according to the browser.

    Browsers report the relation of sites only to addresses that they trust, such as those of this machine.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    return origin is not None and origin == f"http://{headers.get('host', '')}"


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = MutableHeaders(scope=message)
            for name, value in headers.items():
                own.setdefault(name, value)
        await send(message)

    return sent


def checked_form(form: Mapping[str, Any], csrf: str | None) -> None:
    """Refuse a form without the token of its session."""
    given = form.get("csrf", "")
    if csrf is None or not isinstance(given, str) or not _are_equal(given, csrf):
        raise HTTPException(403, "This form belongs to another session and was not used. Reload the page.")


def _cookie_of(store: Store) -> str:
    """Name of the cookie, different for each server, since servers on other ports share cookies."""
    return f"whyodd_{store.name}"


async def welcome(store: Store) -> Response:
    """Begin a session."""
    answer = RedirectResponse("/", 303)
    key = await run_in_threadpool(store.begin_session)
    answer.set_cookie(_cookie_of(store), key, max_age=_COOKIE_AGE, httponly=True, samesite="strict", path="/")
    return answer
