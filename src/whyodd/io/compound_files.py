"""The container of Excel's old workbooks, checked before a reader follows it: damaged chains never end."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Sectors of bytes, larger ones in files of more than 2 GiB.
_SECTOR_SHIFTS = (9, 12)
_ENTRY, _ENTRY_START = 128, 116


def has_endless_chain(content: bytes) -> bool:
    """Whether following the sectors of a compound file would never end, or cannot even begin.

    A table says for each sector which comes next. Chains begin in the header, and in the entries of the
    directory; small files are in a table of their own.
    """
    try:
        return _has_endless_chain(content)
    except struct.error:
        return True


def _has_endless_chain(content: bytes) -> bool:
    (shift,) = struct.unpack_from("<H", content, 0x1E)
    first_entry, first_small = _number(content, 0x30), _number(content, 0x3C)
    if shift not in _SECTOR_SHIFTS:
        return True
    size = 1 << shift
    table_places = _table_places(content, size)
    if table_places is None:
        return True
    table = _numbers(b"".join(_sector(content, place, size) for place in table_places))
    entries, small = _chain(table, first_entry), _chain(table, first_small)
    if entries is None or small is None:
        return True
    directory = b"".join(_sector(content, place, size) for place in entries)
    small_table = _numbers(b"".join(_sector(content, place, size) for place in small))
    starts = [_number(directory, at + _ENTRY_START) for at in range(0, len(directory) - _ENTRY + 1, _ENTRY)]
    return any(_chain(kind, start) is None for kind in (table, small_table) for start in starts)


def _table_places(content: bytes, size: int) -> list[int] | None:
    """Sectors of the table: 109 in the header, more in a list of sectors."""
    places = _numbers(content[0x4C:0x200])
    following, seen = _number(content, 0x44), set()
    while (following + 2) * size <= len(content):
        if following in seen:
            return None
        seen.add(following)
        numbers = _numbers(_sector(content, following, size))
        places += numbers[:-1]
        following = numbers[-1]
    return [place for place in places if (place + 1) * size < len(content)]


def _chain(table: Sequence[int], start: int) -> list[int] | None:
    """Places from ``start`` on; None if they never end."""
    places: list[int] = []
    while start < len(table):
        places.append(start)
        if len(places) > len(table):
            return None
        start = table[start]
    return places


def _sector(content: bytes, place: int, size: int) -> bytes:
    return content[(place + 1) * size : (place + 2) * size]


def _number(content: bytes, at: int) -> int:
    (number,) = struct.unpack_from("<I", content, at)
    return int(number)


def _numbers(content: bytes) -> list[int]:
    count = len(content) // 4
    return list(struct.unpack(f"<{count}I", content[: 4 * count]))
