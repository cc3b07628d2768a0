"""Packed files, unpacked up to a memory limit."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from typing import TYPE_CHECKING, Any

from whyodd.io.table_mistakes import DAMAGED

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyodd.io.table_mistakes import Source

# A few kilobytes can unpack to any size: what is larger is refused before it fills the memory.
LARGEST_UNPACKED = 2 << 30
_STEP = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def unpacked(source: Source, beginning: bytes, name: str) -> Source:
    """A file packed with gzip or zstd as bytes; any other file as it is.

    Parameters
    ----------
    source : path or bytes
    beginning : bytes
        Its first bytes, which show whether it is packed.
    name : str
        What messages call it.
    """
    if not is_packed(beginning):
        return source
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        return _read_all(unpacking(file, beginning), name)


def is_packed(beginning: bytes) -> bool:
    """Whether these first bytes are those of a packed file."""
    return any(map(beginning.startswith, _OPENERS))


def unpacking(file: Any, beginning: bytes) -> Any:
    """An open packed file, unpacked while it is read; other files as they are."""
    opener = next((opener for first, opener in _OPENERS.items() if beginning.startswith(first)), None)
    return file if opener is None else opener(file)


def _read_all(packed: Any, name: str) -> bytes:
    parts, size = [], 0
    try:
        while part := packed.read(_STEP):
            size += len(part)
            if size > LARGEST_UNPACKED:
                raise ValueError(
                    f"{name} unpacks to more than {LARGEST_UNPACKED >> 30} GiB, the limit for packed files. "
                    "Unpack it yourself, or save it as Parquet."
                )
            parts.append(part)
    except unpacking_errors():
        raise ValueError(f"{name} cannot be read: {DAMAGED}.") from None
    return b"".join(parts)


def unpacking_errors() -> tuple[type[Exception], ...]:
    """Errors that reading a damaged packed file may raise."""
    return EOFError, zlib.error, gzip.BadGzipFile, _zstd_error()


def _open_gzip(file: Any) -> Any:
    return gzip.GzipFile(fileobj=file)


def _open_zstd(file: Any) -> Any:
    return _zstd().ZstdFile(file)


def _zstd() -> Any:
    """The reader of zstd: part of Python since 3.14."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading .zst files needs backports.zstd, which is not installed. Run: pip install "
            "'whyodd[files]'"
        ) from None
    return zstd


def _zstd_error() -> type[Exception]:
    """The errors of the zstd reader, or, without one, an error that is never raised here."""
    try:
        error: type[Exception] = _zstd().ZstdError
    except ModuleNotFoundError:
        return zlib.error
    return error


# First bytes -> how to open what follows.
_OPENERS: dict[bytes, Callable[[Any], Any]] = {_GZIP: _open_gzip, _ZSTD: _open_zstd}
