"""Dates as numbers: where in the day, the week and the year they lie, and how far along in time."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from whyodd.automatic.reading import read_columns
from whyodd.automatic.steps import remember_columns
from whyodd.inputs.written import recognize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.automatic.reading import RawColumn

    Dates = NDArray[np.datetime64]

_DAY = 86_400.0
_SECONDS = "datetime64[s]"
# Cycle -> (its length in seconds, the span in seconds from which a column shows all of it).
_CYCLES = {
    "hour of the day": (_DAY, _DAY),
    "day of the week": (7.0 * _DAY, 7.0 * _DAY),
    "day of the year": (365.2425 * _DAY, 365.0 * _DAY),
}
_ELAPSED = "time elapsed"
# How often a part of a cycle comes is told from the rows around it, within this part of the cycle (an hour of
# the day, seven of the week), at so many places.
_AROUND, _PLACES = 1.0 / 24.0, 240
# How far from the mean, in standard deviations, a date lies that is missing where none was.
_NEVER_MISSING = 8.0


def choose_parts(dates: Dates) -> tuple[str, ...]:
    """What to make of a column's dates (n,), in the order of the rows, at least two different ones.

    Cycles that the dates go through at least once. Time elapsed only if it does not go up with the rows: if
    it does, the table is a record of what came when, and any new row is later than all of them.
    """
    seconds = dates.astype(_SECONDS).astype(np.float64)
    span = np.ptp(seconds)
    parts = [] if np.all(np.diff(seconds) >= 0.0) else [_ELAPSED]
    for name, (_, needed) in _CYCLES.items():
        if span >= needed and (name != "hour of the day" or np.any(seconds % _DAY != 0.0)):
            parts.append(name)
    return tuple(parts)


def dates_of(column: RawColumn, name: str = "") -> Dates:
    """Dates (n,) to the second, NaT in the gaps, of dates or of texts such as 2024-02-29T12:30.

    Models of older versions may have learned dates that files write in other orders.
    """
    if column.values.dtype.kind == "M":
        return column.values.astype(_SECONDS)
    if column.family == "text":
        texts = column.values.astype(object)
        texts[column.gaps] = None
        found = recognize(texts)
        if found is not None and found.written.dtype.startswith("datetime") and not found.strays:
            return np.asarray(found.values, dtype=_SECONDS)
    dates = np.full(column.values.size, np.datetime64("NaT"), dtype=_SECONDS)
    try:
        plain = [_without_zone(value) for value in column.present]
        dates[~column.gaps] = np.array(plain, dtype="datetime64[us]").astype(_SECONDS)
    except (ValueError, TypeError) as error:
        where = f"Column {name!r}" if name else "A column of dates"
        raise ValueError(
            f"{where} holds a value that is no date ({error}). "
            "Expected dates, or texts such as 2024-02-29T12:30."
        ) from error
    return dates


def _without_zone(value: Any) -> Any:
    """The date as the clock in its time zone shows it."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return value.removesuffix("Z") if isinstance(value, str) else value


