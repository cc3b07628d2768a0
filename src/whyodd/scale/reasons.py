"""The main reasons of all rows of a batch as one Arrow column."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whyodd.compute.points import to_dense
from whyodd.explanations.base import shares
from whyodd.explanations.sentences import Reason, at_resolution, is_missing, is_number, value_texts
from whyodd.explanations.variables import as_numbers, deviating
from whyodd.network.committee import KINDS
from whyodd.scale.number_texts import distinct_texts, number_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyodd.explanations.table import Explanation

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# The kind of a value that differs from the one that its variable always had.
NEW_VALUE = "new value"
_ROUNDING = 1e-9  # as sentences have it


def reason_type() -> Any:
    """Arrow type of one reason.

    ``value`` and ``expected`` are texts as people read them, null where missing or unknown; where they are
    numbers, ``value_number`` and ``expected_number`` have all their digits. ``direction`` is +1 for too high,
    -1 for too low, else 0; ``kind`` is in what way the value is odd, null if the model does not say.
    """
    import pyarrow as pa

    return pa.struct(
        [
            ("name", pa.string()),
            ("share", pa.float64()),
            ("value", pa.string()),
            ("expected", pa.string()),
            ("value_number", pa.float64()),
            ("expected_number", pa.float64()),
            ("direction", pa.int8()),
            ("kind", pa.string()),
        ]
    )


def reasons_column(e: Explanation, top: int) -> Any:
    """Reasons (n,) of each row as an Arrow list, the most relevant first.

    At most ``top``, those with a share above 0; before them new values of variables that never varied.
    """
    import pyarrow as pa

    main = MainReasons.of(e, top)
    rows, columns, direction = main.rows, main.columns, main.direction
    numbers, others = (_numbers(each) for each in (main.values, main.expected))
    values, expected = _texts(e, main, numbers, others)
    fields = [
        pa.array(np.array(e.feature_names, dtype=object), pa.string()).take(pa.array(columns)),
        pa.array(main.shares),
        values,
        expected,
        pa.array(numbers, from_pandas=True),
        pa.array(others, from_pandas=True),
        pa.array(direction),
        _kinds(e, rows, columns, main.is_new),
    ]
    ends = np.cumsum(np.bincount(rows, minlength=len(e)))
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(fields, fields=list(reason_type())))


class MainReasons(NamedTuple):
    """The main reasons of all rows, one after the other, the most relevant of a row first.

    Attributes
    ----------
    rows, columns : ndarray of int of shape (k,)
        Row and variable of each.
    is_new : ndarray of bool of shape (k,)
        Whether it is a new value of a variable that never varied in training.
    shares : ndarray of shape (k,)
        Its part of the outlierness.
    values, expected : ndarray of shape (k,)
    direction : ndarray of int of shape (k,)
    """

    rows: Indices
    columns: Indices
    is_new: NDArray[np.bool_]
    shares: NDArray[np.float64]
    values: NDArray[Any]
    expected: NDArray[Any]
    direction: NDArray[np.int8]

    @classmethod
    def of(cls, e: Explanation, top: int) -> MainReasons:
        """At most ``top`` reasons of each row with a share above 0, after all new values of constants."""
        rows, columns, is_new = _chosen(e, top)
        expected = e.expected[rows, columns]
        if is_new.any():
            expected = expected.astype(object)
            expected[is_new] = [_constants(e)[column] for column in columns[is_new].tolist()]
        return cls(
            rows,
            columns,
            is_new,
            shares(e.relevance[rows, columns], e.whole[rows]).astype(np.float64),
            to_dense(e.data)[rows, columns],
            expected,
            e.direction_at(rows, columns),
        )


def _chosen(e: Explanation, top: int) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Rows and columns of the reasons, in order, and which of them are new values of constants."""
    new = _new_values(e)
    most_new = int(new.sum(axis=1).max(initial=0))
    ranked = np.where(new, np.inf, e.relevance) if most_new else e.relevance
    order = np.argsort(-ranked, axis=1, kind="stable")[:, : top + most_new]
    is_new = np.take_along_axis(new, order, axis=1)
    is_main = ~is_new & (np.cumsum(~is_new, axis=1) <= top)
    is_main &= np.take_along_axis(e.relevance, order, axis=1) > 0.0
    rows, places = np.nonzero(is_new | is_main)
    return rows, order[rows, places], is_new[rows, places]


