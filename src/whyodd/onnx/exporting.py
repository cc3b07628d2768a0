"""From a fitted model, or a pipeline that ends in one, to an ONNX file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.errors import UnsupportedModelError
from whyodd.adapters.tracing import first_step, trace
from whyodd.explainers.preparing import PreparedModel
from whyodd.io.atomic import replacing
from whyodd.io.onnx_writing import OPSET, Tensor, element_number, model_bytes
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.judged import JudgedScore
from whyodd.onnx.pooling import can_pool, explain_by_neighbors, explain_softly
from whyodd.onnx.steps import STEPS
from whyodd.onnx.values import Graph, NotInOnnx, Value
from whyodd.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyodd.adapters.pipelines import Steps
    from whyodd.adapters.tracing import Trace
    from whyodd.onnx.pooling import Explained

_CAN = (
    "expected a kernel, neighbour or mixture model, such as whyodd.OneClassSVM, KNearestNeighbors or "
    "GaussianMixture, alone or in a Pipeline after StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler "
    "or PCA"
)
# Largest file in the format that ONNX uses.
_MOST_BYTES = 2**31 - 1
_DTYPES = ("float32", "float64")


def export(model: Any, path: str | Path, *, relevance: bool = True, dtype: str = "float32") -> None:
    """Write a fitted model as one ONNX file that scores rows and says why.

    The graph takes ``X`` (n, d), the raw columns in the order of training, and returns ``outlierness`` (n,);
    ``relevance`` (n, d) and ``unexplained`` (n,), which add up to it; and ``is_odd`` (n,) if the model has a
    threshold. It computes in float64 for any input, with operations of opset 11. Training rows are treated
    like all others, as by ``whyodd.explain(model, X, exclude_self=False)``. Rows with missing or infinite
    values get NaN, and are not odd.

    Parameters
    ----------
    model : fitted model, or pipeline that ends in one
        Any model that :func:`whyodd.neuralize` turns into a distance network: kernel, neighbour and mixture
        models of whyodd, scikit-learn and PyOD. The steps before it may be StandardScaler, RobustScaler,
        MinMaxScaler, MaxAbsScaler, PCA and IncrementalPCA.
    path : str or path
        File to write; an existing one is replaced.
    relevance : bool, default True
        False leaves out ``relevance`` and ``unexplained``: faster if only the score is wanted.
    dtype : {"float32", "float64"}, default "float32"
        Type of ``X`` and of the results. float32 has seven digits: for columns that need more, such as times
        in seconds, use float64.

    Raises
    ------
    UnsupportedModelError
        If the model, or a step before it, cannot be written.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import os, numpy as np, whyodd
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = whyodd.OneClassSVM(nu=0.1).fit(X)
    >>> whyodd.onnx.export(model, "model.onnx")
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession("model.onnx")
    >>> x = np.array([[0.0, 9.0, 0.0]], dtype=np.float32)
    >>> why, is_odd = session.run(["relevance", "is_odd"], {"X": x})
    >>> int(why[0].argmax()), bool(is_odd[0])
    (1, True)
    >>> os.remove("model.onnx")
    """
    if dtype not in _DTYPES:
        raise ValueError(f"dtype={dtype!r}: expected one of {', '.join(map(repr, _DTYPES))}.")
    content = _written(model, dtype, with_relevance=relevance)
    with replacing(Path(path)) as draft:
        draft.write_bytes(content)


def _written(model: Any, dtype: str, *, with_relevance: bool) -> bytes:
    prepared = _prepared(model)
    names = _names(prepared)
    found = trace(prepared.steps, names) if prepared.steps else None
    graph = Graph()
    x = graph.add("Cast", [Value(graph, "X")], to=element_number(np.float64))
    explained = _explained(prepared.network, found, _through_steps(prepared, x))
    n, d = "rows", len(names)
    results = [(Tensor("outlierness", (n,), dtype), explained.outlierness)]
    if with_relevance:
        relevance = _of_variables(explained.relevance, found, d)
        results.append((Tensor("relevance", (n, d), dtype), relevance))
        results.append((Tensor("unexplained", (n,), dtype), explained.unexplained))
    if prepared.threshold is not None:
        results.append((Tensor("is_odd", (n,), bool), explained.outlierness > prepared.threshold))
    for tensor, value in results:
        graph.call(value, tensor.name, tensor.dtype)
    outputs = [tensor for tensor, _ in results]
    nodes, weights = graph.needed_for([tensor.name for tensor in outputs])
    size = sum(values.nbytes for values in weights.values())
    if size > _MOST_BYTES:
        raise ValueError(
            f"The file would take {size / 1e9:.1f} GB, but an ONNX file holds at most 2. Fit with fewer rows."
        )
    about = {
        "whyodd": __version__,
        "opset": str(OPSET),
        "model": type(prepared.model).__name__,
        "columns": json.dumps(list(names), ensure_ascii=False),
    }
    return model_bytes(nodes, weights, [Tensor("X", (n, d), dtype)], outputs, about)


def _prepared(model: Any) -> PreparedModel:
    """The model taken apart, if it can be exported."""
    try:
        prepared = PreparedModel.of(model)
    except UnsupportedModelError:
        raise _refusal(f"A {type(model).__name__}") from None
    network = prepared.network
    if isinstance(network, JudgedScore):
        raise _refusal(f"A {type(prepared.model).__name__} with feedback")
    if not isinstance(network, DistanceNetwork) or not can_pool(network.pooling):
        raise _refusal(f"A {type(prepared.model).__name__}")
    if prepared.reader is not None:
        raise _refusal("A pipeline that parses texts as values")
    for name, step in _flat(prepared.steps):
        if find_entry(STEPS, step) is None:
            raise _refusal(f"Step {name!r} ({type(step).__name__})")
    return prepared


def _refusal(what: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"{what} cannot be exported to ONNX: {_CAN}.")


def _flat(steps: Steps) -> Iterator[tuple[str, Any]]:
    """Steps that are not skipped, those of nested pipelines one by one."""
    for name, step in steps:
        if hasattr(step, "steps"):
            yield from _flat(step.steps)
        elif step is not None and not isinstance(step, str):  # "passthrough"
            yield name, step


def _names(prepared: PreparedModel) -> tuple[str, ...]:
    """Names of the raw columns, in the order of training."""
    first = first_step(prepared.steps)
    fitted = prepared.model if first is None else first
    names = getattr(fitted, "feature_names_in_", None)
    if names is not None:
        return tuple(map(str, names))
    d = prepared.network.n_features if first is None else first.n_features_in_
    return tuple(f"x{i}" for i in range(d))


def _through_steps(prepared: PreparedModel, x: Value) -> Value:
    for _, step in _flat(prepared.steps):
        write = find_entry(STEPS, step)
        x = x if write is None else write(step, x)
    return x


def _explained(network: DistanceNetwork, found: Trace | None, z: Value) -> Explained:
    through = None if found is None else found.linear
    if network.pooling is not None:
        return explain_by_neighbors(network, through, z)
    try:
        return explain_softly(network, through, z)
    except TypeError as error:
        used = f" uses {error}, and" if isinstance(error, NotInOnnx) else ""
        raise _refusal(f"The kernel {type(network.kernel).__name__}{used}") from error


def _of_variables(relevance: Value, found: Trace | None, d: int) -> Value:
    """Relevance (n, d) of the raw columns, summed over the y that belong to each."""
    if found is None or np.array_equal(found.origin, np.arange(d)):
        return relevance
    return relevance @ np.eye(d)[found.origin]  # type: ignore[no-any-return]
