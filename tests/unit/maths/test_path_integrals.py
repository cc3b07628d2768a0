"""Integrated gradients, against functions whose integral is known."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from made_up.stacks import stack
from whyodd.maths.path_integrals import integrated_gradients

RNG = np.random.default_rng(2)


def test_of_a_quadratic_function_is_the_closed_form():
    A = RNG.normal(size=(4, 4))
    A, start, end = A + A.T, RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4))
    found = integrated_gradients(
        lambda x: ((x @ A) * x).sum(axis=1), lambda x: 2 * x @ A, start, end, np.full(5, 1e-9)
    )
    np.testing.assert_allclose(found, (end - start) * ((start + end) @ A), rtol=1e-12, atol=1e-12)


@given(st.integers(0, 10_000))
def test_kinks_are_closed_in_on(seed):
    made = stack([3, 20, 10], ["relu", "relu"], seed)
    rng = np.random.default_rng(seed)
    start, end = rng.normal(size=(2, 6, 3)) * 3

    def value(x):
        return (made.forward(x) ** 2).sum(axis=1)

    tolerance = np.full(6, 1e-4)
    found = integrated_gradients(
        value, lambda x: made.gradient(x, 2 * made.forward(x)), start, end, tolerance
    )
    # 30 neurons make about as many kinks on the way, and a piece with one misses 1e-4 at most.
    np.testing.assert_allclose(found.sum(axis=1), value(end) - value(start), rtol=0, atol=5e-3)


def test_of_a_jump_it_ends_and_misses_it():
    found = integrated_gradients(
        lambda x: (x[:, 0] > 0.3) * 1.0, np.zeros_like, np.zeros((1, 1)), np.ones((1, 1)), np.array([1e-9])
    )
    np.testing.assert_array_equal(found, [[0.0]])
