"""One-class SVM and SVDD: as libsvm on real data, kernels and bandwidths, wrong input, interruption."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

import whyodd
from reference.one_class_dual import Dual, gram
from whyodd import SVDD, OneClassSVM
from whyodd.kernels import Exponential, Student
from whyodd.models import one_class_svm
from whyodd.models.bandwidth.rules import BANDWIDTHS, median_bandwidth, nn_bandwidth, scale_bandwidth

BOTH = pytest.mark.parametrize("cls", [OneClassSVM, SVDD])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def training_rows(rng):
    return rng.standard_normal((200, 3))


# ---- real data --------------------------------------------------------------------------------------------


def table(data_dir, name, n=2000):
    X = np.load(data_dir / "adbench" / f"{name}.npz")["X"].astype(np.float64)
    if len(X) > n:
        X = X[np.random.default_rng(0).choice(len(X), n, replace=False)]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def patches(data_dir, n):
    images = np.load(data_dir / "cifar10" / "cifar10_subset.npz")["x_train"]
    rng = np.random.default_rng(0)
    picks = zip(rng.integers(0, len(images), n), rng.integers(0, 26, n), rng.integers(0, 26, n), strict=True)
    return np.stack([images[i, r : r + 7, c : c + 7].ravel() for i, r, c in picks]).astype(np.float64)


TABLES = ["2_annthyroid", "6_cardio", "12_fault", "25_musk", "30_satellite"]


def assert_same_as_libsvm(X, sigma, nu, tol=1e-6, scored=None):
    """Both solve to a tight tolerance: at the usual one libsvm's own error is larger than what is allowed.

    Decision values are compared on the rows ``scored``, by default the training rows.
    """
    scored = X if scored is None else scored
    theirs = svm.OneClassSVM(nu=nu, gamma=0.5 / sigma**2, tol=tol, cache_size=500).fit(X)
    ours = OneClassSVM(nu=nu, sigma=sigma, tol=tol).fit(X)
    assert ours.violation_ <= tol
    dual = Dual.of(X, Exponential(sigma=sigma), nu)
    alpha, alpha_theirs = np.zeros(len(X)), np.zeros(len(X))
    alpha[ours.support_] = ours.weights_
    alpha_theirs[theirs.support_] = theirs.dual_coef_[0] / (nu * len(X))
    dual.assert_feasible(alpha)
    assert dual.violation(alpha) <= tol * (1 + 1e-3)
    assert dual.objective(alpha) <= dual.objective(alpha_theirs) * (1 + 1e-5)
    # Decision values on the scale of Σα = 1: libsvm's is νn times that.
    decision = ours.inlierness(scored) - np.exp(-ours.threshold_)
    decision_theirs = theirs.decision_function(scored) / (nu * len(X))
    assert np.abs(decision - decision_theirs).max() <= 1e-3 * np.ptp(decision_theirs)


@pytest.mark.full
@pytest.mark.data
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("nu", [0.05, 0.2])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_same_as_libsvm_on_real_tables(data_dir, name, nu, share):
    X = table(data_dir, name)
    assert_same_as_libsvm(X, share * scale_bandwidth(X), nu)


@pytest.mark.data
@pytest.mark.parametrize("factor", [1.0, 10.0])
def test_same_as_libsvm_on_patches(data_dir, factor):
    X = patches(data_dir, 1000)
    assert_same_as_libsvm(X, factor * nn_bandwidth(X), 0.1)


@pytest.mark.full
@pytest.mark.data
def test_same_as_libsvm_on_digits(data_dir):
    """At this bandwidth nearly every row is on the boundary: decision values differ on other rows only."""
    with np.load(data_dir / "mnist" / "mnist.npz") as mnist:
        zeros = mnist["x_train"][mnist["y_train"] == 0][:1000].reshape(1000, -1).astype(np.float64)
        others = mnist["x_test"][:1000].reshape(1000, -1).astype(np.float64)
    assert_same_as_libsvm(zeros, 400.0, 0.01, scored=others)


@pytest.mark.full
@pytest.mark.data
@pytest.mark.parametrize("name", TABLES)
def test_default_tolerance_on_real_tables(data_dir, name):
    X = table(data_dir, name)
    sigma = scale_bandwidth(X)
    theirs = svm.OneClassSVM(nu=0.1, gamma=0.5 / sigma**2).fit(X)
    ours = OneClassSVM(nu=0.1, sigma=sigma).fit(X)
    dual = Dual.of(X, Exponential(sigma=sigma), 0.1)
    alpha, alpha_theirs = np.zeros(len(X)), np.zeros(len(X))
    alpha[ours.support_] = ours.weights_
    alpha_theirs[theirs.support_] = theirs.dual_coef_[0] / (0.1 * len(X))
    assert dual.violation(alpha) <= 1e-3 * (1 + 1e-3)
    assert dual.objective(alpha) <= dual.objective(alpha_theirs) * (1 + 1e-5)
    assert ours.dual_objective_ == pytest.approx(dual.objective(alpha), rel=1e-6)  # float32 similarities


@pytest.mark.data
@pytest.mark.parametrize("family", ["exponential", "student"])
@pytest.mark.parametrize("q", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("rule", ["nn", "median"])
@BOTH
def test_every_kernel_of_the_paper_trains_on_real_patches(data_dir, cls, family, q, rule):
    X = patches(data_dir, 600)
    model = cls(kernel=family, q=q, sigma=rule).fit(X[:500])  # a ConvergenceWarning would be an error
    assert model.violation_ <= 1e-3
    for rows in (X[500:], X[:500]):  # new rows, and training rows without themselves
        e = whyodd.explain(model, rows)
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
        assert np.all(e.relevance >= 0.0)
        assert np.all(e.unexplained >= 0.0)


@pytest.mark.data
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "student"])
@pytest.mark.parametrize("rule", ["nn", "median"])
def test_at_most_a_share_nu_of_real_training_rows_are_outliers(data_dir, kernel, rule):
    """As the documentation of nu has it. With "nn" hundreds of free support vectors lie on the boundary."""
    X = patches(data_dir, 500)
    model = OneClassSVM(kernel=kernel, sigma=rule).fit(X)
    assert np.mean(model.predict(X) == -1) <= 0.1 + 3 / 500


# ---- attributes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Exponential(), Exponential(q=1.0), Student(), Student(a=50.0)], ids=str)
def test_attributes_describe_the_solution(X, kernel):
    model = OneClassSVM(kernel=kernel, nu=0.2, tol=1e-5).fit(X)
    dual = Dual.of(X, kernel, 0.2)
    alpha = np.zeros(200)
    alpha[model.support_] = model.weights_
    dual.assert_feasible(alpha)
    assert model.kernel_ is kernel
    assert np.all(model.weights_ > 0.0)
    assert np.all(np.diff(model.support_) > 0)
    assert model.dual_objective_ == pytest.approx(dual.objective(alpha), rel=1e-6)
    assert model.violation_ == pytest.approx(dual.violation(alpha), abs=1e-9 * dual.total)
    assert model.violation_ <= 1e-5
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ > 0
    # On the boundary, where free support vectors lie, o is the threshold.
    free = dual.total * alpha < 1 - 1e-9
    boundary = model.outlierness(X[free & (alpha > 0)])
    g = dual.values(alpha).min()
    np.testing.assert_allclose(boundary, model.threshold_, rtol=2e-5 / (dual.total * g) + 1e-6)


def test_warm_start(X):
    cold = OneClassSVM(sigma="median", tol=1e-5).fit(X)
    model = OneClassSVM(sigma="median", tol=1e-5, warm_start=True).fit(X)
    first = model.n_iter_
    assert first == cold.n_iter_  # nothing to start from
    model.fit(X)
    assert model.n_iter_ <= first // 4
    assert model.violation_ <= 1e-5
    assert model.dual_objective_ == pytest.approx(cold.dual_objective_, abs=1e-5 / 20)
    model.set_params(nu=0.12).fit(X)  # a nearby problem
    plain = OneClassSVM(sigma="median", tol=1e-5, nu=0.12).fit(X)
    assert model.dual_objective_ == pytest.approx(plain.dual_objective_, abs=1e-5 / 24)
    model.fit(X[:150])  # another number of rows: from the beginning, without complaint
    assert model.network_.n_rows == 150
    assert clone(model).fit(X).n_iter_ > 0


def test_sample_weight_is_repetition(X, rng):
    weights = rng.integers(0, 4, 200)
    weighted = OneClassSVM(sigma=1.0, tol=1e-5).fit(X, sample_weight=weights)
    repeated = OneClassSVM(sigma=1.0, tol=1e-5).fit(np.repeat(X, weights, axis=0))
    dual = Dual.of(X, Exponential(), 0.1, weights)
    alpha, gathered = np.zeros(200), np.zeros(200)
    alpha[weighted.support_] = weighted.weights_
    np.add.at(gathered, np.repeat(np.arange(200), weights)[repeated.support_], repeated.weights_)
    np.testing.assert_allclose(
        weighted.inlierness(X), repeated.inlierness(X), atol=dual.value_bound(alpha, gathered)
    )
    assert np.all(weights[weighted.support_] > 0)


@pytest.mark.parametrize("rule", ["nn", "median", "scale"])
def test_rows_without_weight_do_not_count_for_the_bandwidth(X, rule):
    far = np.concatenate([X, 1e3 + X])
    weights = np.repeat([1.0, 0.0], 200)
    model = OneClassSVM(sigma=rule).fit(far, sample_weight=weights)
    assert model.kernel_.sigma == pytest.approx(BANDWIDTHS[rule](X), rel=1e-12)


def test_verbose_tells_on_standard_error_only(X, capsys):
    OneClassSVM(verbose=True).fit(X)
    assert capsys.readouterr().out == ""


def test_small_memory_gives_the_same_model(X):
    small, large = (OneClassSVM(sigma="median", memory_mb=mb, tol=1e-5).fit(X) for mb in (1.0, 2000.0))
    np.testing.assert_allclose(small.outlierness(X), large.outlierness(X), rtol=1e-3)


# ---- SVDD -------------------------------------------------------------------------------------------------

SVDD_KERNELS = [Exponential(), Exponential(q=1.0), Student(), Student(a=0.01), Student(q=1.0, a=50.0)]


@pytest.mark.parametrize("kernel", SVDD_KERNELS, ids=str)
@pytest.mark.parametrize("nu", [0.05, 0.4])
def test_ball_around_the_points_in_feature_space(X, kernel, nu):
    height = float(np.exp(kernel.log_similarity(0.0)))
    model = SVDD(kernel=kernel, nu=nu, tol=1e-5 * height).fit(X)
    K = gram(X, kernel)
    alpha = np.zeros(200)
    alpha[model.support_] = model.weights_
    # Plain: ‖φ(x_i) - c‖² = k(0) - 2 (Kα)_i + αᵀKα.
    squared = height - 2.0 * K @ alpha + alpha @ K @ alpha
    np.testing.assert_allclose(model.distance(X) ** 2, squared, rtol=0, atol=1e-6 * height)
    free = (alpha > 0.0) & (nu * 200 * alpha < 1 - 1e-9)
    assert free.any()
    # All free ones are within the violation, over Σα; twice in the square.
    slack = 2.0 * 1e-5 * height / (nu * 200) + 1e-6 * height
    np.testing.assert_allclose(model.distance(X[free]) ** 2, model.radius_**2, rtol=0, atol=slack)
    assert model.dual_objective_ == pytest.approx(alpha @ np.diag(K) - alpha @ K @ alpha, rel=1e-6)
    inside = (nu * 200 * alpha) < 1 - 1e-9
    assert np.all(model.distance(X[inside]) ** 2 <= model.radius_**2 + slack)
    # Strong duality: R² + C Σ ξ_i = Σ α_i k(0) - αᵀKα, up to the gap that the violation leaves.
    slacks = np.maximum(squared - model.radius_**2, 0.0).sum() / (nu * 200)
    assert model.radius_**2 + slacks == pytest.approx(model.dual_objective_, abs=3 * slack)


@pytest.mark.parametrize("kernel", SVDD_KERNELS, ids=str)
def test_same_ordering_as_the_one_class_svm(X, rng, kernel):
    new = 2.0 * rng.standard_normal((100, 3))
    ball, plane = SVDD(kernel=kernel).fit(X), OneClassSVM(kernel=kernel).fit(X)
    np.testing.assert_array_equal(ball.outlierness(new), plane.outlierness(new))
    np.testing.assert_array_equal(ball.predict(new), plane.predict(new))
    assert ball.threshold_ == plane.threshold_
    order = np.argsort(plane.outlierness(new), kind="stable")
    assert np.all(np.diff(ball.distance(new)[order]) >= -1e-12)
    # Outside of the ball is what is called an outlier.
    outside = ball.distance(new) > ball.radius_
    clear = np.abs(ball.distance(new) - ball.radius_) > 1e-5 * ball.radius_
    np.testing.assert_array_equal(outside[clear], (ball.predict(new) == -1)[clear])


def test_unfitted_ball_has_no_distance(X):
    with pytest.raises(NotFittedError):
        SVDD().distance(X)


# ---- kernels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"kernel": "gaussian"}, Exponential(q=2.0, sigma=1.5)),
        ({"kernel": "gaussian", "q": 2}, Exponential(q=2.0, sigma=1.5)),
        ({"kernel": "laplacian"}, Exponential(q=1.0, sigma=1.5)),
        ({"kernel": "exponential"}, Exponential(q=2.0, sigma=1.5)),
        ({"kernel": "exponential", "q": 0.7}, Exponential(q=0.7, sigma=1.5)),
        ({"kernel": "student"}, Student(q=2.0, a=1.0, sigma=1.5)),
        ({"kernel": "student", "q": 1.0, "a": 3.0}, Student(q=1.0, a=3.0, sigma=1.5)),
        ({"kernel": "cauchy", "a": 0.1}, Student(q=2.0, a=0.1, sigma=1.5)),
        ({"kernel": Student(q=1.0, sigma=7.0)}, Student(q=1.0, sigma=7.0)),
        ({"kernel": Exponential(q=1.5, sigma=2.0), "sigma": "nn"}, Exponential(q=1.5, sigma=2.0)),
    ],
    ids=str,
)
def test_kernels_by_name_and_object(X, parameters, expected):
    model = OneClassSVM(**{"sigma": 1.5} | parameters).fit(X)
    assert model.kernel_ == expected
    assert model.network_.kernel == expected


def test_a_kernel_object_needs_no_bandwidth():
    """Its own is used: the rule is not even tried, also where it would fail."""
    same = np.concatenate([np.zeros((20, 2)), np.ones((1, 2))])
    assert OneClassSVM(kernel=Exponential(), sigma="median").fit(same).kernel_ == Exponential()


# ---- bandwidths -------------------------------------------------------------------------------------------


def test_scale_is_that_of_scikit_learn(X, rng):
    X = 3.0 * X + rng.standard_normal(3)
    theirs = svm.OneClassSVM(gamma="scale").fit(X)
    ours = OneClassSVM(sigma="scale").fit(X)
    assert 0.5 / ours.kernel_.sigma**2 == pytest.approx(theirs._gamma, rel=1e-12)
    theirs = svm.OneClassSVM(gamma="scale").fit(sparse.csr_array(X))
    ours = OneClassSVM(sigma="scale").fit(sparse.csr_array(X))
    assert 0.5 / ours.kernel_.sigma**2 == pytest.approx(theirs._gamma, rel=1e-9)


def test_median_is_that_of_all_pairs(X):
    assert median_bandwidth(X) == pytest.approx(np.median(pdist(X)), rel=1e-12)
    assert OneClassSVM(sigma="median").fit(X).kernel_.sigma == median_bandwidth(X)


def test_median_of_many_rows_is_close_and_repeatable(rng):
    X = rng.standard_normal((4000, 4))
    assert median_bandwidth(X) == pytest.approx(np.median(pdist(X)), rel=0.01)  # two million of eight
    assert median_bandwidth(X) == median_bandwidth(X)


@pytest.mark.parametrize("d", [2, 10])
def test_nn_is_the_tenth_part_quantile_of_nearest_distances(rng, d):
    X = rng.standard_normal((150, d))
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=-1)) + np.diag(np.full(150, np.inf))
    expected = np.quantile(distances.min(axis=1), 0.1)
    assert OneClassSVM().fit(X).kernel_.sigma == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_nn_counts_equal_rows_once(rng, d, container):
    X = rng.standard_normal((60, d))
    repeated = np.concatenate([np.repeat(X[:20], 7, axis=0), X[20:]])[rng.permutation(180)]
    assert nn_bandwidth(container(repeated)) == pytest.approx(nn_bandwidth(X), rel=1e-7)
    assert OneClassSVM().fit(container(repeated)).kernel_.sigma == pytest.approx(nn_bandwidth(X), rel=1e-7)


def test_nn_knows_equal_sparse_rows_however_they_are_stored():
    """Entries out of order and zeros that are stored: both rows are (1, 2, 0)."""
    entries = np.array([1.0, 2.0, 2.0, 1.0, 0.0, 3.0]), np.array([0, 1, 1, 0, 2, 2]), np.array([0, 2, 5, 6])
    X = sparse.csr_array(entries, shape=(3, 3))
    expected = np.sqrt(1 + 4 + 9)
    assert nn_bandwidth(X) == pytest.approx(expected)
    assert OneClassSVM().fit(X).kernel_.sigma == pytest.approx(expected)


@pytest.mark.parametrize("name", BANDWIDTHS)
def test_rules_on_csr_and_float32(rng, name):
    X = rng.standard_normal((300, 30)) * (rng.random((300, 30)) < 0.3)
    expected = BANDWIDTHS[name](X)
    assert BANDWIDTHS[name](sparse.csr_array(X)) == pytest.approx(expected, rel=1e-6)
    assert BANDWIDTHS[name](sparse.csr_matrix(X)) == pytest.approx(expected, rel=1e-6)
    assert BANDWIDTHS[name](X.astype(np.float32)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", BANDWIDTHS)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_rules_scale_with_the_data(X, name, factor):
    assert BANDWIDTHS[name](factor * X) == pytest.approx(factor * BANDWIDTHS[name](X), rel=1e-9)


def test_a_function_of_the_rows(X):
    seen = []

    def rule(rows):
        seen.append(rows.shape)
        return 2.5

    assert OneClassSVM(sigma=rule).fit(X).kernel_.sigma == 2.5
    assert seen == [(200, 3)]


def test_a_number_of_any_kind(X):
    for sigma in (2, 2.0, np.float32(2.0), np.int64(2)):
        assert OneClassSVM(sigma=sigma).fit(X).kernel_.sigma == 2.0


# ---- wrong input ------------------------------------------------------------------------------------------


def assert_clear(error, *words):
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    for word in words:
        assert word in message, f"{word!r} is not in {message!r}"


@BOTH
@pytest.mark.parametrize("nu", [0.0, -0.1, 1.0000001, 2, np.nan, np.inf, "0.1", None])
def test_nu_out_of_range(X, cls, nu):
    with pytest.raises(ValueError, match="nu=") as error:
        cls(nu=nu).fit(X)
    assert_clear(error, repr(nu), "(0, 1]")


@BOTH
@pytest.mark.parametrize("name", BANDWIDTHS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("value", [0.0, 1.7, 1e6 / 3])
def test_all_rows_equal_give_no_bandwidth(cls, name, container, value):
    with pytest.raises(ValueError, match="bandwidth of 0") as error:
        cls(sigma=name).fit(container(np.full((30, 8), value)))
    assert_clear(error, f"sigma={name!r}", "pass a number")


@BOTH
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "student"])
def test_all_rows_equal_with_a_bandwidth_given(cls, kernel):
    X = np.full((30, 3), 1.7)
    model = cls(kernel=kernel, sigma=1.0).fit(X)
    np.testing.assert_array_equal(model.predict(X), 1)  # none of them is odd
    assert model.predict(X[:1] + 10.0)[0] == -1
    e = whyodd.explain(model, X[:1] + 10.0)
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)


def test_constant_columns_do_no_harm(X):
    with_constant = np.column_stack([X, np.full(200, 5.0)])
    model, plain = OneClassSVM().fit(with_constant), OneClassSVM().fit(X)
    assert model.kernel_.sigma == pytest.approx(plain.kernel_.sigma)
    np.testing.assert_allclose(model.outlierness(with_constant), plain.outlierness(X), rtol=1e-3)


@BOTH
def test_one_row_is_too_few(cls):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        cls().fit([[1.0, 2.0]])


@BOTH
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "student"])
@pytest.mark.parametrize("nu", [0.1, 1.0])
def test_two_rows_are_enough(cls, kernel, nu):
    model = cls(kernel=kernel, nu=nu).fit([[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(model.weights_, 0.5)
    np.testing.assert_array_equal(model.predict([[0.0, 0.0], [1.0, 1.0], [50.0, 0.0]]), [1, 1, -1])


@BOTH
@pytest.mark.parametrize(("wrong", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_gaps_and_infinities(X, cls, wrong, name):
    X[3, 1] = wrong
    with pytest.raises(ValueError, match=f"^Input X contains {name}"):
        cls().fit(X)


@pytest.mark.parametrize("kernel", ["RBF", "Gaussian", ""])
def test_unknown_kernel(X, kernel):
    with pytest.raises(ValueError, match="kernel=") as error:
        OneClassSVM(kernel=kernel).fit(X)
    assert_clear(error, repr(kernel), "'gaussian'", "'student'")


@pytest.mark.parametrize("kernel", [None, 3, Exponential, ["gaussian"]])
def test_something_that_is_no_kernel(X, kernel):
    with pytest.raises((TypeError, ValueError), match="kernel="):
        OneClassSVM(kernel=kernel).fit(X)


@pytest.mark.parametrize("rule", ["NN", "auto", ""])
def test_unknown_rule(X, rule):
    with pytest.raises(ValueError, match="sigma=") as error:
        OneClassSVM(sigma=rule).fit(X)
    assert_clear(error, repr(rule), "'median'", "'nn'", "'scale'")


@pytest.mark.parametrize("rule", [None, True, [1.0], {}])
def test_something_that_is_no_rule(X, rule):
    with pytest.raises((TypeError, ValueError), match="sigma="):
        OneClassSVM(sigma=rule).fit(X)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_bandwidth_that_is_not_positive(X, value):
    with pytest.raises(ValueError, match="expected a finite number above 0") as error:
        OneClassSVM(sigma=value).fit(X)
    assert_clear(error, "sigma=")
    with pytest.raises(ValueError, match="expected a finite number above 0") as error:
        OneClassSVM(sigma=lambda _: value).fit(X)
    assert_clear(error, "function")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kernel": "gaussian", "q": 1.0}, "kernel='gaussian' has q=2, got q=1.0. Use kernel='exponential'"),
        (
            {"kernel": "laplacian", "q": 2.0},
            "kernel='laplacian' has q=1, got q=2.0. Use kernel='exponential'",
        ),
        ({"kernel": "cauchy", "q": 1.0}, "kernel='cauchy' has q=2, got q=1.0. Use kernel='student'"),
        ({"kernel": "student", "q": -1.0}, "Student(q=-1.0): expected a finite number above 0."),
        ({"kernel": "student", "a": 0.0}, "Student(a=0.0): expected a finite number above 0."),
        ({"kernel": "exponential", "q": "2"}, "Exponential(q='2'): expected a finite number above 0."),
    ],
    ids=str,
)
def test_degree_and_constant_that_do_not_fit(X, parameters, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}") as error:
        OneClassSVM(**parameters).fit(X)
    assert_clear(error)


@BOTH
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(199), ["(200,)", "(199,)"]),
        (np.ones((200, 1)), ["(200,)", "(200, 1)"]),
        (np.array(1.0), ["(200,)", "()"]),
        (np.where(np.arange(200) == 3, -1.0, 1.0), ["negative"]),
        (np.where(np.arange(200) == 3, np.nan, 1.0), ["finite"]),
        (np.where(np.arange(200) == 3, np.inf, 1.0), ["finite"]),
        (np.zeros(200), ["zero"]),
    ],
    ids=["short", "two-dimensional", "number", "negative", "nan", "infinite", "zero"],
)
def test_wrong_sample_weight(X, cls, weights, words):
    with pytest.raises(ValueError, match="sample_weight") as error:
        cls().fit(X, sample_weight=weights)
    assert_clear(error, *words)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tol", 0.0),
        ("tol", -1.0),
        ("tol", np.nan),
        ("max_iter", 0),
        ("max_iter", -1),
        ("memory_mb", 0.0),
        ("memory_mb", np.nan),
    ],
)
def test_other_parameters_out_of_range(X, name, value):
    """A tolerance of 0 would run for ever; all of these are mistakes."""
    with pytest.raises(ValueError, match=f"{name}="):
        OneClassSVM(**{"max_iter": 1000} | {name: value}).fit(X)


# ---- not converged, interrupted ---------------------------------------------------------------------------


@BOTH
def test_too_few_steps_warn_with_the_numbers(X, cls):
    model = cls(sigma="median", max_iter=5, tol=1e-6)
    sentence = (
        rf"^{cls.__name__} stopped after 5 steps with a violation of \d\.\de[-+]\d\d, above tol=1e-06\. "
        r"Raise max_iter or tol\.$"
    )
    with pytest.warns(ConvergenceWarning, match=sentence) as record:
        model.fit(X)
    assert record[0].filename == __file__  # the line that called fit
    assert model.violation_ > 1e-6
    assert model.n_iter_ == 5
    check_is_fitted(model)


@pytest.mark.parametrize("seed", range(4))
def test_indefinite_kernel_is_stationary_or_warns(seed):
    X = np.random.default_rng(seed).standard_normal((300, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = OneClassSVM(kernel="exponential", q=4.0, sigma=1.5, max_iter=100_000).fit(X)
    alpha = np.zeros(300)
    alpha[model.support_] = model.weights_
    left = Dual.of(X, model.kernel_, 0.1).violation(alpha)
    assert (left <= 1e-3 * (1 + 1e-6)) != any(w.category is ConvergenceWarning for w in caught)


@BOTH
@pytest.mark.parametrize("stage", ["solve_one_class", "network_of_rows", "bandwidth"])
def test_interrupted_fit_leaves_no_model_that_looks_fitted(X, cls, stage, monkeypatch):
    model = cls()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(one_class_svm, stage, interrupt)
        for _ in range(2):  # never fitted, then fitted before
            with pytest.raises(KeyboardInterrupt):
                model.fit(X)
            with pytest.raises(NotFittedError):
                check_is_fitted(model)
            with pytest.raises(NotFittedError):
                model.predict(X)
            with pytest.raises(NotFittedError):
                whyodd.explain(model, X)
            patch.undo()
            model.fit(X)
            patch.setattr(one_class_svm, stage, interrupt)
    check_is_fitted(model)


def test_interrupted_from_the_progress_report(X, monkeypatch):
    """Where Ctrl-C ends up: between two bursts of steps."""
    solve = one_class_svm.solve_one_class

    def interrupted(*arguments, **keywords):
        def stop(*_):
            raise KeyboardInterrupt

        return solve(*arguments, **keywords | {"progress": stop})

    model = OneClassSVM().fit(X)
    monkeypatch.setattr(one_class_svm, "solve_one_class", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_interrupted_warm_start_starts_again(X, monkeypatch):
    model = OneClassSVM(warm_start=True).fit(X)
    before = model.outlierness(X)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(one_class_svm, "solve_one_class", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    np.testing.assert_allclose(model.fit(X).outlierness(X), before, rtol=1e-12)


LONG_FIT = """
import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from whyodd import OneClassSVM

