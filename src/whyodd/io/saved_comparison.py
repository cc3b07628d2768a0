"""Checks that the content read back from a file equals the content written."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
from scipy import sparse

from whyodd.io.saved_types import SEARCH_TREES, SPLINES

if TYPE_CHECKING:
    from collections.abc import Iterator

    Pair = tuple[str, Any, Any]

# Type -> what is put right in its file, as scikit-learn leaves it undefined.
_PUT_RIGHT = {"sklearn.svm._classes.OneClassSVM": "_n_support"}
# What is compared as it is.
_WHOLE = (
    str,
    bytes,
    bool,
    int,
    type(None),
    set,
    frozenset,
    type,
    FunctionType,
    BuiltinFunctionType,
    np.ufunc,
)


def difference(first: Any, second: Any) -> str | None:
    """Name of a part in which two things differ; None if they are the same.

    Types, plain values, and every number of all arrays are compared; what has a state by it.

    Examples
    --------
    >>> from whyodd.io.saved_comparison import difference
    >>> difference({"a": [1.0, float("nan")]}, {"a": [1.0, float("nan")]})
    >>> difference({"a": [1.0, 2.0]}, {"a": [1.0, 3.0]})
    'a[1]'
    """
    waiting: list[Pair] = [("", first, second)]
    seen: set[int] = set()
    while waiting:
        place, one, other = waiting.pop()
        if type(one) is not type(other):
            return place or "it"
        if id(one) in seen or isinstance(one, _WHOLE):
            if isinstance(one, _WHOLE) and one != other:
                return place or "it"
            continue
        seen.add(id(one))
        inside = list(_inside(place, one, other))
        if inside == [None]:
            return place or "it"
        waiting.extend(pair for pair in inside if pair is not None)
    return None


def _inside(place: str, one: Any, other: Any) -> Iterator[Pair | None]:
    """Pairs of parts still to compare; only None if the two are already found to differ."""
    if isinstance(one, np.ndarray) and one.dtype == object:
        yield (place, (one.shape, one.ravel().tolist()), (other.shape, other.ravel().tolist()))
    elif isinstance(one, (np.ndarray, np.generic, float)):
        if not _are_equal(np.asarray(one), np.asarray(other)):
            yield None
    elif sparse.issparse(one):
        yield (place, one.data, other.data)
        # The places may come in smaller numbers.
        if not all(
            np.array_equal(getattr(one, name), getattr(other, name)) for name in ("indices", "indptr")
        ):
            yield (place, 0, 1)
        yield (place, tuple(one.shape), tuple(other.shape))
    elif isinstance(one, dict):
        yield (f"the keys of {place}", list(one), list(other))
        yield from ((_named(place, key), one[key], other.get(key)) for key in one if key == key)
    elif isinstance(one, (list, tuple)):
        if len(one) != len(other):
            yield None
        else:
            pairs = zip(one, other, strict=True)
            yield from ((f"{place}[{i}]", mine, its) for i, (mine, its) in enumerate(pairs))
    elif isinstance(one, MethodType):
        yield (place, one.__func__, other.__func__)
        yield (place, one.__self__, other.__self__)
    else:
        yield (place, _state(one), _state(other))


def _named(place: str, key: Any) -> str:
    return f"{place}.{key}" if place else str(key)


def _are_equal(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.names:  # field by field, since the bytes between them are undefined
        return all(_are_equal(one[name], other[name]) for name in one.dtype.names)
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fcmM")


def _state(thing: Any) -> Any:
    """The parts of a thing, as skops asks for them."""
    if isinstance(thing, np.random.RandomState):
        return thing.get_state(legacy=False)
    kind = f"{type(thing).__module__}.{type(thing).__name__}"
    if kind in SEARCH_TREES:  # without its counters
        return [thing.__getstate__()[place] for place in (0, 4, 11, 12)]
    if kind in SPLINES:
        return thing.t, thing.c, thing.k, thing.extrapolate
    if isinstance(thing, ZoneInfo):
        return thing.key
    reduced = thing.__reduce__()
    if reduced[0] is type(thing):  # the arguments of its constructor, and of a decision tree more
        return reduced[1:]
    state = thing.__getstate__()
    if isinstance(state, dict) and kind in _PUT_RIGHT:
        state = {name: part for name, part in state.items() if name != _PUT_RIGHT[kind]}
    return state
