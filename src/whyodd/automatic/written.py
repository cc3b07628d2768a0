"""Text columns that mean numbers, dates or times of day: read once, by one convention each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from whyodd.automatic.dates import CLOCK
from whyodd.automatic.kinds import judge_columns
from whyodd.automatic.reading import RawColumn, read_columns, read_table
from whyodd.automatic.steps import remember_columns
from whyodd.inputs.frames import as_frame
from whyodd.inputs.written import (
    WrittenEpoch,
    WrittenMoment,
    epoch_convention,
    may_be_time,
    propose,
    recognize,
    settle,
    strays_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.automatic.kinds import Column
    from whyodd.automatic.reading import RawTable
    from whyodd.automatic.whole import Whole
    from whyodd.inputs.written import Recognized, Stray, Written

# Kinds that texts may stand for; if people declare another kind, the texts stay as they are.
_VALUES = ("number", "count", "date", "time of day", "duration")
_STRAYS_TOLD = 5
_LONGEST_STRAY = 40


@dataclass(frozen=True)
class WrittenColumn:
    """A column that is read.

    Attributes
    ----------
    key : str or int
        What a ``ColumnTransformer`` calls it.
    written : Written
        How its values are written.
    doubt : str or None
        A text of it that can be read in another way, if all can.
    """

    key: str | int
    written: Written
    doubt: str | None = None

    @property
    def name(self) -> str:
        """The column's name."""
        return self.key if isinstance(self.key, str) else f"x{self.key}"

    @property
    def note(self) -> str:
        """The convention in a few words, and what is in doubt."""
        return "; ".join([self.written.words, *self.doubts])

    @property
    def doubts(self) -> list[str]:
        """What else a text could mean, in words; None if its meaning is clear."""
        if self.doubt is None:
            return []
        if isinstance(self.written, WrittenMoment):
            read = self.written.parse(np.array([self.doubt], dtype=object))[0]
            return [
                f"{self.doubt!r} can be read with the day or the month first, and so can all the others: "
                f"read as {str(read)[:10]}. If that is wrong, write such dates as 2026-03-02"
            ]
        number = f"{self.written.value(self.doubt):.15g}"
        return [
            f"{self.doubt!r} can be read in two ways, and so can all the others: read as {number}. If that "
            "is wrong, write such numbers with a decimal point and no thousands separators"
        ]


