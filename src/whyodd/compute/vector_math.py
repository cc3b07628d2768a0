"""The functions of kernels in compiled code: without branches or calls, so that loops over them vectorise.

numba has no vector math library of its own: ``np.exp`` in a loop is a call per element and costs several
times as much. All work in the dtype of their argument, exp and log to 2.3 units in the last place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from whyodd.kernels.functions import exp, log, log1p, maximum, minimum

if TYPE_CHECKING:
    from collections.abc import Callable

# reassoc, nnan and nsz let sums and maxima vectorise; infinities stay meaningful (ninf is not set).
VECTOR = {"contract", "reassoc", "nsz", "arcp", "nnan"}
# Range reduction relies on the order of its roundings: nothing but fused multiply-add is allowed there.
ORDERED: Any = {"fastmath": {"contract"}, "error_model": "numpy"}


# LLVM vectorises a loop that computes and reduces at once only if the step of the reduction itself carries
# these flags, on the choice as on the comparison. numba sets them on neither.
_NO_NAN = ("nnan", "nsz")


def _chosen(relation: str) -> Any:
    """The operand of two that stands in ``relation`` to the other."""

    @intrinsic
    def choose(_context: Any, a: Any, _b: Any) -> Any:
        def build(_: Any, builder: Any, _signature: Any, operands: Any) -> Any:
            is_left = builder.fcmp_ordered(relation, *operands, flags=_NO_NAN)
            return builder.select(is_left, *operands, flags=_NO_NAN)

        return a(a, a), build

    return choose


def _sum_in_any_order(_context: Any, a: Any, _b: Any) -> Any:
    def build(_: Any, builder: Any, _signature: Any, operands: Any) -> Any:
        return builder.fadd(*operands, flags=("reassoc", "nsz"))

    return a(a, a), build


_smaller, _larger = _chosen("<"), _chosen(">")
_added: Any = intrinsic(_sum_in_any_order)


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers of one dtype, neither of them NaN: a step of a minimum."""
    return min(a, b)


def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers of one dtype, neither of them NaN: a step of a maximum."""
    return max(a, b)


def added(a: Any, b: Any) -> Any:
    """The sum of two numbers of one dtype: a step of a sum in any order, among formulas kept in theirs."""
    return a + b


@overload(smaller)
def _smaller_step(a: Any, b: Any) -> Callable[..., Any]:
    def step(a: Any, b: Any) -> Any:
        return _smaller(a, b)

    return step


@overload(larger)
def _larger_step(a: Any, b: Any) -> Callable[..., Any]:
    def step(a: Any, b: Any) -> Any:
        return _larger(a, b)

    return step


@overload(added)
def _added_step(a: Any, b: Any) -> Callable[..., Any]:
    def step(a: Any, b: Any) -> Any:
        return _added(a, b)

    return step


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


# Adding this number rounds to an integer and leaves it in the low bits of the mantissa, with the bias of
# exponents, ready to be shifted into one.
_ROUND64, _ROUND32 = 6755399441055744.0, np.float32(12582912.0)
_BIASED64, _BIASED32 = _ROUND64 + 1023.0, np.float32(_ROUND32 + np.float32(127.0))
_LN2_HIGH64, _LN2_LOW64 = 0.693147180369123816490, 1.90821492927058770002e-10
_LN2_HIGH32, _LN2_LOW32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_PER_LN2_64, _PER_LN2_32 = 1.4426950408889634, np.float32(1.4426950408889634)
_SMALLEST64, _SMALLEST32 = -708.0, np.float32(-87.0)
# From here on the exponent's bits are those of infinity.
_INFINITE64, _INFINITE32 = 709.8, np.float32(88.8)

# (e^r - 1 - r) / r² on |r| <= log(2)/2, interpolated at Chebyshev's points, to 2e-17 of e^r. Terms are summed
# in pairs: a chain of one multiplication after the other would wait for each.
_E64 = (
    0.50000000000000010221,
    0.16666666666666667453,
    0.041666666666624127873,
    0.0083333333333300618325,
    0.0013888888917213716901,
    0.00019841269863053616878,
    0.000024801521295954375131,
    2.7557268459997064772e-6,
    2.7620088445409748161e-7,
    2.5100385495510319078e-8,
)


def _exp64(x: Any) -> Any:
    shifted = min(x, _INFINITE64) * _PER_LN2_64 + _BIASED64
    k = shifted - _BIASED64
    r = x - k * _LN2_HIGH64
    r = r - k * _LN2_LOW64
    r2 = r * r
    r4 = r2 * r2
    low = (_E64[0] + _E64[1] * r) + (_E64[2] + _E64[3] * r) * r2
    high = (_E64[4] + _E64[5] * r) + (_E64[6] + _E64[7] * r) * r2 + (_E64[8] + _E64[9] * r) * r4
    p = 1.0 + (r + r2 * (low + high * r4))
    power = np.int64(np.float64(shifted).view(np.int64) << 52).view(np.float64)
    return p * power if x > _SMALLEST64 else 0.0


def _exp32(x: Any) -> Any:
    shifted = min(x, _INFINITE32) * _PER_LN2_32 + _BIASED32
    k = shifted - _BIASED32
    r = x - k * _LN2_HIGH32
    r = r - k * _LN2_LOW32
    r2 = r * r
    low = (
        np.float32(0.5)
        + np.float32(1.0 / 6.0) * r
        + (np.float32(1.0 / 24.0) + np.float32(1.0 / 120.0) * r) * r2
    )
    q = low + (np.float32(1.0 / 720.0) + np.float32(1.0 / 5040.0) * r) * (r2 * r2)
    p = np.float32(1.0) + (r + r2 * q)
    power = np.int32(np.float32(shifted).view(np.int32) << np.int32(23)).view(np.float32)
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
    z2 = z * z
    z4 = z2 * z2
    low = (1.0 / 3.0 + z * (1.0 / 5.0)) + (1.0 / 7.0 + z * (1.0 / 9.0)) * z2
    high = (
        (1.0 / 11.0 + z * (1.0 / 13.0))
        + (1.0 / 15.0 + z * (1.0 / 17.0)) * z2
        + (1.0 / 19.0 + z * (1.0 / 21.0)) * z4
    )
    p = low + high * z4
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
    low, high = (
        np.float32(1.0 / 3.0) + np.float32(1.0 / 5.0) * z,
        np.float32(1.0 / 7.0) + np.float32(1.0 / 9.0) * z,
    )
    p = low + high * (z * z)
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
