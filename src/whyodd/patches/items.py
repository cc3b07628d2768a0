"""Images and series as people pass them, turned into arrays of numbers with channels last."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.inputs.frames import as_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.patches.strangest import StrangePatch

    Floats = NDArray[np.floating]

# With more than this on the last axis an array of three axes is a batch of grey images, not one in colour.
_MOST_COLOURS = 4
# A step of more than this many usual ones is a jump in time.
_JUMP = 1.5
# With more jumps than this share of the steps there is no usual step.
_MOST_JUMPS = 0.1
# Common names of a column that counts time in numbers.
_TIMES = {"time", "times", "timestamp", "ts", "date", "datetime", "epoch", "seconds", "step", "index"}


@dataclass(frozen=True)
class Item:
    """One image or series.

    Attributes
    ----------
    given : ndarray
        The numbers as they were given: (H, W) or (H, W, C), (T,) or (T, C).
    values : ndarray of shape (*shape, C)
        As floats with channels; where time jumps there is a step of NaN more.
    channels : tuple of str
        Names of the channels.
    times : ndarray of shape (T,) or None
        The time column of a data frame.
    is_named : bool
        Whether the channels have names of their own, those of the columns of a data frame.
    is_utc : bool
        Whether the times were in some time zone; they are in UTC now.
    """

    given: NDArray[Any]
    values: Floats
    channels: tuple[str, ...]
    times: NDArray[Any] | None = None
    is_named: bool = False
    is_utc: bool = False
    _jumps: NDArray[np.intp] | None = None

    def select(self, channels: tuple[str, ...], what: str) -> Item:
        """The same with these channels, in this order."""
        if channels == self.channels:
            return self
        missing = [name for name in channels if name not in self.channels]
        if missing:
            raise ValueError(
                f"{what} has no channel {' and no channel '.join(map(repr, missing))}. "
                f"Pass the channels used in fit: {', '.join(channels)}."
            )
        columns = [self.channels.index(name) for name in channels]
        # Selecting columns turns the order in memory around.
        given, values = (np.ascontiguousarray(numbers[:, columns]) for numbers in (self.given, self.values))
        return replace(self, given=given, values=values, channels=channels)

    def as_given(self, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Relevance (*shape, C) of ``values`` in the shape of the input."""
        if self._jumps is not None:
            relevance = np.delete(relevance, self._added, axis=0)
        return relevance.reshape(self.given.shape)

    def as_values(self, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Relevance in the shape of the input, in that of ``values``: 0 where time jumps."""
        by_channel = relevance.reshape(-1, len(self.channels)) if self.times is not None else relevance
        return np.insert(by_channel, self.jumps, 0.0, axis=0).reshape(self.values.shape)

    def placed(self, window: StrangePatch) -> StrangePatch:
        """A window of ``values`` at its place in the input."""
        if self._jumps is None:
            return window
        start = int(self.steps_given(np.array(window.start))[0])
        return replace(window, start=(start,), stop=(start + window.stop[0] - window.start[0],))

    def steps_given(self, steps: NDArray[np.intp]) -> NDArray[np.intp]:
        """Steps of ``values`` as steps of the input."""
        # Each jump has put one more step before those that follow it.
        return np.asarray(steps - np.searchsorted(self._added, steps))

    @property
    def jumps(self) -> NDArray[np.intp]:
        """Steps of the input before which time jumps."""
        return np.empty(0, dtype=np.intp) if self._jumps is None else self._jumps

    @property
    def _added(self) -> NDArray[np.intp]:
        """Steps of ``values`` that were inserted at jumps."""
        return self.jumps + np.arange(self.jumps.size)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal numbers in the same shape."""
        numbers = np.ascontiguousarray(self.values, dtype=np.float64)
        digest = hashlib.blake2b(repr(numbers.shape).encode())
        digest.update(numbers.data)
        return digest.hexdigest()


def as_items(items: Any, axes: int, time: str | None = None) -> list[Item]:
    """Items of one image or series, a batch of them in an array, or a list of them.

    Parameters
    ----------
    items : array, data frame, or list of them
        Images (H, W) or (H, W, C), ``axes=2``; series (T,) or (T, C), ``axes=1``. A data frame is one series:
        its columns of numbers, in its order. A column of dates, or pandas' index of dates, holds the time, or
        else one of numbers called "time" or the like that only rise.
    axes : int
        2 for images, 1 for series.
    time : str, optional
        Column of a data frame that holds the time, if that is not clear.
    """
    if _is_list(items):
        if len(items) == 0:
            raise ValueError("There are no items: pass at least one image or series.")
        return [_as_item(item, axes, f"Item {i}", time) for i, item in enumerate(items)]
    if as_frame(items) is None and is_batch(np.asarray(items), axes):
        return [_as_item(item, axes, f"Item {i}", time) for i, item in enumerate(np.asarray(items))]
    return [_as_item(items, axes, "The item", time)]


def _is_list(items: Any) -> bool:
    """Whether a sequence holds items, rather than the numbers of one."""
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
        return False
    return len(items) == 0 or not np.isscalar(items[0])


def is_batch(values: NDArray[Any], axes: int) -> bool:
    """Whether an array holds several images or series, rather than one with channels."""
    if values.ndim == axes + 2:
        return True
    return axes == 2 and values.ndim == 3 and values.shape[-1] > _MOST_COLOURS


def _as_item(item: Any, axes: int, what: str, time: str | None) -> Item:
    frame = as_frame(item, what=what)
    if frame is not None:
        return _as_series(frame, axes, what, time)
    given = np.asarray(item)
    _check(given, axes, what)
    values = _floats(given if given.ndim == axes + 1 else given[..., None])
    _check_finite(values, axes, what)
    return Item(given, values, _channel_names(values.shape[-1]))


def _channel_names(count: int) -> tuple[str, ...]:
    if count == 1:
        return ("value",)
    return ("red", "green", "blue")[:count] if count == 3 else tuple(f"channel {c}" for c in range(count))


def _check(given: NDArray[Any], axes: int, what: str) -> None:
    if given.dtype.kind not in "fiub":
        raise ValueError(f"{what} must hold numbers, got type {given.dtype}. Convert them first.")
    if given.ndim not in (axes, axes + 1) or given.size == 0:
        kind = "an image (H, W) or (H, W, C)" if axes == 2 else "a series (T,) or (T, C)"
        raise ValueError(
            f"{what} has shape {given.shape}, expected {kind} with at least one value. For images the patch "
            "has two sizes, such as (7, 7), for series one, such as (32,)."
        )


def _check_finite(values: Floats, axes: int, what: str) -> None:
    if np.isinf(values).any():
        raise ValueError(f"{what} holds infinite values. Replace them.")
    if axes == 2 and np.isnan(values).any():
        raise ValueError(f"{what} holds missing values (NaN). Fill them in, or leave the image out.")


def _floats(values: NDArray[Any]) -> Floats:
    """Numbers as floats: single precision where that holds them exactly (pixels of 8 or 16 bits)."""
    if values.dtype in (np.float32, np.float64):
        return np.ascontiguousarray(values)
    is_small = values.dtype.kind == "b" or (values.dtype.kind in "iuf" and values.dtype.itemsize <= 2)
    return np.ascontiguousarray(values, dtype=np.float32 if is_small else np.float64)


def _as_series(frame: nw.DataFrame[Any], axes: int, what: str, time: str | None) -> Item:
    if axes != 1:
        raise ValueError(
            f"{what} is a data frame, which is a series. Pass a patch of one size, such as (32,)."
        )
    clock = find_clock(frame, time, what)
    numbers = [
        name
        for name, kind in frame.schema.items()
        if (clock is None or name != clock.name) and (kind.is_numeric() or kind == nw.Boolean)
    ]
    if not numbers:
        raise ValueError(
            f"{what} is a data frame without a numeric column: expected at least one channel. Add one."
        )
    columns = [frame[name].cast(nw.Float64).to_numpy() for name in numbers]
    given = np.column_stack(columns).astype(np.float64)
    _check(given, axes, what)
    _check_finite(given, axes, what)
    if clock is None:
        return Item(given, given, tuple(numbers), is_named=True)
    times = clock.to_numpy()
    jumps = _jumps(times, what, clock.name)
    return Item(
        given=given,
        values=np.insert(given, jumps, np.nan, axis=0) if jumps.size else given,
        channels=tuple(numbers),
        times=times,
        is_named=True,
        is_utc=getattr(clock.dtype, "time_zone", None) is not None,
        _jumps=jumps if jumps.size else None,
    )


def find_clock(frame: nw.DataFrame[Any], time: str | None, what: str) -> nw.Series[Any] | None:
    """The source of times: the named column, the only column of dates, or an index of dates."""
    index = _index_of_dates(frame)
    if time is not None and (index is None or index.name != time):
        if time not in frame.columns:
            raise ValueError(f"{what} has no column {time!r}. It has: {', '.join(map(repr, frame.columns))}.")
        return frame[time]
    if index is not None:
        return index
    dates = [name for name, kind in frame.schema.items() if kind in (nw.Date, nw.Datetime)]
    if len(dates) > 1:
        raise ValueError(
            f"{what} has several date columns: {', '.join(map(repr, dates))}. Pass the one with the time as "
            "time=."
        )
    return frame[dates[0]] if dates else _counter(frame)


def _counter(frame: nw.DataFrame[Any]) -> nw.Series[Any] | None:
    """Column of increasing numbers with a name for time, which as a channel would dominate all others."""
    for name, kind in frame.schema.items():
        if name.strip().lower() in _TIMES and kind.is_numeric():
            times = frame[name].to_numpy()
            if len(times) > 1 and (np.diff(times.astype(np.float64)) > 0.0).all():
                return frame[name]
    return None


def _index_of_dates(frame: nw.DataFrame[Any]) -> nw.Series[Any] | None:
    index: Any = nw.maybe_get_index(frame)
    if getattr(getattr(index, "dtype", None), "kind", "") != "M":
        return None
    column = index.to_series(name="the index" if index.name is None else str(index.name))
    series: nw.Series[Any] = nw.from_native(column, series_only=True)
    return series


def _jumps(times: NDArray[Any], what: str, clock: str) -> NDArray[np.intp]:
    """Positions before which time jumps; an error if it stands still, runs back, or has no usual step."""
    steps = _steps(times, what, clock)
    if not steps.size:
        return np.empty(0, dtype=np.intp)
    usual = np.median(steps)
    uneven = np.count_nonzero(np.abs(steps / usual - 1.0) > _JUMP - 1.0)
    if uneven > _MOST_JUMPS * steps.size:
        raise ValueError(
            f"The time steps of {what.lower()} are irregular: {uneven} of {steps.size} differ from the "
            "usual step by more than half. Resample the series to even steps first."
        )
    return np.flatnonzero(steps > _JUMP * usual) + 1


def _steps(times: NDArray[Any], what: str, clock: str) -> NDArray[np.float64]:
    """Time from each row to the next, all above 0."""
    if times.dtype.kind not in "iufmM":
        raise ValueError(
            f"Expected dates or numbers in the time column {clock!r} of {what.lower()}, got "
            f"{str(times[0])!r}. Convert it to dates first."
        )
    if (unknown := np.isnat(times) if times.dtype.kind in "mM" else np.isnan(times)).any():
        row = int(np.argmax(unknown))
        raise ValueError(f"Row {row} of {what.lower()} has no time (column {clock!r}). Leave such rows out.")
    if times.dtype.kind in "mM":
        steps = np.diff(times) / np.timedelta64(1, "ns")
    else:
        steps = np.diff(times.astype(np.float64))
    if not (steps > 0).all():
        row = int(np.argmin(steps > 0)) + 1
        raise ValueError(
            f"Time does not go forward at row {row} of {what.lower()} (column {clock!r}: {times[row]} after "
            f"{times[row - 1]}). Sort the rows by it, and keep one row for each time."
        )
    return np.asarray(steps, dtype=np.float64)
