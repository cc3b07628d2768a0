"""Weights in torch's legacy file format, read without torch and without executing anything in the file.

Such a file is a row of five pickles (a magic number, a version, the machine's type sizes, the tensors, the
keys of their storages) and the raw numbers of each storage. Pickles are programs. Here a small machine of its
own follows the few instructions that tables of tensors are made of: it knows no function but the two that
describe a table and a tensor, imports nothing, and refuses the rest.
"""

from __future__ import annotations

import pickletools
import warnings
from dataclasses import dataclass
from io import BytesIO
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
# Most numbers of all tensors together: far above this network's, far below what would hurt.
_MOST_NUMBERS = 1 << 26
_TYPES: dict[str, np.dtype[Any]] = {
    "torch FloatStorage": np.dtype("<f4"),
    "torch LongStorage": np.dtype("<i8"),
}
_TABLE, _TENSOR = "collections OrderedDict", "torch._utils _rebuild_tensor_v2"
_NAMES = {_TABLE, _TENSOR, *_TYPES}


class DamagedWeightsError(ValueError):
    """The file of weights is not what it should be."""


@dataclass(frozen=True)
class _Name:
    """A name that a pickle would import; here it stays a name."""

    path: str


@dataclass(frozen=True)
class _Storage:
    key: str
    dtype: np.dtype[Any]
    size: int


