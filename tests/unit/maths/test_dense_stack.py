"""Stacks of dense layers, against plain loops, finite differences and their own laws."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_up.stacks import stack
from reference import dense
from whyodd.maths.dense_stack import ACTIVATIONS, DenseLayer, DenseStack

RNG = np.random.default_rng(1)
X = RNG.normal(size=(6, 3)) * 2


def both_signs(values):
    return np.where(values > 0.2, 1.0, -1.0)


@pytest.mark.parametrize("name", ACTIVATIONS)
class TestActivation:
    def test_is_that_of_the_plain_loops(self, name):
        made = stack([3, 5, 4], [name, [name, "tanh"]])
        np.testing.assert_allclose(made.forward(X), [dense.through(made, x)[1] for x in X], rtol=1e-12)

    def test_gradient_is_that_of_small_steps(self, name):
        made = stack([3, 5, 4], [name, [name, "tanh"]])
        by_output = RNG.normal(size=(6, 4))
        step = 1e-6
        for i in range(3):
            moved = np.zeros(3)
            moved[i] = step
            change = ((made.forward(X + moved) - made.forward(X - moved)) * by_output).sum(axis=1) / (
                2 * step
            )
            # Central differences of a step of 1e-6 lose half of the digits.
            np.testing.assert_allclose(made.gradient(X, by_output)[:, i], change, rtol=1e-6, atol=1e-8)

    def test_relevance_is_that_of_the_plain_loops(self, name):
        made = stack([3, 5, 4], [name, [name, "tanh"]])
        of_output, sign = RNG.uniform(size=(6, 4)), both_signs(made.forward(X))
        found, left = made.relevance(X, of_output, sign)
        for at, x in enumerate(X):
            expected, rest = dense.relevance(made, x, of_output[at], sign[at])
            np.testing.assert_allclose(found[at], expected, rtol=1e-10, atol=1e-13)
            np.testing.assert_allclose(left[at], rest, rtol=1e-10, atol=1e-13)


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(["relu", "tanh", "elu", "sigmoid"]))
def test_relevance_is_conserved_and_never_below_0(seed, biases, name):
    rng = np.random.default_rng(seed)
    made = stack([4, 6, 5], [name, name], seed, biases=biases)
    rows, of_output = rng.normal(size=(5, 4)) * 10.0 ** rng.integers(-3, 4), rng.exponential(size=(5, 5))
    found, left = made.relevance(rows, of_output, rng.choice([-1.0, 1.0], size=(5, 5)))
    np.testing.assert_allclose(found.sum(axis=1) + left, of_output.sum(axis=1), rtol=1e-12)
    assert (found >= 0).all()
    assert (left >= 0).all()


def test_what_nothing_drives_is_left():
    made = DenseStack([DenseLayer([[1.0, 2.0]], [0.0])])
    found, left = made.relevance(
        [[0.0, 0.0], [1.0, 1.0]], np.array([[3.0], [3.0]]), np.array([[1.0], [-1.0]])
    )
    np.testing.assert_array_equal(found, np.zeros((2, 2)))
    np.testing.assert_array_equal(left, [3.0, 3.0])


def test_many_rows_are_the_same_as_few():
    made = stack([3, 4, 2], ["relu", "tanh"])
    rows = RNG.normal(size=(10_000, 3))
    of_output, sign = rows[:, :2] ** 2, np.ones((10_000, 2))
    # One product may round otherwise than another.
    np.testing.assert_allclose(made.forward(rows)[9_000:9_005], made.forward(rows[9_000:9_005]), rtol=1e-13)
    found, left = made.relevance(rows, of_output, sign)
    np.testing.assert_allclose(found.sum(axis=1) + left, of_output.sum(axis=1), rtol=1e-12)


def test_comes_back_from_a_pickle_read_only():
    made = pickle.loads(pickle.dumps(stack([3, 4, 2], ["relu", "tanh"])))
    assert repr(made) == "DenseStack(3 → 4 → 2)"
    assert not made.layers[0].weight.flags.writeable


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: DenseLayer([[1.0]], [0.0], [("swish", 0.0)]), "There is no activation 'swish'"),
        (lambda: DenseLayer([[1.0]], [0.0, 1.0]), r"weight \(k, d\) and bias \(k,\)"),
        (lambda: DenseLayer([[np.nan]], [0.0]), "must be finite"),
        (lambda: DenseStack([]), "at least one layer"),
        (lambda: DenseStack([DenseLayer([[1.0]], [0.0]), DenseLayer([[1.0, 2.0]], [0.0])]), "takes 2 values"),
    ],
)
def test_what_is_no_stack_is_told(make, told):
    with pytest.raises(ValueError, match=told):
        make()
