"""The variables that people know: a network's points in their units and categories."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.compute.points import to_dense
from whyodd.explanations.sentences import is_missing, is_number
from whyodd.network.waist import offers, once_per_member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.explanations.given import Given
    from whyodd.inputs.written import Written
    from whyodd.maths.linear_maps import LinearMap


# Rounding of means of equal values, and of values scaled back and forth.
_ROUNDING = 1e-9
# Types of nearly all values, and whether they are numbers; others are examined one by one.
_NUMBERS, _NO_NUMBERS = {float, int, bool}, {str, type(None), dt.date, dt.datetime}


@dataclass(frozen=True)
class Decoded:
    """Values of m points in raw units, by the index of the variable.

    Attributes
    ----------
    numbers : dict of int to ndarray of shape (m,)
        Numeric variables; NaN where the value is unknown.
    categories : dict of int to (ndarray of int of shape (m,), tuple)
        Codes into the tuple of categories, -1 where the category is unknown.
    """

    numbers: dict[int, NDArray[np.float64]]
    categories: dict[int, tuple[NDArray[np.intp], tuple[Any, ...]]]

    def averages(self, p: Any) -> dict[int, NDArray[np.float64]]:
        """Σ_j p_j u_j (n,) of each number, over the values that are known; ``p`` (n, m): array or CSR."""
        if not self.numbers:
            return {}
        known, values = self._known_and_values
        with np.errstate(invalid="ignore"):  # 0 / 0 where none is known
            means = to_dense(p @ values) / to_dense(p @ known)
        return dict(zip(self.numbers, means.T, strict=True))

    def majorities(self, p: Any) -> dict[int, NDArray[Any]]:
        """The category (n,) with the most of ``p`` of each categorical variable, None where none is known."""
        return {variable: self._heaviest(p, variable) for variable in self.categories}

    @cached_property
    def _known_and_values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values = np.column_stack(list(self.numbers.values()))
        known = np.isfinite(values)
        if known.all():  # almost always: one column of ones does for all
            return np.ones((len(values), 1)), values
        return known.astype(np.float64), np.where(known, values, 0.0)

    def _heaviest(self, p: Any, variable: int) -> NDArray[Any]:
        codes, values = self.categories[variable]
        known = np.flatnonzero(codes >= 0)
        member = sparse.csr_array((np.ones(known.size), (known, codes[known])), (codes.size, len(values)))
        mass = to_dense(p @ member)
        labels = np.full(len(values) + 1, None, dtype=object)
        labels[:-1] = values
        return labels[np.where(mass.max(axis=1) > 0.0, mass.argmax(axis=1), -1)]


@dataclass(frozen=True)
class Variables:
    """The d variables of an explanation.

    Attributes
    ----------
    names : tuple of str
        Their names, before grouping.
    decode : callable, optional
        From points of the network (m, k) to :class:`Decoded`; None if the network's variables are these.
    constants : mapping of int to object
        Variables that never varied in training, and the value they always had; None: always missing.
    groups : tuple of tuple of int, optional
        Which variables each entry of the explanation sums up; None if each stands for itself.
    origin : ndarray of int of shape (columns,), optional
        The variable that each column before ``through`` (or of the network) belongs to; None if each is its
        own.
    through : LinearMap, optional
        Linear map before the network that mixes columns.
    parts : mapping of int to tuple of str
        Variables that are dates, and the part of them that each of their columns shows.
    formats : mapping of int to Written
        How people write the values of a variable, where that is not as plain numbers and dates.
    relative : frozenset of int
        Numbers that are decoded in units of a context: only that of a row says what they are.
    """

    names: tuple[str, ...]
    decode: Callable[[Points], Decoded] | None = None
    constants: Mapping[int, Any] = field(default_factory=dict)
    groups: tuple[tuple[int, ...], ...] | None = None
    origin: NDArray[np.intp] | None = None
    through: LinearMap | None = None
    parts: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    formats: Mapping[int, Written] = field(default_factory=dict)
    relative: frozenset[int] = frozenset()

    def format_at(self, place: int) -> Written | None:
        """How the values of an entry of the explanation are written; None for plain ones and for groups."""
        if self.groups is None:
            return self.formats.get(place)
        members = self.groups[place]
        return self.formats.get(members[0]) if len(members) == 1 else None

    def expected(
        self, network: Any, inputs: Points, own: NDArray[np.intp] | None, given: Given | None = None
    ) -> NDArray[Any]:
        """(n, d) what normal rows like these have: Σ_j p_j u_j of numbers, the category with the most p-mass.

        Floats, or objects where there are categories or groups; NaN and None where it is unknown, and
        NaN throughout if ``network``, a member of the waist, does not know. ``given``: their context.
        """
        if not offers(network, "expected"):
            return self.grouped(np.full((inputs.shape[0], len(self.names)), np.nan))
        if self.decode is None:
            return self.grouped(network.expected(inputs, **({} if own is None else {"own": own})))
        n, has_centers = inputs.shape[0], offers(network, "centers")
        decoded = self.decoded_centers(network) if has_centers else self.decode(network.expected(inputs))
        expected = Expected(decoded, self, n)
        if has_centers:
            network.assign(inputs, expected.add, own=own)
        else:  # each row has a point of its own
            expected.add(slice(None), sparse.eye_array(n, format="csr"))
        return self.grouped(expected.values if given is None else given.expected(expected.values))

    def decoded_centers(self, network: Any) -> Decoded:
        """The centers of a network in raw units, read once in its lifetime."""
        assert self.decode is not None
        known = _read_centers(network)
        if known.get("decode") is not self.decode:
            known |= {"decode": self.decode, "centers": self.decode(network.centers)}
        return known["centers"]  # type: ignore[no-any-return]

    def direction(
        self, inputs: Points, values: NDArray[Any], expected: NDArray[Any], network: Any = None
    ) -> NDArray[np.int8]:
        """(n, d) +1 where a number is higher than expected, -1 lower, else 0; always 0 for categories.

        ``inputs`` (n, k) are the rows as they reach the network.
        """
        signs = directions(values, expected)
        if self.decode is not None and len(values):
            has_centers = offers(network, "centers")
            decoded = self.decoded_centers(network) if has_centers else self.decode(inputs[:1])
            categories = decoded.categories
            place = dict(enumerate(self.groups or [(i,) for i in range(len(self.names))]))
            signs[:, [i for i, members in place.items() if categories.keys() & set(members)]] = 0
        return signs

    def grouped(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values (n, variables) as an explanation shows them: a group of several by name."""
        if self.groups is None:
            return values
        out = np.empty((len(values), len(self.groups)), dtype=object)
        for place, members in enumerate(self.groups):
            names = [self.names[member] for member in members]
            for row, parts in enumerate(_columns(values, members).tolist()):
                out[row, place] = parts[0] if len(members) == 1 else dict(zip(names, parts, strict=True))
        return out

    @cached_property
    def constant_at(self) -> dict[int, Any]:
        """Entries of the explanation that never varied in training, with their value; groups excluded."""
        if self.groups is None:
            return dict(self.constants)
        alone = {members[0]: place for place, members in enumerate(self.groups) if len(members) == 1}
        return {alone[i]: value for i, value in self.constants.items() if i in alone}