def _kinds(e: Explanation, rows: Indices, columns: Indices, new: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    told = np.full(len(rows), -1, dtype=np.intp)
    if e.reason_kinds is not None:
        told = e.reason_kinds[rows, columns].astype(np.intp)
    told[new] = len(KINDS)
    return pa.array([*KINDS, NEW_VALUE]).take(pa.array(told, mask=told < 0))


def _constants(e: Explanation) -> dict[int, Any]:
    return {} if e.variables is None else e.variables.constant_at


def _new_values(e: Explanation) -> NDArray[np.bool_]:
    """(n, d) values that differ from the one that a variable always had in training."""
    new = np.zeros(e.relevance.shape, dtype=bool)
    for column, constant in _constants(e).items():
        new[:, column] = deviating(to_dense(e.data)[:, column], constant)
    return new


def _numbers(values: NDArray[Any]) -> Floats:
    """Values (k,) as floats, lengths of time in seconds; NaN for other values, such as yes and no."""
    numbers = as_numbers(values[:, None])[:, 0]
    if values.dtype == object:
        numbers[np.fromiter((v.__class__ is bool for v in values), bool, len(values))] = np.nan
    return numbers


def _texts(e: Explanation, main: MainReasons, numbers: Floats, others: Floats) -> tuple[Any, Any]:
    """Values and expected values as text: numbers all at once, others one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_pair = np.isfinite(numbers) & np.isfinite(others)
    fine = _resolutions(e, main.columns)
    with np.errstate(invalid="ignore"):
        gap = np.abs(numbers - others)
        is_same = (
            is_pair & (main.direction == 0) & (gap <= np.maximum(_ROUNDING * np.abs(numbers), 0.5 * fine))
        )
        is_pair &= ~is_same
        rounded = np.fromiter(map(at_resolution, others.tolist(), fine.tolist()), np.float64, others.size)
        # A value reported as another number must look like one.
        others = np.where(is_same, numbers, np.where(is_pair & (rounded != numbers), rounded, others))
        # A sum over known rows, all but a trace of which have 0, is 0 to people.
        others = np.where(is_pair & (np.abs(others) < _ROUNDING * np.abs(numbers)), 0.0, others)
    texts = (number_texts(numbers), number_texts(others))
    apart = distinct_texts(numbers[is_pair], others[is_pair])
    singly = _told_singly(e, main)
    alone = [_told(e, main, place) for place in np.flatnonzero(singly).tolist()]
    found = []
    for side in (0, 1):
        told = pc.replace_with_mask(texts[side], pa.array(is_pair), apart[side])
        words = pa.array([pair[side] for pair in alone], pa.string())
        found.append(pc.replace_with_mask(told, pa.array(singly), words))
    return found[0], found[1]


def _resolutions(e: Explanation, columns: Indices) -> Floats:
    """(k,) resolution of each reason's variable."""
    different, which = np.unique(columns, return_inverse=True)
    return np.array([e.resolution(c) for c in different.tolist()], dtype=np.float64)[which]


def _told_singly(e: Explanation, main: MainReasons) -> NDArray[np.bool_]:
    """(k,) reasons whose values are not plain numbers, or have a convention of their own."""
    formats = (
        () if e.variables is None else [c for c in set(main.columns.tolist()) if e.variables.format_at(c)]
    )
    singly = np.isin(main.columns, list(formats))
    for values in (main.values, main.expected):
        if values.dtype == object:
            singly |= np.fromiter((v.__class__ not in (float, int) for v in values), bool, len(values))
    return singly


def _told(e: Explanation, main: MainReasons, place: int) -> tuple[str | None, str | None]:
    """Value and expected value of one reason, as in sentences, but texts without quotation marks."""
    row, column = int(main.rows[place]), int(main.columns[place])
    value, expected = main.values[place], main.expected[place]
    form = None if e.variables is None else e.variables.format_at(column)
    if form is None and isinstance(value, str) and isinstance(expected, str):
        return value, expected
    cell = None if e.texts is None else e.texts[row, column]
    if isinstance(value, dt.timedelta) and is_number(expected):
        expected = dt.timedelta(seconds=float(expected))
    reason = Reason(
        "",
        value,
        expected,
        int(main.direction[place]),
        0.0,
        0.0,
        written=cell,
        form=form,
        resolution=e.resolution(column),
    )
    first, second = value_texts(reason)
    return _plain(value, first), _plain(expected, second)


def _plain(value: Any, told: str) -> str | None:
    if is_missing(value):
        return None
    return value if isinstance(value, str) else told
