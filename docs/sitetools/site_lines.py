"""The line that computes a formula, looked up in the source at build time.

In Markdown::

    ```{computed} whyodd.kernels.exponential.Exponential.log_profile
    return -e / self.q
    ```

The name leads to a function, and the line below it is a line of that function, but for its indent. Both are
checked by the build and by a test: a formula cannot point to code that is gone.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import whyodd

_SOURCE = Path(whyodd.__file__).resolve().parent
_NAMED = re.compile(r"^```\{computed\} (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Computed:
    """A line of the source.

    Attributes
    ----------
    file : str
        Relative to the repository.
    line : int
        Counted from 1.
    text : str
        Without its indent.
    """

    file: str
    line: int
    text: str


def named_in(page: str) -> list[tuple[str, str]]:
    """Function and line of every formula of a Markdown page."""
    return [(name, line.strip()) for name, line in _NAMED.findall(page)]


def computed(name: str, line: str) -> Computed:
    """Where ``line`` stands in the function ``name``.

    Raises
    ------
    ValueError
        If there is no such function, or the line is not once in it.
    """
    function = _function(name)
    lines, first = inspect.getsourcelines(function)
    places = [place for place, text in enumerate(lines) if text.strip() == line]
    if len(places) != 1:
        raise ValueError(
            f"{name} has the line {line!r} {len(places)} times, expected once. Copy a line of that function."
        )
    file = Path(inspect.getsourcefile(function) or "").resolve()
    return Computed(f"src/whyodd/{file.relative_to(_SOURCE).as_posix()}", first + places[0], line)


def defined(module: str, name: str) -> Computed | None:
    """Where a name of a module is defined; None for what has no lines, such as a field or a dictionary."""
    try:
        found = _function(f"{module}.{name}")
        lines, first = inspect.getsourcelines(found)
        file = Path(inspect.getsourcefile(found) or "").resolve()
    except (TypeError, OSError, ValueError):
        return None
    if not file.is_relative_to(_SOURCE):
        return None
    return Computed(f"src/whyodd/{file.relative_to(_SOURCE).as_posix()}", first, lines[0].strip())


def _function(name: str) -> Any:
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                raise ValueError(f"{name}: {found!r} has no {part}. Name a function by its full path.")
            found = inspect.getattr_static(found, part)
        # What is below a decorator: of class methods, properties, cached ones, compiled loops.
        for inner in ("__func__", "fget", "func", "py_func"):
            found = getattr(found, inner, found)
        return found
    raise ValueError(f"{name}: there is no such module. Name a function by its full path.")