@dataclass(eq=False)
class Expected:
    """What normal rows like some rows have, filled in as their assignments arrive.

    Parameters
    ----------
    decoded : Decoded
        The points (m,).
    variables : Variables
        The d variables.
    n : int
        Number of rows.

    Attributes
    ----------
    numbers : ndarray of shape (n, d)
        Σ_j p_j u_j; NaN where it is unknown, and for categories.
    categories : dict of int to ndarray of shape (n,)
        The category with the most of p of each categorical variable; None where it is unknown.
    """

    decoded: Decoded
    variables: Variables
    n: int

    def __post_init__(self) -> None:
        self.numbers = np.full((self.n, len(self.variables.names)), np.nan)
        self.categories = {v: np.full(self.n, None, dtype=object) for v in self.decoded.categories}

    def add(self, rows: Any, p: Any) -> None:
        """Fill in some rows by their assignments (rows, m): array or CSR."""
        for variable, means in self.decoded.averages(p).items():
            self.numbers[rows, variable] = means
        for variable, values in self.decoded.majorities(p).items():
            self.categories[variable][rows] = values

    @property
    def values(self) -> NDArray[Any]:
        """(n, d) floats, or objects where there are categories."""
        if not self.categories:
            return self.numbers
        out = self.numbers.astype(object)
        for variable, values in self.categories.items():
            out[:, variable] = values
        return out


