"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer
from site_pages import MADE, write_if_changed
from typer.main import get_command

from whyodd.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
# Commands

Every command with all its options, as `whyodd COMMAND --help` tells them. The guides show them at work:
[all commands in one list](../index.md#all-commands).
"""


def write_commands() -> None:
    """Write the page."""
    MADE.mkdir(exist_ok=True)
    write_if_changed(MADE / "commands.md", commands_page())


def commands_page() -> str:
    """The page, a section for each command."""
    group = get_command(app)
    sections = [_section(name, command) for name, command in group.commands.items()]
    return "\n".join([_HEAD, *_described(group, ""), "", *sections])


def _section(name: str, command: Any) -> str:
    usage = command.get_usage(_context(command, name)).removeprefix("Usage: ")
    lines = [f"## whyodd {name}", "", "```text", usage, "```", "", _prose(command.help), ""]
    return "\n".join([*lines, *_described(command, name), ""])


def _described(command: Any, name: str) -> Iterator[str]:
    """A term and its description for each argument and option, as --help has them."""
    context = _context(command, name)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            term, text = record
            yield from (f"`{term}`", f": {_prose(text) or 'No help.'}", "")


def _context(command: Any, name: str) -> Any:
    return typer.Context(command, info_name=f"whyodd {name}".strip())


def _prose(text: str | None) -> str:
    """Help as Markdown: its lines are one paragraph where they are, and nothing in it is markup."""
    paragraphs = re.split(r"\n\s*\n", (text or "").replace("\b", "").strip())
    return "\n\n".join(_escaped(" ".join(one.split())) for one in paragraphs)


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_<>\[\]$`#|{}])", r"\\\1", text)
