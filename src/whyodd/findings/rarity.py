"""How rare an outlierness is among normal rows, in words."""

from __future__ import annotations

import math

from whyodd.explanations.sentences import number, percent

# Rarities worth reporting.
_COMMON = 20.0
# The items to compare with, if not all.
_COMPARED = {"message": " of its length"}
# Times as many rows as were seen: up to there a fitted tail is mostly right to a factor of ten, at ten times
# that only to a factor of a hundred.
_REACH = 10.0


def how_odd(outlierness: float, p_value: float, n_normal: int, noun: str = "row") -> str:
    """Outlierness and its rarity in words, from the scores of ``n_normal`` normal rows.

    ``noun``: what they are, if they are no rows.

    Examples
    --------
    >>> from whyodd.findings.rarity import how_odd
    >>> how_odd(17.2, 4.8e-5, 3_000)
    '17 times as odd as a usual row; about 1 in 20,000 normal rows is'
    >>> how_odd(170.0, 4.8e-15, 3_000)
    '170 times as odd as a usual row; fewer than 1 in 30,000 normal rows are'
    """
    usual = f"usual {noun}{_COMPARED.get(noun, '')}"
    times = f"{number(outlierness, 2)} times as odd as a {usual}"
    one_in, is_beyond = _one_in(p_value, n_normal)
    if one_in is None:
        return f"{times}; {percent(p_value)} of normal {noun}s are as odd"
    if is_beyond:
        return f"{times}; fewer than 1 in {one_in:,} normal {noun}s are"
    return f"{times}; about 1 in {one_in:,} normal {noun}s is"


def rarity(p_value: float, n_normal: int) -> str:
    """The same for a cell of a table.

    Examples
    --------
    >>> from whyodd.findings.rarity import rarity
    >>> rarity(4.8e-5, 3_000), rarity(0.07, 3_000), rarity(1e-9, 50)
    ('1 in 20,000', '7 %', '< 1 in 500')
    """
    one_in, is_beyond = _one_in(p_value, n_normal)
    if one_in is None:
        return percent(p_value)
    return f"< 1 in {one_in:,}" if is_beyond else f"1 in {one_in:,}"


def _one_in(p_value: float, n_normal: int) -> tuple[int | None, bool]:
    """One in how many normal rows is as odd, to one digit (None if common), and whether it is a bound."""
    most = _REACH * n_normal
    is_beyond = p_value * most < 1.0
    one_in = most if is_beyond else 1.0 / p_value
    if one_in < _COMMON:
        return None, False
    digits: int = 10 ** math.floor(math.log10(one_in))
    return round(one_in / digits) * digits, is_beyond
