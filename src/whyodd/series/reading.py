"""A series as given, with gaps and an uneven clock, put on a grid of even steps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.inputs.frames import as_frame
from whyodd.patches.items import find_clock
from whyodd.patches.places import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Missing steps that a line between their neighbours fills; no window crosses a longer gap.
FILLED = 5
# Share of the steps: if more differ from the usual one by over half, their mean takes its place.
_IRREGULAR = 0.1
# Share of the rows: if time runs back more often, they are in no order; otherwise a clock was set back.
_UNORDERED = 0.01
# Share of the values of a channel: if fewer are known, it is left out.
_KNOWN = 0.5
# Jumps of more usual steps than this do not count in the mean step.
_JUMP = 20.0


@dataclass(frozen=True, eq=False)
class Series:
    """One series: its given rows in the order of time, and the grid they lie on.

    Attributes
    ----------
    given : ndarray of shape (T, C)
        Values of each row; NaN where there is none.
    channels : tuple of str
    values : ndarray of shape (G, C)
        Values on a grid of even steps: means of rows at the same step, short gaps filled, NaN in longer ones.
    at : ndarray of int of shape (T,)
        Step of the grid that each row lies on.
    times : ndarray of shape (T,), optional
        When each row was, if a column says so.
    is_named : bool
        Whether the channels have names of their own.
    is_utc : bool
        Whether times are in UTC, from some time zone.
    step_seconds : float, optional
        Length of a step, if times are dates.
    notes : tuple of str
        What was done to it, in sentences.
    """

    given: Floats
    channels: tuple[str, ...]
    values: Floats
    at: Indices
    times: NDArray[Any] | None = None
    is_named: bool = False
    is_utc: bool = False
    step_seconds: float | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.given)

    def when(self, row: int) -> str:
        """When a row was: its time, or its number if there is none."""
        return f"step {row}" if self.times is None else time_text(self.times[row])[: self._told]

    @cached_property
    def _told(self) -> int | None:
        """Number of letters that distinguish times: days, or minutes, if that is enough."""
        if self.times is None or self.times.dtype.kind != "M":
            return None
        seconds = self.times.astype("datetime64[s]")
        if (seconds != self.times).any():
            return None
        since_day = (seconds - seconds.astype("datetime64[D]")).astype(np.int64)
        return 10 if not since_day.any() else 16 if not (since_day % 60).any() else None

    @property
    def jumps(self) -> Indices:
        """Rows before which time jumps."""
        return np.flatnonzero(np.diff(self.at) > FILLED + 1) + 1

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal numbers in the same shape."""
        digest = hashlib.blake2b(repr(self.values.shape).encode())
        digest.update(np.ascontiguousarray(self.values).data)
        return digest.hexdigest()


def read_series(
    series: Any, time: str | None = None, *, what: str = "The series", channels: Sequence[str] | None = None
) -> Series:
    """Read one series.

    Parameters
    ----------
    series : data frame, or array of shape (T,) or (T, C)
        A row per time step. Columns of a data frame that hold numbers are channels; a column of dates, or one
        of rising numbers called "time" or the like, holds the time.
    time : str, optional
        Column that holds the time, if that is not clear.
    what : str
        What to call it in messages.
    channels : sequence of str, optional
        Channels that a model knows, in its order. By default all, but those with few values.
    """
    frame = as_frame(series, what=what)
    if frame is None:
        given, clock = _numbers(series, what), None
        names = ("value",) if given.shape[1] == 1 else tuple(f"channel {c}" for c in range(given.shape[1]))
    else:
        clock = find_clock(frame, time, what)
        names, given = _columns(frame, None if clock is None else clock.name, what)
    if np.isinf(given).any():
        raise ValueError(f"{what} holds infinite values. Replace them.")
    notes: list[str] = []
    given, names = _chosen(given, names, channels, frame is not None, what, notes)
    times = None if clock is None else clock.to_numpy()
    if times is not None:
        order = _known_order(times, str(getattr(clock, "name", "")), what, notes)
        given, times = given[order], times[order]
    at, usual = (np.arange(len(given)), None) if times is None else _on_grid(times, notes)
    return Series(
        given=given,
        channels=names,
        values=_filled(_grid_values(given, at)),
        at=at,
        times=times,
        is_named=frame is not None,
        is_utc=getattr(getattr(clock, "dtype", None), "time_zone", None) is not None,
        step_seconds=usual / 1e9 if times is not None and usual and times.dtype.kind == "M" else None,
        notes=tuple(f"{what}: {note}" for note in notes),
    )


def _numbers(series: Any, what: str) -> Floats:
    values = np.asarray(series)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{what} must hold numbers, got type {values.dtype}. Convert them first.")
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(
            f"{what} has shape {values.shape}, expected (T,) or (T, C) with at least one value: a row per "
            "time step."
        )
    return np.array(values.reshape(len(values), -1), dtype=np.float64)


def _columns(frame: nw.DataFrame[Any], clock: str | None, what: str) -> tuple[tuple[str, ...], Floats]:
    names = tuple(
        name
        for name, kind in frame.schema.items()
        if name != clock and (kind.is_numeric() or kind == nw.Boolean)
    )
    if not names:
        raise ValueError(f"{what} has no numeric column: expected at least one channel. Add one.")
    if frame.shape[0] == 0:
        raise ValueError(f"{what} has no rows: expected a row per time step.")
    return names, np.column_stack([frame[name].cast(nw.Float64).to_numpy() for name in names])


