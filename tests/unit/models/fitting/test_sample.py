"""One-class SVMs that learn from a sample: the boundary of all rows, and what the sample costs at most."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import whyodd
from reference.one_class_dual import Dual
from whyodd import SVDD, OneClassSVM
from whyodd.kernels import Exponential
from whyodd.models.fitting.sample import Sample, boundary

NU = 0.1


@pytest.fixture(name="X")
def training_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 3))
    X[rng.random(1500) < 0.3] += 2.0
    return X


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=30).filter(
        lambda rows: any(weight for _, weight in rows)
    ),
    st.fractions(Fraction(1, 20), 1, max_denominator=20),
)
def test_boundary_is_the_largest_with_a_share_below(rows, nu):
    values, weights = np.array(rows, dtype=float).T
    total = sum(weight for _, weight in rows)

    def share_below(rho):
        return Fraction(sum(weight for value, weight in rows if value < rho), total)

    best = max(value for value, weight in rows if weight and share_below(value) <= nu)
    assert boundary(values, weights, float(nu)) == best
    assert share_below(best) <= nu


def test_rows_are_drawn_once_or_by_weight():
    plain = Sample.draw(100, None, 30, 0)
    assert plain.weights is None
    assert len(np.unique(plain.rows)) == 30
    weights = np.repeat([0.0, 1.0, 3.0], 1000)
    drawn = Sample.draw(3000, weights, 1500, 0)
    assert drawn.weights.sum() == 1500
    counts = drawn.of_all(drawn.weights).reshape(3, 1000).sum(axis=1)
    assert counts[0] == 0
    assert counts[2] / 1500 == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / 1500))


@pytest.mark.parametrize("weights", [None, np.arange(40.0)])
def test_all_rows_where_there_are_not_more(weights):
    for most in (None, 40, 50):
        sample = Sample.draw(40, weights, most, 0)
        assert not sample.is_part
        assert sample.weights is weights


@pytest.mark.parametrize("layout", [np.asarray, csr_array, np.float32])
def test_as_many_samples_as_rows_change_nothing(X, layout):
    full, same = (OneClassSVM(sigma=1.0, max_samples=most).fit(layout(X)) for most in (None, len(X)))
    np.testing.assert_array_equal(full.support_, same.support_)
    np.testing.assert_array_equal(full.weights_, same.weights_)
    assert full.threshold_ == same.threshold_
    assert full.gap_ == same.gap_ == 0.0


@pytest.mark.parametrize("layout", [np.asarray, csr_array, np.float32])
@pytest.mark.parametrize("cls", [OneClassSVM, SVDD])
def test_support_vectors_are_rows_and_the_boundary_is_that_of_all(X, layout, cls):
    model = cls(sigma=1.0, nu=NU, max_samples=400).fit(layout(X))
    network = model.network_
    assert network.n_rows == len(X)
    np.testing.assert_array_equal(network.rows, model.support_)
    X = layout(X)
    assert (network.centers != X[model.support_]).sum() == 0
    outliers = np.mean(model.predict(X) == -1)
    assert NU - 2 / X.shape[0] <= outliers <= NU
    e = whyodd.explain(model, X, exclude_self=True)
    own = e.excluded >= 0
    np.testing.assert_array_equal(np.flatnonzero(own), model.support_)
    if cls is SVDD:
        inside = model.distance(X) <= model.radius_ * (1 + 1e-5)
        assert np.mean(inside) == pytest.approx(1 - NU, abs=2 / X.shape[0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_gap_bounds_what_the_sample_costs(X, sigma, weighted):
    """In all but 5 % of samples; of 40 more than 5 failures have a chance of 1 in 70 at worst."""
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else None
    counts = np.ones(len(X)) if weights is None else weights
    full = OneClassSVM(sigma=sigma, nu=NU, tol=1e-6).fit(X, sample_weight=weights)
    best, within, uniform = full.dual_objective_, 0, 0
    new = np.random.default_rng(2).uniform(-4, 6, size=(500, 3))
    for seed in range(40):
        model = OneClassSVM(sigma=sigma, nu=NU, tol=1e-6, max_samples=400, random_state=seed)
        model.fit(X, sample_weight=weights)
        norm, g = model.dual_objective_, model.inlierness(X)
        rho = math.exp(-model.threshold_)
        losses = np.maximum(rho - g, 0.0) / NU
        # By duality the best primal value of all rows is -½ αᵀKα at their solution.
        cost = norm - rho + np.average(losses, weights=counts) + best
        assert cost > -1e-6 * best
        within += cost <= model.gap_ * norm
        apart = np.abs(model.inlierness(new) - full.inlierness(new)).max()
        uniform += apart <= math.sqrt(2 * model.gap_ * norm)
    assert within >= 35
    assert uniform >= 35


def test_gap_shrinks_with_the_sample(X):
    gaps = [OneClassSVM(sigma=1.0, max_samples=most).fit(X).gap_ for most in (100, 300, 900)]
    assert gaps == sorted(gaps, reverse=True)


def test_rows_far_from_the_sample_leave_a_boundary(X):
    """Where more than a share ν of all rows is so far from those drawn that g is 0 in floating point."""
    model = OneClassSVM(sigma=1e-3, nu=0.5, max_samples=100).fit(X)
    assert model.inlierness(X).min() == 0.0
    assert np.isfinite(model.threshold_)
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.5, abs=2 / len(X))


def test_the_seed_decides(X):
    first, second, other = (
        OneClassSVM(sigma=1.0, max_samples=300, random_state=seed).fit(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.support_, second.support_)
    assert not np.array_equal(first.support_, other.support_)


def test_warm_start_from_the_same_sample(X):
    model = OneClassSVM(sigma=1.0, max_samples=300, warm_start=True, tol=1e-5).fit(X)
    steps = model.n_iter_
    assert model.fit(X).n_iter_ <= steps // 4


def test_violation_is_that_of_the_sample(X):
    """What was solved is the problem of the rows drawn, to the tolerance."""
    model = OneClassSVM(sigma=1.0, nu=NU, max_samples=300, tol=1e-5).fit(X)
    drawn = Sample.draw(len(X), None, 300, 0)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.weights_
    dual = Dual.of(X[drawn.rows], Exponential(sigma=1.0), NU)
    dual.assert_feasible(alpha[drawn.rows])
    assert dual.violation(alpha[drawn.rows]) <= 1e-5 * (1 + 1e-3)


@pytest.mark.parametrize("most", [1, 0, 2.5, "auto"])
def test_no_number_of_rows(X, most):
    with pytest.raises(ValueError, match=r"max_samples=.*: expected at least 2 rows"):
        OneClassSVM(max_samples=most).fit(X)


@pytest.mark.parametrize("seed", range(5))
def test_a_sample_of_equal_rows_takes_the_bandwidth_of_all(seed):
    X = np.repeat([[0.0, 1.0], [2.0, 0.5], [1.0, -1.0]], 100, axis=0)
    model = whyodd.OneClassSVM(max_samples=2, random_state=seed).fit(X)
    assert np.isfinite(model.outlierness(X)).all()
    heavy = np.where(np.arange(300) == 0, 1e9, 1e-9)
    model = whyodd.OneClassSVM(max_samples=2, random_state=seed).fit(X, sample_weight=heavy)
    assert np.isfinite(model.outlierness(X)).all()


@pytest.mark.parametrize("weight", [1e308, 5e-324])
@pytest.mark.parametrize("max_samples", [None, 10])
def test_weights_whose_sum_no_float_holds_are_an_error(weight, max_samples):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = whyodd.OneClassSVM(sigma=1.0, max_samples=max_samples)
    with pytest.raises(ValueError, match=r"The sum of sample_weight is \S+, beyond .* Divide the weights"):
        model.fit(X, sample_weight=np.full(30, weight))
