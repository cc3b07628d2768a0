"""What was made of a table, and why, for people to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.automatic.choice import Candidate, ChosenModel
    from whyodd.automatic.kinds import Column


@dataclass(frozen=True)
class AutoReport:
    """How ``whyodd.auto`` uses each column, which models it compared and which it chose; ``print`` it.

    Attributes
    ----------
    n_rows, n_fitted : int
        Rows of the table, and those that the model was fitted to.
    columns : tuple of Column
        For each its name, its kind, and a note.
    choice : ChosenModel
        The candidates, and why one of them was chosen.
    """

    n_rows: int
    n_fitted: int
    columns: tuple[Column, ...]
    choice: ChosenModel

    @property
    def set_aside(self) -> dict[str, str]:
        """Columns that are not used, and the reason."""
        return {column.name: column.note for column in self.columns if column.kind == "set aside"}

    def __str__(self) -> str:
        sample = (
            "" if self.n_fitted == self.n_rows else f" (the model is fitted to {self.n_fitted:,} of them)"
        )
        lines = [f"{self.n_rows:,} rows{sample}, {len(self.columns)} columns"]
        used = [column for column in self.columns if column.kind != "set aside"]
        for kind in dict.fromkeys(column.kind for column in used):
            lines += _lines_of_kind(kind, [column for column in used if column.kind == kind])
        if self.set_aside:
            lines += ["set aside:", *(f"  {name}: {note}" for name, note in self.set_aside.items())]
        if self.choice.candidates:
            measured = self.choice.chosen.log_likelihoods.size
            lines += [f"candidates, by the mean log-likelihood of {measured:,} rows they were not fitted to:"]
            lines += [self._candidate_line(candidate) for candidate in self.choice.candidates]
        lines += [f"chosen: {self.choice.chosen.name}; {self.choice.reason}"]
        return "\n".join(lines)

    def _candidate_line(self, candidate: Candidate) -> str:
        mark = "  <- chosen" if candidate is self.choice.chosen else ""
        return f"  {candidate.name:<45} {candidate.mean:12.2f}{mark}"


def _lines_of_kind(kind: str, columns: Sequence[Column]) -> list[str]:
    lines = [f"{kind}: {', '.join(column.name for column in columns)}"]
    return lines + [f"  {column.name}: {column.note}" for column in columns if column.note]
