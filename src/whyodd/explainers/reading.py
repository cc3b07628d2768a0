"""From a model and what people pass as X to what is explained: a network, its inputs, and the way back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.linear import LinearScore, linear_score
from whyodd.adapters.neuralize import neuralize
from whyodd.adapters.pipelines import split_pipeline
from whyodd.adapters.thresholds import threshold_of
from whyodd.adapters.tracing import first_step, match_columns, raw_names, raw_values, trace, transform
from whyodd.compute.points import to_dense
from whyodd.explainers.columns import read_columns
from whyodd.explainers.groups import sum_columns
from whyodd.explanations.raw_variables import Variables, never_varied
from whyodd.inputs.frames import as_frame
from whyodd.inputs.matrices import as_matrix
from whyodd.network.distance_network import DistanceNetwork

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from whyodd.adapters.pipelines import Steps
    from whyodd.adapters.tracing import Trace
    from whyodd.compute.points import Points
    from whyodd.explanations.table import Explanation
    from whyodd.maths.linear_maps import LinearMap

    Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Reading:
    """What is explained.

    Attributes
    ----------
    network : DistanceNetwork or LinearScore
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
    """

    network: Any
    inputs: Points
    data: Points
    variables: Variables
    frame_kind: nw.Implementation | None
    threshold: float | None = None

    @property
    def through(self) -> LinearMap | None:
        """The linear map before the network, if a pipeline mixes columns."""
        return self.variables.through

    @property
    def origin(self) -> NDArray[np.intp] | None:
        """The variable that each column before that map belongs to; None if each is its own."""
        return self.variables.origin

    def in_precision(self, dtype: DTypeLike) -> Reading:
        """The same rows in another precision."""
        inputs = as_matrix(self.inputs, dtype=dtype).values
        return replace(self, inputs=inputs, data=inputs if self.data is self.inputs else self.data)

    def in_variables(self, relevance: Floats) -> Floats:
        """Relevance of columns (n, columns) summed into the variables they belong to (n, d)."""
        if self.origin is None:
            return relevance
        return sum_columns(relevance, self.origin, len(self.variables.names))


@dataclass(frozen=True)
class Reader:
    """A model, or a pipeline that ends in one, ready to read rows.

    Attributes
    ----------
    steps : sequence of (name, step)
        What stands before the model.
    model : fitted model
    network : DistanceNetwork or LinearScore
        What was made of it.
    """

    steps: Steps
    model: Any
    network: Any

    @classmethod
    def of(cls, model: Any) -> Reader:
        """Take a pipeline apart."""
        steps, last = split_pipeline(model)
        return cls(steps, last, linear_score(last) or neuralize(last))

    @property
    def threshold(self) -> float | None:
        """Outlierness above which the model calls a row an outlier, if it does."""
        return threshold_of(self.model, self.network)

    def read(self, X: Any, inputs: Points | None = None) -> Reading:
        """Read rows; ``inputs``: the same as they reach the network, if they are at hand."""
        frame = as_frame(X)
        kind = None if frame is None else frame.implementation
        if self.steps:
            return replace(
                _read_pipeline(self.steps, self.network, X, kind, inputs), threshold=self.threshold
            )
        given, names = read_columns(X, self.network.n_features, _fitted_names(self.model))
        # A network of people's own knows points, but nothing of training.
        knows_training = isinstance(self.network, DistanceNetwork) and self.network is not self.model
        variables = Variables(names, constants=never_varied(self.network) if knows_training else {})
        return Reading(self.network, given.values, given.values, variables, kind, self.threshold)

    def inputs(self, X: Any) -> Points:
        """Rows (n, k) as they reach the network, and nothing else of them."""
        if self.steps:
            return _transformed(self.steps, X).inputs
        return read_columns(X, self.network.n_features, _fitted_names(self.model))[0].values

    def read_normal(self, normal: Any) -> Floats:
        """Normal rows (N, k) to compare with, given like those to explain, as they reach the network."""
        try:
            return to_dense(self.inputs(normal))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"options['normal'], the X of normal rows: {error}") from error


def read(model: Any, X: Any) -> Reading:
    """Read a model, or a pipeline that ends in one, and the rows to explain."""
    return Reader.of(model).read(X)


def reading_of(e: Explanation) -> Reading:
    """What was explained, from the explanation alone."""
    # Groups are those of an explanation, not of what is explained.
    variables = replace(e.variables or Variables(e.feature_names), groups=None)
    return Reading(e.network, e.inputs, e.data, variables, e.frame_kind, e.threshold)


def read_normal(model: Any, normal: Any) -> Floats:
    """Normal rows (N, k) to compare with, given like those to explain, as they reach the network."""
    return Reader.of(model).read_normal(normal)


class _Transformed(NamedTuple):
    """Rows after the steps of a pipeline.

    Attributes
    ----------
    found : Trace
        Where each column comes from.
    given : array, CSR matrix, data frame or sequence
        The rows as the first step takes them.
    inputs : ndarray or CSR matrix of shape (n, k)
        The rows as they reach the model.
    """

    found: Trace
    given: Any
    inputs: Points


def _transformed(steps: Steps, X: Any, inputs: Points | None = None) -> _Transformed:
    fitted = _fitted_names(first_step(steps))
    found = trace(steps, raw_names(X) if fitted is None else fitted)
    given = match_columns(X, fitted, unread=found.unread)
    if (given.shape[0] if hasattr(given, "shape") else len(given)) == 0:
        raise ValueError("X must have at least one row, but has none.")
    if inputs is not None:
        return _Transformed(found, given, inputs)
    owners = None if found.linear is not None else [found.names[owner] for owner in found.origin]
    Z = transform(steps, given, found)
    inputs = as_matrix(Z, what="What the steps before the model give", known_as=owners).values
    return _Transformed(found, given, inputs)


def _read_pipeline(
    steps: Steps,
    network: DistanceNetwork | LinearScore,
    X: Any,
    kind: nw.Implementation | None,
    inputs: Points | None,
) -> Reading:
    found, given, inputs = _transformed(steps, X, inputs)
    variables = Variables(
        found.names,
        decode=found.decode,
        constants=_constants(found, network),
        origin=found.origin,
        through=found.linear,
    )
    if isinstance(network, LinearScore) and found.linear is not None:
        raise UnsupportedModelError(
            "A linear model after a step that mixes columns is explained at its own input only: "
            "call whyodd.explain(pipeline[-1], pipeline[:-1].transform(X))."
        )
    return Reading(network, inputs, found.values(raw_values(given)[1], inputs), variables, kind)


def _constants(found: Trace, network: DistanceNetwork | LinearScore) -> dict[int, Any]:
    """Variables that never varied, as the steps have seen it, or the model behind them."""
    if isinstance(network, LinearScore) or found.linear is not None:
        return dict(found.constant)
    agreed = never_varied(network)
    varies = {int(found.origin[column]) for column in range(found.origin.size) if column not in agreed}
    constant = set(found.origin.tolist()) - varies - set(found.constant)
    if not constant:
        return dict(found.constant)
    first = found.decode(network.centers[:1])
    numbers = {variable: float(value[0]) for variable, value in first.numbers.items()}
    categories = {variable: values[codes[0]] for variable, (codes, values) in first.categories.items()}
    known: dict[int, Any] = numbers | categories
    return {variable: known[variable] for variable in constant if variable in known} | found.constant


def _fitted_names(model: object) -> tuple[str, ...] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))
