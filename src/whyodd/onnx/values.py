"""Values that write ONNX: arithmetic on them adds operations to a graph instead of computing numbers.

They answer NumPy's functions, so that formulas of kernels (``whyodd.kernels``) are exported as they stand.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from whyodd.io.onnx_writing import element_number, node

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

# Operations that onnxruntime has for float64.
_OPERATIONS: dict[Any, str] = {
    np.absolute: "Abs",
    np.add: "Add",
    np.divide: "Div",
    np.exp: "Exp",
    np.greater: "Greater",
    np.less: "Less",
    np.log: "Log",
    np.matmul: "MatMul",
    np.maximum: "Max",
    np.minimum: "Min",
    np.multiply: "Mul",
    np.negative: "Neg",
    np.power: "Pow",
    np.sqrt: "Sqrt",
    np.subtract: "Sub",
    np.tanh: "Tanh",
}
_MADE_OF_OTHERS: dict[Any, Callable[[Any], Any]] = {
    np.expm1: lambda x: np.exp(x) - 1.0,
    np.log1p: lambda x: np.log(x + 1.0),
    np.square: lambda x: x * x,
}


class NotInOnnx(TypeError):  # noqa: N818 - not an error in itself: whoever exports says what to do
    """Raised for a function that has no counterpart in ONNX; holds its name."""


class Graph:
    """Operations and their constants, in the order in which they are added."""

    def __init__(self) -> None:
        self._operations: list[tuple[bytes, list[str], list[str]]] = []
        self._constants: dict[str, NDArray[Any]] = {}
        self._known: dict[Any, str] = {}
        self._n_names = 0

    def constant(self, values: Any) -> Value:
        """Constants in float64; an array of whole numbers stays one."""
        array = np.asarray(values)
        is_whole = array.ndim > 0 and array.dtype.kind in "iu"
        array = np.ascontiguousarray(array, dtype=np.int64 if is_whole else np.float64).reshape(array.shape)
        # Equal constants are stored once, however often a formula has them.
        key = array.shape, array.dtype, sha256(array.data).digest()
        if key not in self._known:
            self._known[key] = self._new_name()
            self._constants[self._known[key]] = array
        return Value(self, self._known[key])

    def add(self, kind: str, inputs: Sequence[Any], **attributes: int | list[int]) -> Value:
        """Result of one operation."""
        return self.add_several(kind, inputs, 1, **attributes)[0]

    def add_several(
        self, kind: str, inputs: Sequence[Any], n_outputs: int, **attributes: int | list[int]
    ) -> list[Value]:
        """All results of one operation."""
        given = [each if isinstance(each, Value) else self.constant(each) for each in inputs]
        made = [Value(self, self._new_name()) for _ in range(n_outputs)]
        self._add(kind, [each.name for each in given], [each.name for each in made], **attributes)
        return made

    def call(self, value: Value, name: str, dtype: DTypeLike) -> None:
        """Give a value its name as an output, and its type."""
        self._add("Cast", [value.name], [name], to=element_number(dtype))

    def needed_for(self, outputs: Sequence[str]) -> tuple[list[bytes], dict[str, NDArray[Any]]]:
        """Operations needed for some outputs, and their constants; the rest is left out."""
        needed, nodes = set(outputs), []
        for operation, inputs, made in reversed(self._operations):
            if needed.intersection(made):
                needed.update(inputs)
                nodes.append(operation)
        return nodes[::-1], {name: values for name, values in self._constants.items() if name in needed}

    def _add(self, kind: str, inputs: list[str], outputs: list[str], **attributes: int | list[int]) -> None:
        self._operations.append((node(kind, inputs, *outputs, **attributes), inputs, outputs))

    def _new_name(self) -> str:
        self._n_names += 1
        return f"v{self._n_names}"


class Value(NDArrayOperatorsMixin):
    """A value of a graph, float64 unless it says which rows; only its name is known."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Value:
        if ufunc in _MADE_OF_OTHERS and method == "__call__" and not keywords:
            return _MADE_OF_OTHERS[ufunc](*inputs)  # type: ignore[no-any-return]
        if ufunc not in _OPERATIONS or method != "__call__" or keywords:
            raise NotInOnnx(f"np.{ufunc.__name__}")
        return self.graph.add(_OPERATIONS[ufunc], inputs)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Value:
        del types
        if function is not np.where or len(arguments) != 3 or keywords:
            raise NotInOnnx(f"np.{function.__name__}")
        return self.graph.add("Where", arguments)

    @property
    def T(self) -> Value:  # noqa: N802 - as NumPy has it
        """Transpose of a matrix."""
        return self.graph.add("Transpose", [self], perm=[1, 0])

    def sum(self, axis: int, *, keepdims: bool = False) -> Value:
        """Sum along an axis."""
        return self.graph.add("ReduceSum", [self], axes=[axis], keepdims=int(keepdims))

    def max(self, axis: int, *, keepdims: bool = False) -> Value:
        """Largest along an axis."""
        return self.graph.add("ReduceMax", [self], axes=[axis], keepdims=int(keepdims))

    def with_axis(self, axis: int) -> Value:
        """The same with one more axis, of length 1."""
        return self.graph.add("Unsqueeze", [self], axes=[axis])

    def smallest(self, k: int) -> tuple[Value, Value]:
        """The k smallest of each row (n, k), ascending, and their places; the first of equal ones."""
        values, places = self.graph.add_several("TopK", [self, np.array([k])], 2, axis=1, largest=0)
        return values, places

    def at(self, places: Value) -> Value:
        """Rows of a table at places of any shape."""
        return self.graph.add("Gather", [self, places])

    def along(self, places: Value) -> Value:
        """In each row (n, m) the values at its places (n, k)."""
        return self.graph.add("GatherElements", [self, places], axis=1)

    def with_values(self, places: Value, values: Value) -> Value:
        """The same (n, m), with values (n, k) put at places (n, k) of each row."""
        return self.graph.add("ScatterElements", [self, places, values], axis=1)
