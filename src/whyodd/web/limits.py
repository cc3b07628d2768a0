"""Limits on size and time."""

from __future__ import annotations

from dataclasses import dataclass

_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """Limits on uploads and on the work they cause.

    Attributes
    ----------
    megabytes : int
        Of a file that is uploaded.
    rows, columns : int
        Of a table.
    upload_seconds : float
        For a whole upload.
    silence_seconds : float
        Without a byte of it.
    work_seconds : float
        For reading one file, or for one set of findings.
    memory_megabytes : int
        Of the process that does the work.
    """

    megabytes: int = 500
    rows: int = 5_000_000
    columns: int = 1_000
    upload_seconds: float = 900.0
    silence_seconds: float = 20.0
    work_seconds: float = 3_600.0
    memory_megabytes: int = 4_000

    @property
    def bytes(self) -> int:
        """Bytes of an uploaded file."""
        return self.megabytes * _MEGABYTE

    @property
    def memory(self) -> int:
        """Bytes of memory of the child process."""
        return self.memory_megabytes * _MEGABYTE
