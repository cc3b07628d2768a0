"""The choice of rows and their order on a page: read from an address, and written to one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from whyodd.web.store import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = 50  # rows at a time
_MOST_WORDS = 8
_LONGEST = 200
# What can be sorted by: column, and whether the largest come first unless asked otherwise.
SORTS = {
    "rank": ("rows.rank", False),
    "name": ("rows.name COLLATE NOCASE", False),
    "outlierness": ("rows.outlierness", True),
    "why": ("rows.why COLLATE NOCASE", False),
    "mark": ("marks.verdict", True),
}
MARKS = {"": "all", "none": "not marked", **VERDICTS}


@dataclass(frozen=True)
class Choice:
    """The chosen rows of the findings; each choice is an address.

    Attributes
    ----------
    q : str
        Words that a row's name, number or reasons hold.
    mark : str
        One of ``MARKS``.
    reason : int, optional
        Number of a shared reason.
    sort : str
        One of ``SORTS``.
    down : bool
        Whether the largest come first.
    page : int
        From 1.
    """

    q: str = ""
    mark: str = ""
    reason: int | None = None
    sort: str = "rank"
    down: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Choice:
        """Read it from an address; invalid parts are ignored."""
        sort = query.get("sort", "rank")
        sort = sort if sort in SORTS else "rank"
        way = query.get("way", "down" if SORTS[sort][1] else "up")
        mark = query.get("mark", "")
        return cls(
            q=query.get("q", "").replace("\0", "")[:_LONGEST].strip(),
            mark=mark if mark in MARKS else "",
            reason=_whole(query.get("reason", "")),
            sort=sort,
            down=way == "down",
            page=max(_whole(query.get("page", "")) or 1, 1),
        )

    @property
    def query(self) -> str:
        """As part of an address, without defaults.

        Examples
        --------
        >>> from whyodd.web.choice import Choice
        >>> Choice(q="a b", sort="name", down=True, page=2).query
        '?q=a+b&sort=name&way=down&page=2'
        """
        parts: dict[str, Any] = {}
        if self.q:
            parts["q"] = self.q
        if self.mark:
            parts["mark"] = self.mark
        if self.reason is not None:
            parts["reason"] = self.reason
        if self.sort != "rank":
            parts["sort"] = self.sort
        if self.down != SORTS[self.sort][1]:
            parts["way"] = "down" if self.down else "up"
        if self.page > 1:
            parts["page"] = self.page
        return f"?{urlencode(parts)}" if parts else ""

    def with_sort(self, sort: str) -> Choice:
        """The choice after a click on a heading: reversed if it is already sorted by that."""
        down = not self.down if sort == self.sort else SORTS[sort][1]
        return replace(self, sort=sort, down=down, page=1)

    def with_page(self, page: int) -> Choice:
        """Another page of the same."""
        return replace(self, page=page)

    def with_reason(self, reason: int | None) -> Choice:
        """Only rows of one reason."""
        return replace(self, reason=reason, page=1)

    @property
    def condition(self) -> tuple[str, list[Any]]:
        """As an SQL condition, with separate values."""
        parts, values = ["1"], list[Any]()
        for word in self.q.casefold().split()[:_MOST_WORDS]:
            parts.append("rows.words LIKE ? ESCAPE '\\'")
            values.append(f"%{_literal(word)}%")
        if self.mark == "none":
            parts.append("marks.verdict IS NULL")
        elif self.mark:
            parts.append("marks.verdict = ?")
            values.append(self.mark)
        if self.reason is not None:
            parts.append("rows.kind_of_reason = ?")
            values.append(self.reason)
        return " AND ".join(parts), values

    @property
    def order(self) -> str:
        """As an SQL order; equal rows the oddest first."""
        return f"{SORTS[self.sort][0]} {'DESC' if self.down else 'ASC'}, rows.rank"


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _literal(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
