"""Moments as seconds or milliseconds since 1970."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whyodd.inputs.written.base import Written

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_PER_SECOND = {"seconds": 1.0, "milliseconds": 1e3}
_FIRST, _LAST = 631_152_000.0, 4_102_444_800.0  # 1990 to 2100, in seconds
_NAMES = re.compile(
    r"(^|[_\W])(time|date|datetime|timestamp|epoch|ts|created|updated|modified|at|when|seen)([_\W]|$)"
    r"|time$|Time$|date$|Date$|At$|timestamp",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class WrittenEpoch(Written):
    """Seconds or milliseconds since 1970, as the moments they are in UTC.

    Attributes
    ----------
    unit : str
        "seconds" or "milliseconds".
    """

    unit: str = "seconds"

    noun: ClassVar[str] = "date"
    dtype: ClassVar[str] = "datetime64[us]"

    @property
    def words(self) -> str:
        """The convention in a few words."""
        return f"{self.unit} since 1970, in UTC"

    def parse(self, texts: Any) -> Any:
        """Moments of a Polars series of numbers, or of an array of them (n,)."""
        factor = 1e6 / _PER_SECOND[self.unit]
        if not isinstance(texts, np.ndarray):
            import polars as pl

            micros = (texts.cast(pl.Float64) * factor).round().cast(pl.Int64)
            return micros.cast(pl.Datetime("us"))
        numbers = np.array([np.nan if value is None else value for value in texts], dtype=np.float64)
        known = np.isfinite(numbers)
        moments = np.full(numbers.size, np.datetime64("NaT"), dtype=self.dtype)
        moments[known] = np.rint(numbers[known] * factor).astype(np.int64).astype(self.dtype)
        return moments

    def show(self, value: Any, write: Callable[[float], str] | None = None) -> str:  # noqa: ARG002
        """A moment to the second."""
        return str(np.datetime64(value, "s")).replace("T", " ")


def may_be_time(name: str) -> bool:
    """Whether the name of a column suggests times."""
    return _NAMES.search(name) is not None


def epoch_convention(numbers: NDArray[np.float64], name: str) -> WrittenEpoch | None:
    """How the numbers (n,) of a column count from 1970, if its name suggests times; None if they do not."""
    if numbers.size < 2 or not may_be_time(name) or (numbers != np.floor(numbers)).any():
        return None
    for unit, per_second in _PER_SECOND.items():
        if numbers.min() >= _FIRST * per_second and numbers.max() <= _LAST * per_second:
            return WrittenEpoch(unit)
    return None
