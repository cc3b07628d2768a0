"""Names that are almost the same, to suggest what people may have meant."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Share of the letters of two names that may differ: one in five.
_ALIKE = 0.8
_RENAMED_TOLD = 3


def near_name(name: str, names: Sequence[str]) -> str | None:
    """The name that differs only in case, spaces and signs, or else in a letter; None if there is none.

    Examples
    --------
    >>> from whyodd.inputs.near_names import near_name
    >>> near_name("Press", ["temp", "press"]), near_name("wieght_kg", ["weight_kg"]), near_name("a", ["b"])
    ('press', 'weight_kg', None)
    """
    plain = {_plain(other): other for other in reversed(names)}
    if _plain(name) in plain:
        return plain[_plain(name)]
    found = get_close_matches(_plain(name), plain, n=1, cutoff=_ALIKE)
    return plain[found[0]] if found else None


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A question to add after a sentence, with a space before it; "" if no name is similar."""
    near = near_name(name, names)
    return "" if near is None else f" Did you mean {near!r}?"


def renamed(missing: Sequence[str], there: Sequence[str], known: Sequence[str]) -> str:
    """A suggestion to rename, after a space: unknown columns with names similar to the missing ones.

    Examples
    --------
    >>> from whyodd.inputs.near_names import renamed
    >>> renamed(["press"], ["Press", "temp"], ["press", "temp"])
    " Expected a column 'press', got 'Press': rename it."
    """
    new = [name for name in there if name not in known]
    near = [(name, near_name(name, new)) for name in missing]
    told = [f"Expected a column {name!r}, got {other!r}: rename it." for name, other in near if other]
    return "".join(f" {words}" for words in told[:_RENAMED_TOLD])


def _plain(name: str) -> str:
    """Only letters and digits, in lower case."""
    return re.sub(r"[\W_]+", "", name).casefold() or name
