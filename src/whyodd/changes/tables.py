"""Two tables in one space: which columns they share, and which of these can be compared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from whyodd.automatic.dates import dates_of
from whyodd.automatic.kinds import judge
from whyodd.automatic.overruling import checked_types, judge_as
from whyodd.automatic.reading import RawTable, plain_values, read_columns, read_table
from whyodd.automatic.steps import numbers_of
from whyodd.automatic.written import judge_table
from whyodd.explanations.sentences import text
from whyodd.inputs.frames import as_frame
from whyodd.maths.robust_scales import center_and_scale, soften

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.automatic.kinds import Column
    from whyodd.automatic.reading import RawColumn
    from whyodd.inputs.written import Written

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# Categories beyond this many form one: the others.
_MOST_CATEGORIES = 50
OTHER = "any other value"
MISSING = "missing"
# Up to this many scales from the middle, differences count in full, beyond that as a root. Nearly all of a
# normal distribution lies within, and a gross value does not dominate a mean square.
_FAR = 3.0
_DAY = 86_400
_HOURS = tuple(f"{hour:02d}:00 to {hour:02d}:59" for hour in range(24))
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NAMES_TOLD = 8
# Names of the families of values.
_FAMILIES = {
    "boolean": "yes or no", "number": "numbers", "text": "texts", "date": "dates", "time": "times of day",
    "duration": "lengths of time", "mixed": "values of several kinds", "object": "objects",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Element:
    """One aspect of a column that can change: its values, a part of its dates, or how often it is missing.

    Attributes
    ----------
    column : int
        Place of the column among those that are compared.
    name : str
        What people call it.
    kind : {"number", "category", "gap"}
        Whether values have distances, only differ, or are present or not.
    values : ndarray of shape (n,)
        Numbers, NaN in the gaps; or places in ``labels``.
    labels : tuple of str
        The categories, as they are shown.
    form : optional
        How numbers are written: what has ``show(value, number)``.
    """

    column: int
    name: str
    kind: Literal["number", "category", "gap"]
    values: NDArray[Any]
    labels: tuple[str, ...] = ()
    form: Any = None

    def taken(self, rows: Indices) -> Element:
        """The same of some rows."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, eq=False)
class TwoTables:
    """Equally many rows of two tables, in the same coordinates.

    Attributes
    ----------
    names : tuple of str
        The columns that are compared.
    elements : list of Element
        Of all rows.
    coordinates : ndarray of shape (n, k)
        Numbers in robust scales, softened far out; categories as corners of a simplex. Two rows that differ
        in a category have a squared distance of 2 in it, as two rows of a number have on average.
    element_of : ndarray of int of shape (k,)
        Element of each coordinate.
    is_new : ndarray of bool of shape (n,)
        Whether a row is of the new table.
    rows : ndarray of int of shape (n,)
        Place of each row in its table.
    sizes : tuple of int
        Rows of the old and the new table, of which these may be a sample.
    only_old, only_new, retyped, set_aside, notes
        What is not compared, and what to know.
    """

    names: tuple[str, ...]
    elements: list[Element]
    coordinates: Floats
    element_of: Indices
    is_new: NDArray[np.bool_]
    rows: Indices
    sizes: tuple[int, int]
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    retyped: tuple[tuple[str, str, str], ...] = ()
    set_aside: tuple[tuple[str, str], ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def column_of(self) -> Indices:
        """(p,) column of each element."""
        return np.array([element.column for element in self.elements], dtype=np.intp)

    def taken(self, rows: Indices) -> TwoTables:
        """Some of the rows, in their order."""
        return replace(
            self,
            elements=[element.taken(rows) for element in self.elements],
            coordinates=self.coordinates[rows],
            is_new=self.is_new[rows],
            rows=self.rows[rows],
        )


def read_both(old: Any, new: Any, types: Mapping[str, str] | None, most_rows: int, seed: int) -> TwoTables:
    """Equally many rows of two tables, up to a limit, in the same coordinates."""
    tables = [read_table(data, what=what) for data, what in ((old, "old"), (new, "new"))]
    sizes = tables[0].n_rows, tables[1].n_rows
    for what, size in zip(("old", "new"), sizes, strict=True):
        if size < 2:
            raise ValueError(
                f"{what} has one row, expected at least two: one row alone cannot show a change. Add rows."
            )
    common = [name for name in tables[0].names if name in set(tables[1].names)]
    if not common:
        raise ValueError(
            f"The tables share no column: old has {_listed(tables[0].names)}, new has "
            f"{_listed(tables[1].names)}. Give the columns to compare the same names in both."
        )
    given = checked_types(types, common)
    only_old, only_new = (tuple(name for name in table.names if name not in common) for table in tables)
    chosen = [_drawn(table.n_rows, min(*sizes, most_rows), seed) for table in tables]
    parts = [_part(table, common, rows) for table, rows in zip(tables, chosen, strict=True)]
    found = _Columns(given)
    judged = [judge_table(part, given) for part in parts]
    for name, columns, kinds in zip(
        common,
        zip(*(read_columns(one.table.data) for one in judged), strict=True),
        zip(*(one.columns for one in judged), strict=True),
        strict=True,
    ):
        found.add(name, columns, kinds, _form(judged, name, parts[0]))
    if not found.elements:
        raise ValueError(_nothing_left(found))
    is_new = np.repeat([False, True], [chosen[0].size, chosen[1].size])
    coordinates, element_of = _coordinates(found.elements, is_new)
    notes = _notes(only_old, only_new, sizes, chosen[0].size)
    both = TwoTables(
        tuple(found.names),
        found.elements,
        coordinates,
        element_of,
        is_new,
        np.concatenate(chosen),
        sizes,
        only_old,
        only_new,
        tuple(found.retyped),
        tuple(found.set_aside),
        notes,
    )
    return _in_order(both)


def _drawn(n_rows: int, count: int, seed: int) -> Indices:
    if n_rows <= count:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, count, replace=False))


