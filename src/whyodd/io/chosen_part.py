"""The choice of a sheet of a workbook, or of a table of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_TOLD = 20


def choose_part(asked: str | None, there: Sequence[str], full: Sequence[str], name: str, what: str) -> str:
    """The requested part, or the only one with a table.

    Parameters
    ----------
    asked : str, optional
        A name, or a number from 1.
    there, full : sequence of str
        Names of all parts, and of those that hold a table.
    name : str
        What messages call the file.
    what : {"sheet", "table"}
    """
    if asked is not None:
        return _named(asked, there, name, what)
    if len(full) == 1:
        return full[0]
    if not full:
        raise ValueError(f"{name} has no {what} with rows. Choose another file.")
    raise ValueError(f"{name} has {len(full)} {what}s: {_listed(full)}. Choose one with --{what}.")


def _named(asked: str, there: Sequence[str], name: str, what: str) -> str:
    if asked in there:
        return asked
    near = [part for part in there if part.strip().lower() == asked.strip().lower()]
    if len(near) == 1:
        return near[0]
    if asked.isascii() and asked.isdigit() and 1 <= int(asked[:9]) <= len(there):
        return there[int(asked) - 1]
    if not there:
        raise ValueError(f"{name} has no {what}s. Choose another file.")
    raise ValueError(f"{name} has no {what} {asked!r}. It has: {_listed(there)}.")


def _listed(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - _MOST_TOLD} more" if len(parts) > _MOST_TOLD else ""
    return ", ".join(repr(part[:60]) for part in parts[:_MOST_TOLD]) + more
