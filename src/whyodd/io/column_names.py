"""Column names, made unique and never empty."""

from __future__ import annotations

import re

# Letters of a name that are kept; nobody reads more.
LONGEST_NAME = 200
_BLANKS = re.compile(r"\s+")


def clean_names(names: list[str], name: str, notes: list[str]) -> list[str]:
    r"""Names without surrounding blanks, none empty, none twice, none too long.

    Parameters
    ----------
    names : list of str
        As the file has them.
    name : str
        What messages call the file.
    notes : list of str
        Gains what was changed.

    Examples
    --------
    >>> from whyodd.io.column_names import clean_names
    >>> clean_names([" a", "", "a", "two\nlines"], "t.csv", [])
    ['a', 'column 2', 'a (2)', 'two lines']
    """
    tidy = [_BLANKS.sub(" ", column).strip() for column in names]
    if not any(tidy):
        raise ValueError(f"The first line of {name} holds no column names, expected some. Add them.")
    named = [column or f"column {place}" for place, column in enumerate(tidy, start=1)]
    long = [column for column in named if len(column) > LONGEST_NAME]
    if long:
        words = "a name" if len(long) == 1 else f"{len(long)} names"
        notes.append(
            f"{name} has {words} longer than {LONGEST_NAME} letters, which were shortened: {long[0][:30]}…."
        )
    return _different([_cut(column) for column in named], name, notes)


def _cut(column: str) -> str:
    return column if len(column) <= LONGEST_NAME else f"{column[:LONGEST_NAME]}…"


def _different(names: list[str], name: str, notes: list[str]) -> list[str]:
    """A new name for the second of two equal ones: it gets a number that no other name has."""
    taken, result, renamed = set(names), [], []
    seen: dict[str, int] = {}
    for column in names:
        seen[column] = seen.get(column, 0) + 1
        if seen[column] == 1:
            result.append(column)
            continue
        while (other := f"{column} ({seen[column]})") in taken:
            seen[column] += 1
        taken.add(other)
        result.append(other)
        renamed.append(other)
    if renamed:
        more = f" and {len(renamed) - 1} more" if len(renamed) > 1 else ""
        notes.append(f"{name} has columns with the same name, now numbered: {renamed[0]!r}{more}.")
    return result
