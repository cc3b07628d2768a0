"""``whyodd serve``: a web application on this machine."""

from __future__ import annotations

import os
import socket
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from whyodd.cli.extras import check_installed

_PASSWORD = "WHYODD_PASSWORD"
_SHORTEST = 12


def serve(
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="Folder of tables to offer on the page.")
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Folder for files, findings and marks; created if missing.")
    ] = Path("whyodd-serve"),
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Addresses open to other machines need a password: whyodd asks for "
            f"it, or reads {_PASSWORD}."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8765,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    megabytes: Annotated[int, typer.Option(min=1, help="Largest upload, in megabytes.")] = 500,
    rows: Annotated[int, typer.Option(min=2, help="Largest number of rows in a table.")] = 5_000_000,
    columns: Annotated[int, typer.Option(min=1, help="Largest number of columns in a table.")] = 1_000,
    upload_seconds: Annotated[float, typer.Option(min=1, help="Longest time for one upload.")] = 900,
    work_seconds: Annotated[float, typer.Option(min=1, help="Longest time to work on one file.")] = 3_600,
    memory: Annotated[
        int, typer.Option(min=500, help="Memory limit for the process that reads and learns, in megabytes.")
    ] = 4_000,
) -> None:
    """Explore tables in a browser: drop a file, see what is odd and why, mark rows, judge the next file.

    Listens on this machine only, and prints the address with its key.

    Example: whyodd serve exports/ --folder kept/
    """
    check_installed("starlette", "uvicorn", "python_multipart", "jinja2", "polars", "skops")
    if data is not None and not data.is_dir():
        raise NotADirectoryError(
            f"{data} is not a folder, expected a folder of tables. To use one file, choose it on the page."
        )
    from whyodd.web.limits import Limits
    from whyodd.web.safety import Access

    access = Access(host)
    if not access.is_local:
        access.password = _password()
    limits = Limits(
        megabytes=megabytes,
        rows=rows,
        columns=columns,
        upload_seconds=upload_seconds,
        work_seconds=work_seconds,
        memory_megabytes=memory,
    )
    from whyodd.web.run import run

    with _listening(host, port) as listening:
        address = _address(host, listening.getsockname()[1])
        if access.is_local:
            address += f"?token={access.token}"

        def announce() -> None:
            typer.echo(f"whyodd runs at {address}")
            typer.echo(f"Its files are in {folder.resolve()}. Press Ctrl+C to stop.", err=True)
            if show:
                webbrowser.open(address)

        run(folder, data, access, limits, listening, announce)


def _password() -> str:
    """The password from the environment or the prompt; a server that others can reach always has one."""
    given = os.environ.get(_PASSWORD)
    if given is None:
        given = typer.prompt(
            "Password for everyone who opens the page", hide_input=True, confirmation_prompt=True
        )
    if len(given) < _SHORTEST:
        raise ValueError(
            f"The password has {len(given)} characters, expected at least {_SHORTEST}. Choose a longer one."
        )
    return str(given)


def _listening(host: str, port: int) -> socket.socket:
    """A socket on the address, or a sentence on why it cannot be opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another --port, or 0 "
            "for a free one."
        ) from None
    listening.listen(128)
    return listening


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
