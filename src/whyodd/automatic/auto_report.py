"""What was made of a table, and why, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.automatic.kinds import Column


@dataclass(frozen=True)
class AutoReport:
    """How ``whyodd.auto`` uses each column, and which model it trained; ``print`` shows it.

    Attributes
    ----------
    n_rows, n_fitted : int
        Rows of the table, and those that the model was learned from.
    columns : tuple of Column
        For each its name, its kind, and a note.
    model : str
        What the model looks at, in words.
    choice : ChosenModel, optional
        What was chosen instead, by version 0.1.
    """

    n_rows: int
    n_fitted: int
    columns: tuple[Column, ...]
    model: str = "a density"
    choice: Any = None

    @property
    def set_aside(self) -> dict[str, str]:
        """Columns that are not used, and the reason."""
        return {column.name: column.note for column in self.columns if not column.is_used}

    @property
    def told(self) -> str:
        """The model in a sentence."""
        if self.choice is not None:
            return f"{self.choice.chosen.name}: {self.choice.reason}."
        return f"{self.model}."

    def __str__(self) -> str:
        sample = (
            "" if self.n_fitted == self.n_rows else f" (the model is learned from {self.n_fitted:,} of them)"
        )
        lines = [f"{self.n_rows:,} rows{sample}, {len(self.columns)} columns"]
        used = [column for column in self.columns if column.is_used]
        for kind in dict.fromkeys(column.kind for column in used):
            lines += _lines_of_kind(kind, [column for column in used if column.kind == kind])
        if self.set_aside:
            lines += ["set aside:", *(f"  {name}: {note}" for name, note in self.set_aside.items())]
        return "\n".join([*lines, f"model: {self.told}"])


def _lines_of_kind(kind: str, columns: Sequence[Column]) -> list[str]:
    lines = [f"{kind}: {', '.join(column.name for column in columns)}"]
    return lines + [f"  {column.name}: {column.note}" for column in columns if column.note]
