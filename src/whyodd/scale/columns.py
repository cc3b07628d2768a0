"""What is known about one column over all rows, however many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.automatic.whole import WholeColumn
from whyodd.maths.moments import Moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Distinct values of a column up to which all are counted.
MOST_COUNTED = 10_000
# Quantiles are off by at most 0.28 % of the rows, in 99 of 100 cases, and take 25 kB.
_QUANTILE_SIZE = 1024


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """A column in numbers that add up over parts.

    Attributes
    ----------
    count, missing : int
        How many rows have a value, and how many have none.
    smallest, largest : object
        Exact; None if there is no value, or values have no order.
    moments : Moments or None
        Weight, mean and scatter of finite numbers, as of a table with one column; None if it has none.
    sketch : kll_doubles_sketch or None
        Of the same numbers, for quantiles.
    counts : dict or None
        How many rows have each value; None from more than 10,000 different ones on.
    """

    count: int
    missing: int
    smallest: Any
    largest: Any
    moments: Moments | None
    sketch: Any
    counts: dict[Any, int] | None

    @classmethod
    def of(cls, values: Any) -> ColumnSummary:
        """From an Arrow array, in which NaN counts as missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        plain = values.cast(kind) if kind is not values.type else values
        present = plain.drop_null()
        if pa.types.is_floating(kind):
            present = present.filter(pc.invert(pc.is_nan(present)))
        smallest, largest = _extremes(present)
        numbers = _finite(present)
        return cls(
            len(present),
            len(values) - len(present),
            smallest,
            largest,
            None if numbers is None else Moments.of(numbers[:, None]),
            None if numbers is None else _sketch(numbers),
            _counts(present),
        )

    def merge(self, other: ColumnSummary) -> ColumnSummary:
        """The column of the rows of both."""
        if self.count == 0 or other.count == 0:
            full, empty = (self, other) if other.count == 0 else (other, self)
            return replace(full, missing=full.missing + empty.missing)
        return ColumnSummary(
            self.count + other.count,
            self.missing + other.missing,
            None if self.smallest is None else min(self.smallest, other.smallest),
            None if self.largest is None else max(self.largest, other.largest),
            _merged(self.moments, other.moments),
            _merged_sketches(self.sketch, other.sketch),
            _added(self.counts, other.counts),
        )

    def whole(self, name: str, kind: Any) -> WholeColumn:
        """The same in the form for fitting: ``name`` and Arrow type ``kind`` are those of the column."""
        import pyarrow as pa

        is_category = pa.types.is_dictionary(kind)
        ends = [] if self.smallest is None else [self.smallest, self.largest]
        values = ends if self.counts is None else sorted(self.counts)
        gap = [None] if self.missing else []
        array = pa.array([*values, *gap], type=kind.value_type if is_category else kind)
        seen = pa.table({name: array.dictionary_encode() if is_category else array})
        counts = None
        if self.counts is not None:
            counts = np.array([*(self.counts[value] for value in values), *[self.missing] * len(gap)])
        return WholeColumn(self.count + self.missing, self.missing, seen, counts)

    @property
    def is_plain(self) -> bool:
        """Whether its values have an order; lists have none."""
        return self.count == 0 or self.smallest is not None

    @property
    def share_missing(self) -> float:
        """Share of rows that have no value."""
        return self.missing / max(self.count + self.missing, 1)

    def quantiles(self, shares: ArrayLike) -> NDArray[np.float64]:
        """Quantiles at these shares of the values (k,), off by at most 0.28 % of the rows."""
        if self.sketch is None or self.sketch.is_empty():
            raise ValueError("The column has no numbers, so it has no quantiles.")
        return np.asarray(self.sketch.get_quantiles(np.atleast_1d(shares).tolist()), dtype=np.float64)


def _extremes(present: Any) -> tuple[Any, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(present) == 0:
        return None, None
    try:
        found = pc.min_max(present).as_py()
    except pa.ArrowNotImplementedError:  # lists and the like
        return None, None
    return found["min"], found["max"]


def _finite(present: Any) -> NDArray[np.float64] | None:
    """Finite numbers (n,), None of a column that holds others."""
    import pyarrow as pa

    kind = present.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    numbers = present.cast(pa.float64(), safe=False).to_numpy()
    return np.asarray(numbers[np.isfinite(numbers)])


def _sketch(numbers: NDArray[np.float64]) -> Any:
    sketch = datasketches().kll_doubles_sketch(_QUANTILE_SIZE)
    if numbers.size:
        sketch.update(np.sort(numbers))  # sorting halves the time
    return sketch


def _counts(present: Any) -> dict[Any, int] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(present.type):
        return None
    first = present[: 4 * MOST_COUNTED]  # where almost all differ, as numbers do, there is no need to count
    if len(first) < len(present) and len(pc.unique(first)) > MOST_COUNTED:
        return None
    found = pc.value_counts(present)
    if len(found) > MOST_COUNTED:
        return None
    return dict(zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True))


def _added(a: dict[Any, int] | None, b: dict[Any, int] | None) -> dict[Any, int] | None:
    if a is None or b is None:
        return None
    both = dict(a)
    for value, count in b.items():
        both[value] = both.get(value, 0) + count
    return both if len(both) <= MOST_COUNTED else None


def _merged(a: Moments | None, b: Moments | None) -> Moments | None:
    return None if a is None or b is None else a.merge(b)


def _merged_sketches(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    both = datasketches().kll_doubles_sketch(_QUANTILE_SIZE)  # merging changes a sketch
    both.merge(a)
    both.merge(b)
    return both


def datasketches() -> Any:
    """The package of sketches, or an error that names the extra to install."""
    try:
        import datasketches as package
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Summaries of tables need the package datasketches. Run: pip install 'whyodd[scale]'"
        ) from error
    return package
