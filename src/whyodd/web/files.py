"""Files that people upload or choose; their names are shown, but never used as a path."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from whyodd.io.atomic import replacing
from whyodd.io.table_kinds import ENDINGS, PACKED_ENDINGS, ending_of
from whyodd.io.tables import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyodd.web.store import Store

_LONGEST_NAME = 200
_MOST_LISTED = 500
_NOT_TAKEN = ("sqlite", "duckdb", "array")


def kept_upload(store: Store, content: IO[bytes], name: str, reading: Mapping[str, str | None]) -> str:
    """Store a file under a name of our own, which keeps its ending if that is a known one."""
    place = store.new_place(_ending(name))
    with replacing(place) as draft, draft.open("xb") as file:
        shutil.copyfileobj(content, file, 1 << 20)
    return store.add_file(shown_name(name), place, reading)


def shown_name(name: str) -> str:
    r"""The name of a file on pages.

    Examples
    --------
    >>> from whyodd.web.files import shown_name
    >>> shown_name("../../etc/passwd"), shown_name("C:\\data\\orders.csv"), shown_name("..")
    ('passwd', 'orders.csv', 'file')
    """
    last = PurePosixPath(name.replace("\\", "/")).name
    return shown(last)[:_LONGEST_NAME].strip() if last.strip(". ") else "file"


def _ending(name: str) -> str:
    """The known ending of a name, including that of packing."""
    packed = next((ending for ending in PACKED_ENDINGS if name.lower().endswith(ending)), "")
    return ending_of(Path(name[-_LONGEST_NAME:])) + packed


def files_in(folder: Path) -> list[Path]:
    """Tables of a folder: real files directly in it, no links."""
    found = (path for path in folder.iterdir() if not path.is_symlink() and path.is_file())
    kinds = ((path, ENDINGS.get(ending_of(path))) for path in found if not path.name.startswith("."))
    taken = [path for path, kind in kinds if kind is not None and kind not in _NOT_TAKEN]
    return sorted(taken, key=lambda path: path.name.casefold())[:_MOST_LISTED]
