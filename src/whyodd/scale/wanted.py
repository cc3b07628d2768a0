"""What a model requires of each column, and records made to fit; a bad value affects only its record."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v1 as nw
import numpy as np

from whyodd.adapters.neuralize import neuralize
from whyodd.adapters.pipelines import find_given, split_pipeline, split_reader
from whyodd.adapters.tracing import first_step, trace
from whyodd.inputs.written import WrittenEpoch
from whyodd.network.waist import offers
from whyodd.scale.arrow import as_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from whyodd.adapters.pipelines import Steps
    from whyodd.adapters.tracing import Trace

    Problems = dict[int, str]

# Texts are also dates and whatever else a pipeline reads itself.
Kind = Literal["number", "truth", "text"]
_DTYPES: dict[Kind, Any] = {"number": nw.Float64, "truth": nw.Boolean, "text": nw.String}
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_SHOWN = 40


@dataclass(frozen=True)
class WantedColumns:
    """The columns that a model reads, and the types that their values must have.

    Attributes
    ----------
    kinds : dict of str to str
        "number", "truth" or "text", by the name of the column, in the order of the fit.
    is_matrix : bool
        Whether the model takes numbers alone, and no gaps.
    """

    kinds: Mapping[str, Kind]
    is_matrix: bool

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.kinds)

    @classmethod
    def of(cls, model: Any) -> WantedColumns:
        """From a fitted model or pipeline.

        Examples
        --------
        >>> import whyodd
        >>> from whyodd.scale.wanted import WantedColumns
        >>> WantedColumns.of(whyodd.Gaussian().fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])).kinds
        {'x0': 'number', 'x1': 'number'}
        """
        steps, last = split_pipeline(model)
        reader, steps = split_reader(steps)
        first = reader or first_step(steps) or last
        names = _fitted_names(first, last)
        if not steps:
            return cls(dict.fromkeys(names, "number"), is_matrix=True)
        return cls(_traced_kinds(names, reader, steps, neuralize(last)), is_matrix=False)

    def table(self, records: Sequence[Mapping[str, Any]], *, are_texts: bool) -> tuple[Any, Problems]:
        """Records as a table that the model accepts, and what is wrong with those that do not fit.

        Parameters
        ----------
        records : sequence of dict
            What is not there is a gap, and other keys are left alone.
        are_texts : bool
            Whether all values are texts, as cells of CSV are.

        Returns
        -------
        table : ndarray or data frame with a row for each record
            Those that do not fit have gaps.
        problems : dict of int to str
            What is wrong, by the place of the record.
        """
        columns, problems = {}, {}
        for place, record in enumerate(records):
            if self._names.isdisjoint(record):
                problems[place] = "it has none of the model's columns"
        for name, kind in self.kinds.items():
            values = [record.get(name) for record in records]
            columns[name], wrong = _CONVERT[kind](values, are_texts)
            for place, reason in wrong.items():
                problems.setdefault(place, f"{name!r}: {reason}")
        if not self.is_matrix:
            return self._frame(columns), problems
        matrix = np.column_stack(list(columns.values()))
        for place, column in np.argwhere(np.isnan(matrix)).tolist():
            name = list(self.kinds)[column]
            problems.setdefault(
                place, f"{name!r}: the value is missing, and this model accepts no missing values"
            )
        return matrix, problems

    def as_arrow(self, table: Any) -> Any:
        """An Arrow table of the result of :meth:`table`."""
        import pyarrow as pa

        if not self.is_matrix:
            return as_arrow(table)
        return pa.table(dict(zip(self.kinds, table.T, strict=True)))

    @property
    def example(self) -> dict[str, Any]:
        """A record that fits."""
        values: dict[Kind, Any] = {"number": 0.0, "truth": False, "text": "x"}
        return {name: values[kind] for name, kind in self.kinds.items()}

    def _frame(self, columns: dict[str, Any]) -> Any:
        backend: Literal["polars", "pandas"] = "polars" if find_spec("polars") else "pandas"
        schema = {name: _DTYPES[kind] for name, kind in self.kinds.items()}
        return nw.from_dict(columns, schema, backend=backend).to_native()


def _fitted_names(first: Any, last: Any) -> tuple[str, ...]:
    names = getattr(first, "feature_names_in_", None)
    if names is not None:
        return tuple(map(str, names))
    count = getattr(first, "n_features_in_", None)
    if count is None:
        count = getattr(neuralize(last), "n_features", None)
    if count is None:
        raise ValueError(
            "This model does not record how many columns it was fitted on, so it cannot judge tables. "
            "Use a model of whyodd fit."
        )
    return tuple(f"x{place}" for place in range(int(count)))


def _traced_kinds(names: tuple[str, ...], reader: Any, steps: Steps, network: Any) -> dict[str, Kind]:
    """The use that the steps of a pipeline make of each column they read."""
    found = trace(steps, names)
    written = {} if reader is None else {str(column.key): column.written for column in reader.columns}
    kinds: dict[str, Kind] = {name: "text" for name in names if name not in found.unread}
    for name, examples in _examples(names, found, network).items():
        if name in kinds and name not in written:
            kinds[name] = _kind_of(examples)
    if (given := find_given(steps)) is not None:
        step, keys = given
        for place, key in zip(step.places_, keys, strict=False):
            name = key if isinstance(key, str) else names[key]
            kinds[name] = "number" if place.kind == "number" else _kind_of(place.known.tolist())
    for name, form in written.items():
        kinds[name] = "number" if isinstance(form, WrittenEpoch) else "text"
    return kinds


def _examples(names: tuple[str, ...], found: Trace, network: Any) -> dict[str, Sequence[Any]]:
    """Values of training by column, where known; a few are enough to see their type."""
    point = network.centers[:1] if offers(network, "centers") else np.zeros((1, network.n_features))
    decoded = found.decode(point)
    owner = [names[column] for column in found.column.tolist()]
    examples: dict[str, Sequence[Any]] = {owner[i]: [value] for i, value in found.constant.items()}
    whole = [i for i, name in enumerate(found.names) if name == owner[i]]  # not terms of a text
    examples |= {owner[i]: [0.0] for i in whole if i in decoded.numbers}
    return examples | {owner[i]: decoded.categories[i][1] for i in whole if i in decoded.categories}


def _kind_of(examples: Sequence[Any]) -> Kind:
    present = [value for value in examples if value is not None]
    if present and all(isinstance(value, (bool, np.bool_)) for value in present):
        return "truth"
    are_numbers = all(isinstance(value, (int, float, np.number)) for value in present)
    return "number" if present and are_numbers else "text"


# ---- columns of values ------------------------------------------------------------------------------------


def _numbers(values: list[Any], are_texts: bool) -> tuple[NDArray[np.float64], Problems]:
    """Floats, NaN in the gaps."""
    try:
        # Otherwise texts would become numbers, too.
        found = np.array(values, dtype=np.float64 if are_texts else None)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in "fiub" or found.shape != (len(values),) or np.isinf(found).any():
        numbers, problems = _one_by_one(values, _number_of_text if are_texts else _number)
        return np.array([np.nan if number is None else number for number in numbers]), problems
    return found.astype(np.float64), {}


def _number(value: Any) -> float | None:
    if isinstance(value, str) or not isinstance(value, (int, float)):
        raise ValueError(f"expected a number, got {_shown(value)}")  # noqa: TRY004 - of a record
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if np.isinf(number):
        raise ValueError(f"expected a finite number, got {_shown(value)}")
    return number


def _number_of_text(text: str) -> float | None:
    try:
        number = float(text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)
    except ValueError:
        raise ValueError(f"expected a number, got {_shown(text)}") from None
    return _number(number)


def _truths(values: list[Any], are_texts: bool) -> tuple[list[bool | None], Problems]:  # noqa: ARG001
    return _one_by_one(values, _truth)


def _truth(value: Any) -> bool:
    if isinstance(value, (bool, str)) or value in (0, 1):
        known = _TRUTHS.get(str(int(value) if not isinstance(value, (bool, str)) else value).lower())
        if known is not None:
            return known
    raise ValueError(f"expected true or false, got {_shown(value)}")


def _texts(values: list[Any], are_texts: bool) -> tuple[list[str | None], Problems]:
    return (values, {}) if are_texts else _one_by_one(values, _text)


def _text(value: Any) -> str | None:
    if isinstance(value, (list, dict)):
        raise ValueError(f"expected a text, got {_shown(value)}")  # noqa: TRY004 - of a record
    return value if isinstance(value, str) else str(value)


def _one_by_one(values: list[Any], convert: Callable[[Any], Any]) -> tuple[list[Any], Problems]:
    """Converted values, None in gaps and where conversion fails; and what is wrong with the failed ones."""
    converted: list[Any] = [None] * len(values)
    problems: Problems = {}
    for place, value in enumerate(values):
        if value is None or value != value:  # NaN
            continue
        try:
            converted[place] = convert(value)
        except ValueError as error:
            problems[place] = str(error)
    return converted, problems


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


_CONVERT: dict[Kind, Callable[[list[Any], bool], tuple[Any, Problems]]] = {
    "number": _numbers,
    "truth": _truths,
    "text": _texts,
}
