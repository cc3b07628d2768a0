"""Where a table begins and ends, between titles, units, totals and footnotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Lines examined above the names.
MOST_ABOVE = 60
# Lines examined below the last row.
MOST_BELOW = 20
# The names are in the first line with this share of the fullest line's filled cells.
_FILLED = 0.75
_TOTAL = re.compile(
    r"\W*(grand |sub)?-?"
    r"(total|totals|sum|summe|gesamt|gesamtsumme|insgesamt|zwischensumme|totale|somme|suma)\b.*",
    re.I,
)
_FOOTNOTE = re.compile(
    r"(\*|\(\d+ rows?( affected)?\)|source\b|quelle\b|note\b|notes?:|hinweis|--|==|end of ).*", re.I
)
_UNIT = re.compile(
    r"\[[^\[\]]{0,15}\]|\([^()]{0,15}\)|%|‰|°|°[CF]|[mkµμnMG]?(g|m|s|A|V|W|Wh|Hz|Pa|J|N|l|L|mol|B|bar)|t|lb|oz|in|ft|mi|min|h|d|K|"
    r"[ckd]m|hPa|psi|ppm|ppb|rpm|dB|[mcdk]?m[23²³]|[$€£¥]|EUR|USD|GBP|CHF|[mk]?m/s²?|km/h|g/cm3|kg/m3|mg/l|1/min|deg",
)
_NUMBER = re.compile(r"[+-]?\d[\d.,  ' ]*([eE][+-]?\d+)?\s*%?")


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number, by the rules of any country."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def filled(record: Sequence[str]) -> int:
    """Number of filled cells."""
    return sum(1 for cell in record if cell.strip())


def header_of(records: Sequence[Sequence[str]]) -> int:
    """Place of the line with the names: 0, unless there are titles above it.

    Examples
    --------
    >>> from whyodd.io.table_outline import header_of
    >>> header_of([["Report", "", ""], ["", "", ""], ["a", "b", "c"], ["1", "2", "3"]])
    2
    """
    counts = [filled(record) for record in records]
    fullest = max(counts, default=0)
    first = next((place for place, count in enumerate(counts) if count), 0)
    for place, count in enumerate(counts[:MOST_ABOVE]):
        if count >= max(2, _FILLED * fullest):
            # A line of numbers does not hold names: those above were names, of some columns only.
            is_row = place > first and any(is_number(cell) and not _is_year(cell) for cell in records[place])
            return first if is_row else place
    return first


def _is_year(cell: str) -> bool:
    return re.fullmatch(r"(19|20)\d\d", cell.strip()) is not None


def has_units(names: Sequence[str], second: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the line below the names holds units: in all of its cells, each above numbers."""
    told = [(place, cell.strip()) for place, cell in enumerate(second) if cell.strip() and place < len(names)]
    if not told or not body or not all(_UNIT.fullmatch(cell) for _, cell in told):
        return False
    return any(_are_numbers(body, place) for place, _ in told)


def with_units(names: Sequence[str], second: Sequence[str]) -> list[str]:
    """Names with the units from the line below them.

    Examples
    --------
    >>> from whyodd.io.table_outline import with_units
    >>> with_units(["mass", "id"], ["[kg]", ""])
    ['mass (kg)', 'id']
    """
    units = [*(cell.strip().strip("[]()").strip() for cell in second), *([""] * len(names))]
    return [f"{name} ({unit})" if unit else name for name, unit in zip(names, units, strict=False)]


def _are_numbers(body: Sequence[Sequence[str]], place: int) -> bool:
    cells = [record[place] for record in body if place < len(record) and record[place].strip()]
    return bool(cells) and sum(map(is_number, cells)) >= 0.5 * len(cells)


def rows_below(records: Sequence[Sequence[str]], width: int) -> int:
    """How many of the last lines are not rows: totals, footnotes, and the empty lines before them.

    Parameters
    ----------
    records : sequence of records
        The last lines; the first of them is a row.
    width : int
        Number of columns.
    """
    below = 0
    for back in range(1, min(len(records), MOST_BELOW + 1)):
        record, before = records[-back], records[-back - 1]
        if not filled(record):
            continue
        if not (_is_total(record, before, width) or _is_footnote(record, before, width)):
            break
        below = back
    while 0 < below < len(records) - 1 and not filled(records[-below - 1]):
        below += 1
    return below


def _is_total(record: Sequence[str], before: Sequence[str], width: int) -> bool:
    first = next((cell for cell in record if cell.strip()), "")
    if width < 2 or not _TOTAL.fullmatch(first.strip()):
        return False
    # A row with such a name fills its other cells as its neighbours do; a sum has gaps, or stands apart.
    return filled(record) < filled(before) or not filled(before) or bool(_TOTAL.fullmatch(before[0].strip()))


def _is_footnote(record: Sequence[str], before: Sequence[str], width: int) -> bool:
    cells = [cell.strip() for cell in record if cell.strip()]
    if len(cells) != 1 or is_number(cells[0]):
        return False
    if not filled(before):
        return width > 1
    is_short = len(record) == 1 and width > 2 and " " in cells[0]
    return width > 1 and (is_short or _FOOTNOTE.fullmatch(cells[0]) is not None)
