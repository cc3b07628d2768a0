"""The options of a reader of tables."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reading:
    """How a file is to be read.

    Attributes
    ----------
    name : str
        What messages call the file.
    as_written : collection of str
        Columns that name rows.
    ending : str
        Of its name, "" if unknown.
    encoding, sheet, table : str, optional
        What people chose.
    notes : list of str
        Gains what people should know.
    """

    name: str
    as_written: tuple[str, ...] = ()
    ending: str = ""
    encoding: str | None = None
    sheet: str | None = None
    table: str | None = None
    notes: list[str] = field(default_factory=list)
