"""Kinds that people say columns have, which overrule the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.automatic.kinds import (
    LABELS,
    aside,
    check_range,
    different,
    judge,
    judge_constant,
    judge_dates,
    judge_labels,
)
from whyodd.automatic.steps import numbers_of
from whyodd.inputs.near_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whyodd.automatic.reading import RawColumn

    Judge = Callable[[RawColumn, str, Any], dict[str, Any]]

_GIVEN = "you say so"


def checked_types(types: Mapping[str, str] | None, names: Sequence[str]) -> dict[str, str]:
    """The given kinds, by column; an error names an unknown column or kind."""
    given = dict(types or {})
    for name, kind in given.items():
        if name not in names:
            raise ValueError(
                f"types names a column that does not exist: {name!r}.{did_you_mean(name, names)}"
            )
        if kind not in GIVEN:
            raise ValueError(
                f"Column {name!r}: {kind!r} is not a kind of column.{did_you_mean(str(kind), list(GIVEN))} "
                f"Choose among: {', '.join(GIVEN)}."
            )
    return given


def judge_as(column: RawColumn, name: str, kind: str) -> dict[str, Any]:
    """Keywords of a ``Column`` of a given kind; a column that never varies stays a constant."""
    if column.family in ("nothing", "object"):
        return judge(column, name)
    return GIVEN[kind](column, name, kind) | {"why": _GIVEN}


def _as_number(column: RawColumn, name: str, kind: Any) -> dict[str, Any]:
    if column.family in ("date", "time", "duration"):
        raise _cannot_be(name, kind, f"its values are of the kind {column.family}")
    numbers = numbers_of(column, f"Column {name!r}")[~column.gaps]
    check_range(numbers, column, name)
    if np.unique(numbers).size == 1:
        return judge_constant(column)
    return {"kind": kind, "used_as": "number", "note": f"taken as a {kind}: {_GIVEN}"}


def _as_labels(column: RawColumn, name: str, kind: Any) -> dict[str, Any]:  # noqa: ARG001
    found = judge_labels(column, kind)
    return found if found["note"] else found | {"note": f"taken as a {kind}: {_GIVEN}"}


def _as_ordered(column: RawColumn, name: str, kind: Any) -> dict[str, Any]:
    if not column.is_ordered and column.family != "number":
        raise _cannot_be(name, kind, "the order of its values is unknown; pass an ordered categorical")
    return _as_labels(column, name, kind)


def _as_yes_no(column: RawColumn, name: str, kind: Any) -> dict[str, Any]:
    n_different = len(different(column.present if column.family in LABELS else map(str, column.present)))
    if n_different > 2:
        raise _cannot_be(name, kind, f"it has {n_different:,} different values")
    return _as_labels(column, name, kind)


def _as_date(column: RawColumn, name: str, kind: Any) -> dict[str, Any]:
    if column.family not in ("date", "time", "text"):
        raise _cannot_be(name, kind, f"its values are of the kind {column.family}")
    return judge_dates(column, name, only_clock=kind == "time of day")


def _as_duration(column: RawColumn, name: str, kind: Any) -> dict[str, Any]:
    if column.family != "duration":
        raise _cannot_be(name, kind, f"its values are of the kind {column.family}")
    return judge(column, name)


def _as_names(column: RawColumn, name: str, kind: Any) -> dict[str, Any]:  # noqa: ARG001
    return aside(kind, f"it is of the kind {kind}: {_GIVEN}")


def _cannot_be(name: str, kind: str, because: str) -> ValueError:
    return ValueError(f"Column {name!r} cannot be of the kind {kind!r}: {because}. Choose another kind.")


# Kinds that can be given, and what is made of a column then.
GIVEN: dict[str, Judge] = {
    "number": _as_number,
    "count": _as_number,
    "code": _as_labels,
    "category": _as_labels,
    "ordered category": _as_ordered,
    "yes/no": _as_yes_no,
    "date": _as_date,
    "time of day": _as_date,
    "duration": _as_duration,
    "free text": _as_names,
    "identifier": _as_names,
}