class DateParts(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Numbers of one column of dates, comparable with standardised columns.

    A cycle gives a point on a circle of radius 1 (cosine and sine; variance 1 in all if spread evenly): 23:00
    is near 01:00. How rare a date is, in the cycle where it is rarest, is a number of its own: the root of
    2 log(f_max/f), of the frequencies f around it. Time elapsed is standardised. A missing date lies in the
    middle of all circles, at the mean time, and one more number marks it, in units of surprise; if none was
    missing in training, a missing one is far from all.

    Parameters
    ----------
    parts : sequence of str
        Of "time elapsed", "hour of the day", "day of the week", "day of the year".

    Attributes
    ----------
    mean_, scale_ : float
        Of the time elapsed, in seconds since 1970.
    has_gaps_ : bool
        Whether missing dates are marked.
    mark_ : float
        What marks them.
    frequencies_ : dict of str to ndarray
        Of the places of each cycle.
    """

    def __init__(self, parts: tuple[str, ...] = (_ELAPSED,)) -> None:
        self.parts = parts

    def fit(self, X: Any, y: None = None) -> DateParts:  # noqa: ARG002
        """Learn mean and scale of the time elapsed from a frame or array (n, 1)."""
        remember_columns(self, X)
        seconds = self._seconds(X)
        gaps = np.isnan(seconds)
        self.has_gaps_ = bool(gaps.any())
        self.mark_ = float(np.sqrt(-2.0 * np.log(gaps.sum() / (gaps.size + 1.0)))) if self.has_gaps_ else 0.0
        cycles = [part for part in self.parts if part in _CYCLES]
        turns = {part: seconds[~gaps] / _CYCLES[part][0] % 1.0 for part in cycles}
        self.frequencies_ = {part: _frequencies(turns[part]) for part in cycles}
        self.mean_ = float(np.nanmean(seconds))
        self.scale_ = float(np.nanstd(seconds)) or 1.0
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Numbers (n, k) of the dates in a frame or array (n, 1)."""
        check_is_fitted(self)
        seconds = self._seconds(X)
        gaps = np.isnan(seconds)
        # Files of older versions have neither frequencies nor a mark of another size.
        frequencies, mark = getattr(self, "frequencies_", {}), getattr(self, "mark_", 1.0)
        far = 0.0 if self.has_gaps_ or not frequencies else _NEVER_MISSING
        columns, rarity = [], np.zeros(gaps.size)
        for part in self.parts:
            if part == _ELAPSED:
                columns.append(np.where(gaps, far, (seconds - self.mean_) / self.scale_))
                continue
            turns = np.where(gaps, 0.0, seconds) / _CYCLES[part][0] % 1.0
            angle = 2.0 * np.pi * turns
            columns += [np.where(gaps, 0.0, np.cos(angle)), np.where(gaps, 0.0, np.sin(angle))]
            if part in frequencies:
                rarity = np.maximum(rarity, _surprise(turns, frequencies[part]))
        columns += [np.where(gaps, far, rarity)] if frequencies else []
        return np.column_stack([*columns, mark * gaps] if self.has_gaps_ else columns).astype(np.float64)

    def variables(self) -> list[list[int]]:
        """Numbers that are one variable together: circles, and marks. The others are numbers like any."""
        names = [name.rpartition(" ")[2] for name in self.get_feature_names_out()]
        circles = [place for place, name in enumerate(names) if name in ("(cos)", "(sin)")]
        marks = [len(names) - 1] if self.has_gaps_ else []
        return [group for group in (circles, marks) if group]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the numbers: column and part."""
        given = getattr(self, "feature_names_in_", ["x0"]) if input_features is None else input_features
        ends = [
            part if part == _ELAPSED else f"{part} ({wave})"
            for part in self.parts
            for wave in ([""] if part == _ELAPSED else ["cos", "sin"])
        ]
        ends += ["rarity"] if getattr(self, "frequencies_", {}) else []
        return np.array([f"{given[0]}: {end}" for end in ends + ["missing"] * self.has_gaps_], dtype=object)

    def _seconds(self, X: Any) -> NDArray[np.float64]:
        """Seconds since 1970 (n,), NaN in the gaps."""
        (column,) = read_columns(X)
        dates = dates_of(column)
        return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def _frequencies(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the turns (n,) of a cycle around each of its places, at least that of one row."""
    counts, _ = np.histogram(turns, _PLACES, (0.0, 1.0))
    apart = np.abs(np.arange(_PLACES)) / _PLACES
    apart = np.minimum(apart, 1.0 - apart)
    weights = np.exp(-0.5 * (apart / _AROUND) ** 2)
    smooth = np.fft.irfft(np.fft.rfft(counts) * np.fft.rfft(weights), _PLACES)
    return np.asarray(np.maximum(smooth, 1.0) / (turns.size + 1.0))


def _surprise(turns: NDArray[np.float64], frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """How rare parts (n,) of a cycle are: √(2 log(f_max / f))."""
    around = frequencies[np.minimum((turns * _PLACES).astype(np.intp), _PLACES - 1)]
    return np.asarray(np.sqrt(2.0 * np.log(frequencies.max() / around)))
