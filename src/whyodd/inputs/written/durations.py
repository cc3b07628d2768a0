"""Durations as people write them: 1:02:03, or 75:12."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from whyodd.inputs.written.base import LONGEST, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DURATION = r"([+-]?)([0-9]{1,6}):([0-5][0-9])(?::([0-5][0-9](?:\.[0-9]{1,9})?))?"
_PATTERN = re.compile(_DURATION)
_NAMES = re.compile(r"duration|elapsed|runtime|run_time|lap|length", re.IGNORECASE)


@dataclass(frozen=True)
class WrittenDuration(Written):
    """Hours, minutes and perhaps seconds, as seconds.

    Attributes
    ----------
    with_seconds : bool
        Whether it has three parts.
    """

    with_seconds: bool = True

    noun: ClassVar[str] = "duration"

    @property
    def words(self) -> str:
        """The convention in a few words."""
        return "duration, as in 1:02:03" if self.with_seconds else "duration, as in 1:02"

    def value(self, text: str) -> float | None:
        """Seconds of one text; None if it does not fit."""
        found = _PATTERN.fullmatch(text.strip()) if len(text) <= LONGEST else None
        if found is None:
            return None
        sign, hours, minutes, seconds = found.groups()
        size = 3600.0 * int(hours) + 60.0 * int(minutes) + float(seconds or 0.0)
        return -size if sign == "-" else size

    def expression(self, texts: Any) -> Any:
        """Polars expression of the seconds; null where texts do not fit."""
        import polars as pl

        body = pl.when(texts.str.len_chars() <= LONGEST).then(texts.str.strip_chars())
        parts = body.str.extract_groups(f"^{_DURATION}$")
        sign, hours, minutes, seconds = (parts.struct[place] for place in range(4))
        size = 3600.0 * hours.cast(pl.Float64) + 60.0 * minutes.cast(pl.Float64)
        size = size + seconds.cast(pl.Float64).fill_null(0.0)
        return pl.when(sign == "-").then(-size).otherwise(size)

    def show(self, value: Any, write: Callable[[float], str] | None = None) -> str:  # noqa: ARG002
        """Seconds in the form of the column.

        Examples
        --------
        >>> from whyodd.inputs.written.durations import WrittenDuration
        >>> WrittenDuration().show(3723.0)
        '1:02:03'
        """
        sign, size = ("-" if value < 0 else ""), abs(float(value))
        if not self.with_seconds:
            minutes = round(size / 60.0)
            return f"{sign}{minutes // 60}:{minutes % 60:02d}"
        seconds = round(size)
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def duration_convention(texts: Sequence[str], share: float, name: str) -> WrittenDuration | None:
    """How at least a share of some texts write durations; None if they do not.

    What no clock shows is a duration, and what a column calls so.
    """
    found = [match for text in texts if len(text) <= LONGEST and (match := _PATTERN.fullmatch(text.strip()))]
    if not found or len(found) < share * len(texts):
        return None
    is_beyond = any(int(match[2]) >= 24 or match[1] for match in found)
    if not is_beyond and _NAMES.search(name) is None:
        return None
    return WrittenDuration(sum(match[4] is not None for match in found) >= len(found) / 2)
