"""Writes ONNX files in memory: the few parts of the format that networks and formulas need.

Protocol buffers are pairs of a field's number and its content, one after the other. Numbers of the fields are
those of onnx.proto3. This saves people a package that is larger than all that writes such files here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

# The oldest that have all operations used here (ONNX 1.6, of 2019): the older, the more programs read it.
FILE_VERSION, OPSET = 6, 11
# TensorProto.DataType
_ELEMENTS = {np.dtype(kind): number for kind, number in (("f4", 1), ("i8", 7), ("?", 9), ("f8", 11))}
_TYPE_INT, _TYPE_TEXT, _TYPE_INTS = 2, 3, 7  # AttributeProto.AttributeType
_NOTHING: Mapping[str, str] = {}


class Tensor(NamedTuple):
    """An input or output of a model; a size with a name may have any value."""

    name: str
    shape: Sequence[int | str]
    dtype: DTypeLike = np.float32


def model_bytes(
    nodes: Sequence[bytes],
    weights: Mapping[str, NDArray[Any]],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    about: Mapping[str, str] = _NOTHING,
) -> bytes:
    """A model: its operations, their constants, inputs and outputs, and texts about it."""
    graph = b"".join(_field(1, node) for node in nodes)
    graph += _field(2, "whyodd")
    graph += b"".join(_field(5, _tensor(name, values)) for name, values in weights.items())
    graph += b"".join(_field(11, _value(tensor)) for tensor in inputs)
    graph += b"".join(_field(12, _value(tensor)) for tensor in outputs)
    operations = _field(1, "") + _field(2, OPSET)
    notes = b"".join(_field(14, _field(1, name) + _field(2, text)) for name, text in about.items())
    return _field(1, FILE_VERSION) + _field(2, "whyodd") + _field(8, operations) + notes + _field(7, graph)


def node(kind: str, inputs: Sequence[str], *outputs: str, **attributes: int | str | list[int]) -> bytes:
    """One operation of the graph."""
    named = b"".join(_field(1, name) for name in inputs) + b"".join(_field(2, name) for name in outputs)
    named += _field(4, kind)
    return named + b"".join(_field(5, _attribute(name, value)) for name, value in attributes.items())


def element_number(dtype: DTypeLike) -> int:
    """ONNX's name for a number type."""
    return _ELEMENTS[np.dtype(dtype)]


def _attribute(name: str, value: int | str | list[int]) -> bytes:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, _TYPE_INT)
    if isinstance(value, str):
        return _field(1, name) + _field(4, value) + _field(20, _TYPE_TEXT)
    return _field(1, name) + b"".join(_field(8, each) for each in value) + _field(20, _TYPE_INTS)


def _tensor(name: str, values: NDArray[Any]) -> bytes:
    raw = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return (
        b"".join(_field(1, size) for size in values.shape)
        + _field(2, element_number(values.dtype))
        + _field(8, name)
        + _field(9, raw)
    )


def _value(tensor: Tensor) -> bytes:
    """Name and type of an input or output."""
    sizes = b"".join(_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in tensor.shape)
    kind = _field(1, element_number(tensor.dtype)) + _field(2, sizes)
    return _field(1, tensor.name) + _field(2, _field(1, kind))


def _field(number: int, content: Any) -> bytes:
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    raw = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
