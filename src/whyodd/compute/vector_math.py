"""The functions of kernels in compiled code: without branches or calls, so that loops over them vectorise.

numba has no vector math library of its own: ``np.exp`` in a loop is a call per element and costs several
times as much. All work in the dtype of their argument, exp and log to 2.3 units in the last place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.extending import overload

from whyodd.kernels.functions import exp, log, log1p, maximum, minimum

if TYPE_CHECKING:
    from collections.abc import Callable

# reassoc, nnan and nsz let sums and maxima vectorise; infinities stay meaningful (ninf is not set).
VECTOR = {"contract", "reassoc", "nsz", "arcp", "nnan"}
# Range reduction relies on the order of its roundings: nothing but fused multiply-add is allowed there.
ORDERED: Any = {"fastmath": {"contract"}, "error_model": "numpy"}


@overload(exp, jit_options=ORDERED)
def _exp(x: Any) -> Callable[[Any], Any]:
    return _exp32 if x == types.float32 else _exp64


@overload(log, jit_options=ORDERED)
def _log(x: Any) -> Callable[[Any], Any]:
    return _log32 if x == types.float32 else _log64


@overload(log1p, jit_options=ORDERED)
def _log1p(x: Any) -> Callable[[Any], Any]:
    return _log1p32 if x == types.float32 else _log1p64


@overload(minimum, jit_options=ORDERED)
def _minimum(a: Any, b: Any) -> Callable[..., Any]:
    def smaller(a: Any, b: Any) -> Any:
        return min(a, b)

    return smaller


@overload(maximum, jit_options=ORDERED)
def _maximum(a: Any, b: Any) -> Callable[..., Any]:
    def larger(a: Any, b: Any) -> Any:
        return max(a, b)

    return larger


# Adding this number leaves an integer in the low bits of the mantissa, ready to be shifted into an exponent.
_ROUND64, _ROUND32 = 6755399441055744.0, np.float32(12582912.0)
_LN2_HIGH64, _LN2_LOW64 = 0.693147180369123816490, 1.90821492927058770002e-10
_LN2_HIGH32, _LN2_LOW32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_PER_LN2_64, _PER_LN2_32 = 1.4426950408889634, np.float32(1.4426950408889634)
_SMALLEST64, _SMALLEST32 = -708.0, np.float32(-87.0)
# With these powers of two the exponent's bits are those of infinity.
_INFINITE_POWER64, _INFINITE_POWER32 = 1024.0, np.float32(128.0)


def _exp64(x: Any) -> Any:
    k = min(np.rint(x * _PER_LN2_64), _INFINITE_POWER64)
    r = x - k * _LN2_HIGH64
    r = r - k * _LN2_LOW64
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.int64(np.float64(k + (_ROUND64 + 1023.0)).view(np.int64) << 52).view(np.float64)
    return p * power if x > _SMALLEST64 else 0.0


def _exp32(x: Any) -> Any:
    k = min(np.rint(x * _PER_LN2_32), _INFINITE_POWER32)
    r = x - k * _LN2_HIGH32
    r = r - k * _LN2_LOW32
    p = np.float32(1.0 / 5040.0)
    p = p * r + np.float32(1.0 / 720.0)
    p = p * r + np.float32(1.0 / 120.0)
    p = p * r + np.float32(1.0 / 24.0)
    p = p * r + np.float32(1.0 / 6.0)
    p = p * r + np.float32(0.5)
    p = p * r + np.float32(1.0)
    p = p * r + np.float32(1.0)
    power = np.int32(np.float32(k + (_ROUND32 + np.float32(127.0))).view(np.int32) << np.int32(23)).view(
        np.float32
    )
    return p * power if x > _SMALLEST32 else np.float32(0.0)


# x = 2^k f with f in [√½, √2); log f = 2 artanh(s), s = (f - 1) / (f + 1), |s| < 0.172.
_SQRT_HALF_BITS64, _SQRT_HALF_BITS32 = np.uint64(0x3FE6A09E667F3BCD), np.uint32(0x3F3504F3)
_ONE_BITS64, _ONE_BITS32 = np.uint64(0x3FF0000000000000), np.uint32(0x3F800000)
_ROUND_BITS64, _ROUND_BITS32 = np.uint64(0x4338000000000000), np.uint32(0x4B400000)
_MANTISSA64, _MANTISSA32 = np.uint64(0x000FFFFFFFFFFFFF), np.uint32(0x007FFFFF)
_BIG64, _BIG32 = 1.7e308, np.float32(3.4e38)


def _log64(x: Any) -> Any:
    # Biased to stay positive: AVX2 has neither arithmetic shifts nor conversions to float for 64 bits.
    bits = np.float64(x).view(np.uint64) + (_ONE_BITS64 - _SQRT_HALF_BITS64)
    k = np.uint64((bits >> np.uint64(52)) + _ROUND_BITS64).view(np.float64) - (_ROUND64 + 1023.0)
    f = np.uint64((bits & _MANTISSA64) + _SQRT_HALF_BITS64).view(np.float64)
    s = (f - 1.0) / (f + 1.0)
    z = s * s
    p = 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    tail = 2.0 * s * z * p + k * _LN2_LOW64
    return k * _LN2_HIGH64 + (2.0 * s + tail) if x < _BIG64 else np.inf


def _log32(x: Any) -> Any:
    # numba widens integer arithmetic to 64 bits: every step is cut back so that eight lanes fit a register.
    bits = np.uint32(np.float32(x).view(np.uint32) + (_ONE_BITS32 - _SQRT_HALF_BITS32))
    k = np.uint32(np.uint32(bits >> np.uint32(23)) + _ROUND_BITS32).view(np.float32) - (
        _ROUND32 + np.float32(127.0)
    )
    f = np.uint32(np.uint32(bits & _MANTISSA32) + _SQRT_HALF_BITS32).view(np.float32)
    s = (f - np.float32(1.0)) / (f + np.float32(1.0))
    z = s * s
    p = np.float32(1.0 / 9.0)
    p = p * z + np.float32(1.0 / 7.0)
    p = p * z + np.float32(1.0 / 5.0)
    p = p * z + np.float32(1.0 / 3.0)
    tail = np.float32(2.0) * s * z * p + k * _LN2_LOW32
    return k * _LN2_HIGH32 + (np.float32(2.0) * s + tail) if x < _BIG32 else np.float32(np.inf)


def _log1p64(x: Any) -> Any:
    u = 1.0 + x
    # What rounding took from 1 + x is put back, to first order.
    return log(u) - ((u - 1.0) - x) / u if x < _BIG64 else np.inf


def _log1p32(x: Any) -> Any:
    one = np.float32(1.0)
    u = one + x
    return log(u) - ((u - one) - x) / u if x < _BIG32 else np.float32(np.inf)
