"""exp and log of the compiled loops, against more digits than their own over the whole range they promise."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numba import njit

from whyodd.compute import vector_math
from whyodd.compute.vector_math import added, larger, smaller
from whyodd.kernels.functions import exp, log, log1p

DTYPES = (np.float32, np.float64)
# In units in the last place of the exact value. The module promises 2; exp in float64 has 2.27 just below
# odd multiples of log(2)/2, where its polynomial loses a digit and the value is just above a power of two.
ULP = 2.0
EXP_ULP = {np.float32: 2.0, np.float64: 2.3}
# Below these e^x is 0 instead of a subnormal number.
THRESHOLD = {np.float32: -87.0, np.float64: -708.0}
# The largest arguments of log that are told from infinity.
LARGEST = {np.float32: np.float32(3.39e38), np.float64: 1.69e308}


@njit
def exp_of(x, out):
    for i in range(x.size):
        out[i] = exp(x[i])


@njit
def log_of(x, out):
    for i in range(x.size):
        out[i] = log(x[i])


@njit
def log1p_of(x, out):
    for i in range(x.size):
        out[i] = log1p(x[i])


def compiled(function, values, dtype):
    x = np.asarray(values, dtype=dtype)
    out = np.empty_like(x)
    function(x, out)
    return x, out


def ulps(got, x, exact):
    """Errors in units in the last place; ``exact`` is a function of mpmath numbers."""
    with mpmath.workdps(40):
        errors = []
        for value, argument in zip(got, x, strict=True):
            true = exact(mpmath.mpf(float(argument)))
            unit = np.spacing(np.abs(got.dtype.type(float(true))))
            errors.append(float(abs(mpmath.mpf(float(value)) - true) / mpmath.mpf(float(unit))))
    return np.asarray(errors)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_is_within_about_two_units_in_the_last_place_down_to_the_threshold(dtype):
    rng = np.random.default_rng(0)
    low = THRESHOLD[dtype]
    spread = np.concatenate([rng.uniform(low, 0.0, 1500), -np.logspace(-320, np.log10(-low), 400)[:-1]])
    # Where the range reduction turns over.
    halves = math.log(2) * (np.arange(0, int(-low / math.log(2))) + 0.5)
    x, got = compiled(exp_of, np.concatenate([spread, -halves, -np.nextafter(halves, 0)]), dtype)
    x, got = x[x > low], got[x > low]
    assert ulps(got, x, mpmath.exp).max() < EXP_ULP[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_is_exact_at_zero_and_zero_below_the_threshold(dtype):
    low = dtype(THRESHOLD[dtype])
    below = np.nextafter(low, dtype(-np.inf))
    huge = np.finfo(dtype).min
    _, got = compiled(exp_of, [0.0, -0.0, low, below, 2 * low, 1e4 * low, huge, -np.inf], dtype)
    np.testing.assert_array_equal(got, [1, 1, 0, 0, 0, 0, 0, 0])
    _, smallest = compiled(exp_of, [np.nextafter(low, dtype(0))], dtype)
    assert smallest[0] >= np.finfo(dtype).tiny


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_never_increases_as_its_argument_falls(dtype):
    """Within the error promised: a strict order of neighbours is not needed, sums of e^x are."""
    _, got = compiled(exp_of, np.linspace(0.0, 1.1 * THRESHOLD[dtype], 20_001), dtype)
    assert (np.diff(got) <= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_is_within_two_units_in_the_last_place_over_all_normal_numbers(dtype):
    rng = np.random.default_rng(1)
    tiny, huge = float(np.finfo(dtype).tiny), float(LARGEST[dtype])
    x = np.exp(rng.uniform(np.log(tiny), np.log(huge), 1500))
    x, got = compiled(log_of, np.concatenate([x, [tiny, huge]]), dtype)
    assert ulps(got, x, mpmath.log).max() < ULP


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_is_within_two_units_in_the_last_place_near_one(dtype):
    """The compiled loops take log(1 + e) for small e: an error relative to 1 would not do."""
    eps = float(np.finfo(dtype).eps)
    near = np.logspace(np.log10(eps), np.log10(0.4), 300)
    turn = np.sqrt([0.5, 2.0])  # where the range reduction turns over
    around = np.concatenate([np.nextafter(turn, 0), turn, np.nextafter(turn, 9)])
    x, got = compiled(log_of, np.concatenate([1 + near, 1 - near, around]), dtype)
    x, got = x[x != 1], got[x != 1]
    assert ulps(got, x, mpmath.log).max() < ULP


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_is_exact_at_one_and_infinite_at_infinity(dtype):
    _, got = compiled(log_of, [1.0, np.inf], dtype)
    np.testing.assert_array_equal(got, [0.0, np.inf])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "loop"), [("exp", exp_of), ("log", log_of)])
def test_compiled_functions_keep_the_dtype_and_agree_with_the_python_ones(name, loop, dtype):
    values = {"exp": np.linspace(-50, 0, 101), "log": np.logspace(-6, 30, 101)}[name]
    x, got = compiled(loop, values, dtype)
    python = getattr(vector_math, name)(x)
    assert python.dtype == dtype
    np.testing.assert_allclose(got, python, rtol=3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_of_positive_numbers_grows_to_infinity(dtype):
    top = {np.float32: 88.0, np.float64: 709.0}[dtype]
    x, got = compiled(exp_of, np.linspace(0.0, top, 500), dtype)
    assert (ulps(got, x, mpmath.exp) <= EXP_ULP[dtype]).all()
    _, beyond = compiled(exp_of, [1.01 * top, 2.0 * top, 1e30, np.inf], dtype)
    assert (beyond == np.inf).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_log1p_keeps_the_digits_of_small_numbers(dtype):
    smallest, largest = {np.float32: (-30, 37), np.float64: (-300, 307)}[dtype]
    values = np.concatenate([[0.0], np.logspace(smallest, -1, 500), np.logspace(-1, largest, 500)])
    x, got = compiled(log1p_of, values, dtype)
    assert got[0] == 0.0
    # A logarithm, a quotient and a difference.
    assert (ulps(got[1:], x[1:], mpmath.log1p) <= 4.0).all()
    assert compiled(log1p_of, [np.inf], dtype)[1][0] == np.inf


@njit
def reduced(x):
    least, most, total = x[0], x[0], x.dtype.type(0.0)
    for i in range(x.size):
        least, most, total = smaller(least, x[i]), larger(most, x[i]), added(total, x[i])
    return least, most, total


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 8, 100, 1_000])
def test_steps_of_reductions_are_what_they_say_compiled_or_not(dtype, n):
    x = np.random.default_rng(n).normal(size=n).astype(dtype)
    x[n // 2] = np.inf
    for found in (reduced(x), reduced.py_func(x)):
        assert found[:2] == (x.min(), np.inf)
    x[n // 2] = 0.0
    # A sum of n roundings of terms of about 1, in any order.
    np.testing.assert_allclose(reduced(x)[2], x.sum(dtype=float), atol=n * np.finfo(dtype).eps)