def _part(table: RawTable, names: Sequence[str], rows: Indices) -> RawTable:
    """Some rows of some columns, in the order of the names."""
    places = [table.names.index(name) for name in names]
    frame = as_frame(table.rows(rows))
    if frame is None:
        data: Any = table.rows(rows)[:, places]
    else:
        data = frame[:, places].to_native()
    return RawTable(data, tuple(table.keys[place] for place in places), rows.size)


def _form(judged: Sequence[Any], name: str, part: RawTable) -> Written | None:
    """How the numbers of a column are written, if it is the same in both tables."""
    place = part.names.index(name)
    forms = [
        None if one.written is None else one.written.formats(source).get(place)
        for one, source in zip(judged, (one.table.data for one in judged), strict=True)
    ]
    return forms[0] if forms[0] == forms[1] else None


class _Columns:
    """The compared columns one by one, and what happens to the others."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = types
        self.names: list[str] = []
        self.elements: list[Element] = []
        self.retyped: list[tuple[str, str, str]] = []
        self.set_aside: list[tuple[str, str]] = []

    def add(
        self,
        name: str,
        columns: tuple[RawColumn, RawColumn],
        kinds: tuple[Column, Column],
        form: Written | None,
    ) -> None:
        """Add a column that both tables have."""
        old, new = columns
        families = {column.family for column in columns} - {"nothing"}
        if len(families) > 1 and families != {"boolean", "number"}:
            self.retyped.append((name, _FAMILIES[old.family], _FAMILIES[new.family]))
            return
        for column in kinds:
            if column.kind in ("identifier", "free text", "other"):
                self.set_aside.append((name, column.why))
                return
        both = _joined(old, new)
        found = judge_as(both, name, self.types[name]) if name in self.types else judge(both, name)
        if found["used_as"] == "nothing":
            self.set_aside.append((name, found["why"]))
            return
        place = len(self.names)
        self.names.append(name)
        if found["used_as"] == "number":
            self.elements += _of_numbers(place, name, numbers_of(both, f"Column {name!r}"), form)
        elif found["used_as"] == "date":
            self.elements += _of_dates(place, name, dates_of(both, name), found["parts"])
        else:
            values = plain_values(both, found["used_as"] == "mixed category")
            labels = [MISSING if value is None else text(value) for value in values]
            self.elements.append(_of_labels(place, name, labels))


def _joined(old: RawColumn, new: RawColumn) -> RawColumn:
    """The values of both."""
    family = new.family if old.family in ("nothing", "boolean") else old.family
    parts = [column.values for column in (old, new)]
    if parts[0].dtype.kind != parts[1].dtype.kind and {part.dtype.kind for part in parts} - set("iuf"):
        parts = [plain_values(column, as_text=False) for column in (old, new)]
    return replace(
        old,
        values=np.concatenate(parts),
        gaps=np.concatenate([old.gaps, new.gaps]),
        family=family,
        is_category=old.is_category or new.is_category,
        is_ordered=old.is_ordered and new.is_ordered,
    )


def _of_numbers(place: int, name: str, values: Floats, form: Written | None) -> list[Element]:
    return [Element(place, name, "number", values, form=form), *_of_gaps(place, name, np.isnan(values))]


def _of_gaps(place: int, name: str, gaps: NDArray[np.bool_]) -> list[Element]:
    """How often a column is missing, if it ever is."""
    if not gaps.any():
        return []
    return [Element(place, name, "gap", gaps.astype(np.intp), ("there", MISSING))]


def _of_labels(place: int, name: str, labels: Sequence[str]) -> Element:
    """Categories, the most frequent first."""
    found, codes, counts = np.unique(np.array(labels, dtype=object), return_inverse=True, return_counts=True)
    ranks = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    values = np.minimum(ranks, _MOST_CATEGORIES)[codes]
    kept = [str(label) for label in found[np.argsort(ranks)][:_MOST_CATEGORIES]]
    more = [OTHER] if found.size > _MOST_CATEGORIES else []
    return Element(place, name, "category", values, (*kept, *more))


def _of_dates(place: int, name: str, dates: NDArray[np.datetime64], parts: Sequence[str]) -> list[Element]:
    gaps = np.isnat(dates)
    seconds = np.where(gaps, 0, dates.astype("datetime64[s]").astype(np.int64))
    months = np.where(gaps, 0, dates.astype("datetime64[M]").astype(np.int64)) % 12
    # Part -> what it is called, its values, and which of them each date has; 1970 began on a Thursday.
    slots = {
        "hour of the day": ("hour", _HOURS, seconds % _DAY // 3_600),
        "day of the week": ("day of the week", _WEEKDAYS, (seconds // _DAY + 3) % 7),
        "day of the year": ("month", _MONTHS, months),
    }
    found: list[Element] = []
    for part in parts:
        if part in slots:
            called, values, slot_of = slots[part]
            labels = [MISSING if gap else values[slot] for gap, slot in zip(gaps, slot_of, strict=True)]
            found.append(_of_labels(place, f"{name} ({called})", labels))
        else:
            found.append(Element(place, name, "number", np.where(gaps, np.nan, seconds / _DAY), form=_Days()))
    if any(element.kind == "number" for element in found):
        found += _of_gaps(place, name, gaps)
    return found


class _Days:
    """Days since 1970 as dates; what a ``Written`` is to numbers that are written in another way."""

    noun = "date"

    def show(self, value: Any, number: Any) -> str:  # noqa: ARG002
        """The day."""
        return str(np.datetime64(round(float(value) * _DAY), "s").astype("datetime64[D]"))


def _coordinates(elements: Sequence[Element], is_new: NDArray[np.bool_]) -> tuple[Floats, Indices]:
    columns: list[Floats] = []
    element_of: list[int] = []
    for place, element in enumerate(elements):
        if element.kind == "number":
            columns.append(scaled(element.values, is_new)[:, np.newaxis])
        else:
            columns.append(np.eye(len(element.labels))[element.values])
        element_of += [place] * columns[-1].shape[1]
    return np.ascontiguousarray(np.concatenate(columns, axis=1)), np.array(element_of, dtype=np.intp)


def scaled(values: Floats, is_new: NDArray[np.bool_]) -> Floats:
    """Numbers from the middle of both tables, in scales of the values within one table; 0 in the gaps.

    The scale is the root mean square of those of the tables in which the values vary: a column that moved far
    has moved by many scales, while the scale of all values together would have grown with it.
    """
    gaps = np.isnan(values)
    present = values[~gaps][:, np.newaxis]
    center = float(center_and_scale(present)[0][0])
    parts = [values[~gaps & (is_new == which)] for which in (False, True)]
    varying = [part for part in parts if part.size > 1 and np.ptp(part) > 0.0]
    scales = [float(center_and_scale(part[:, np.newaxis])[1][0]) for part in varying]
    # Each table has one value: the two are as far apart as a scale.
    scale = float(np.sqrt(np.mean(np.square(scales)))) if scales else float(np.ptp(present)) or 1.0
    return np.where(gaps, 0.0, soften(np.where(gaps, 0.0, (values - center) / scale), _FAR))


def _in_order(both: TwoTables) -> TwoTables:
    """The rows sorted by their values, so that their original order does not matter."""
    return both.taken(np.lexsort(both.coordinates.T[::-1]))


def _notes(only_old: Sequence[str], only_new: Sequence[str], sizes: tuple[int, int], count: int) -> list[str]:
    notes = [
        f"Only the {which} table has {_listed(names)}: not compared."
        for which, names in (("old", only_old), ("new", only_new))
        if names
    ]
    if count < max(sizes):
        notes.append(
            f"The comparison uses {count:,} rows of each table, drawn at random: the old table has "
            f"{sizes[0]:,} rows, the new one {sizes[1]:,}."
        )
    return notes


def _nothing_left(found: _Columns) -> str:
    reasons = [f"{name!r}: {why}" for name, why in found.set_aside]
    reasons += [f"{name!r}: {old} became {new}" for name, old, new in found.retyped]
    return f"No column can be compared ({'; '.join(reasons[:5])}). Add columns that vary."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name if len(name) <= 60 else f"{name[:60]}…") for name in names[:_NAMES_TOLD])
    more = len(names) - _NAMES_TOLD
    return f"{shown} and {more} more" if more > 0 else shown
