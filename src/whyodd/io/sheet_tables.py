"""The table among the cells of a sheet: below titles, above totals, anywhere on the sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.io.cell_frames import frame_of_cells
from whyodd.io.column_names import clean_names
from whyodd.io.table_outline import filled, has_units, header_of, rows_below, with_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyodd.io.reading import Reading

# Rows examined to see where the table begins and ends.
_SAMPLE = 200


def holds_table(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether a sheet has more than one line."""
    return sum(any(cell != "" for cell in row) for row in rows) > 1


def frame_of_rows(rows: list[list[Any]], reading: Reading) -> Any:
    """The table among the cells of a sheet."""
    name, notes = reading.name, reading.notes
    texts = [_texts(row) for row in rows[:_SAMPLE]]
    header = header_of(texts)
    if any(map(filled, texts[:header])):
        shown = next(cell for row in texts for cell in row if cell)[:40]
        notes.append(f"{name}: left out {_lines(header)} above the column names ({shown!r}).")
    # A column is there if it has a name or a value below.
    kept = [c for c in range(len(rows[0]) if rows else 0) if any(row[c] != "" for row in rows[header:])]
    names = [texts[header][c] for c in kept]
    body = [[row[c] for c in kept] for row in rows[header + 1 :]]
    if body and has_units(names, _texts(body[0]), [_texts(row) for row in body[1:_SAMPLE]]):
        names = with_units(names, _texts(body[0]))
        body = body[1:]
        notes.append(f"{name}: the line below the names holds units, which are now part of the names.")
    body = _without_below(body, len(kept), reading)
    body = [row for row in body if any(cell != "" for cell in row)]
    columns = list(zip(*body, strict=True)) if body else [()] * len(kept)
    if not names:
        raise ValueError(f"{name} is empty.")
    return frame_of_cells(clean_names(names, name, notes), columns, reading.as_written)


def _without_below(body: list[list[Any]], width: int, reading: Reading) -> list[list[Any]]:
    last = [_texts(row) for row in body[-_SAMPLE:]]
    while last and not filled(last[-1]):
        last.pop()
        body = body[:-1]
    below = rows_below(last, width)
    if below:
        shown = next(cell for row in last[-below:] for cell in row if cell)[:40]
        reading.notes.append(
            f"{reading.name}: left out {_lines(below)} below the rows, a total or a footnote ({shown!r})."
        )
    return body[: len(body) - below]


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _texts(row: Sequence[Any]) -> list[str]:
    return [_text(cell) for cell in row]


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
