"""From the steps of a fitted pipeline back to the columns people have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whyodd.adapters.tracing.columns import Columns
from whyodd.adapters.tracing.errors import Untraceable, UntraceableStepError
from whyodd.adapters.tracing.raw_variables import RawVariables
from whyodd.adapters.tracing.readings import Readings, dense
from whyodd.adapters.tracing.steps import trace_steps
from whyodd.explanations.variables import Decoded
from whyodd.maths.linear_maps import LinearMap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whyodd.adapters.tracing.raw_variables import Closed

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Trace:
    """Where the variables z of a model come from: raw columns -> y, each of one variable -> z = B y + b.

    Relevance at y, ``network.decompose(Z, through=trace.linear)``, is summed into variables by ``origin``.

    Attributes
    ----------
    names : tuple of str
        The d_raw variables that relevance is given for: the raw columns in their order. A column of texts is
        replaced by one variable per term, called "column: term", or just "term" if it is the only column;
        dicts by one per key. A column that no step reads stays, without relevance.
    origin : ndarray of int of shape (d_y,)
        The variable of each y.
    linear : LinearMap or None
        B; None if z = y.
    constant : dict of int to object
        Variables that never varied in training, as far as the steps have seen it, and the value they had:
        None if it was always missing, NaN if the steps did not keep it. Numbers are exact to rounding only.
    column : ndarray of int of shape (d_raw,)
        The raw column of each variable.
    unread : tuple of str
        Raw columns that no step looks at: they need not be there.
    closed : tuple of Closed
        Columns, by their number, that may only hold categories of training, and which.
    parts : dict of int to tuple of str
        Variables that are dates, and the part of them that each y of theirs shows.
    relative : frozenset of int
        Numbers that are compared in a context, and stay in units of it when they are read back.
    """

    names: tuple[str, ...]
    origin: Ints
    linear: LinearMap | None
    constant: dict[int, object]
    column: Ints
    unread: tuple[str, ...]
    closed: tuple[Closed, ...] = field(repr=False)
    parts: dict[int, tuple[str, ...]] = field(repr=False)
    relative: frozenset[int] = field(repr=False)
    _made_of: tuple[Any, ...] = field(repr=False)
    _numbers: Ints = field(repr=False)
    _n_columns: int = field(repr=False)
    _read_back: Callable[[Readings], Readings] = field(repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # The way back consists of functions that cannot be stored, so loading traces it again.
        return {"made_of": self._made_of}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(trace(*state["made_of"]).__dict__)

    def decode(self, Z: Any) -> Decoded:
        """Points of the model's space in raw units.

        Exact for steps that can be inverted. A projection is undone by its preimage, a one-hot block by its
        largest entry, a bin by its middle, the row norm of tf-idf not at all.

        Parameters
        ----------
        Z : array or CSR matrix of shape (m, d_z)
            Points as the model sees them, such as centers or means of centers.
        """
        points = sparse.csr_array(Z, dtype=np.float64) if sparse.issparse(Z) else np.asarray(Z, np.float64)
        raw = self._read_back(Readings.of_numbers(points))
        parts = [(np.arange(self._n_columns), raw), *raw.terms]
        return _collected(parts, {number: place for place, number in enumerate(self._numbers.tolist())})

    def values(self, raw: Any, Z: Any) -> Any:
        """Values (n, d_raw) of rows to show beside their relevance: as given, those of terms read from ``Z``.

        Parameters
        ----------
        raw : ndarray of shape (n, d)
            Values of the raw columns, see ``raw_values``.
        Z : array or CSR matrix of shape (n, d_z)
            The same rows as the model sees them.
        """
        terms = set(np.flatnonzero(self._numbers >= self._n_columns).tolist())
        if not terms:
            return raw[:, self.column]
        decoded = self.decode(Z)
        all_numbers = len(terms) == len(self.names) and not decoded.categories
        shown = np.empty((raw.shape[0], len(self.names)), dtype=np.float64 if all_numbers else object)
        for variable, column in enumerate(self.column):
            shown[:, variable] = _shown(decoded, variable) if variable in terms else raw[:, column]
        return shown


def _shown(decoded: Decoded, variable: int) -> Any:
    if variable in decoded.categories:
        codes, values = decoded.categories[variable]
        return [values[code] if code >= 0 else None for code in codes]
    return decoded.numbers.get(variable, np.nan)


def trace(transformers: Sequence[tuple[str, Any]], names: Sequence[str]) -> Trace:
    """Trace fitted steps back to raw columns: raw -> y column by column, then z = B y + b.

    Parameters
    ----------
    transformers : sequence of (name, transformer)
        The fitted steps before the model, ``pipeline.steps[:-1]``.
    names : sequence of str
        Names of the raw columns: of those the pipeline was fitted on, in any order, if it was fitted on a
        data frame, else by position. For texts or dicts any one name.

    Returns
    -------
    Trace

    Raises
    ------
    UntraceableStepError
        If a step neither works column by column nor is linear.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> steps = make_pipeline(OneHotEncoder()).fit([["tcp", "ssh"], ["udp", "dns"]]).steps
    >>> found = trace(steps, ("protocol", "service"))
    >>> found.names[found.origin[0]], found.names[found.origin[2]]
    ('protocol', 'service')
    >>> found.decode([[0, 1, 1, 0]]).categories[0]
    Category(codes=array([1]), values=('tcp', 'udp'))
    """
    variables = RawVariables([str(name) for name in names])
    try:
        columns = trace_steps(transformers, _fitted_order(Columns.raw(variables), transformers))
    except Untraceable as error:
        raise UntraceableStepError(_sentence(error, [name for name, _ in transformers])) from None
    variables.read.update(columns.owner.tolist())
    return _traced(columns, (tuple(transformers), variables.columns))


def first_step(transformers: Sequence[tuple[str, Any]]) -> Any:
    """The first step that is not skipped; None if there is none."""
    return next((step for _, step in transformers if not (step is None or isinstance(step, str))), None)


def _traced(columns: Columns, made_of: tuple[Any, ...]) -> Trace:
    variables = columns.variables
    is_linear = bool(columns.mixed.any())
    owner = columns.owner if is_linear else columns.owners
    names, column, numbers = variables.arranged(owner.tolist())
    place = {number: position for position, number in enumerate(numbers.tolist())}
    return Trace(
        names=names,
        origin=np.array([place[number] for number in owner.tolist()], dtype=np.intp),
        linear=LinearMap(columns.matrix) if is_linear else None,
        constant={place[number]: value for number, value in variables.constant.items() if number in place},
        column=column,
        unread=tuple(name for i, name in enumerate(variables.columns) if i not in variables.read),
        closed=tuple(variables.closed),
        parts={place[number]: parts for number, parts in variables.parts.items() if number in place},
        relative=frozenset(place[number] for number in variables.relative),
        _made_of=made_of,
        _numbers=numbers,
        _n_columns=len(variables.columns),
        _read_back=columns.read_back,
    )


def _collected(parts: Sequence[tuple[Ints, Readings]], place: dict[int, int]) -> Decoded:
    """The parts as one, each with its variable numbers; where variables repeat, the first counts."""
    decoded = Decoded({}, {})
    for owners, readings in parts:
        places = [place.get(number, -1) for number in owners.tolist()]
        known = [column for column in np.flatnonzero(readings.known).tolist() if places[column] >= 0]
        numbers = dense(readings.numbers if len(known) == len(places) else readings.numbers[:, known])
        for column, values in zip(known, numbers.T, strict=True):
            decoded.numbers.setdefault(places[column], values)
        for column, category in readings.categories.items():
            if places[column] >= 0:
                decoded.categories.setdefault(places[column], category)
    return decoded


def _fitted_order(columns: Columns, transformers: Sequence[tuple[str, Any]]) -> Columns:
    """The raw columns in the order of the fit, by name if the first step knows names, else by position."""
    first = first_step(transformers)
    place = {name: position for position, name in enumerate(columns.variables.columns)}
    fitted = getattr(first, "feature_names_in_", None)
    if fitted is not None:
        missing = [str(name) for name in fitted if str(name) not in place]
        if missing:
            listed = ", ".join(map(repr, missing))
            raise ValueError(f"The pipeline was fitted on columns that X lacks: {listed}. Pass them too.")
        return columns.take([place[str(name)] for name in fitted])
    expected = getattr(first, "n_features_in_", columns.count)
    if expected != columns.count:
        raise ValueError(
            f"X has {columns.count} columns, the pipeline was fitted on {expected}. "
            "Pass the columns used in fit."
        )
    return columns


def _sentence(error: Untraceable, outermost: Sequence[str]) -> str:
    k = outermost.index(error.path[0]) + 1
    # Steps that were nested in the last one have no index in the pipeline.
    call = (
        "explain the later steps as a pipeline, and pass X as transformed by the earlier steps."
        if "__" in error.path[0]
        else f"call whyodd.explain(pipeline[{k}:], pipeline[:{k}].transform(X))."
    )
    return (
        f"Step {'__'.join(error.path)!r} ({error.kind}) cannot be traced back to columns: {error.reason}. "
        f"For relevance at its output {call}"
    )
