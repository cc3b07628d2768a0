"""Turn a model and X into a network, its inputs, and the way back to the columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.neuralize import neuralize, threshold_of
from whyodd.adapters.pipelines import find_given, split_pipeline, split_reader
from whyodd.adapters.tracing import first_step, match_columns, raw_names, raw_values, trace, transform
from whyodd.compute.points import to_dense
from whyodd.explainers.columns import read_columns
from whyodd.explainers.groups import sum_columns
from whyodd.explanations.given import joined
from whyodd.explanations.variables import Variables, constant_columns
from whyodd.inputs.frames import as_frame
from whyodd.inputs.matrices import as_matrix
from whyodd.network.waist import offers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import narwhals.stable.v1 as nw
    from numpy.typing import DTypeLike, NDArray

    from whyodd.adapters.pipelines import Steps
    from whyodd.adapters.tracing import Trace
    from whyodd.compute.points import Points
    from whyodd.explanations.given import Given
    from whyodd.explanations.table import Explanation
    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.floating]

# Not the name of any column.
_WRITTEN = "\0written"


@dataclass(frozen=True)
class PreparedRows:
    """Rows ready to be explained.

    Attributes
    ----------
    network : DistanceNetwork, or other member of the waist
    inputs : ndarray or CSR matrix of shape (n, k)
        The rows as they reach the network.
    data : ndarray or CSR matrix of shape (n, d)
        The rows as people know them.
    variables : Variables
        The d variables that people know.
    frame_kind : narwhals.Implementation or None
        The kind of data frame that was given.
    threshold : float, optional
        Outlierness above which the model calls a row an outlier, if it does.
    texts : ndarray of shape (n, d), optional
        What stands in cells that were read as values; None in all others.
    given : Given, optional
        The context in which the rows are compared.
    """

    network: Any
    inputs: Points
    data: Points
    variables: Variables
    frame_kind: nw.Implementation | None
    threshold: float | None = None
    texts: NDArray[np.object_] | None = None
    given: Given | None = None

    @classmethod
    def of_explanation(cls, e: Explanation) -> PreparedRows:
        """What was explained, from the explanation alone."""
        # Groups are those of an explanation, not of what is explained.
        variables = replace(e.variables or Variables(e.feature_names), groups=None)
        texts = None if e.variables is not None and e.variables.groups is not None else e.texts
        return cls(e.network, e.inputs, e.data, variables, e.frame_kind, e.threshold, texts, e.given)

    @classmethod
    def joined(cls, parts: Sequence[PreparedRows]) -> PreparedRows:
        """Blocks of rows that one model has prepared, as one."""
        inputs = _stacked([part.inputs for part in parts])
        is_same = all(part.data is part.inputs for part in parts)
        data = inputs if is_same else _stacked([part.data for part in parts])
        texts = [part.texts for part in parts if part.texts is not None]
        given = [part.given for part in parts if part.given is not None]
        return replace(
            parts[0],
            inputs=inputs,
            data=data,
            texts=np.concatenate(texts) if texts else None,
            given=joined(given) if given else None,
        )

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    @property
    def through(self) -> LinearMap | None:
        """The linear map before the network, if a pipeline mixes columns."""
        return self.variables.through

    @property
    def origin(self) -> NDArray[np.intp] | None:
        """The variable that each column before that map belongs to; None if each is its own."""
        return self.variables.origin

    def take(self, rows: NDArray[np.intp]) -> PreparedRows:
        """Some of the rows."""
        inputs = self.inputs[rows]
        data = inputs if self.data is self.inputs else self.data[rows]
        texts = None if self.texts is None else self.texts[rows]
        given = None if self.given is None else self.given[rows]
        return replace(self, inputs=inputs, data=data, texts=texts, given=given)

    def in_precision(self, dtype: DTypeLike) -> PreparedRows:
        """The same rows in another precision."""
        inputs = as_matrix(self.inputs, dtype=dtype).values
        return replace(self, inputs=inputs, data=inputs if self.data is self.inputs else self.data)

    def in_variables(self, relevance: Floats) -> Floats:
        """Relevance of columns (n, columns) summed into the variables they belong to (n, d)."""
        if self.origin is None:
            return relevance
        return sum_columns(relevance, self.origin, len(self.variables.names))


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A model, or a pipeline that ends in one, ready to prepare rows: taken apart and traced once.

    Attributes
    ----------
    steps : sequence of (name, step)
        What stands before the model.
    model : fitted model
    network : DistanceNetwork, or other member of the waist
        What was made of it.
    reader : fitted transformer, optional
        What reads texts as values before everything else: values are what is explained.
    """

    steps: Steps
    model: Any
    network: Any
    reader: Any = None
    # By the names of the columns: rows come in many blocks, of the same columns.
    _known: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, model: Any) -> PreparedModel:
        """Take a pipeline apart."""
        steps, last = split_pipeline(model)
        reader, steps = split_reader(steps)
        return cls(steps, last, neuralize(last), reader)

    @cached_property
    def threshold(self) -> float | None:
        """Outlierness above which the model calls a row an outlier, if it does."""
        return threshold_of(self.model, self.network)

    def rows(self, X: Any, inputs: Points | None = None) -> PreparedRows:
        """Prepare rows; ``inputs``: the same rows as they reach the network, if already known."""
        frame = as_frame(X)
        kind = None if frame is None else frame.implementation
        if not self.steps:
            given, names = self._read(X)
            return PreparedRows(
                self.network, given, given, self._plain_variables(names), kind, self.threshold
            )
        found, variables, given, inputs, texts = self._transformed(X, inputs, with_texts=True)
        data = found.values(raw_values(given)[1], inputs)
        context = self._context(given, variables)
        return PreparedRows(self.network, inputs, data, variables, kind, self.threshold, texts, context)

    def _context(self, X: Any, variables: Variables) -> Given | None:
        """The context of rows, if the steps compare rows in one; each column is a variable then."""
        found = find_given(self.steps)
        if found is None:
            return None
        (step, keys), frame = found, as_frame(X)
        columns = [variables.names.index(key) if isinstance(key, str) else int(key) for key in keys]
        part = np.asarray(X)[:, columns] if frame is None else frame[:, columns].to_native()
        return step.given(part, columns, variables.names, variables.formats)  # type: ignore[no-any-return]

    def check_columns(self, X: Any) -> None:
        """Say which columns the model needs and a frame, perhaps without rows yet, lacks."""
        fitted = _fitted_names(self._first)
        if fitted is not None:
            match_columns(X, fitted, unread=self._traced(fitted)[0].unread if self.steps else ())

    def inputs(self, X: Any) -> Points:
        """Only the rows (n, k) as they reach the network."""
        return self._transformed(X).inputs if self.steps else self._read(X)[0]

    def variables_of(self, columns: Sequence[str] | None = None) -> Variables:
        """The variables that explain rows with these columns.

        ``columns``: what to call them if the model was fitted on an array; x0, x1, ... by default.
        """
        fitted = _fitted_names(self._first)
        names = fitted or (None if columns is None else tuple(columns))
        if names is None:
            names = tuple(f"x{i}" for i in range(self._n_columns))
        return self._traced(names)[1] if self.steps else self._plain_variables(names)

    def normal(self, rows: Any) -> Floats:
        """Normal rows (N, k) to compare with, dense."""
        return to_dense(self.normal_inputs(rows))

    def normal_inputs(self, rows: Any) -> Points:
        """Normal rows (N, k) in the same form as those to explain, as they reach the network."""
        try:
            return self.inputs(rows)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"normal, the X of normal rows: {error}") from error

    @property
    def _first(self) -> Any:
        """The first step that sees the given rows."""
        if self.reader is not None:
            return self.reader
        return first_step(self.steps) if self.steps else self.model

    @property
    def _n_columns(self) -> int:
        """Number of columns of the given rows."""
        count = getattr(self._first, "n_features_in_", None)
        return int(self.network.n_features if count is None else count)

    def _read(self, X: Any) -> tuple[Points, tuple[str, ...]]:
        given, names = read_columns(X, getattr(self.network, "n_features", None), _fitted_names(self.model))
        return given.values, names

    def _plain_variables(self, names: tuple[str, ...]) -> Variables:
        if names not in self._known:
            # A network made by hand has points, but no training rows.
            knows_training = offers(self.network, "centers") and self.network is not self.model
            constants = constant_columns(self.network) if knows_training else {}
            self._known[names] = Variables(names, constants=constants)
        return self._known[names]  # type: ignore[no-any-return]

    def _transformed(self, X: Any, inputs: Points | None = None, *, with_texts: bool = False) -> _Transformed:
        fitted = _fitted_names(self._first)
        found, variables = self._traced(tuple(raw_names(X)) if fitted is None else fitted)
        given = match_columns(X, fitted, unread=found.unread)
        if (given.shape[0] if hasattr(given, "shape") else len(given)) == 0:
            raise ValueError("Expected X with at least one row, got none. Pass some rows.")
        texts = None
        if self.reader is not None:
            texts = self.reader.texts(given)[:, found.column] if with_texts else None
            variables = self._written(variables, given, found)
            given = self.reader.transform(given)
        if inputs is not None:
            return _Transformed(found, variables, given, inputs, texts)
        owners = None if found.linear is not None else [found.names[owner] for owner in found.origin]
        Z = transform(self.steps, given, found)
        inputs = as_matrix(Z, what="What the steps before the model give", known_as=owners).values
        return _Transformed(found, variables, given, inputs, texts)

    def _written(self, variables: Variables, given: Any, found: Trace) -> Variables:
        """Variables, with how their values are written."""
        key = (_WRITTEN, *variables.names)
        if key not in self._known:
            self._known[key] = replace(variables, formats=_formats(self.reader.formats(given), found))
        return self._known[key]  # type: ignore[no-any-return]

    def _traced(self, names: tuple[str, ...]) -> tuple[Trace, Variables]:
        """Where the variables of the network come from, by the names of raw columns."""
        if names not in self._known:
            found = trace(self.steps, names)
            if found.linear is not None and not offers(self.network, "through"):
                raise UnsupportedModelError(
                    f"A {type(self.network).__name__} after a step that mixes columns can be explained only "
                    "at its own input. Call whyodd.explain(pipeline[-1], pipeline[:-1].transform(X))."
                )
            variables = Variables(
                found.names,
                decode=found.decode,
                constants=_constants(found, self.network),
                origin=found.origin,
                through=found.linear,
                parts=found.parts,
                relative=found.relative,
            )
            self._known[names] = found, variables
        return self._known[names]  # type: ignore[no-any-return]


