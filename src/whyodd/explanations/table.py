"""The frozen result: which variables make each row odd, and by how much."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from whyodd.explanations.base import TABLE, BaseExplanation, Kind, at_least_one, shares
from whyodd.explanations.comparisons import Comparisons
from whyodd.explanations.cut_off import CutOff
from whyodd.explanations.given import CONTEXT
from whyodd.explanations.notebook import rows_table
from whyodd.explanations.resolution import resolution_of
from whyodd.explanations.sentences import (
    OddRow,
    Reason,
    all_digits,
    is_missing,
    is_number,
    name_text,
    sentence,
    text,
)
from whyodd.explanations.variables import Variables, as_numbers, deviates
from whyodd.inputs.frames import build_frame, implementation, restored_value, stored_value
from whyodd.network.committee import FOR_ROWS_LIKE_IT, KINDS
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Mapping

    import narwhals as nw
    from numpy.typing import NDArray

    from whyodd.compute.points import Points
    from whyodd.explanations.given import Given

    Floats = NDArray[np.floating]

_UNEXPLAINED = "(unexplained)"
_REASONS_SHOWN = 3
_NOISE = 1e-6  # of the resolution of a variable
NOT_LEFT_OUT = "the model keeps no training rows, so each of them is judged by a model that has seen it"


@dataclass(frozen=True)
class Neighbor:
    """A normal point that makes a row normal (or less odd).

    Attributes
    ----------
    row : int or None
        Training row the center came from, if the model knows it.
    center : int
        Index of the center in the network.
    assignment : float
        p_j, the row's soft assignment to this center; all centers together have 1.
    similarity : float
        α_j k(d_j), the center's part of the inlierness.
    """

    row: int | None
    center: int
    assignment: float
    similarity: float


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(BaseExplanation):
    """Outlierness of n rows, decomposed onto d variables: Σ_i R_i + unexplained = o.

    Made by :func:`whyodd.explain`; the arrays are read-only. ``e[i]`` takes a row, a slice, a mask or an
    array of positions and returns an ``Explanation``.

    Attributes
    ----------
    relevance : ndarray of shape (n, d)
        R_i, each variable's part of the outlierness. It is at least 0, unless the model mixes variables (a
        full covariance): then a variable that speaks against the oddness has negative relevance.
    outlierness : ndarray of shape (n,)
        o(x) ≥ 0, high for anomalies.
    unexplained : ndarray of shape (n,)
        Part of o that belongs to no single variable.
    inlierness : ndarray of shape (n,)
        g(x), high for normal rows.
    feature_names : tuple of str
        The d variables.
    data : ndarray or CSR matrix of shape (n, d)
        The explained values, as given: numbers, or objects if there are categories.
    rows : ndarray of shape (n,)
        Position of each row in the given X.
    excluded : ndarray of shape (n,)
        The row's own center, if it was left out, or -1.
    network : DistanceNetwork, or other member of the waist
        The explained model.
    frame_kind : narwhals.Implementation or None
        The kind of data frame that was given, and that :meth:`to_frame` returns.
    inputs : ndarray or CSR matrix of shape (n, k), optional
        The rows as they reached the network, if these differ from ``data``.
    variables : Variables, optional
        The network's variables in raw units.
    method : str
        The method. If its relevance is not in units of the outlierness, ``unexplained`` is NaN, and shares
        are parts of Σ_i |R_i|.
    threshold : float or None
        Outlierness above which the model calls a row an outlier; None if it has no threshold.
    ids : tuple, optional
        Names of the rows.
    spoken : ndarray of int of shape (n, d), optional
        In what way each variable is odd, as an index into ``whyodd.network.committee.KINDS``; only for a
        committee.
    texts : ndarray of shape (n, d), optional
        Original texts of cells that were read as values, such as "20.6%"; None in all others.
    exactness : str
        Kind of relevance: "exact" if it is the model's own, "sampled" with an error, "distilled" from a
        student of the model, "ranking" if it only ranks and does not add up.
    fidelity : dict of str to float, optional
        How well sampled or distilled relevance agrees with the model.
    given : Given, optional
        The context in which rows are compared, if there is one.

    Examples
    --------
    >>> import numpy as np, whyodd
    >>> network = whyodd.DistanceNetwork(np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> e = whyodd.explain(network, np.array([[0.5, 0.1], [0.5, 4.0]]))
    >>> len(e), e.top(1).rows
    (2, array([1]))
    >>> e.why(1, k=1)
    'x1 is too high (4, expected about 0): 98 % of the outlierness; 0 % belongs to no single variable'
    """

    kind: ClassVar[Kind] = TABLE
    _told: ClassVar[int] = 1
    _per_item: ClassVar[tuple[str, ...]] = (
        *(
            "relevance",
            "outlierness",
            "unexplained",
            "inlierness",
            "data",
            "inputs",
            "rows",
            "excluded",
            "ids",
            "spoken",
            "texts",
            "given",
        ),
    )

    relevance: Floats
    outlierness: Floats
    unexplained: Floats
    inlierness: Floats
    feature_names: tuple[str, ...]
    data: Points
    rows: NDArray[np.intp]
    excluded: NDArray[np.intp]
    network: Any
    frame_kind: nw.Implementation | None = None
    inputs: Points = None
    variables: Variables | None = None
    method: str = "dtd"
    threshold: float | None = None
    ids: tuple[Any, ...] | None = None
    spoken: NDArray[np.int8] | None = None
    texts: NDArray[np.object_] | None = None
    exactness: str = ""
    fidelity: Mapping[str, float] | None = None
    given: Given | None = None

    def __post_init__(self) -> None:
        if not self.exactness:
            object.__setattr__(self, "exactness", "exact" if self.is_additive else "ranking")
        if self.inputs is None:
            object.__setattr__(self, "inputs", self.data)
        if self.variables is None:
            object.__setattr__(self, "variables", Variables(self.feature_names))
        for name in self._per_item:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, _read_only(value))

    def __getstate__(self) -> dict[str, Any]:
        # Only the constructor's arguments, with the kind of data frame by name; the rest is recomputed.
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        kind = None if self.frame_kind is None else self.frame_kind.name
        stored = {"data": _stored_data(self.data), "texts": _stored_data(self.texts)}
        return state | {"frame_kind": kind, **stored}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind = None if state["frame_kind"] is None else implementation(state["frame_kind"])
        restored = {"data": _restored_data(state["data"]), "texts": _restored_data(state.get("texts"))}
        self.__dict__.update(state, frame_kind=kind, **restored)
        self.__post_init__()

    @cached_property
    def expected(self) -> NDArray[Any]:
        """(n, d) Σ_j p_j u_j in raw units: what a normal row like this one looks like.

        For a category, the value with the largest sum of p; None or NaN if it is unknown.
        """
        if len(self) == 0:
            return _read_only(np.empty(self.relevance.shape))
        return _read_only(self._variables.expected(self.network, self.inputs, self._own, self.given))

    @cached_property
    def direction(self) -> NDArray[np.int8]:
        """(n, d) +1 where the value is higher than expected, -1 lower, 0 equal to within rounding.

        Also 0 for values that are not numbers. For a forest, which expects nothing, +1 above the cuts that
        isolate the value.
        """
        return _read_only(self._direction(np.ones(self.relevance.shape, dtype=bool)))

    def direction_at(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.int8]:
        """(k,) the direction of some entries, which is faster than that of all."""
        if "direction" in vars(self):
            return self.direction[rows, columns]
        wanted = np.zeros(self.relevance.shape, dtype=bool)
        wanted[rows, columns] = True
        return self._direction(wanted)[rows, columns]

    def _direction(self, wanted: NDArray[np.bool_]) -> NDArray[np.int8]:
        """(n, d) the direction, exact at the given entries."""
        if self.cut_off is not None:
            return self.cut_off.direction
        values = _dense(self.data)
        signs = self._variables.direction(self.inputs, values, self.expected, self.network)
        if self.comparisons is None or self.reason_kinds is None or len(self) == 0:
            return np.where(self._is_noise(values), 0, signs).astype(np.int8)
        numbers, is_like = as_numbers(self._compared), self.reason_kinds == KINDS.index(FOR_ROWS_LIKE_IT)
        like = self.comparisons.sides(numbers, self.alike, wanted & is_like)
        return self.comparisons.direction(signs, self.reason_kinds, numbers, like)

    def _is_noise(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """(n, d) whether a number differs from the expected one by no more than rounding."""
        gaps = np.abs(as_numbers(values) - as_numbers(self.expected))
        fine = np.array([self.resolution(c) for c in range(values.shape[1])])
        return np.asarray((gaps <= _NOISE * fine) & (fine > 0.0))

    @cached_property
    def alike(self) -> NDArray[np.intp]:
        """(n, k) centers that the words about each row refer to, if the network distinguishes kinds."""
        if self.comparisons is None:
            return np.empty((len(self), 0), dtype=np.intp)
        return self.comparisons.alike(self.inputs, self._own)

    @cached_property
    def reason_kinds(self) -> NDArray[np.int8] | None:
        """(n, d) in which way each value is odd, as an index into ``KINDS``; None if unknown."""
        if self.comparisons is None or self.spoken is None:
            return None
        return _read_only(self.comparisons.kinds(self.spoken, self._compared, self.inputs, self.given))

    @property
    def _compared(self) -> NDArray[Any]:
        """Values (n, d) in the form that is compared: in a context, numbers relative to it."""
        values = _dense(self.data)
        return values if self.given is None else self.given.relative(values)

    @cached_property
    def comparisons(self) -> Comparisons | None:
        """What the words compare values with, if the network distinguishes kinds."""
        if self.spoken is None or self._variables.groups is not None or not offers(self.network, "kinds"):
            return None
        return Comparisons(self.network, self._variables)

    def resolution(self, c: int) -> float:
        """Resolution of the numbers of variable ``c`` among the known rows; 0 if unknown.

        Numbers that differ by less are the same to people.
        """
        if self.comparisons is not None:
            return self.comparisons.resolution(c)
        known = self._resolutions
        if c not in known:
            known[c] = resolution_of(self._known_numbers(c))
        return known[c]

    @cached_property
    def _resolutions(self) -> dict[int, float]:
        return {}  # filled by parts of this explanation, too

    def _known_numbers(self, c: int) -> NDArray[np.float64]:
        """Numbers of a variable in the known rows; none for other variables, groups and sparse rows."""
        variables, network = self._variables, self.network
        if variables.groups is not None or not offers(network, "centers"):
            return np.empty(0)
        if variables.decode is not None:
            return variables.decoded_centers(network).numbers.get(c, np.empty(0))
        points = network.centers
        return np.empty(0) if sparse.issparse(points) else np.asarray(points[:, c], dtype=np.float64)

    @property
    def p_value(self) -> NDArray[np.float64] | None:
        """(n,) share of the training rows that are at least as odd; None if the model does not keep it."""
        verdict = getattr(self.network, "verdict", None)
        return None if verdict is None else verdict.p_values(self.outlierness)

    @property
    def probability(self) -> NDArray[np.float64] | None:
        """(n,) PyOD's ``predict_proba`` of outliers; None if the model does not keep its scores."""
        verdict = getattr(self.network, "verdict", None)
        return None if verdict is None else verdict.probability(self.outlierness)

    @cached_property
    def cut_off(self) -> CutOff | None:
        """Where values are cut off from those of other rows, if the network isolates rows by cuts."""
        if not offers(self.network, "cuts") or len(self) == 0:
            return None
        return CutOff.of(self.network, self._variables, self.inputs, _dense(self.data))

    @property
    def summed_relevance(self) -> NDArray[np.float64]:
        """(n,) Σ_i R_i."""
        return np.asarray(self.relevance.sum(axis=1, dtype=np.float64))

    @property
    def _absolute_relevance(self) -> NDArray[Any]:
        return np.asarray(np.abs(self.relevance).sum(axis=1))

    def take_over(self, other: Explanation) -> None:
        """Copy from an explanation by the same model everything that is the same for all rows."""
        if "comparisons" in vars(other):
            self.__dict__["comparisons"] = other.comparisons
        self.__dict__["_resolutions"] = other._resolutions

    def _picked(self, picked: NDArray[np.intp]) -> Explanation:
        part = super()._picked(picked)
        # Computed values are copied; the rest is computed only for the picked rows.
        for name in vars(self).keys() & {"alike", "expected", "direction", "reason_kinds"}:
            value = vars(self)[name]
            part.__dict__[name] = None if value is None else _read_only(value[picked])
        if vars(self).get("cut_off") is not None:
            part.__dict__["cut_off"] = self.cut_off.take(picked)  # type: ignore[union-attr]
        part.take_over(self)
        return part

    def reasons(self, i: int, k: int | None = None) -> list[Reason]:
        """Every variable's part in the outlierness of row ``i``, the largest first; at most ``k``."""
        one = self._single(i)
        k = None if k is None else at_least_one(k, "reasons")
        return [one.reason(0, c) for c in np.argsort(-one.relevance[0], kind="stable")[:k].tolist()]

    def why(self, i: int = 0, k: int = _REASONS_SHOWN) -> str:
        """Why row ``i`` is odd, in one sentence with its ``k`` main reasons."""
        told = sentence(self.odd_row(i, k))
        return f"{told}; {self.label}" if self.label else told

    def odd_row(self, i: int, k: int) -> OddRow:
        """Row ``i`` with its variables that never varied in training, and ``k`` main reasons besides."""
        one, k = self._single(i), at_least_one(k, "reasons")
        constants = [one.reason(0, c) for c in self._variables.constant_at]
        new = [reason for reason in constants if reason.never_varied]
        main = [reason for reason in one.reasons(0, k + len(new)) if not reason.never_varied]
        return OddRow(
            row=int(one.rows[0]),
            outlierness=float(one.outlierness[0]),
            unexplained_share=one.unexplained_share(0),
            reasons=(*new, *main[:k]),
            name=None if one.ids is None else one.name(0),
        )

    def neighbors(self, k: int = 5) -> list[list[Neighbor]]:
        """For each row the ``k`` centers that make it normal: those with the largest p_j, in that order."""
        k = at_least_one(k, "neighbors")
        if not offers(self.network, "neighbors") or len(self) == 0:
            return [[] for _ in range(len(self))]
        nearest = self.network.nearest(self.inputs, min(k, self.network.n_centers), own=self._own)
        return [
            [self._neighbor(*entry) for entry in zip(*row, strict=True) if entry[0] != own]
            for *row, own in zip(*nearest, self.excluded, strict=True)
        ]

    def to_frame(self) -> Any:
        """Tidy data frame, a line per row and variable, of the kind that was explained (else pandas).

        Its columns are row, feature, value, expected, direction, relevance, share and outlierness. Each row
        also has a line "(unexplained)", without value: the relevances of a row sum to its outlierness. Values
        are numbers, or all text if there are categories among them (numbers with all their digits).
        """
        n, d = self.relevance.shape
        parts = np.column_stack([self.relevance, self.unexplained])
        columns = {
            "row": np.repeat(self.rows, d + 1),
            "feature": [*self.feature_names, _UNEXPLAINED] * n,
            "value": _tidy(self._told_data),
            "expected": _tidy(self.expected),
            "direction": np.column_stack([self.direction, np.zeros(n, dtype=np.int8)]).ravel(),
            "relevance": parts.ravel(),
            "share": shares(parts, self.whole[:, None]).ravel(),
            "outlierness": np.repeat(self.outlierness, d + 1),
        }
        return build_frame(columns, self.frame_kind)

    def _plain(self) -> dict[str, Any]:
        values = self._told_data
        return {
            "feature_names": list(self.feature_names),
            "self_excluded": self._n_excluded if offers(self.network, "leave_out") else None,
            "rows": [
                {
                    "row": int(self.rows[i]),
                    "outlierness": float(self.outlierness[i]),
                    "inlierness": float(self.inlierness[i]),
                    "unexplained": json_value(self.unexplained[i]),
                    "excluded": int(self.excluded[i]) if self.excluded[i] >= 0 else None,
                    "relevance": self.relevance[i].tolist(),
                    "value": [json_value(value) for value in values[i].tolist()],
                    "expected": [json_value(value) for value in self.expected[i].tolist()],
                    "direction": self.direction[i].tolist(),
                }
                for i in range(len(self))
            ],
        }

    def to_shap(self) -> Any:
        """``shap.Explanation`` with base values = unexplained, so that base + Σ values = outlierness.

        ``shap.plots.waterfall(e.to_shap()[0])`` draws row 0.
        """
        if not self.is_additive:
            raise ValueError(
                f"to_shap() needs relevance that adds up to the outlierness, which method={self.method!r} "
                "does not give. Choose 'dtd'."
            )
        try:
            import shap
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("to_shap() needs shap. Run: pip install 'whyodd[shap]'") from error
        return shap.Explanation(
            values=np.array(self.relevance),
            base_values=np.array(self.unexplained),
            data=_drawable(_dense(self.data)),
            feature_names=list(self.feature_names),
        )

    def _html(self, shown: Explanation) -> str:
        shown.direction  # noqa: B018 - of all rows at once, with what is expected
        return rows_table([shown.odd_row(i, _REASONS_SHOWN) for i in range(len(shown))])

    def _single(self, i: int) -> Explanation:
        return self[self._position(i)]

    @property
    def _n_excluded(self) -> int:
        return int(np.count_nonzero(self.excluded >= 0))

    @property
    def _own(self) -> NDArray[np.intp] | None:
        return self.excluded if self._n_excluded else None

    @property
    def _variables(self) -> Variables:
        return self.variables or Variables(self.feature_names)

    def reason(self, i: int, c: int) -> Reason:
        """The reason that variable ``c`` gives for the outlierness of row ``i``, by index."""
        value, expected = _dense(self.data)[i, c], self.expected[i, c]
        constants = self._variables.constant_at
        never_varied = c in constants and deviates(value, constants[c])
        if isinstance(value, dt.timedelta) and is_number(expected):
            expected = dt.timedelta(seconds=float(expected))  # the form in which it was compared
        plain = Reason(
            name=self.feature_names[c],
            value=_scalar(value),
            expected=_scalar(constants[c] if never_varied else expected),
            direction=int(self.direction[i, c]),
            relevance=float(self.relevance[i, c]),
            share=float(shares(self.relevance[i, [c]], self.whole[[i]])[0]),
            never_varied=never_varied,
            written=self._written(i, c),
            form=self._variables.format_at(c),
            resolution=self.resolution(c),
        )
        if self.cut_off is not None and not never_varied:
            judged, told = self.cut_off.take(np.array([i])).words(plain, c)
            return replace(plain, judged=judged, told=told)
        if self.comparisons is None or self.reason_kinds is None or never_varied:
            return plain
        if self.given is not None and c in self.given.contexts:
            return replace(plain, judged=CONTEXT, told=f"{name_text(plain)} is {CONTEXT}")
        kind, own = int(self.reason_kinds[i, c]), self._own
        own = None if own is None else own[[i]]
        context, values = None if self.given is None else self.given[np.array([i])], _dense(self.data)[i]
        words = self.comparisons.words(
            plain, c, kind, self.inputs[[i]], own, self.alike[i], given=context, values=values
        )
        is_named = context is not None and context.phrase in words.told
        phrase = context.phrase if is_named else ""  # type: ignore[union-attr]
        return replace(plain, kind=KINDS[kind], context=phrase, **words._asdict())

    @property
    def _told_data(self) -> NDArray[Any]:
        """Values (n, d); dates and times that were read from texts are these texts."""
        values = _dense(self.data)
        if self.texts is None or values.dtype != object:
            return values
        is_date = np.frompyfunc(lambda value: isinstance(value, dt.datetime), 1, 1)(values).astype(bool)
        return np.where(is_date & (self.texts != None), self.texts, values)  # noqa: E711 - cell by cell

    def _written(self, i: int, c: int) -> str | None:
        """The original text of variable ``c`` of row ``i``, if it was read as a value."""
        cell = None if self.texts is None else self.texts[i, c]
        return cell if isinstance(cell, str) else None  # groups have several

    def _neighbor(self, center: int, assignment: float, similarity: float) -> Neighbor:
        rows = self.network.rows
        row = None if rows is None else int(rows[center])
        return Neighbor(row, int(center), float(assignment), float(similarity))

    def _size(self) -> str:
        d = self.relevance.shape[1]
        return f", {d} variable{'' if d == 1 else 's'}"

    def _notes(self) -> list[str]:
        n, others = self._n_excluded, super()._notes()
        if not offers(self.network, "leave_out"):
            return [*others, NOT_LEFT_OUT]
        if n == 0:
            return others
        told = f"{self.kind.count(n)} of the training data, each judged without its own center"
        return [told, *others]


def _read_only(values: NDArray[Any]) -> NDArray[Any]:
    """View that cannot be written to; the array behind it, which may be the user's, stays as it is."""
    view = values.view()
    view.flags.writeable = False
    return view


def _stored_data(data: Any) -> Any:
    """Objects as a list and their shape, since some files do not restore arrays of objects exactly."""
    if not isinstance(data, np.ndarray) or data.dtype != object:
        return data
    return {"values": [stored_value(value) for value in data.ravel()], "shape": data.shape}


def _restored_data(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    flat = np.empty(len(stored["values"]), dtype=object)
    flat[:] = [restored_value(value) for value in stored["values"]]
    return flat.reshape(stored["shape"])


def _scalar(value: Any) -> Any:
    """A NumPy number as a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def json_value(value: Any) -> Any:
    """A value as JSON: number, text, groups by name; null for a missing one."""
    if isinstance(value, dict):
        return {name: json_value(part) for name, part in value.items()}
    if is_missing(value):
        return None
    value = _scalar(value)
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)  # JSON has no infinity
    return value if isinstance(value, (bool, int, str)) else str(value)


def _tidy(values: NDArray[Any]) -> Any:
    """(n, d) values and a gap for each row, one after the other: floats, or text with None for missing."""
    if values.dtype != object:
        return np.column_stack([values, np.full(len(values), np.nan)]).ravel()
    return [_cell(value) for row in values.tolist() for value in (*row, None)]


def _cell(value: Any) -> str | None:
    if isinstance(value, str) or is_missing(value):
        return None if not isinstance(value, str) else value
    return all_digits(float(value)) if is_number(value) else text(value)


def _drawable(values: NDArray[Any]) -> NDArray[Any]:
    """Values (n, d) that shap can draw: numbers and text, NaN for what is missing."""
    if values.dtype != object:
        return values
    return np.asarray(np.frompyfunc(_number_or_text, 1, 1)(values))


def _number_or_text(value: Any) -> Any:
    if is_missing(value):
        return np.nan
    return value if isinstance(value, (str, int, float, np.number, np.bool_)) else text(value)


def _dense(data: Points) -> NDArray[Any]:
    return np.asarray(data.toarray() if sparse.issparse(data) else data)
