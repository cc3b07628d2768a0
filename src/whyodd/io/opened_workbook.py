"""An opened workbook, whichever library reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyodd.io.table_mistakes import first_words

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class OpenedWorkbook:
    """Sheets of a workbook.

    Attributes
    ----------
    there, visible : list of str
        Names of all sheets, and of those that are not hidden.
    rows : callable
        Cells of a sheet by its name, rows of equal length; "" is a gap.
    """

    there: list[str]
    visible: list[str]
    rows: Callable[[str], list[list[Any]]]


def unreadable(name: str, error: BaseException) -> ValueError:
    """Say that a file is not a readable workbook."""
    return ValueError(
        f"{name} cannot be read: it is not a workbook, or it is damaged or locked by a password "
        f"({first_words(error)}). Get it again, or save it as CSV."
    )