@once_per_member
def _read_centers(network: Any) -> dict[str, Any]:  # noqa: ARG001
    """Cache of values derived from the centers of a network, and of the function that derived them."""
    return {}


@once_per_member
def constant_columns(network: Any) -> dict[int, float]:
    """Variables of a network that had one value in training, and that value.

    Those in which two or more centers all agree, and those that the metric leaves out because they had no
    variance to measure by. Of sparse data, where most variables are 0 most of the time, nothing is said.
    """
    # A committee leaves out suspects, and knows the extremes of training rows.
    points = getattr(network, "extent", None)
    points = network.centers if points is None else points
    if sparse.issparse(points):
        return {}
    low, high = points.min(axis=0), points.max(axis=0)
    agree = high - low <= _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    constant = (agree & (len(points) > 1)) | _left_out_by_metric(network)
    return {int(i): float(low[i]) for i in np.flatnonzero(constant)}


def _left_out_by_metric(network: Any) -> NDArray[np.bool_]:
    if not offers(network, "distances") or network.metric is None:
        return np.zeros(network.centers.shape[1], dtype=bool)
    columns = network.metric.columns
    return np.asarray((columns == 0.0).all(axis=0))


def deviates(value: Any, constant: Any) -> bool:
    """Whether a value is present and differs from the constant of its variable by more than rounding."""
    if is_missing(value) or (is_missing(constant) and constant is not None):
        return False  # nothing to compare, or the constant is unknown
    if is_number(value) and is_number(constant):
        return bool(abs(value - constant) > _ROUNDING * max(abs(value), abs(constant)))
    return bool(value != constant)


def deviating(values: NDArray[Any], constant: Any) -> NDArray[np.bool_]:
    """(n,) whether each value differs from the constant of its variable, as :func:`deviates` does for one."""
    if values.dtype != object and is_number(constant):
        size = np.maximum(np.abs(values), abs(constant))
        return np.asarray(np.abs(values - constant) > _ROUNDING * size)
    known: dict[Any, bool] = {}
    found = []
    for value in values.tolist():
        if value not in known:  # values repeat: it is a column that hardly ever varies
            known[value] = deviates(value, constant)
        found.append(known[value])
    return np.array(found, dtype=bool)


def directions(values: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.int8]:
    """(n, d) +1 where a number is higher than expected, -1 lower; 0 if equal up to rounding, or no number."""
    if values.dtype == object or expected.dtype == object:
        columns = [directions(*_as_floats(v, e)) for v, e in zip(values.T, expected.T, strict=True)]
        return np.column_stack(columns) if columns else np.zeros(values.shape, dtype=np.int8)
    size = np.maximum(np.abs(values), np.abs(expected))
    gap = values - expected
    # A sum over centers rounds by a few units in the last place of its largest term.
    clear = np.isinf(gap) | (np.abs(gap) > 64 * np.finfo(gap.dtype).eps * size)
    return np.where(clear, np.sign(np.nan_to_num(gap)), 0).astype(np.int8)


def as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """(n, d) values as floats, NaN for anything that is not a number."""
    if values.dtype != object:
        return values.astype(np.float64)
    columns = [_as_floats(column)[0] for column in values.T]
    return np.column_stack(columns) if columns else np.zeros(values.shape)


def _columns(values: Points, members: Sequence[int]) -> NDArray[Any]:
    return to_dense(values[:, list(members)])


def _as_floats(*columns: NDArray[Any]) -> Sequence[NDArray[np.float64]]:
    """Columns of objects as columns (n, 1) of floats, NaN for what is no number."""
    return [_floats(column)[:, np.newaxis] for column in columns]


def _floats(column: NDArray[Any]) -> NDArray[np.float64]:
    # Most columns have one type; checking it is faster than checking each value.
    values = column.tolist()
    kinds = set(map(type, values))
    if kinds <= _NUMBERS:
        return np.array(values, dtype=np.float64)
    if kinds <= _NO_NUMBERS:
        return np.full(len(values), np.nan)
    found = [
        value
        if value.__class__ in _NUMBERS
        else np.nan
        if value.__class__ in _NO_NUMBERS
        else _as_float(value)
        for value in values
    ]
    return np.array(found, dtype=np.float64)


def _as_float(value: object) -> float:
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    is_number = isinstance(value, (int, float, np.integer, np.floating, np.bool_))
    return float(value) if is_number else np.nan  # type: ignore[arg-type]
