"""Reasons in words and numbers as people write them."""

from __future__ import annotations

import math
from dataclasses import dataclass

OTHERS = "all other variables"
UNEXPLAINED = "no single variable"
_MANY_DIGITS = 15  # Enough to tell any two float64 numbers of the same size apart that differ visibly.


@dataclass(frozen=True)
class Reason:
    """One variable's part in the outlierness of one row.

    Attributes
    ----------
    feature : str
        Name of the variable.
    value, expected : float
        What the row has, and what a normal row like it would have.
    direction : int
        +1 too high, -1 too low, 0 as expected on average.
    relevance : float
        The variable's part R_i of the outlierness.
    share : float
        R_i / o, between 0 and 1.
    """

    feature: str
    value: float
    expected: float
    direction: int
    relevance: float
    share: float


@dataclass(frozen=True)
class OddRow:
    """One row with its main reasons.

    Attributes
    ----------
    row : int
        Position of the row in the data that were explained.
    outlierness : float
        o(x).
    unexplained_share : float
        Part of o, between 0 and 1, that belongs to no single variable.
    reasons : tuple of Reason
        The most relevant first.
    """

    row: int
    outlierness: float
    unexplained_share: float
    reasons: tuple[Reason, ...]

    @property
    def other_share(self) -> float:
        """Part of o that belongs to the variables not among the reasons."""
        told = self.unexplained_share + math.fsum(reason.share for reason in self.reasons)
        return max(0.0, 1.0 - told) if self.outlierness > 0 else 0.0


def sentence(odd: OddRow) -> str:
    """One sentence that says why the row is odd.

    Examples
    --------
    >>> from whyodd.words import OddRow, Reason, sentence
    >>> radius = Reason("radius_mean", 28.11, 13.18, direction=1, relevance=2.05, share=0.41)
    >>> sentence(OddRow(0, outlierness=5.0, unexplained_share=0.18, reasons=(radius,)))
    'radius_mean is too high (28.1, expected about 13.2): 41 % of the outlierness; 18 % belongs to no single
    variable'
    """
    if odd.outlierness <= 0:
        return "nothing is odd about this row: its outlierness is 0"
    told = [reason for reason in odd.reasons if reason.share > 0]
    if not told:
        return "no single variable makes this row odd: all of the outlierness is where it lies as a whole"
    first, *others = told
    parts = [f"{observation(first)}: {percent(first.share)} of the outlierness"]
    parts += [f"{observation(reason)}: {percent(reason.share)}" for reason in others]
    return "; ".join([*parts, _remainder(odd.unexplained_share)])


def observation(reason: Reason) -> str:
    """Say what is seen: the variable, whether it is too high or too low, its value and the expected one.

    Examples
    --------
    >>> from whyodd.words import Reason, observation
    >>> observation(Reason("amount", 12000.0, 35.5, direction=1, relevance=1.0, share=0.5))
    'amount is too high (12000, expected about 35.5)'
    """
    subject = f"{reason.feature} is {judgement(reason)}"
    if reason.direction == 0:
        return f"{subject} ({number(reason.value)})"
    value, expected = distinct_numbers(reason.value, reason.expected)
    return f"{subject} ({value}, expected about {expected})"


def judgement(reason: Reason) -> str:
    """Say the direction: "too high", "too low", or "unusual" if the value is as expected on average."""
    return {1: "too high", -1: "too low", 0: "unusual"}[reason.direction]


def _remainder(share: float) -> str:
    text = f"{percent(share)} belongs to no single variable"
    return f"{text}, more than the variables explain together" if share > 0.5 else text


def percent(share: float) -> str:
    """Share as a whole percentage.

    Examples
    --------
    >>> from whyodd.words import percent
    >>> percent(0.414), percent(0.0), percent(0.001)
    ('41 %', '0 %', 'under 1 %')
    """
    if 0 < share < 0.005:
        return "under 1 %"
    return f"{100 * share:.0f} %"


def number(value: float, digits: int = 3) -> str:
    """Write with ``digits`` significant digits, without an exponent unless the number is huge or tiny.

    Examples
    --------
    >>> from whyodd.words import number
    >>> [number(x) for x in (28.11, 12000.0, 1234.5, 0.05321, -0.5, 0.0, 1e15, 3.2e-9)]
    ['28.1', '12000', '1234', '0.0532', '-0.5', '0', '1e+15', '3.2e-09']
    """
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -5 <= size < 9:
        return f"{value:.{digits}g}"
    decimals = 0 if value.is_integer() else max(0, digits - 1 - size)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def distinct_numbers(value: float, other: float) -> tuple[str, str]:
    """Both numbers with as many digits as it takes to tell them apart, at least three.

    Examples
    --------
    >>> from whyodd.words import distinct_numbers
    >>> distinct_numbers(28.11, 13.18), distinct_numbers(1000.41, 1000.38)
    (('28.1', '13.2'), ('1000.41', '1000.38'))
    """
    for digits in range(3, _MANY_DIGITS):
        texts = number(value, digits), number(other, digits)
        if texts[0] != texts[1]:
            return texts
    return number(value, _MANY_DIGITS), number(other, _MANY_DIGITS)
