"""Checks other people's ONNX files before anything runs them.

An ONNX file may name other files of the computer as its weights, ask for functions that are not its own, or
loop for ever. Here its parts are walked through as the format has them (numbers of fields are those of
onnx.proto3), and whatever a plain network has no use for is refused.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_BYTES = 1 << 29
_MOST_NODES = 20_000
_DOMAINS = {b"", b"ai.onnx"}
# Of ModelProto, GraphProto, NodeProto, AttributeProto and TensorProto.
_GRAPH, _TRAINING, _FUNCTIONS = 7, 20, 25
_NODE, _INITIALIZER, _SPARSE = 1, 5, 15
_ATTRIBUTE, _OPERATION, _DOMAIN = 5, 4, 7
_TENSOR, _TENSORS, _INNER_GRAPH, _INNER_GRAPHS = 5, 10, 6, 11
_DIMENSIONS, _EXTERNAL, _LOCATION = 1, 13, 14


class UnsafeNetworkError(ValueError):
    """The ONNX file is damaged, or holds something that a plain network does not need."""


def check_network(content: bytes, name: str) -> None:
    """Raise an ``UnsafeNetworkError`` unless the file is a plain network that contains all it needs."""
    try:
        _check_model(memoryview(content))
    except (ValueError, IndexError) as error:
        raise UnsafeNetworkError(f"{name} cannot be used for features: {error}.") from error


def _check_model(model: memoryview) -> None:
    if len(model) > _MOST_BYTES:
        raise ValueError(f"it takes {len(model) >> 20} MB, expected at most {_MOST_BYTES >> 20}")
    graphs = 0
    for field, content in _fields(model):
        if field in (_TRAINING, _FUNCTIONS):
            raise ValueError("it contains functions or training of its own")
        if field == _GRAPH:
            graphs += 1
            _check_graph(_message(content), len(model))
    if graphs != 1:
        raise ValueError("it is not an ONNX file")


def _check_graph(graph: memoryview, size: int) -> None:
    nodes = 0
    for field, content in _fields(graph):
        if field == _NODE:
            nodes += 1
            _check_node(_message(content), size)
        elif field == _INITIALIZER:
            _check_tensor(_message(content), size)
        elif field == _SPARSE:
            raise ValueError("it has sparse weights")
    if not 0 < nodes <= _MOST_NODES:
        raise ValueError(f"it has {nodes} operations, expected 1 to {_MOST_NODES}")


def _check_node(node: memoryview, size: int) -> None:
    for field, content in _fields(node):
        if field == _DOMAIN and bytes(_message(content)) not in _DOMAINS:
            raise ValueError("it uses operations that are not part of ONNX")
        if field == _ATTRIBUTE:
            for part, value in _fields(_message(content)):
                if part in (_INNER_GRAPH, _INNER_GRAPHS):
                    raise ValueError("it has branches or loops, which may never end")
                if part in (_TENSOR, _TENSORS):
                    _check_tensor(_message(value), size)


def _check_tensor(tensor: memoryview, size: int) -> None:
    """Check that all numbers of a tensor are in the file itself."""
    dimensions: list[int] = []
    for field, content in _fields(tensor):
        if field == _EXTERNAL or (field == _LOCATION and content != 0):
            raise ValueError("its weights are in other files; save it with all weights inside")
        if field == _DIMENSIONS:
            dimensions += [content] if isinstance(content, int) else _packed(content)
    # The smallest numbers take half a byte; a string takes at least two.
    if any(length > 2 * size for length in dimensions) or prod(dimensions) > 2 * size:
        raise ValueError(f"a tensor of shape {tuple(dimensions)!r} is larger than the file"[:200])


def _message(content: int | memoryview) -> memoryview:
    if isinstance(content, int):
        raise ValueError("it is damaged")  # noqa: TRY004
    return content


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Numbers of the fields of a message, each with its number or its bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _varint(message, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError("it is damaged")
        if at + length > len(message):
            raise ValueError("it is cut short")
        yield key >> 3, message[at : at + length]
        at += length


def _packed(content: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(content):
        value, at = _varint(content, at)
        found.append(value)
    return found


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number of up to 64 bits, seven a byte, and where the next part begins."""
    value = 0
    for place in range(10):
        byte = message[at + place]
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    raise ValueError("it is damaged")
