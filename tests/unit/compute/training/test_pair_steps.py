"""Pairwise steps on small dense problems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.one_class_dual import Dual, violation
from whyodd.compute.training.pair_steps import descend_by_pairs
from whyodd.kernels import Exponential


def problem(seed, n, nu, kernel=None):
    rng = np.random.default_rng(seed)
    dual = Dual.of(rng.standard_normal((n, 2)), kernel or Exponential(sigma=0.7), nu, rng.random(n) + 0.1)
    alpha = dual.upper * nu
    return dual, alpha, dual.K @ alpha


def descend(dual, alpha, gradient, tol, max_steps=100_000):
    K, slots = dual.K.astype(np.float32), np.arange(alpha.size)
    steps, left, missing = descend_by_pairs(K, slots, alpha, dual.upper, gradient, tol, max_steps)
    assert missing == -1
    return steps, left


@settings(max_examples=30)
@given(n=st.integers(1, 40), nu=st.floats(0.05, 1.0), seed=st.integers(0, 999))
def test_ends_feasible_and_optimal(n, nu, seed):
    dual, alpha, gradient = problem(seed, n, nu)
    _, left = descend(dual, alpha, gradient, 1e-5)
    assert left <= 1e-5
    assert np.all((alpha >= 0.0) & (alpha <= dual.upper))  # exactly: bounds are assigned
    assert alpha.sum() == pytest.approx(dual.total, rel=1e-12)
    # What K has lost in float32 times Σα is what the gradient may be wrong by, on both sides.
    rounding = 2 * np.finfo(np.float32).eps * dual.total
    assert violation(dual.K @ alpha, alpha, dual.upper) <= 1e-5 + rounding
    assert dual.objective(alpha / dual.total) <= dual.objective(dual.solve()) + 1e-5 / dual.total


def test_the_gradient_goes_along():
    dual, alpha, gradient = problem(0, 50, 0.3)
    descend(dual, alpha, gradient, 1e-6)
    np.testing.assert_allclose(gradient, dual.K.astype(np.float32) @ alpha, atol=1e-6)


def test_every_step_lowers_the_objective():
    dual, alpha, gradient = problem(1, 60, 0.2)
    values = [dual.objective(alpha)]
    for _ in range(40):
        descend(dual, alpha, gradient, 1e-9, max_steps=1)
        values.append(dual.objective(alpha))
    assert np.all(np.diff(values) < 1e-7 * values[0])  # float32 K: a step may be wrong in the seventh digit
    assert values[-1] < values[0]


def test_bursts_are_one_long_run():
    dual, alpha, gradient = problem(2, 60, 0.2)
    pieces, piece_gradient = alpha.copy(), gradient.copy()
    whole = descend(dual, alpha, gradient, 1e-6)
    steps = 0
    while True:
        done, left = descend(dual, pieces, piece_gradient, 1e-6, max_steps=7)
        steps += done
        if left <= 1e-6:
            break
    assert (steps, left) == whole
    np.testing.assert_array_equal(pieces, alpha)


def test_no_more_steps_than_allowed_and_the_violation_that_is_left():
    dual, alpha, gradient = problem(3, 60, 0.2)
    steps, left = descend(dual, alpha, gradient, 1e-9, max_steps=3)
    assert steps == 3
    assert left == pytest.approx(violation(dual.K @ alpha, alpha, dual.upper), abs=1e-5)
    assert left > 1e-9


def test_nothing_to_do_at_the_optimum_or_where_nothing_may_move():
    dual, alpha, gradient = problem(4, 30, 0.4)
    descend(dual, alpha, gradient, 1e-6)
    before = alpha.copy()
    assert descend(dual, alpha, gradient, 1e-6)[0] == 0
    np.testing.assert_array_equal(alpha, before)
    full, alpha, gradient = problem(4, 30, 1.0)
    assert descend(full, alpha, gradient, 1e-6) == (0, 0.0)


def test_a_linear_term_in_the_gradient_is_respected():
    """A working set: min ½ αᵀKα + pᵀα, with p from coefficients that are fixed."""
    dual, alpha, _ = problem(5, 30, 0.3)
    p = np.random.default_rng(5).random(30)
    gradient = dual.K @ alpha + p
    descend(dual, alpha, gradient, 1e-5)
    assert violation(dual.K @ alpha + p, alpha, dual.upper) <= 1.1e-5


@pytest.mark.parametrize("seed", range(5))
def test_an_indefinite_matrix_ends_in_a_stationary_point(seed):
    dual, alpha, gradient = problem(seed, 40, 0.3, Exponential(q=4.0, sigma=1.5))
    assert np.linalg.eigvalsh(dual.K)[0] < -1e-3
    start = alpha @ dual.K @ alpha
    _, left = descend(dual, alpha, gradient, 1e-5)
    assert left <= 1e-5
    assert violation(dual.K @ alpha, alpha, dual.upper) <= 2e-5
    assert alpha @ dual.K @ alpha <= start


def test_rows_of_the_matrix_that_are_missing_are_asked_for():
    dual, _, _ = problem(6, 300, 0.2)
    alpha = np.clip(dual.total - (np.cumsum(dual.upper) - dual.upper), 0.0, dual.upper)
    gradient = dual.K @ alpha
    whole, whole_gradient = alpha.copy(), gradient.copy()
    steps, left = descend(dual, whole, whole_gradient, 1e-5)
    rows, slots, asked, done = np.empty((300, 300), np.float32), np.full(300, -1), [], 0
    while True:
        some, left_here, missing = descend_by_pairs(rows, slots, alpha, dual.upper, gradient, 1e-5, 100_000)
        done += some
        if missing < 0:
            break
        rows[len(asked)], slots[missing] = dual.K[missing], len(asked)
        asked.append(missing)
    assert len(set(asked)) == len(asked) < 300
    assert (done, left_here) == (steps, left)
    np.testing.assert_array_equal(alpha, whole)