class _Transformed(NamedTuple):
    """Rows after the steps of a pipeline.

    Attributes
    ----------
    found : Trace
        Where each column comes from.
    variables : Variables
        What people know them as.
    given : array, CSR matrix, data frame or sequence
        The rows as the first step takes them.
    inputs : ndarray or CSR matrix of shape (n, k)
        The rows as they reach the model.
    texts : ndarray of shape (n, d), optional
        What stands in cells that were read as values.
    """

    found: Trace
    variables: Variables
    given: Any
    inputs: Points
    texts: NDArray[np.object_] | None = None


def _formats(of_columns: dict[int, Any], found: Trace) -> dict[int, Any]:
    """How variables are written, from how their columns are written."""
    return {i: of_columns[column] for i, column in enumerate(found.column.tolist()) if column in of_columns}


def _constants(found: Trace, network: Any) -> dict[int, Any]:
    """Variables that never varied, according to the steps or to the model behind them."""
    if not offers(network, "centers") or found.linear is not None:
        return dict(found.constant)
    agreed = constant_columns(network)
    varies = {int(found.origin[column]) for column in range(found.origin.size) if column not in agreed}
    constant = set(found.origin.tolist()) - varies - set(found.constant)
    if not constant:
        return dict(found.constant)
    first = found.decode(network.centers[:1])
    numbers = {variable: float(value[0]) for variable, value in first.numbers.items()}
    categories = {variable: values[codes[0]] for variable, (codes, values) in first.categories.items()}
    known: dict[int, Any] = numbers | categories
    return {variable: known[variable] for variable in constant if variable in known} | found.constant


def _stacked(parts: Sequence[Points]) -> Points:
    if any(map(sparse.issparse, parts)):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _fitted_names(model: object) -> tuple[str, ...] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))
