"""A model's verdict on rows that arrive as records: how odd they are and why, in plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explainers.preparing import PreparedModel
from whyodd.explanations.base import at_least_one
from whyodd.explanations.table import json_value
from whyodd.findings.thresholds import distribution_of
from whyodd.inputs.frames import take_rows
from whyodd.network.waist import score_rows
from whyodd.scale.batches import explained
from whyodd.scale.lines import BadLineError
from whyodd.scale.reasons import MainReasons
from whyodd.scale.wanted import WantedColumns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.explainers.preparing import PreparedRows
    from whyodd.explanations.table import Explanation
    from whyodd.explanations.variables import Variables

    Record = Mapping[str, Any]
    Told = dict[str, Any]

# Digits of computed numbers; rounding depends on the other rows of a batch only beyond these.
_DIGITS = 6
_EXACT_POWERS = 22  # of ten, exact in floats


@dataclass(frozen=True, eq=False)
class Judged:
    """Some rows and the verdict on them.

    Attributes
    ----------
    places : ndarray of int of shape (n,)
        Where they were among the records.
    told : list of dict or None
        What is said of each; None if that was not asked for.
    is_odd : ndarray of bool of shape (n,), or None if the model does not say
    data : ndarray of shape (n, d)
        Their values as people know them.
    """

    places: NDArray[np.intp]
    told: list[Told | None]
    is_odd: NDArray[np.bool_] | None
    data: Any


class Judge:
    """A model that judges records.

    Parameters
    ----------
    model : fitted model or pipeline
        What :func:`whyodd.explain` takes for tables.
    top : int, default 3
        How many reasons are given for each row.
    """

    def __init__(self, model: Any, *, top: int = 3) -> None:
        self.model = model
        self.top = at_least_one(top, "reasons")
        self.wanted = WantedColumns.of(model)
        self.prepared = PreparedModel.of(model)
        self._distribution = distribution_of(model)
        self._latest: Explanation | None = None
        # Warm up: a first row takes longer than others, since columns are traced, indices built, code
        # compiled.
        self.judge([self.wanted.example])

    @property
    def variables(self) -> Variables:
        """The variables that people know."""
        if self._latest is None or self._latest.variables is None:
            return self.prepared.variables_of()
        return self._latest.variables

    def judge(
        self, records: Sequence[Record], *, are_texts: bool = False, only_odd: bool = False
    ) -> tuple[list[Judged], dict[int, str]]:
        """The verdict on records, in one or more pieces, and what is wrong with the others, by position.

        A record is wrong if its values do not fit, or if the model refuses it when it is alone. ``only_odd``:
        say nothing of rows that are not odd, which spares explaining them.
        """
        table, problems = self.wanted.table(records, are_texts=are_texts)
        places = np.arange(len(records))
        if problems:
            places = np.delete(places, list(problems))
            table = take_rows(table, places)
        return list(self._pieces(table, places, problems, only_odd)), problems

    def score(self, record: Record) -> float:
        """Outlierness of one record."""
        table, problems = self.wanted.table([record], are_texts=False)
        if problems:
            raise BadLineError(problems[0])
        return float(score_rows(self.prepared.network, self.prepared.inputs(table))[0])

    def _pieces(
        self, table: Any, places: NDArray[np.intp], problems: dict[int, str], only_odd: bool
    ) -> Iterator[Judged]:
        """Rows judged together, or in halves if the model refuses one of them."""
        if places.size == 0:
            return
        try:
            yield self._judged(table, places, only_odd)
        except (ValueError, TypeError, OverflowError) as error:
            if places.size == 1:
                problems[int(places[0])] = str(error)
                return
            for half in np.array_split(np.arange(places.size), 2):
                yield from self._pieces(take_rows(table, half), places[half], problems, only_odd)

    def _judged(self, table: Any, places: NDArray[np.intp], only_odd: bool) -> Judged:
        rows = self.prepared.rows(table)
        told: list[Told | None] = [None] * places.size
        if not only_odd or rows.threshold is None:
            e = self._explained(rows)
            return Judged(places, [*self._told(e)], e.is_odd, rows.data)
        is_odd = score_rows(rows.network, rows.inputs) > rows.threshold
        odd = np.flatnonzero(is_odd)
        if odd.size:
            for place, what in zip(odd.tolist(), self._told(self._explained(rows.take(odd))), strict=True):
                told[place] = what
        return Judged(places, told, is_odd, rows.data)

    def _explained(self, rows: PreparedRows) -> Explanation:
        e = explained(rows)
        if self._latest is not None and self._latest.variables is e.variables:
            e.take_over(self._latest)
        else:
            self._latest = e[:1]
        return e

    def _told(self, e: Explanation) -> list[Told]:
        """How odd each row is and why."""
        p_values = e.p_value if self._distribution is None else self._distribution.p_values(e.outlierness)
        columns = {
            "outlierness": _rounded(e.outlierness),
            "p_value": [None] * len(e) if p_values is None else _rounded(p_values),
            "is_odd": [None] * len(e) if e.is_odd is None else e.is_odd.tolist(),
            "unexplained": _rounded(np.asarray(e.unexplained)),
            "reasons": self._reasons(e),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _reasons(self, e: Explanation) -> list[list[dict[str, Any]]]:
        """The main reasons of each row; those of odd rows with words."""
        main = MainReasons.of(e, self.top)
        reasons: list[list[dict[str, Any]]] = [[] for _ in range(len(e))]
        rows, columns = main.rows.tolist(), main.columns.tolist()
        parts = {
            "name": [e.feature_names[column] for column in columns],
            "share": _rounded(main.shares),
            "value": _values(main.values),
            "expected": _rounded(main.expected),
            "direction": main.direction.tolist(),
        }
        entries = [dict(zip(parts, entry, strict=True)) for entry in zip(*parts.values(), strict=True)]
        odd = np.arange(len(e)) if e.is_odd is None else np.flatnonzero(e.is_odd)
        place, told = {row: place for place, row in enumerate(odd.tolist())}, e[odd]
        for row, column, entry in zip(rows, columns, entries, strict=True):
            if row in place:
                entry["words"] = told.reason(place[row], column).words
            reasons[row].append(entry)
        return reasons


def _values(values: NDArray[Any]) -> list[Any]:
    """Values as JSON, None where there are none."""
    if values.dtype.kind == "f" and np.isfinite(values).all():
        return values.tolist()  # type: ignore[no-any-return]
    return [json_value(value) for value in values.tolist()]


def _rounded(values: NDArray[Any]) -> list[Any]:
    """The same with a few digits."""
    if values.dtype.kind == "f":
        return _values(_at_digits(values.astype(np.float64)))
    return [float(f"{value:.{_DIGITS}g}") if type(value) is float else value for value in _values(values)]


def _at_digits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers (k,) with a few digits; unchanged if that needs a power of ten that no float holds."""
    with np.errstate(all="ignore"):
        shift = _DIGITS - 1 - np.floor(np.log10(np.abs(numbers)))
        # Whole numbers times or divided by an exact power of ten: the nearest float, which prints short.
        up, down = 10.0 ** np.maximum(shift, 0.0), 10.0 ** np.maximum(-shift, 0.0)
        rounded = np.round(numbers * up / down) / up * down
    return np.where(np.abs(shift) <= _EXACT_POWERS, rounded, numbers)
