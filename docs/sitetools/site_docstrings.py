"""Docstrings as the reference shows them: formulas are text, and scikit-learn's own methods are left out."""

from __future__ import annotations

import re
from typing import Any

# Code and roles stay as they are; between them |x|, x_ and a lone * are formulas and names, not markup.
_LITERAL = re.compile(r"(``.+?``|:\w+:`[^`]+`|`[^`]+`_?)")
_NAME = re.compile(r"(?<=\w)_(?!\w)")
_STAR = re.compile(r"(?<!\*)\*(?!\*)")
_REQUEST = re.compile(r"(get_metadata_routing|set_\w+_request)$")


def escape_formulas(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Before numpydoc reads them."""
    in_example = False
    for place, line in enumerate(lines):
        in_example = line.lstrip().startswith((">>>", "...")) or (in_example and bool(line.strip()))
        if not in_example:
            lines[place] = escaped(line)


def escaped(line: str) -> str:
    """One line of prose."""
    parts = _LITERAL.split(line)
    parts[::2] = [_escaped(part) for part in parts[::2]]
    return "".join(parts)


def _escaped(prose: str) -> str:
    prose = prose.replace("|", r"\|")
    # Before a colon stands the name of an attribute, which numpydoc looks up.
    term, colon, rest = prose.rpartition(" : ")
    prose = term + colon + _NAME.sub(r"\\_", rest)
    return _STAR.sub(r"\\*", prose) if len(_STAR.findall(prose)) % 2 else prose


def is_skipped(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:  # noqa: ARG001
    """What scikit-learn adds to every model for routing metadata."""
    return True if _REQUEST.match(name) else None