@dataclass(frozen=True)
class _Tensor:
    """Numbers of a storage in the shape ``stored``, whose axes are the tensor's in some ``order``."""

    storage: _Storage
    stored: tuple[int, ...]
    order: tuple[int, ...]

    def of(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return numbers.reshape(self.stored).transpose(np.argsort(self.order)).copy()


def read_legacy_weights(content: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Tensors of a file by their names.

    Raises
    ------
    DamagedWeightsError
        If the file is cut short, or holds anything but plain tables of tensors.
    """
    stream = BytesIO(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # of escapes in names, which no such file has
            magic, version, machine, tensors, keys = (_read_pickle(stream) for _ in range(5))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, DeprecationWarning) as error:
        raise DamagedWeightsError(f"The file of weights is damaged: {error}.") from error
    _require(magic == _MAGIC and version == _VERSION, "it does not begin as torch's legacy files do")
    _require(isinstance(machine, dict) and machine.get("little_endian") is True, "its byte order is unknown")
    _require(isinstance(tensors, dict) and isinstance(keys, list), "it holds no table of tensors")
    _require(
        all(isinstance(each, _Tensor) for each in tensors.values()), "it holds things other than tensors"
    )
    described = {each.storage.key: each.storage for each in tensors.values()}
    _require(sorted(described) == sorted(map(str, keys)), "its tensors and its storages do not match")
    _require(len(described) == len(tensors), "tensors share their numbers")
    _require(sum(each.size for each in described.values()) <= _MOST_NUMBERS, "it is too large")
    numbers = {key: _read_storage(stream, described[key]) for key in keys}
    _require(not stream.read(1), "something follows its last tensor")
    return {name: each.of(numbers[each.storage.key]) for name, each in tensors.items()}


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DamagedWeightsError(f"The file of weights is damaged: {otherwise}.")


def _read_storage(stream: BytesIO, storage: _Storage) -> np.ndarray[Any, Any]:
    told = int.from_bytes(stream.read(8), "little")
    _require(told == storage.size, f"a storage of {storage.size} numbers claims to have {told}")
    content = stream.read(storage.size * storage.dtype.itemsize)
    _require(len(content) == storage.size * storage.dtype.itemsize, "it is cut short")
    return np.frombuffer(content, dtype=storage.dtype)


def _read_pickle(stream: BytesIO) -> Any:
    """The object that one pickle describes."""
    machine = _Machine()
    for instruction, argument, _ in pickletools.genops(stream):
        if instruction.name == "STOP":
            return machine.pop()
        machine.follow(instruction.name, argument)
    raise ValueError("a part has no end")


class _Machine:
    """Stack and memory of a pickle, for plain values, tables and descriptions of tensors."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memory: dict[int, Any] = {}

    def follow(self, instruction: str, argument: Any) -> None:
        if instruction in _VALUES:
            self.stack.append(_VALUES[instruction](argument))
        elif instruction in _STEPS:
            _STEPS[instruction](self, argument)
        else:
            raise ValueError(f"it asks for {instruction}, which tables of tensors do not need")

    def pop(self) -> Any:
        return self.stack.pop()

    def mark(self, _: Any) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        found, self.stack = self.stack, self.marks.pop()
        return found

    def tuple_since_mark(self, _: Any) -> None:
        found = tuple(self.since_mark())
        self.stack.append(found)

    def put(self, place: int) -> None:
        self.memory[place] = self.stack[-1]

    def get(self, place: int) -> None:
        self.stack.append(self.memory[place])

    def take(self, count: int) -> None:
        if len(self.stack) < count:
            raise IndexError("a value is missing")
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def set_items(self, pairs: list[Any]) -> None:
        table = self.stack[-1]
        if not isinstance(table, dict):
            raise TypeError("it puts something into an object that is not a table")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if not isinstance(key, str):
                raise TypeError("a name is not text")
            table[key] = value

    def append(self, values: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise TypeError("it adds something to an object that is not a list")
        self.stack[-1].extend(values)

    def name(self, path: str) -> None:
        if path not in _NAMES:
            raise ValueError(
                f"it asks for {path.replace(' ', '.')!r}, which is not part of a table of tensors"
            )
        self.stack.append(_Name(path))

    def reduce(self, _: Any) -> None:
        arguments, function = self.pop(), self.pop()
        if function == _Name(_TABLE) and arguments == ():
            self.stack.append({})
        elif function == _Name(_TENSOR) and isinstance(arguments, tuple):
            self.stack.append(_tensor(*arguments))
        else:
            raise ValueError("it calls something that does not describe a tensor")

    def build(self, _: Any) -> None:
        """Ignore attributes of a table (versions of layers), which the numbers do not need."""
        self.pop()
        if not isinstance(self.stack[-1], dict):
            raise TypeError("it gives attributes to an object that is not a table")

    def storage(self, _: Any) -> None:
        kind, name, key, device, size, view = self.pop()
        if kind != "storage" or device != "cpu" or view is not None or not isinstance(key, str):
            raise ValueError("a storage is described in an unknown way")
        self.stack.append(_Storage(key, _TYPES[name.path], _count(size)))


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, needs_gradient: Any, hooks: Any) -> _Tensor:
    """A tensor that fills all of its storage, with its axes in any order."""
    if not isinstance(storage, _Storage) or offset != 0 or needs_gradient is not False or hooks != {}:
        raise ValueError("a tensor is described in an unknown way")
    sizes, steps = tuple(map(_count, shape)), tuple(map(_count, strides))
    order = tuple(sorted(range(len(sizes)), key=lambda axis: (-steps[axis], -sizes[axis])))
    stored = tuple(sizes[axis] for axis in order)
    dense = [prod(stored[place + 1 :]) for place in range(len(stored))]
    # Along an axis of one place no step is ever taken.
    fits = all(steps[axis] == step or sizes[axis] == 1 for axis, step in zip(order, dense, strict=True))
    if not fits or len(sizes) != len(steps) or prod(sizes) != storage.size:
        raise ValueError("a tensor does not fit its storage")
    return _Tensor(storage, stored, order)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MOST_NUMBERS:
        raise ValueError(f"a size is {str(value)[:20]!r}")
    return value


# Instructions that put a plain value onto the stack.
_VALUES: dict[str, Callable[[Any], Any]] = {
    "EMPTY_DICT": lambda _: {},
    "EMPTY_LIST": lambda _: [],
    "EMPTY_TUPLE": lambda _: (),
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "BINUNICODE": str,
    "BININT": int,
    "BININT1": int,
    "BININT2": int,
    "LONG1": int,
}
# Instructions that do something with what is there.
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": lambda _machine, _: None,
    "MARK": _Machine.mark,
    "TUPLE": _Machine.tuple_since_mark,
    "TUPLE1": lambda machine, _: machine.take(1),
    "TUPLE2": lambda machine, _: machine.take(2),
    "TUPLE3": lambda machine, _: machine.take(3),
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "SETITEM": lambda machine, _: machine.set_items([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.since_mark()),
    "APPEND": lambda machine, _: machine.append([machine.pop()]),
    "APPENDS": lambda machine, _: machine.append(machine.since_mark()),
    "GLOBAL": _Machine.name,
    "REDUCE": _Machine.reduce,
    "BUILD": _Machine.build,
    "BINPERSID": _Machine.storage,
}
