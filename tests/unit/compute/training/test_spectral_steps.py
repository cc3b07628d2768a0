"""The projection, and spectral projected gradient steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from reference.one_class_dual import Dual, violation
from whyodd.compute.training.spectral_steps import project, spectral_steps
from whyodd.kernels import Exponential, Student


@st.composite
def points_and_boxes(draw):
    n = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    y = draw(st.sampled_from([1e-6, 1.0, 1e6])) * rng.standard_normal(n)
    upper = rng.random(n) * (rng.random(n) < 0.8) + 1e-3 * (np.arange(n) == 0)
    return y, upper, draw(st.floats(0.01, 1.0)) * upper.sum()


@given(points_and_boxes())
def test_projection_is_feasible_and_of_the_form_it_must_have(case):
    y, upper, total = case
    alpha = project(y, upper, total)
    assert np.all((alpha >= 0.0) & (alpha <= upper))
    # y - λ is rounded on the scale of y.
    rounding = 1e-12 * total + 4e-16 * len(y) * np.abs(y).max()
    assert abs(alpha.sum() - total) <= rounding
    # Optimality: y - α is the same λ where α is free, at most λ at 0 and at least λ at C.
    shift = y - alpha
    free = (alpha > 0.0) & (alpha < upper)
    low = shift[(alpha == 0.0) & (upper > 0.0)].max(initial=-np.inf)
    high = shift[(alpha == upper) & (upper > 0.0)].min(initial=np.inf)
    size = 1e-15 * np.abs(y).max() + 1e-15
    assert np.ptp(shift[free]) <= 4 * size if free.any() else True
    bounds = (shift[free].min(), shift[free].max()) if free.any() else (high, low)
    assert low <= bounds[0] + 4 * size
    assert high >= bounds[1] - 4 * size


@pytest.mark.parametrize("spread", [1.0, 1e2, 1e3, 1e6])
def test_projection_of_points_much_wider_than_the_box(spread):
    """A long gradient step leads there: no coefficient is free between the first guess of λ and the last."""
    y = spread * np.array([0.0, 0.05, 1.0])
    expected = [0.0, 0.5, 1.0] if spread > 1.0 else [0.225, 0.275, 1.0]
    np.testing.assert_allclose(project(y, np.ones(3), 1.5), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_projection_is_the_nearest_feasible_point(seed):
    rng = np.random.default_rng(seed)
    y, upper = rng.standard_normal(8), rng.random(8)
    total = 0.4 * upper.sum()
    found = minimize(
        lambda a: np.sum((a - y) ** 2),
        np.full(8, total / 8),
        jac=lambda a: 2 * (a - y),
        bounds=[(0.0, c) for c in upper],
        constraints={"type": "eq", "fun": lambda a: a.sum() - total},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(project(y, upper, total), found.x, atol=1e-6)  # SLSQP's own precision


def test_projection_leaves_a_feasible_point_alone():
    alpha = np.array([0.0, 0.3, 1.0, 0.7])
    np.testing.assert_allclose(project(alpha, np.ones(4), 2.0), alpha, atol=1e-12)


def test_projection_fills_all_bounds_when_there_is_no_choice():
    upper = np.array([0.5, 2.0, 1.0])
    np.testing.assert_allclose(project(np.array([3.0, -8.0, 0.0]), upper, 3.5), upper, rtol=1e-12)


@pytest.mark.parametrize("kernel", [Exponential(q=1.0), Exponential(), Student(q=2.0)], ids=str)
@pytest.mark.parametrize("nu", [0.1, 0.6])
def test_descends_to_the_optimum(kernel, nu):
    dual = Dual.of(np.random.default_rng(0).standard_normal((80, 3)), kernel, nu)
    alpha = np.full(80, nu)
    gradient = dual.K @ alpha
    values = [alpha @ gradient]
    for _, _ in zip(range(300), spectral_steps(dual.K.__matmul__, alpha, dual.upper, gradient), strict=False):
        values.append(alpha @ dual.K @ alpha)
    assert np.all(np.diff(values) <= 1e-13 * values[0])  # falls at every step, but for rounding
    dual.assert_feasible(alpha / alpha.sum())
    assert alpha.sum() == pytest.approx(dual.total, rel=1e-9)
    np.testing.assert_allclose(gradient, dual.K @ alpha, rtol=1e-9)
    # By two or three orders of magnitude, as it promises; 300 steps on 80 coefficients reach more.
    assert dual.gap(alpha / dual.total) <= 1e-5 * dual.objective(alpha / dual.total)


def test_falls_at_every_step_also_for_an_indefinite_kernel():
    dual = Dual.of(np.random.default_rng(1).standard_normal((80, 2)), Exponential(q=4.0, sigma=1.5), 0.2)
    assert np.linalg.eigvalsh(dual.K)[0] < -1e-2
    alpha = np.full(80, 0.2)
    gradient = dual.K @ alpha
    before = violation(gradient, alpha, dual.upper)
    values = [alpha @ gradient]
    for _, _ in zip(range(200), spectral_steps(dual.K.__matmul__, alpha, dual.upper, gradient), strict=False):
        values.append(alpha @ dual.K @ alpha)
    assert np.all(np.diff(values) <= 1e-13 * values[0])
    assert violation(gradient, alpha, dual.upper) <= 1e-2 * before


def test_stops_where_there_is_nothing_to_gain():
    K, alpha = np.eye(4), np.full(4, 0.5)
    assert list(spectral_steps(K.__matmul__, alpha, np.ones(4), K @ alpha)) == []
    np.testing.assert_array_equal(alpha, 0.5)
