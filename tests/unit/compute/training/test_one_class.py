"""The solver against a plain reference, and the laws that its result must obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from reference.one_class_dual import Dual
from whyodd.compute.training import one_class
from whyodd.compute.training.one_class import solve_one_class
from whyodd.kernels import Exponential, Student

# The paper's and their neighbours. Exponential kernels are positive definite up to q = 2, Student's too.
DEFINITE = [
    *(Exponential(q=q, sigma=0.8) for q in (0.5, 1.0, 1.5, 2.0)),
    *(Student(q=q, a=a, sigma=0.8) for q in (0.5, 1.0, 2.0) for a in (1e-3, 1.0, 50.0)),
]
OTHERS = [kind(q=q, sigma=1.5) for kind in (Exponential, Student) for q in (3.0, 4.0)]
GAUSSIAN = Exponential(sigma=0.7)

over_definite = pytest.mark.parametrize("kernel", DEFINITE, ids=str)
over_all = pytest.mark.parametrize("kernel", DEFINITE + OTHERS, ids=str)
# Objective and threshold come from similarities in float32: 6e-8 each, with room for sums of updates.
FLOAT32 = 1e-6
in_small_parts = pytest.mark.usefixtures("small_parts")
# All violators together in a coarse matrix; in parts of it that fit; working sets only. With `small_parts`.
over_memory = pytest.mark.parametrize("memory_mb", [2000.0, 64.06, 64.02, 1.0])


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def small_parts(monkeypatch):
    """Every path of the solver on a few hundred points."""
    for name, value in {"_DENSE": 64, "_LEAST": 16, "_MOST": 48, "_MANY": 96, "_TRIAL": 40}.items():
        monkeypatch.setattr(one_class, name, value)


def height(kernel):
    return float(np.exp(kernel.log_similarity(0.0)))


def assert_solves(solution, dual, tol):
    """Feasible, and optimal within the tolerance in float64; the numbers it tells are true."""
    dual.assert_feasible(solution.alpha)
    assert solution.converged
    # The violation is computed in float64, to nine digits of the gradient.
    rounding = 1e-9 * dual.K.max() * dual.total
    assert dual.violation(solution.alpha) <= tol + rounding
    assert solution.violation == pytest.approx(dual.violation(solution.alpha), abs=rounding)
    assert solution.objective == pytest.approx(dual.objective(solution.alpha), rel=FLOAT32)
    free = (solution.alpha > 0.0) & (dual.total * solution.alpha < dual.upper * (1 - 1e-9))
    g = dual.values(solution.alpha)
    if free.any():
        # Which coefficients are free is a matter of rounding; all of them are within the violation.
        blur = solution.violation / dual.total + FLOAT32 * g.max()
        assert solution.rho == pytest.approx(g[free].mean(), rel=0, abs=blur)
    else:
        assert g.min() * (1 - FLOAT32) <= solution.rho <= g.max() * (1 + FLOAT32)


# ---- the optimum ------------------------------------------------------------------------------------------


@over_definite
@pytest.mark.parametrize("nu", [0.05, 0.333, 0.9])
def test_is_the_optimum_of_a_plain_reference(rng, kernel, nu):
    X = rng.standard_normal((60, 3))
    dual, tol = Dual.of(X, kernel, nu), 1e-5 * height(kernel)
    expected = dual.solve()
    solution = solve_one_class(X, kernel, nu, tol=tol)
    assert_solves(solution, dual, tol)
    # From the violation: the objective is at most tol / Σα above the optimum, and never below.
    excess = dual.objective(solution.alpha) - dual.objective(expected)
    assert -1e-9 * height(kernel) <= excess <= tol / dual.total
    bound = dual.value_bound(solution.alpha, expected)
    np.testing.assert_allclose(dual.values(solution.alpha), dual.values(expected), atol=bound)
    assert bound < 0.01 * height(kernel)  # the comparison means something


@over_all
def test_ends_stationary_for_every_kernel(rng, kernel):
    X = rng.standard_normal((150, 2))
    tol = 1e-3 * height(kernel)
    solution = solve_one_class(X, kernel, 0.2, tol=tol)
    assert_solves(solution, Dual.of(X, kernel, 0.2), tol)


@pytest.mark.parametrize("a", [1e-3, 1.0, 50.0])
def test_tolerance_is_on_the_scale_of_the_kernel_itself(rng, a):
    """As in libsvm: not relative to k(0) = 1/a."""
    kernel, X = Student(a=a), rng.standard_normal((200, 3))
    solution = solve_one_class(X, kernel, 0.1, tol=1e-3)
    assert_solves(solution, Dual.of(X, kernel, 0.1), 1e-3)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_violation_is_within_the_tolerance_that_was_asked_for(rng, tol):
    X = rng.standard_normal((200, 3))
    assert_solves(solve_one_class(X, GAUSSIAN, 0.15, tol=tol), Dual.of(X, GAUSSIAN, 0.15), tol)


@pytest.mark.parametrize("nu", [0.1, 0.3])
@pytest.mark.parametrize("n", [200, 1000])
def test_tolerance_beyond_the_precision_of_float32(rng, n, nu):
    """libsvm reaches it: similarities rounded to float32 alone, times Σα, would not."""
    X = rng.standard_normal((n, 3))
    assert_solves(solve_one_class(X, GAUSSIAN, nu, tol=1e-6), Dual.of(X, GAUSSIAN, nu), 1e-6)


@settings(max_examples=40)
@given(
    n=st.integers(2, 60),
    nu=st.one_of(st.floats(0.02, 1.0), st.just(1.0)),
    kernel=st.sampled_from(DEFINITE + OTHERS),
    scale=st.floats(0.1, 10.0),
    duplicates=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_feasible_and_stationary(n, nu, kernel, scale, duplicates, seed):
    rng = np.random.default_rng(seed)
    X, weights = scale * rng.standard_normal((n, 2)), rng.random(n) + 0.1
    if duplicates:
        X[n // 2 :] = X[: n - n // 2]
    tol = 1e-4 * height(kernel)
    solution = solve_one_class(X, kernel, nu, sample_weight=weights, tol=tol)
    dual = Dual.of(X, kernel, nu, weights)
    if kernel in OTHERS and not solution.converged:
        dual.assert_feasible(solution.alpha)
        assert solution.violation > tol
        return
    assert_solves(solution, dual, tol)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sigma", [0.5, 1.5, 5.0])
@in_small_parts
def test_indefinite_kernel_ends_stationary_or_says_that_it_did_not(seed, sigma):
    X = np.random.default_rng(seed).standard_normal((200, 2))
    kernel = Exponential(q=4.0, sigma=sigma)
    dual = Dual.of(X, kernel, 0.3)
    assert np.linalg.eigvalsh(dual.K)[0] < 0.0
    solution = solve_one_class(X, kernel, 0.3, max_iter=50_000)
    dual.assert_feasible(solution.alpha)
    assert solution.converged == (solution.violation <= 1e-3)
    assert solution.violation == pytest.approx(dual.violation(solution.alpha), abs=1e-7)
    even = np.full(200, 1 / 200)
    assert dual.objective(solution.alpha) <= dual.objective(even)


# ---- every path -------------------------------------------------------------------------------------------


@over_memory
@pytest.mark.parametrize("sigma", [0.1, 0.3, 1.0, 5.0, 30.0])
@in_small_parts
def test_every_path_finds_the_optimum(rng, memory_mb, sigma):
    X, kernel = rng.standard_normal((500, 4)), Exponential(sigma=sigma)
    solution = solve_one_class(X, kernel, 0.15, tol=1e-5, memory_mb=memory_mb)
    assert_solves(solution, Dual.of(X, kernel, 0.15), 1e-5)


@pytest.mark.full
@over_memory
@pytest.mark.parametrize("seed", [4, 7])
@in_small_parts
def test_nearly_all_at_their_bounds_with_a_wide_kernel(memory_mb, seed):
    """Long gradient steps: the projection must give Σα back whatever the spread of what it is given."""
    X = np.random.default_rng(seed).standard_normal((3000, 3))
    X[:3] *= 50
    kernel = Exponential(sigma=20.0)
    solution = solve_one_class(X, kernel, 0.99, memory_mb=memory_mb)
    assert_solves(solution, Dual.of(X, kernel, 0.99), 1e-3)


@over_memory
@over_all
@in_small_parts
def test_every_path_takes_every_kernel(rng, memory_mb, kernel):
    X = rng.standard_normal((300, 3))
    tol = 1e-3 * height(kernel)
    solution = solve_one_class(X, kernel, 0.2, tol=tol, memory_mb=memory_mb)
    assert_solves(solution, Dual.of(X, kernel, 0.2), tol)


@pytest.mark.parametrize("sigma", [0.2, 2.0])
def test_paths_agree(rng, monkeypatch, sigma):
    X, kernel = rng.standard_normal((600, 3)), Exponential(sigma=sigma)
    dual = Dual.of(X, kernel, 0.1)
    dense = solve_one_class(X, kernel, 0.1, tol=1e-6)
    for name, value in {"_DENSE": 100, "_LEAST": 30, "_MOST": 60, "_MANY": 120, "_TRIAL": 50}.items():
        monkeypatch.setattr(one_class, name, value)
    coarse = solve_one_class(X, kernel, 0.1, tol=1e-6)
    parts = solve_one_class(X, kernel, 0.1, tol=1e-6, memory_mb=1.0)
    for other in (coarse, parts):
        assert other.objective == pytest.approx(dense.objective, rel=0, abs=1e-6 / dual.total)
        bound = dual.value_bound(dense.alpha, other.alpha)
        np.testing.assert_allclose(dual.values(other.alpha), dual.values(dense.alpha), atol=bound)
        assert other.rho == pytest.approx(dense.rho, abs=bound + 1e-6 / dual.total)


@in_small_parts
def test_coarse_matrix_is_used_where_it_fits_and_only_there(rng, monkeypatch):
    sizes = []

    class Spied(one_class.CoarseGram):
        def __init__(self, points):
            sizes.append(len(points))
            super().__init__(points)

    monkeypatch.setattr(one_class, "CoarseGram", Spied)
    X, kernel = rng.standard_normal((500, 4)), Exponential(sigma=0.3)
    solve_one_class(X, kernel, 0.3)
    assert 500 in sizes
    sizes.clear()
    solve_one_class(X, kernel, 0.3, memory_mb=1.0)
    assert max(sizes, default=0) <= 64


@pytest.mark.full
def test_full_size_constants_on_a_few_thousand_points(rng):
    """Nothing patched: above 4,096 points working sets and the coarse matrix come in."""
    X, kernel = rng.standard_normal((4500, 3)), Exponential(sigma=0.3)
    dual = Dual.of(X, kernel, 0.1)
    for memory_mb in (2000.0, 1.0):
        assert_solves(solve_one_class(X, kernel, 0.1, memory_mb=memory_mb), dual, 1e-3)


# ---- laws -------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(seed=st.integers(0, 2**16), nu=st.floats(0.05, 0.95))
def test_order_of_rows_and_start_do_not_matter(seed, nu):
    rng = np.random.default_rng(seed)
    X, order = rng.standard_normal((80, 2)), rng.permutation(80)
    kernel = Exponential(sigma=0.5)
    dual = Dual.of(X, kernel, nu)
    solution = solve_one_class(X, kernel, nu, tol=1e-6)
    permuted = np.empty(80)
    permuted[order] = solve_one_class(X[order], kernel, nu, tol=1e-6).alpha
    elsewhere = solve_one_class(X, kernel, nu, tol=1e-6, alpha=rng.random(80)).alpha
    # α itself is determined less well than what it is used for.
    for other in (permuted, elsewhere):
        bound = dual.value_bound(solution.alpha, other)
        np.testing.assert_allclose(dual.values(other), dual.values(solution.alpha), atol=bound)
        assert dual.objective(other) == pytest.approx(solution.objective, rel=0, abs=1e-6 / dual.total)


@over_memory
@in_small_parts
def test_weights_are_repetitions(rng, memory_mb):
    X, weights = rng.standard_normal((200, 3)), rng.integers(0, 4, 200)
    weighted = solve_one_class(X, GAUSSIAN, 0.2, sample_weight=weights, tol=1e-5, memory_mb=memory_mb)
    repeated = solve_one_class(np.repeat(X, weights, axis=0), GAUSSIAN, 0.2, tol=1e-5, memory_mb=memory_mb)
    dual = Dual.of(X, GAUSSIAN, 0.2, weights)
    assert_solves(weighted, dual, 1e-5)
    assert np.all(weighted.alpha[weights == 0] == 0.0)
    gathered = np.zeros(200)
    np.add.at(gathered, np.repeat(np.arange(200), weights), repeated.alpha)
    bound = dual.value_bound(weighted.alpha, gathered)
    np.testing.assert_allclose(dual.values(weighted.alpha), dual.values(gathered), atol=bound)
    assert weighted.objective == pytest.approx(repeated.objective, rel=0, abs=1e-5 / dual.total)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_only_the_ratios_of_weights_count_but_for_the_tolerance(rng, factor):
    X, weights = rng.standard_normal((100, 2)), rng.random(100) + 0.1
    total = 0.2 * weights.sum()
    plain = solve_one_class(X, GAUSSIAN, 0.2, sample_weight=weights, tol=1e-5)
    # The tolerance is on the scale of Σα = ν Σs.
    scaled = solve_one_class(X, GAUSSIAN, 0.2, sample_weight=factor * weights, tol=1e-5 * factor)
    assert plain.converged
    assert scaled.converged
    assert scaled.objective == pytest.approx(plain.objective, rel=0, abs=1e-5 / total)


@pytest.mark.parametrize("sigma", [0.4, 3.0])
@in_small_parts
def test_warm_start_has_the_same_optimum_in_fewer_steps(rng, sigma):
    X, kernel = rng.standard_normal((400, 3)), Exponential(sigma=sigma)
    dual = Dual.of(X, kernel, 0.1)
    cold = solve_one_class(X, kernel, 0.1, tol=1e-5)
    again = solve_one_class(X, kernel, 0.1, tol=1e-5, alpha=cold.alpha)
    near = solve_one_class(X, kernel, 0.12, tol=1e-5, alpha=cold.alpha)
    assert_solves(again, dual, 1e-5)
    assert_solves(near, Dual.of(X, kernel, 0.12), 1e-5)
    assert again.objective == pytest.approx(cold.objective, rel=0, abs=1e-5 / dual.total)
    assert again.n_iter <= cold.n_iter // 4


def test_start_is_left_as_it_was_and_may_be_infeasible(rng):
    X = rng.standard_normal((100, 3))
    start = 5.0 * rng.standard_normal(100)
    before = start.copy()
    assert_solves(solve_one_class(X, GAUSSIAN, 0.3, alpha=start), Dual.of(X, GAUSSIAN, 0.3), 1e-3)
    np.testing.assert_array_equal(start, before)


@over_memory
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@in_small_parts
def test_sparse_is_dense(rng, memory_mb, container):
    X = rng.standard_normal((300, 30)) * (rng.random((300, 30)) < 0.3)
    kernel = Exponential(sigma=2.0)
    dual = Dual.of(X, kernel, 0.1)
    dense = solve_one_class(X, kernel, 0.1, tol=1e-5, memory_mb=memory_mb)
    other = solve_one_class(container(X), kernel, 0.1, tol=1e-5, memory_mb=memory_mb)
    assert_solves(other, dual, 1e-5)
    assert other.objective == pytest.approx(dense.objective, rel=0, abs=1e-5 / dual.total)


def test_float32_rows_are_the_numbers_they_are(rng):
    X = rng.standard_normal((300, 5)).astype(np.float32)
    kernel = Exponential(sigma=1.5)
    single = solve_one_class(X, kernel, 0.1, tol=1e-6)
    assert_solves(single, Dual.of(X, kernel, 0.1), 1e-6)
    np.testing.assert_allclose(
        single.alpha, solve_one_class(X.astype(np.float64), kernel, 0.1, tol=1e-6).alpha, atol=1e-12
    )


def test_shift_and_scale_of_rows_and_bandwidth(rng):
    X = rng.standard_normal((200, 3))
    plain = solve_one_class(X, Exponential(sigma=0.8), 0.1, tol=1e-5)
    for shift, scale in [(1e6, 1.0), (0.0, 1e6), (0.0, 1e-6)]:
        moved = solve_one_class(scale * X + shift, Exponential(sigma=0.8 * scale), 0.1, tol=1e-5)
        assert moved.converged
        assert moved.objective == pytest.approx(plain.objective, rel=0, abs=1e-5 / 20)


# ---- edges ------------------------------------------------------------------------------------------------


@over_all
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_a_handful_of_rows(kernel, n, nu):
    X = np.arange(2.0 * n).reshape(n, 2)
    tol = 1e-3 * height(kernel)
    assert_solves(solve_one_class(X, kernel, nu, tol=tol), Dual.of(X, kernel, nu), tol)


@over_memory
@over_all
@in_small_parts
def test_all_rows_equal(memory_mb, kernel):
    X = np.full((200, 3), 1.7)
    tol = 1e-3 * height(kernel)
    solution = solve_one_class(X, kernel, 0.3, tol=tol, memory_mb=memory_mb)
    assert_solves(solution, Dual.of(X, kernel, 0.3), tol)
    assert solution.objective == pytest.approx(0.5 * height(kernel))
    assert solution.rho == pytest.approx(height(kernel))


@over_memory
@in_small_parts
def test_many_duplicates(rng, memory_mb):
    X = rng.standard_normal((20, 3))[rng.integers(0, 20, 400)]
    solution = solve_one_class(X, GAUSSIAN, 0.2, tol=1e-5, memory_mb=memory_mb)
    assert_solves(solution, Dual.of(X, GAUSSIAN, 0.2), 1e-5)


@over_memory
@in_small_parts
def test_all_at_the_bound(rng, memory_mb):
    solution = solve_one_class(rng.standard_normal((150, 2)), GAUSSIAN, 1.0, memory_mb=memory_mb)
    np.testing.assert_allclose(solution.alpha, 1 / 150, rtol=1e-9)
    assert solution.violation == 0.0
    assert solution.converged
    assert np.isfinite(solution.rho)


@over_memory
@in_small_parts
def test_one_far_outlier_and_a_bandwidth_far_too_small(rng, memory_mb):
    X = rng.standard_normal((300, 3))
    X[0] = 1e5
    for sigma in (1e-3, 1e-9):  # K is the identity
        kernel = Exponential(sigma=sigma)
        solution = solve_one_class(X, kernel, 0.1, tol=1e-5, memory_mb=memory_mb)
        assert_solves(solution, Dual.of(X, kernel, 0.1), 1e-5)
        np.testing.assert_allclose(solution.alpha, 1 / 300, atol=1e-5 / 30)


@in_small_parts
def test_same_bytes_every_time(rng):
    X = rng.standard_normal((400, 3))
    first, second = (solve_one_class(X, Exponential(sigma=0.4), 0.1) for _ in range(2))
    np.testing.assert_array_equal(first.alpha, second.alpha)


@pytest.mark.parametrize("max_iter", [1, 3, 20])
def test_too_few_steps_are_reported(rng, max_iter):
    X = rng.standard_normal((200, 3))
    solution = solve_one_class(X, GAUSSIAN, 0.2, max_iter=max_iter, tol=1e-6)
    assert not solution.converged
    assert solution.n_iter == max_iter
    Dual.of(X, GAUSSIAN, 0.2).assert_feasible(solution.alpha)
    assert solution.violation == pytest.approx(Dual.of(X, GAUSSIAN, 0.2).violation(solution.alpha), rel=1e-6)


@over_memory
@in_small_parts
def test_too_few_steps_in_every_path(rng, memory_mb):
    X, kernel = rng.standard_normal((500, 3)), Exponential(sigma=0.3)
    solution = solve_one_class(X, kernel, 0.2, max_iter=15, tol=1e-6, memory_mb=memory_mb)
    assert not solution.converged
    assert solution.n_iter <= 15
    Dual.of(X, kernel, 0.2).assert_feasible(solution.alpha)


# ---- progress ---------------------------------------------------------------------------------------------


@over_memory
@pytest.mark.parametrize("sigma", [0.4, 3.0])
@in_small_parts
def test_progress_is_told_steps_and_violation_in_order(rng, memory_mb, sigma):
    calls = []
    solution = solve_one_class(
        rng.standard_normal((400, 3)),
        Exponential(sigma=sigma),
        0.1,
        memory_mb=memory_mb,
        progress=lambda steps, violation: calls.append((steps, violation)),
    )
    steps = [step for step, _ in calls]
    assert steps == sorted(steps)
    assert steps[-1] == solution.n_iter
    assert all(violation >= 0.0 for _, violation in calls)


@over_memory
@pytest.mark.parametrize("call", [1, 2, 3])
@in_small_parts
def test_progress_may_interrupt(rng, memory_mb, call):
    calls = []

    def stop(*told):
        calls.append(told)
        if len(calls) == call:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_one_class(
            rng.standard_normal((400, 3)),
            Exponential(sigma=0.4),
            0.1,
            tol=1e-6,
            memory_mb=memory_mb,
            progress=stop,
        )
    assert len(calls) == call
