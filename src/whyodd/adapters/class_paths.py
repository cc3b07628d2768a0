"""Models recognised by the path of their class, so that the package they come from need not be imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Entry = TypeVar("Entry")


def class_path(cls: type) -> str:
    """Where a class is defined: module and qualified name."""
    return f"{cls.__module__}.{cls.__qualname__}"


def public_path(path: str) -> str:
    """Where people import a class from: its path without the private parts."""
    return ".".join(part for part in path.split(".") if not part.startswith("_"))


def find_entry(registry: Mapping[str, Entry], model: object) -> Entry | None:
    """Entry of the model's class or, failing that, of its nearest registered ancestor."""
    for ancestor in type(model).__mro__:
        entry = registry.get(class_path(ancestor))
        if entry is not None:
            return entry
    return None
