"""Options and seeds, checked; an error is one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np


def keywords(options: Any) -> dict[str, Any]:
    """Options by name, none if there are none, or an error."""
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(
            "Expected options as a dictionary, for example {'neighbors': 10}, got "
            f"{type(options).__name__}."
        )
    return dict(options or {})


def generator(random_state: Any) -> np.random.Generator:
    """Random numbers of a seed, or an error."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={random_state!r}: expected a whole number of at least 0, or None."
        ) from None


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
