"""Loops compiled for one kernel: its methods are inlined, and the package's own kernels are cached on disk.

Compiled code sees a kernel as a named tuple of its numbers, in the dtype of the block. There is one class of
tuples for each class of kernels, so that what is compiled for the type of the tuple has the formulas of that
kernel in its innermost loops. Where it calls a method on the tuple, numba is handed the method of the class.
"""

from __future__ import annotations

import inspect
import itertools
from collections import namedtuple
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.core import caching
from numba.core.datamodel.models import TupleModel
from numba.core.errors import NumbaError
from numba.extending import overload_method, register_model, typeof_impl

from whyodd.compute.vector_math import VECTOR
from whyodd.kernels import KERNELS, Kernel

# Inlined into their callers: counting references to the arrays of a call takes as long as a short row.
_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
# A constant divisor becomes a factor; nothing else is reordered in the formulas of kernels.
_FORMULAS: dict[str, Any] = {"fastmath": {"contract", "arcp"}, "error_model": "numpy"}
_FOREIGN = "ForeignKernel"
# Names that numba's and Python's own types do not have.
_overload_method: Any = overload_method
_named_tuple: Any = namedtuple
_FunctionCache: Any = caching.FunctionCache
_SERIAL = itertools.count()
# Methods that compiled code can call on tuples.
_CALLABLE: set[str] = set()


class _Numbers:
    """Base of the tuples of kernels' numbers."""

    kernel_class: type[Kernel]


class _NumbersType(types.NamedTuple):
    """Type of such tuples: a separate one, so that other tuples do not get the methods of kernels."""


register_model(_NumbersType)(TupleModel)


@typeof_impl.register(_Numbers)
def _typeof(value: Any, context: Any) -> Any:  # noqa: ARG001
    made: Any = _NumbersType
    return made([types.float32 if type(v) is np.float32 else types.float64 for v in value], type(value))


class Radial(NamedTuple):
    """A kernel in the units and the dtype of a block: log k = ``log_height`` + log f((``rate`` d)^q)."""

    numbers: Any  # the object that its methods are called on
    q: float
    rate: float  # scale/σ
    log_height: float


def radial_of(kernel: Kernel, scale: float, dtype: Any) -> Radial:
    """The kernel for distances in units of ``scale``."""
    kind = np.dtype(dtype).type
    made = _numbers_class(type(kernel))
    numbers = made(*(kind(getattr(kernel, name)) for name in made._fields))
    return Radial(numbers, float(kernel.q), scale / kernel.sigma, float(kernel.log_height))


def compiled(function: Any) -> Any:
    """Compile a function at its first call for new types; sums and maxima may be reordered to vectorise."""
    return _compiled(function, VECTOR)


def compiled_as_written(function: Any) -> Any:
    """The same, for products whose order keeps them from over- or underflowing on the way."""
    return _compiled(function, {"contract"})


def _compiled(function: Any, fastmath: set[str]) -> Any:
    dispatcher = njit(**_FLAGS, fastmath=fastmath)(function)
    dispatcher._cache = _DiskCache(function)
    return dispatcher


class _DiskCache(_FunctionCache):  # type: ignore[misc]
    """numba's cache on disk, for all but foreign kernels, which other processes could not recognise.

    It is stale once any file of kernels or of compiled code has changed, not just the function's own.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _newest_source())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if _FOREIGN in str(sig):
            return None
        try:
            return super().load_overload(sig, target_context)
        except (AttributeError, ImportError):  # written by a version that had other classes
            self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if _FOREIGN not in str(sig):
            super().save_overload(sig, data)


@cache
def _newest_source() -> float:
    folders = [Path(__file__).parent, Path(inspect.getfile(Kernel)).parent]
    return max(path.stat().st_mtime for folder in folders for path in folder.rglob("*.py"))


@cache
def _numbers_class(kernel: type[Kernel]) -> Any:
    """Class of the tuples that stand for one class of kernels; those of our own kernels can be pickled."""
    declared: Any = kernel  # a dataclass, like every kernel
    names = [field.name for field in fields(declared) if field.name != "sigma"]
    is_own = kernel in KERNELS.values()
    # Compiled functions differ by the names of types, so two kernels with one name need different names.
    name = f"{kernel.__name__}Numbers" if is_own else f"{_FOREIGN}{next(_SERIAL)}{kernel.__name__}"
    plain = _named_tuple(name, dict.fromkeys([*names, "q", "log_height"]))
    methods = {
        method_name: method
        for method_name, method in inspect.getmembers(kernel, inspect.isfunction)
        if not method_name.startswith("__")
    }
    # The methods serve loops that run as plain Python, in a debugger; compiled ones find their own.
    made = type(name, (_Numbers, plain), {"__module__": __name__, "kernel_class": kernel, **methods})
    for method_name, method in methods.items():
        _let_compiled_code_call(method_name, inspect.signature(method))
    if not is_own:
        _check_formulas(made)
    return made


def _check_formulas(made: Any) -> None:
    """Compile the formulas of a foreign kernel alone; if that fails, say so in one sentence."""
    try:
        _all_formulas(made(*np.ones(len(made._fields))), 1.0)
    except NumbaError as error:
        raise TypeError(
            f"{made.kernel_class.__name__} cannot be compiled: its formulas take numbers, and may use its "
            "fields, q, log_height, methods of its own, whyodd.kernels.functions, math and np. The error "
            "above names the line."
        ) from error


@njit
def _all_formulas(numbers: Any, e: float) -> Any:
    shape = numbers.log_profile(e), numbers.profile(e), numbers.steepness(e)
    return shape, numbers.outlierness(-e, e), numbers.rise(e), numbers.explained_part(e, e)


def _let_compiled_code_call(name: str, signature: inspect.Signature) -> None:
    """Let ``numbers.name(...)`` be the method of the kernel's class."""
    if name in _CALLABLE:
        return
    _CALLABLE.add(name)

    def method_for(self: Any, *_: Any) -> Any:
        method = getattr(self.instance_class.kernel_class, name, None)
        if method is None:
            return None
        return _in_float32(method) if self[0] == types.float32 else method

    chosen: Any = method_for
    chosen.__signature__ = signature  # numba binds arguments to it
    _overload_method(_NumbersType, name, strict=False, jit_options=_FORMULAS)(chosen)


def _in_float32(method: Any) -> Any:
    """The same function with its numbers in float32: others would make all of its arithmetic float64."""
    code = method.__code__
    constants = tuple(np.float32(value) if type(value) is float else value for value in code.co_consts)
    return FunctionType(
        code.replace(co_consts=constants),
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )


# numba's cache looks the classes up by their names.
globals().update({made.__name__: made for made in map(_numbers_class, KERNELS.values())})
