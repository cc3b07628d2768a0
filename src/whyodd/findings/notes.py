"""What people should know about their rows before they trust a model: sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.automatic.written import stray_words
from whyodd.explanations.groups import count_of_rows
from whyodd.explanations.sentences import number, percent, text
from whyodd.explanations.variables import deviates
from whyodd.findings.table import shortened
from whyodd.inputs.copies import copy_counts, first_copies, first_near_copies, repeated
from whyodd.inputs.frames import as_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    import narwhals.stable.v1 as nw

    from whyodd.findings.scoring import ScoredRows
    from whyodd.findings.table import Table

# Share of the rows: if more have a copy, a note says how many are distinct; if fewer are distinct than that,
# copies are the nature of the table.
_RARE, _DIFFERENT = 0.1, 0.5
# Share of the rows: if more are equal up to rounding, a note says so.
_NEAR_COPIES = 0.01
_TOLD = 5  # columns
# Rows, as a multiple of chance, above which the rows have changed; and, for single columns, the share of
# values beyond the range that all but a tenth had.
_DRIFT, _OUTSIDE, _MOVED = 3.0, 0.1, 0.3
# Rows at least as odd as the oddest one that chance produces: with fewer, chance does not explain it.
_BY_CHANCE = 0.05


def notes_on_chance(
    table: Table, known: Table | None, n_odd: int, allowed: float, rarest: float = 1.0
) -> Iterator[str]:
    """Whether chance alone would make as many rows odd, or far more are odd than in training.

    ``allowed``: share of normal rows above the threshold; ``rarest``: p-value of the oddest row.
    """
    n = table.n_rows
    chance = allowed * n
    if n_odd > max(_DRIFT * chance, chance + 5.0 * np.sqrt(chance) + 3.0) and known is not table:
        moved = [] if known is None else list(_moved(table.frame, known.frame))
        where = f" Columns whose values shifted: {_listed(moved)}." if moved else ""
        yield (
            f"Far more rows are odd than the model allows: {n_odd:,} of {n:,}, where chance gives about "
            f"{_about(chance)}. Either the data have changed since training, or many rows are odd.{where}"
        )
    elif 0 < n_odd <= chance + 2.0 * np.sqrt(chance) and n * rarest > _BY_CHANCE:
        are, they = ("is", "it is") if n_odd == 1 else ("are", "these are")
        yield (
            f"{n_odd:,} of {count_of_rows(n)} {are} above the threshold, about as many as chance alone "
            f"gives ({_about(chance)}): {they} the oddest of {table.name}, but nothing needs to be wrong "
            "with it."
        )


def _about(rows: float) -> str:
    return f"{rows:,.0f}" if rows >= 1.0 else number(rows, 1)


def _moved(rows: Any, known: Any) -> Iterator[str]:
    """Numeric columns with far more values beyond the usual range than usual, the most affected first."""
    new, old = as_frame(rows), as_frame(known)
    if new is None or old is None:
        return
    found = []
    for name in new.columns:
        if name not in old.columns or not (new[name].dtype.is_numeric() and old[name].dtype.is_numeric()):
            continue
        before, after = (np.asarray(frame[name].to_numpy(), dtype=np.float64) for frame in (old, new))
        if not (np.isfinite(before).any() and np.isfinite(after).any()):
            continue
        low, high = np.nanquantile(before, [_OUTSIDE / 2.0, 1.0 - _OUTSIDE / 2.0])
        outside = float(np.mean((after < low) | (after > high)))
        if outside > _MOVED:
            side = "up" if np.nanmedian(after) > np.nanmedian(before) else "down"
            found.append((outside, f"{name} ({side}; {percent(outside)} beyond what 90 % had)"))
    yield from (words for _, words in sorted(found, reverse=True))


def notes_on_rows(table: Table, known: Table | None, scored: ScoredRows) -> Iterator[str]:
    """Rows that look normal because the model knows them, or a copy of them."""
    if known is table:
        yield from _notes_on_copies(table)
    elif n := scored.n_known:
        are, they = ("is equal to a row", "it looks") if n == 1 else ("are equal to rows", "they look")
        yield (
            f"{count_of_rows(n)} of {table.name} {are} that the model was trained on, so {they} normal: "
            "judge new rows with it."
        )


def _notes_on_copies(table: Table) -> Iterator[str]:
    """Rows that equal another one, exactly or up to rounding; in a single column all may."""
    if sparse.issparse(table.frame) or table.frame.shape[1] == 1:
        return
    first = first_copies(table.frame)
    n_copies, n = _n_copies(first), table.n_rows
    if (times := repeated(first)) > 1:
        yield f"Every row of {table.name} comes {_times(times)}: no row is judged against its own copies."
        return
    if 0 < n_copies <= _RARE * n:
        yield f"{count_of_rows(n_copies)} have an exact copy in {table.name}."
    elif n_copies > 0 and np.unique(first).size >= _DIFFERENT * n:
        yield (
            f"{n_copies:,} of {count_of_rows(n)} have an exact copy in {table.name}, which has "
            f"{np.unique(first).size:,} different rows."
        )
    near = _n_copies(first_near_copies(table.frame)) - n_copies
    if near > _NEAR_COPIES * n:
        yield f"{count_of_rows(near)} of {table.name} equal another row except for rounding."


def _n_copies(first: Any) -> int:
    """How many rows are equal to another one."""
    return int(np.count_nonzero(copy_counts(first) > 1))


def _times(times: int) -> str:
    return {2: "twice", 3: "three times"}.get(times, f"{times:,} times")


def notes_on_texts(table: Table, reader: Any) -> Iterator[str]:
    """Texts that are not values of their columns, and texts that can be read in two ways.

    ``reader``: the first step of a model, which reads texts as values; None if there is none.
    """
    if reader is None:
        return
    for column, strays in reader.strays(table.frame):
        yield f"{column.name}: {stray_words(column.written, strays)}."
    yield from (f"{column.name}: {doubt}." for column in reader.columns for doubt in column.doubts)


def notes_on_constants(table: Table, scored: ScoredRows) -> Iterator[str]:
    """Rows with a new value in a column that never varied, for which there is no scale to measure it by."""
    frame = as_frame(table.frame)
    constants = {} if frame is None else scored.constants
    counts = {
        name: _n_deviating(frame[name], value)
        for name, value in constants.items()
        if frame is not None and name in frame.columns
    }
    new = [f"{name} (always {text(constants[name])}): {n:,}" for name, n in counts.items() if n]
    if new:
        yield (
            "Some columns never varied in training, so a new value there has no scale and does not count as "
            f"odd. Rows with a new value: {_listed(new)}."
        )


def notes_on_feedback(model: Any) -> Iterator[str]:
    """The feedback on single rows that the model holds."""
    said = getattr(model, "feedback_", ())
    if said:
        words = [
            f"{count_of_rows(len(one.rows))} {one.verdict} on {one.date:.10}"
            + (f" ({shortened(one.note)})" if one.note else "")
            for one in reversed(said)
        ]
        yield f"The model has feedback on single rows: {_listed(words)}."


def _n_deviating(series: nw.Series[Any], constant: Any) -> int:
    counted = series.value_counts(sort=False, name="how many")
    pairs = zip(counted[series.name].to_list(), counted["how many"].to_list(), strict=True)
    return sum(count for value, count in pairs if deviates(value, constant))


def _listed(parts: list[str]) -> str:
    more = len(parts) - _TOLD
    return ", ".join(parts[:_TOLD]) + (f" and {more} more" if more > 0 else "")
