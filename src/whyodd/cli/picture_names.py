"""Names of files, derived from those of pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# File systems allow 255 bytes; drafts and endings need some.
_MOST_BYTES = 160


def unique_stems(files: Sequence[Path]) -> list[str]:
    """For each file a name without ending, of harmless letters; ``NAME`` and ``strangest-NAME`` all differ.

    Examples
    --------
    >>> from pathlib import Path
    >>> from whyodd.cli.picture_names import unique_stems
    >>> unique_stems([Path("scan.png"), Path("scan.jpg"), Path("Scan.bmp"), Path("<b>.png")])
    ['scan', 'scan-2', 'Scan-3', '_b_']
    """
    taken: set[str] = set()
    stems = []
    for file in files:
        stem = _first_free(_harmless(file.stem), taken)
        taken |= _names(stem)
        stems.append(stem)
    return stems


def _first_free(stem: str, taken: set[str]) -> str:
    count, name = 1, stem
    while taken & _names(name):
        count += 1
        name = f"{stem}-{count}"
    return name


def _names(stem: str) -> set[str]:
    # Some file systems do not tell upper from lower case.
    return {stem.casefold(), f"strangest-{stem}".casefold()}


def _harmless(stem: str) -> str:
    letters = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in stem)
    short = letters.encode("utf-8")[:_MOST_BYTES].decode("utf-8", errors="ignore")
    return short.lstrip(".") or "picture"  # a leading dot would hide it