X = np.random.default_rng(0).standard_normal(({n}, 5))
model = OneClassSVM(sigma=3.0, tol=1e-16, max_iter=10**12)  # less than rounding leaves
model.set_params(tol=1e-3).fit(X[:300])
check_is_fitted(model)
model.set_params(tol=1e-16)
print("training", flush=True)
try:
    model.fit(X)
except KeyboardInterrupt:
    try:
        check_is_fitted(model)
    except NotFittedError:
        print("not fitted")
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a child there")
@pytest.mark.parametrize("n", [3000, 20_000], ids=["dense", "working-sets"])
@pytest.mark.race
def test_ctrl_c_during_a_long_fit(n):
    child = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT.format(n=n)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "training\n"
        time.sleep(0.7)
        assert child.poll() is None, "the fit was over before it was interrupted"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    finally:
        child.kill()
    assert (out, child.returncode) == ("not fitted\n", 0), err


@BOTH
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_warm_start_from_the_solution_itself_has_nothing_to_do(X, cls, share):
    """Coefficients at their bound come back from the model's log-weights at their bound, to the last bit."""
    model = cls(sigma=share * median_bandwidth(X), nu=0.3, tol=1e-5, warm_start=True).fit(X)
    assert model.n_iter_ > 0
    assert model.fit(X).n_iter_ == 0
