"""Places in images and series, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.explanations.sentences import number, percent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from whyodd.patches.items import Item
    from whyodd.patches.strangest import StrangePatch

_CHANNELS_TOLD = 3
_LONGEST = 40  # characters of a name


def window_text(window: StrangePatch, item: Item) -> str:
    """Where a window is, how odd, and in which channels."""
    usual = f"{number(window.outlierness)} where {number(window.usual)} is usual"
    told = f"{place_text(window, item)}, outlierness {usual}"
    if len(item.channels) == 1 or window.relevance.sum() <= 0.0:
        return told
    return f"{told}; of the relevance there {channel_shares(item.channels, window.relevance)}"


def channel_shares(channels: Sequence[str], relevance: NDArray[np.float64]) -> str:
    """Channels with the most relevance (C,) and their shares of it.

    Examples
    --------
    >>> import numpy as np
    >>> channel_shares(["pump", "heat"], np.array([1.0, 3.0]))
    'heat 75 %, pump 25 %'
    """
    largest = np.argsort(-relevance, kind="stable")[:_CHANNELS_TOLD]
    shares = [(channels[c], relevance[c] / relevance.sum()) for c in largest]
    return ", ".join(f"{_short(name)} {percent(share)}" for name, share in shares if share > 0.0)


def _short(name: str) -> str:
    """Name on one line; a long one without its middle, since channels often differ at the ends."""
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]}…{line[-(_LONGEST // 2 - 1) :]}"


def place_text(strange: StrangePatch, item: Item) -> str:
    """Where a window is: rows and columns of an image, time or steps of a series.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.patches.items import as_items
    >>> from whyodd.patches.strangest import StrangePatch
    >>> patch = np.zeros((7, 7, 1))
    >>> window = StrangePatch((3, 8), (10, 15), 2.0, 1.0, np.ones(1), patch, patch, None)
    >>> place_text(window, as_items(np.zeros((32, 32)), 2)[0])
    'rows 3 to 9, columns 8 to 14'
    """
    first, last = strange.start, [stop - 1 for stop in strange.stop]
    if len(first) == 2:
        return f"rows {first[0]} to {last[0]}, columns {first[1]} to {last[1]}"
    if item.times is None:
        return f"steps {first[0]} to {last[0]}"
    zone = " (UTC)" if item.is_utc else ""
    return f"{time_text(item.times[first[0]])} to {time_text(item.times[last[0]])}{zone}"


def time_text(time: object) -> str:
    """Point in time: to the day if that is exact, else to the second, or finer if necessary.

    Examples
    --------
    >>> import numpy as np
    >>> [time_text(np.datetime64(time)) for time in ("2024-02-29", "2024-02-29T12:00:00.25")]
    ['2024-02-29', '2024-02-29 12:00:00.250']
    >>> time_text(np.timedelta64(90, "s")), time_text(np.float64(0.5))
    ('90 s', '0.5')
    """
    if isinstance(time, np.datetime64):
        return _date_text(time)
    if isinstance(time, np.timedelta64):
        return f"{time / np.timedelta64(1, 's'):.12g} s"
    return f"{time:.12g}" if isinstance(time, float) else str(time)


def _date_text(time: np.datetime64) -> str:
    if np.datetime_data(time.dtype)[0] == "D":
        return str(time)
    units: tuple[Literal["s", "ms", "us"], ...] = ("s", "ms", "us")
    unit = next((unit for unit in units if time.astype(f"datetime64[{unit}]") == time), "ns")
    return str(np.datetime_as_string(time, unit=unit)).replace("T", " ")  # type: ignore[call-overload]
