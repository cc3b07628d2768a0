"""Cache of values derived from a fitted model, kept while the model exists unchanged."""

from __future__ import annotations

import weakref
import zlib
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

# Longer lists are compared by identity, not by content.
_FEW = 100
_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, type)
_lock = Lock()
_entries: dict[int, _Entry] = {}


class _Entry(NamedTuple):
    """A value derived from a model, and the state of the model at that time.

    Attributes
    ----------
    model : weakref
        An entry goes with its model.
    state : State
    made : object
    """

    model: weakref.ref[Any]
    state: State
    made: Any


def remembered(model: Any, make: Callable[[Any], Any]) -> Any:
    """``make(model)``, or the earlier result if the model's state has not changed since.

    Arrays, tensors, numbers, texts, and models and modules of torch inside the model are the same if they
    hold the same, so that a model fitted again, fitted further or changed in place is noticed; all else is
    the same if it is the same object. What is made must not hold on to the model.
    """
    state, key = State.of(model), id(model)
    with _lock:
        entry = _entries.get(key)
    if entry is not None and entry.model() is model and entry.state.is_that_of(state):
        return entry.made
    made = make(model)
    try:
        # By the time this is called, another model may have the same id.
        ref = weakref.ref(model, lambda gone: _forget(key, gone))
    except TypeError:  # it cannot be watched
        return made
    with _lock:
        _entries[key] = _Entry(ref, state, made)
    return made


def _forget(key: int, gone: weakref.ref[Any]) -> None:
    # Without the lock, which the thread interrupted by this may hold; both steps are atomic.
    entry = _entries.get(key)
    if entry is not None and entry.model is gone:
        _entries.pop(key, None)


class State(NamedTuple):
    """The content of a model, held by weak references where possible.

    Attributes
    ----------
    parts : hashable
        Checksums, values, and numbers of objects.
    objects : list of weakref or object
        The objects with these numbers, so that none is taken for another one that came after it.
    """

    parts: Hashable
    objects: list[Any]

    @classmethod
    def of(cls, model: Any) -> State:
        """The present state of a model."""
        objects: list[Any] = []
        return cls(_of_attributes(model, objects, {id(model)}), objects)

    def is_that_of(self, other: State) -> bool:
        """Whether the content is the same and every object still exists."""
        alive = all(ref() is not None for ref in self.objects if isinstance(ref, weakref.ref))
        return alive and self.parts == other.parts


def _of_attributes(model: Any, objects: list[Any], seen: set[int]) -> Hashable:
    values = sorted(vars(model).items())
    return type(model), tuple((name, _part(value, objects, seen)) for name, value in values)


def _part(value: Any, objects: list[Any], seen: set[int]) -> Hashable:
    if isinstance(value, _PLAIN):
        return type(value), repr(value)  # NaN is not equal to itself
    if isinstance(value, np.ndarray) and value.dtype != object:
        return _checksum(value)
    if sparse.issparse(value) and hasattr(value, "indptr"):
        return type(value), value.shape, *map(_checksum, (value.data, value.indices, value.indptr))
    if hasattr(value, "state_dict") and hasattr(value, "parameters"):  # a module of torch: its weights
        return type(value), tuple((name, _tensor(part)) for name, part in value.state_dict().items())
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return type(value), _tensor(value)
    if id(value) not in seen and isinstance(value, (list, tuple, dict)) and len(value) <= _FEW:
        parts = [*value.items()] if isinstance(value, dict) else [*value]
        return type(value), tuple(_part(part, objects, {*seen, id(value)}) for part in parts)
    if id(value) not in seen and hasattr(value, "get_params") and hasattr(value, "__dict__"):
        return _of_attributes(value, objects, {*seen, id(value)})
    objects.append(_watched(value))
    return type(value), id(value)


def _checksum(array: np.ndarray[Any, Any]) -> Hashable:
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return array.dtype.str, array.shape, zlib.crc32(raw.data)


def _tensor(value: Any) -> Hashable:
    """Checksum of a torch tensor; a module may also keep other things among its weights."""
    if not hasattr(value, "detach"):
        return repr(value)
    return _checksum(value.detach().cpu().double().numpy())


def _watched(value: Any) -> Any:
    """A weak reference to an object, or the object itself if it does not allow one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return value
