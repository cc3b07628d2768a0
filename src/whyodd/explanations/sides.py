"""Whether values lie above or below the range of most rows that they are compared with."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from whyodd.compute import plain
from whyodd.compute.points import as_compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Ranges end at values that rows have: there is no half child.
METHOD: Final = "nearest"
_ROUNDING = 1e-9  # of values that were scaled and back


def sides_of(
    values: Floats,
    alike: Indices,
    wanted: NDArray[np.bool_],
    known: Floats,
    ends: tuple[float, float],
) -> NDArray[np.int8]:
    """(n, d) +1 where a value is above the range that known rows have, -1 below it, else 0.

    Parameters
    ----------
    values : ndarray of shape (n, d)
    alike : ndarray of int of shape (n, k)
        The known rows that each row is compared with.
    wanted : ndarray of bool of shape (n, d)
        Where it is asked for.
    known : ndarray of shape (d, m)
        Values of the known rows, NaN where there is none.
    ends : pair of float
        Quantiles at which the range ends.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.explanations.sides import sides_of
    >>> known, all_of_them = np.arange(9.0)[None], np.arange(9)[None]
    >>> sides_of(np.array([[8.5]]), all_of_them, np.array([[True]]), known, (0.1, 0.9))
    array([[1]], dtype=int8)
    """
    rows, columns = np.nonzero(wanted)
    if rows.size * alike.shape[1] <= plain.MOST_DIFFERENCES:
        count = plain.count_beside
    else:
        from whyodd.compute.hard.legs import count_beside as count

    below, above, there = count(
        as_compiled(values[rows, columns]),
        as_compiled(rows),
        as_compiled(columns),
        as_compiled(alike),
        as_compiled(known),
        _ROUNDING,
    ).T
    low, high = _ranks(alike.shape[1], ends)[:, there]
    # A value is above the end of a range if it is above all that are no larger than that end.
    sides = np.zeros(values.shape, dtype=np.int8)
    sides[rows, columns] = (below > high).astype(np.int8) - (above >= there - low).astype(np.int8)
    return sides


def nearest_of(p: Any) -> Indices:
    """(n, k) the centers that rows are assigned to, equally many for each row."""
    given = sparse.csr_array(p)
    return np.asarray(given.indices, dtype=np.intp).reshape(given.shape[0], -1)


@cache
def _ranks(most: int, ends: tuple[float, float]) -> Indices:
    """(2, most + 1) ends of the range of 0 to ``most`` values, as places in order."""
    places = [np.quantile(np.arange(n), ends, method=METHOD) for n in range(1, most + 1)]
    return np.array([[-1, most], *places], dtype=np.intp).T