def _chosen(
    given: Floats,
    names: tuple[str, ...],
    wanted: Sequence[str] | None,
    is_named: bool,
    what: str,
    notes: list[str],
) -> tuple[Floats, tuple[str, ...]]:
    """The channels of a model, or those with values."""
    if wanted is not None:
        return _wanted(given, names, tuple(wanted), is_named, what, notes), tuple(wanted)
    known = np.isfinite(given).mean(axis=0)
    if not (known > 0.0).any():
        raise ValueError(f"{what} holds no values at all: every cell is empty.")
    kept = known >= min(_KNOWN, float(known.max()))
    if not kept.all():
        few = [name for name, keep in zip(names, kept, strict=True) if not keep]
        notes.append(f"set aside since most of their values are missing: {_listed(few)}.")
    return given[:, kept], tuple(name for name, keep in zip(names, kept, strict=True) if keep)


def _wanted(
    given: Floats,
    names: tuple[str, ...],
    wanted: tuple[str, ...],
    is_named: bool,
    what: str,
    notes: list[str],
) -> Floats:
    if not is_named:  # arrays have only an order
        if given.shape[1] != len(wanted):
            raise ValueError(
                f"{what} has {given.shape[1]} channel(s), the model was fitted on {len(wanted)}: "
                f"{_listed(wanted)}. Pass those."
            )
        return given
    if missing := [name for name in wanted if name not in names]:
        raise ValueError(
            f"{what} lacks the numeric column {missing[0]!r}, which the model was fitted on. It has: "
            f"{_listed(names)}."
        )
    if more := [name for name in names if name not in wanted]:
        notes.append(f"ignored columns that the model was not fitted on: {_listed(more)}.")
    return np.ascontiguousarray(given[:, [names.index(name) for name in wanted]])


def _known_order(times: NDArray[Any], clock: str, what: str, notes: list[str]) -> Indices:
    """Rows that have a time, in its order; unchanged if a clock was only set back now and then."""
    if times.dtype.kind not in "iufmM":
        raise ValueError(
            f"Expected dates or numbers in the time column {clock!r} of {what.lower()}, got "
            f"{str(times[0])!r}. Convert it to dates first."
        )
    known = np.flatnonzero(~(np.isnat(times) if times.dtype.kind in "mM" else np.isnan(times)))
    if known.size == 0:
        raise ValueError(f"Column {clock!r} of {what.lower()} holds no time at all. Leave it out.")
    if lost := len(times) - known.size:
        notes.append(f"{lost:,} {'row has' if lost == 1 else 'rows have'} no time and are left out.")
    back = int(np.count_nonzero(_steps(times[known]) < 0.0))
    if back > max(_UNORDERED * known.size, 1):
        notes.append(f"the rows were not in order and were sorted by {clock!r}.")
        return known[np.argsort(times[known], kind="stable")]
    if back:
        notes.append(
            f"time runs backwards {_times(back)}, as if the clock was set back: the rows keep their order."
        )
    return known


def _steps(times: NDArray[Any]) -> Floats:
    if times.dtype.kind in "mM":
        return np.asarray(np.diff(times) / np.timedelta64(1, "ns"), dtype=np.float64)
    return np.diff(times.astype(np.float64))


def _on_grid(times: NDArray[Any], notes: list[str]) -> tuple[Indices, float | None]:
    """Step of an even grid that each row lies on, and its usual size.

    A jump leaves ``FILLED`` + 1 steps empty, however long it is: none of them is filled.
    """
    steps = _steps(times)
    forward = steps[steps > 0.0]
    if forward.size == 0:
        if steps.size:
            notes.append("all rows have the same time: each counts as a step.")
        return np.arange(len(times)), None
    usual = float(np.median(forward))
    uneven = np.count_nonzero(np.abs(forward / usual - 1.0) > 0.5) / forward.size
    if uneven > _IRREGULAR:
        usual = float(forward[forward <= _JUMP * usual].mean())
        notes.append(
            "its time steps are irregular: values were interpolated at even steps of the mean length."
        )
    # A clock that is set back continues by a usual step.
    counts = np.where(steps < 0.0, 1.0, np.round(np.minimum(steps / usual, FILLED + 2.0)))
    jumps = int(np.count_nonzero(counts > FILLED + 1))
    if jumps:
        notes.append(f"time jumps {_times(jumps)}: no window spans a jump.")
    same = np.count_nonzero(steps == 0.0)
    if same:
        notes.append(f"{same:,} {'row repeats' if same == 1 else 'rows repeat'} a time: their mean is used.")
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.intp), usual


def _grid_values(given: Floats, at: Indices) -> Floats:
    """Mean of the known values at each step of the grid (G, C); NaN where there is none."""
    if len(at) == at[-1] + 1:
        return given
    known = np.isfinite(given)
    sums, counts = np.zeros((at[-1] + 1, given.shape[1])), np.zeros((at[-1] + 1, given.shape[1]))
    np.add.at(sums, at, np.where(known, given, 0.0))
    np.add.at(counts, at, known)
    return np.asarray(np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0.0))


def _filled(values: Floats) -> Floats:
    """The same with straight lines across gaps of up to ``FILLED`` steps."""
    gaps = np.isnan(values)
    if not gaps.any():
        return values
    filled = values.copy()
    for c in np.flatnonzero(gaps.any(axis=0)):
        edges = np.flatnonzero(np.diff(gaps[:, c], prepend=False, append=False)).reshape(-1, 2)
        short = (edges[:, 1] - edges[:, 0] <= FILLED) & (edges[:, 0] > 0) & (edges[:, 1] < len(values))
        holes = [np.arange(start, stop) for start, stop in edges[short]]
        if holes:
            steps, known = np.concatenate(holes), np.flatnonzero(~gaps[:, c])
            filled[steps, c] = np.interp(steps, known, values[known, c])
    return filled


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {more} more" if more > 0 else "")
