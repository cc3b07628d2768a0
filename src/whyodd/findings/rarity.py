"""How rare an outlierness is among normal rows, in words."""

from __future__ import annotations

import math

from whyodd.explanations.sentences import number, percent

# Rarities that are told as such, and beyond which nothing is known.
_COMMON, _RAREST = 20.0, 1e-9
_MILLION = 1_000_000


def how_odd(outlierness: float, p_value: float) -> str:
    """Outlierness and its rarity in words.

    Examples
    --------
    >>> from whyodd.findings.rarity import how_odd
    >>> how_odd(17.2, 4.8e-5)
    '17 times as odd as a usual row; about 1 in 20,000 normal rows is'
    """
    times = f"{number(outlierness, 2)} times as odd as a usual row"
    found = _one_in(p_value)
    if found is None:
        return f"{times}; {percent(p_value)} of normal rows are as odd"
    return f"{times}; about 1 in {found:,} normal rows is"


def rarity(p_value: float) -> str:
    """The same for a cell of a table.

    Examples
    --------
    >>> from whyodd.findings.rarity import rarity
    >>> rarity(4.8e-5), rarity(0.07), rarity(1e-9)
    ('1 in 20,000', '7 %', '< 1 in 1,000,000')
    """
    found = _one_in(p_value)
    if found is None:
        return percent(p_value)
    return f"1 in {found:,}" if found <= _MILLION else f"< 1 in {_MILLION:,}"


def _one_in(p_value: float) -> int | None:
    """Among how many normal rows there is one, with one digit; None if there are many."""
    one_in = 1.0 / max(p_value, _RAREST)
    if one_in < _COMMON:
        return None
    digits: int = 10 ** math.floor(math.log10(one_in))
    return round(one_in / digits) * digits
