"""The kind of table in a file: from its first bytes, or else from its ending."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from whyodd.io.table_mistakes import Source

# Ending -> kind.
ENDINGS = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".xls": "workbook",
    ".ods": "workbook",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".duckdb": "duckdb",
    ".npy": "array",
    ".npz": "array",
}
# Endings of packed files; what is packed has an ending of its own before them.
PACKED_ENDINGS = (".gz", ".zst")
# First bytes -> kind, whatever the ending says.
_SIGNATURES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"SQLite format 3\0": "sqlite",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "workbook",
    b"\x93NUMPY": "array",
}
_ZIP, _DUCKDB = b"PK\x03\x04", b"DUCK"
# Members of a ZIP archive -> kind.
_MEMBERS = {"xl/": "workbook", "content.xml": "workbook"}
_WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff")
FIRST_BYTES = 4096


def kind_of(source: Source, ending: str, name: str) -> str:
    """Kind of a table, a key of ``READERS``.

    Parameters
    ----------
    source : path or bytes
        What is not packed.
    ending : str
        That of the file's name, "" if unknown.
    name : str
        What messages call it.
    """
    beginning = first_bytes(source)
    by_bytes = _kind_by_bytes(source, beginning, name)
    by_ending = ENDINGS.get(ending)
    if by_bytes is not None:
        return by_bytes
    is_misnamed = by_ending == "workbook" and b"\0" not in beginning
    if by_ending in (None, "text") or is_misnamed or beginning.startswith(_WIDE_TEXT):
        # Many programs call a text with tabs .xls.
        # Of bytes that are no text the reader of texts says so.
        return "json" if _looks_like_json(beginning) else "text"
    return by_ending


def first_bytes(source: Source) -> bytes:
    """The first bytes of a file."""
    if isinstance(source, bytes):
        return source[:FIRST_BYTES]
    with source.open("rb") as file:
        return file.read(FIRST_BYTES)


def ending_of(path: Path) -> str:
    """Known ending of a name, without a packing ending; "" if there is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from whyodd.io.table_kinds import ending_of
    >>> ending_of(Path("a.CSV.gz")), ending_of(Path("a.export"))
    ('.csv', '')
    """
    name = path.name.lower()
    for packed in PACKED_ENDINGS:
        name = name.removesuffix(packed)
    return next((ending for ending in ENDINGS if name.endswith(ending)), "")


def _kind_by_bytes(source: Source, beginning: bytes, name: str) -> str | None:
    if beginning[8:12] == _DUCKDB:
        return "duckdb"
    if beginning.startswith(_ZIP):
        return _kind_of_archive(source, name)
    return next((kind for first, kind in _SIGNATURES.items() if beginning.startswith(first)), None)


def _kind_of_archive(source: Source, name: str) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            members = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        raise ValueError(
            f"{name} cannot be read: it is a damaged or incomplete workbook or ZIP archive. Get it again."
        ) from None
    for first, kind in _MEMBERS.items():
        if any(member.startswith(first) for member in members):
            return kind
    if members and all(member.endswith(".npy") for member in members):
        return "array"
    raise ValueError(f"{name} cannot be read: it is a ZIP archive without a workbook. Unpack it.")


def _looks_like_json(beginning: bytes) -> bool:
    text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith((b"[{", b'{"')) or (text[:1] == b"[" and text[1:].lstrip().startswith(b"{"))
