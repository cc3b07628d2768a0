"""Where an image or a series is odd, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyodd.words import number, percent

if TYPE_CHECKING:
    from whyodd.patches.explanation import PatchExplanation
    from whyodd.patches.items import Item
    from whyodd.patches.strangest import StrangePatch

_CHANNELS_TOLD = 3


def sentence(e: PatchExplanation, i: int) -> str:
    """Say where item ``i`` is odd, how much, in which channels, and how much belongs to no pixel."""
    total = float(e.outlierness[i])
    if total <= 0.0:
        return "nothing is odd about it: its outlierness is 0"
    strange = e.strangest(i)
    parts = [f"oddest at {place_text(strange, e.items[i])}, outlierness {number(strange.outlierness)}"]
    if len(e.channels) > 1:
        told = [f"{name} {percent(part / total)}" for name, part in e.by_channel(i).items() if part > 0.0]
        parts.append(f"of all outlierness {', '.join(told[:_CHANNELS_TOLD])}")
    unit = "time step" if e.is_series else "pixel"
    parts.append(f"{percent(float(e.unexplained[i]) / total)} belongs to no single {unit}")
    return "; ".join(parts)


def place_text(strange: StrangePatch, item: Item) -> str:
    """Where a window is: rows and columns of an image, time or steps of a series.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.patches.items import as_items
    >>> from whyodd.patches.strangest import StrangePatch
    >>> window = StrangePatch((3, 8), (10, 15), 2.0, np.zeros((7, 7, 1)), np.zeros((7, 7, 1)), None)
    >>> place_text(window, as_items(np.zeros((32, 32)), 2)[0])
    'rows 3 to 9, columns 8 to 14'
    """
    first, last = strange.start, [stop - 1 for stop in strange.stop]
    if len(first) == 2:
        return f"rows {first[0]} to {last[0]}, columns {first[1]} to {last[1]}"
    if item.times is None:
        return f"steps {first[0]} to {last[0]}"
    return f"{time_text(item.times[first[0]])} to {time_text(item.times[last[0]])}"


def time_text(time: object) -> str:
    """Point in time, to the second."""
    if isinstance(time, np.datetime64):
        return str(np.datetime_as_string(time.astype("datetime64[s]"))).replace("T", " ")
    return str(time)
