"""Options that are numbers, checked with a sentence."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real


def whole_number(name: str, value: object, least: int) -> int:
    """A whole number of at least ``least``, or an error."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r}: expected a whole number of at least {least}.")
    return int(value)


def finite_number(name: str, value: object) -> float:
    """A finite number of at least 0, or an error."""
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value) or value < 0:
        raise ValueError(f"{name}={value!r}: expected a finite number of at least 0.")
    return float(value)