class WrittenValues(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Turns text columns into the numbers and dates they mean; a cell that does not fit is missing.

    Parameters
    ----------
    columns : sequence of WrittenColumn
        Those that are read; all others stay as they are.
    """

    def __init__(self, columns: Sequence[WrittenColumn] = ()) -> None:
        self.columns = columns

    def fit(self, X: Any, y: None = None) -> WrittenValues:  # noqa: ARG002
        """Remember the columns of a frame or array (n, d)."""
        remember_columns(self, X)
        return self

    def transform(self, X: Any) -> Any:
        """The same kind of frame or array (n, d), with values in place of texts."""
        return _with_values(X, {c.key: c.written for c in self._in(X)}, {})

    def transform_known(self, X: Any, found: Mapping[Any, Recognized]) -> Any:
        """The same for the table that was analysed, whose texts are already read."""
        known = {key: column.values for key, column in found.items()}
        return _with_values(X, {c.key: c.written for c in self._in(X)}, known)

    def formats(self, X: Any) -> dict[int, Written]:
        """How the columns of a table are written, by their place in it."""
        places = _places(X)
        return {places[column.key]: column.written for column in self._in(X)}

    def texts(self, X: Any) -> NDArray[np.object_]:
        """Original texts (n, d) of the cells that are read; None in other columns and in gaps."""
        frame, places = as_frame(X), _places(X)
        texts = np.full((X.shape[0], len(places)), None, dtype=object)
        for column in self._in(X):
            place = places[column.key]
            cells = np.asarray(X)[:, place] if frame is None else _objects(frame, str(column.key))
            texts[:, place] = [cell if isinstance(cell, str) else None for cell in cells]
        return texts

    def strays(self, X: Any) -> Iterator[tuple[WrittenColumn, list[Stray]]]:
        """Texts of a table that are not values of their columns."""
        for column in self._in(X):
            texts = _texts(X, column.key)
            found = [] if texts is None else strays_of(column.written, texts)
            if found:
                yield column, found

    def _in(self, X: Any) -> list[WrittenColumn]:
        places = _places(X)
        return [column for column in self.columns if column.key in places]


class JudgedTable(NamedTuple):
    """The reader of a table's texts (None if there is nothing to read), the table as read, and its columns.

    ``whole`` is what the table is a sample of, None if it is all there is.
    """

    written: WrittenValues | None
    table: RawTable
    whole: Whole | None
    columns: list[Column]


def judge_table(
    table: RawTable, types: Mapping[str, str] | None = None, whole: Whole | None = None
) -> JudgedTable:
    """Read the texts of a table, and say what its columns are."""
    written, found = find_written(table, types)
    if written is None:
        return JudgedTable(None, table, whole, judge_columns(table, types, whole))
    table = read_table(written.fit(table.data).transform_known(table.data, found))
    if whole is not None:
        whole = whole.read_by(written)
        found = {key: replace(one, strays=()) for key, one in found.items()}  # their number is unknown
    columns = told_columns(judge_columns(table, types, whole), written, found)
    return JudgedTable(written, table, whole, columns)


def find_written(
    table: RawTable, types: Mapping[str, str] | None = None
) -> tuple[WrittenValues | None, dict[str | int, Recognized]]:
    """The reader of a table's texts (None if there is nothing to read), and what was found, by column."""
    as_texts = {name for name, kind in (types or {}).items() if kind not in _VALUES}
    names = {key: name for key, name in zip(table.keys, table.names, strict=True) if name not in as_texts}
    found = _recognized(table.data, names)
    columns = []
    for key, name in names.items():
        if key in found:
            columns.append(WrittenColumn(key, found[key].written, found[key].doubt))
        elif (epoch := _epoch(table.data, key, name)) is not None:
            columns.append(WrittenColumn(key, epoch))
    return (WrittenValues(tuple(columns)) if columns else None), found


def _recognized(X: Any, names: Mapping[Any, str]) -> dict[Any, Recognized]:
    """How text columns are written, by column name; those of Polars are read at the same time."""
    frame = as_frame(X)
    if frame is None or not frame.implementation.is_polars():
        # One by one, because texts as objects take several times the memory of the table.
        columns = ((key, name, _texts(X, key)) for key, name in names.items())
        known = {key: recognize(texts, name) for key, name, texts in columns if texts is not None}
        return {key: found for key, found in known.items() if found is not None}
    import polars as pl

    texts = {key: column for key in names if (column := _texts(X, key)) is not None}
    proposals = {key: p for key, column in texts.items() if (p := propose(column, names[key])) is not None}
    together = pl.DataFrame([texts[key] for key in proposals])
    read = together.select(p.written.quick(pl.col(key)).alias(key) for key, p in proposals.items())
    settled = {}
    for key, proposal in proposals.items():
        values = proposal.written.completed(texts[key], read[key])
        settled[key] = settle(texts[key], names[key], proposal, values)
    return {key: found for key, found in settled.items() if found is not None}


def with_values(data: Any) -> Any:
    """A table in which all texts that stand for values are read."""
    step, found = find_written(read_table(data))
    return data if step is None else step.transform_known(data, found)


def told_columns(
    columns: Sequence[Column], step: WrittenValues, found: Mapping[Any, Recognized]
) -> list[Column]:
    """Columns with a note on how they are written; a time of day counts by its hour."""
    written = {column.key: column for column in step.columns}
    return [_told(c, written[c.key], found.get(c.key)) if c.key in written else c for c in columns]


def _told(column: Column, written: WrittenColumn, found: Recognized | None) -> Column:
    is_clock = isinstance(written.written, WrittenMoment) and written.written.is_time_of_day
    if is_clock and not column.is_constant:
        why = f"used: {CLOCK}"
        column = replace(column, kind="time of day", used_as="date", parts=(CLOCK,), why=why, note=why)
    if found is None:
        return replace(column, note="; ".join(filter(None, [written.note, column.note])))
    strays = [stray_words(written.written, found.strays)] if found.strays else []
    return replace(
        column,
        note="; ".join(filter(None, [written.note, *strays, column.note])),
        why="; ".join(filter(None, [written.written.words, column.why])),
        values=_range(written.written, found) or column.values,
    )


def _range(written: Written, found: Recognized) -> str:
    """The smallest and the largest value, as written; "" without any."""
    values = np.asarray(found.values)
    present = values[~(np.isnan(values) if values.dtype.kind == "f" else np.isnat(values))]
    if present.size == 0:
        return ""
    return f"{written.show(present.min())} to {written.show(present.max())}"


def stray_words(written: Written, strays: Sequence[Stray]) -> str:
    """Cells that do not fit, in words: "1 cell is not a number and counts as missing: 'unknown' (row 17)"."""
    count = sum(stray.count for stray in strays)
    cells = "1 cell is" if count == 1 else f"{count:,} cells are"
    counts = "counts" if count == 1 else "count"
    shown = [f"{_short(stray)!r} ({_where(stray)})" for stray in strays[:_STRAYS_TOLD]]
    more = len(strays) - len(shown)
    shown += [f"{more} other texts"] if more > 0 else []
    return f"{cells} not a {written.noun} and {counts} as missing: {', '.join(shown)}"


def _short(stray: Stray) -> str:
    return stray.text if len(stray.text) <= _LONGEST_STRAY else f"{stray.text[:_LONGEST_STRAY]}…"


def _where(stray: Stray) -> str:
    return f"row {stray.row}" if stray.count == 1 else f"{stray.count:,} times, first in row {stray.row}"


# ---- columns of frames and arrays -------------------------------------------------------------------------


def _places(X: Any) -> dict[Any, int]:
    """Place of each column by its name, or by its number if names are not texts."""
    frame = as_frame(X)
    count = X.shape[1] if frame is None else frame.shape[1]
    names = range(count) if frame is None else frame.columns
    return {name if isinstance(name, str) else place: place for place, name in enumerate(names)}


def _objects(frame: Any, name: str) -> list[Any]:
    return frame[name].to_list()  # type: ignore[no-any-return]


def _texts(X: Any, key: str | int) -> Any:
    """A column of texts: a Polars series, or an array (n,) with None in the gaps; None if it holds none."""
    frame = as_frame(X)
    if frame is not None and frame.implementation.is_polars():
        import polars as pl

        series = frame.to_native()[key]
        return series if series.dtype == pl.String else None
    column = _raw(X, key)
    if column.is_category or column.family not in ("text", "mixed"):
        return None
    return _as_texts(column)


def _as_texts(column: RawColumn) -> NDArray[np.object_]:
    """Texts (n,), None in the gaps; numbers among them as Python writes them."""
    texts = np.full(column.values.size, None, dtype=object)
    texts[~column.gaps] = [str(value) for value in column.present]
    return texts


def _raw(X: Any, key: Any) -> RawColumn:
    frame = as_frame(X)
    if frame is None:
        return read_columns(np.asarray(X)[:, [key]])[0]
    place = _places(X)[key]
    return read_columns(frame[:, [place]].to_native())[0]


def _epoch(X: Any, key: str | int, name: str) -> WrittenEpoch | None:
    if not may_be_time(name):
        return None
    column = _raw(X, key)
    if column.family != "number" or column.is_category or column.values.dtype.kind not in "iuf":
        return None
    return epoch_convention(column.as_floats()[~column.gaps], name)


def _with_values(X: Any, formats: Mapping[Any, Written], known: Mapping[Any, Any]) -> Any:
    """The table with some columns read, where that is possible."""
    frame = as_frame(X)
    if frame is not None and frame.implementation.is_polars():
        native = frame.to_native()
        return native.with_columns(
            known[key].alias(key) if key in known else _polars_values(native[key], form)
            for key, form in formats.items()
        )
    read = {key: known[key] if key in known else _values(X, key, form) for key, form in formats.items()}
    if frame is None:
        cells = np.array(X, dtype=object)
        for key, values in read.items():
            cells[:, key] = _plain_objects(values)
        return cells
    native = frame.to_native()
    if frame.implementation.is_pandas():
        native = native.copy(deep=False)
        for key, values in read.items():
            native[native.columns[_places(X)[key]]] = values
        return native
    import narwhals.stable.v1 as nw

    columns = [nw.new_series(key, values, backend=frame.implementation) for key, values in read.items()]
    return frame.with_columns(*columns).to_native()


def _polars_values(series: Any, written: Written) -> Any:
    """Values of a series; one that is not text already holds values, as plain files have them."""
    import polars as pl

    wanted = pl.Float64 if written.dtype == "float64" else pl.Datetime("us")
    if series.dtype == pl.String and not isinstance(written, WrittenEpoch):
        return written.parse(series)
    if isinstance(written, WrittenEpoch) and series.dtype.is_numeric():
        return written.parse(series)
    if series.dtype.is_numeric() != (wanted == pl.Float64) and series.dtype != pl.Null:
        return pl.Series(series.name, [None] * len(series), dtype=wanted)
    if getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.replace_time_zone(None)
    return series.cast(wanted, strict=False)


def _values(X: Any, key: str | int, written: Written) -> NDArray[Any]:
    """Values (n,) of a column outside of Polars."""
    column = _raw(X, key)
    if isinstance(written, WrittenEpoch):
        return written.parse(column.as_floats() if column.family == "number" else column.values[:0])  # type: ignore[no-any-return]
    is_number = written.dtype == "float64"
    if column.family == ("number" if is_number else "date"):
        return column.as_floats() if is_number else column.values.astype("datetime64[us]")
    return written.parse(_as_texts(column))  # type: ignore[no-any-return]


def _plain_objects(values: NDArray[Any]) -> list[Any]:
    """Values as plain objects, None where missing."""
    missing = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
    return [None if gap else value for value, gap in zip(values.tolist(), missing.tolist(), strict=True)]
