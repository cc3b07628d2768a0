"""The server: from a folder and a socket to answers, until it is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.web.app import Application, make_app
from whyodd.web.store import Store
from whyodd.web.work import Worker

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from whyodd.web.limits import Limits
    from whyodd.web.safety import Access

_MOST_CONNECTIONS = 200
_GRACE = 3  # seconds that connections have to end


def run(
    folder: Path,
    data: Path | None,
    access: Access,
    limits: Limits,
    listening: socket.socket,
    announce: Callable[[], None],
) -> None:
    """Answer on a socket until an interrupt; calls ``announce`` once the folder is locked."""
    import uvicorn

    store = Store(folder)
    app = make_app(Application(store, Worker(store, limits), limits, access, data))
    config: Any = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
    )
    announce()
    uvicorn.Server(config).run(sockets=[listening])
