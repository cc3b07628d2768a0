"""Members that are loaded through their constructor, which checks what a file says."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Constructed:
    """A dataclass whose state is the arguments of its constructor: what was computed since is left out."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(vars(type(self)(**state)))
