"""Exemplar mixture: EM as plain loops, the optimum, pruning, memory, weights, warnings."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import whyodd
from whyodd import ExemplarMixture, KernelDensity
from whyodd.compute.training.gram import RadialPoints
from whyodd.kernels import Exponential, Student
from whyodd.models.fitting import exemplar_weights as climbing
from whyodd.models.fitting.exemplar_weights import SimilarityMatrix, exemplar_weights

KERNELS = [Exponential(sigma=0.8), Exponential(q=1.0, sigma=0.5), Student(a=3.0, sigma=0.5)]
over_kernels = pytest.mark.parametrize("kernel", KERNELS, ids=str)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def training_rows(rng):
    return rng.standard_normal((150, 2))


def gram(X, kernel):
    """k_ij / k(0)."""
    d2 = ((X[:, None] - X) ** 2).sum(axis=-1)
    return np.exp(kernel.log_similarity(d2) - kernel.log_similarity(np.zeros(1)))


def plain_em(K, w, n_iter):
    """EM as loops over rows and exemplars; the objective before each step."""
    n = len(w)
    alpha, values = list(w), []
    for _ in range(n_iter):
        g = [sum(K[i][j] * alpha[j] for j in range(n)) for i in range(n)]
        values.append(sum(w[i] * np.log(g[i]) for i in range(n)))
        alpha = [alpha[j] * sum(w[i] * K[i][j] / g[i] for i in range(n)) for j in range(n)]
    return np.array(alpha), values


def solve(X, weights, kernel, tol=1e-3, max_iter=5000, memory_mb=100.0):
    return exemplar_weights(X, weights, kernel, tol=tol, max_iter=max_iter, memory_mb=memory_mb)


@over_kernels
def test_no_worse_than_plain_em(X, rng, kernel):
    rows, weights = X[:40], rng.integers(1, 4, 40).astype(float)
    w = weights / weights.sum()
    K = gram(rows, kernel)
    alpha, values = plain_em(K.tolist(), w.tolist(), 300)
    assert np.all(np.diff(values) > -1e-12)
    solution = solve(rows, weights, kernel, tol=1e-4)
    assert w @ np.log(K @ solution.alpha) >= w @ np.log(K @ alpha) - 1e-4


def test_first_step_is_that_of_em(X, monkeypatch):
    monkeypatch.setattr(climbing, "_STRETCH", 1.0)
    kernel, w = Exponential(sigma=0.8), np.full(30, 1 / 30)
    alpha, _ = plain_em(gram(X[:30], kernel).tolist(), w.tolist(), 5)
    solution = solve(X[:30], w, kernel, tol=1e-12, max_iter=5)
    assert solution.n_iter == 5
    np.testing.assert_allclose(solution.alpha, alpha, rtol=1e-4, atol=1e-7)  # similarities in float32


@over_kernels
@pytest.mark.parametrize("tol", [1e-2, 1e-3])
def test_optimality(X, kernel, tol):
    """Concave: α is optimal if no gradient c_j exceeds Σ_j α_j c_j = 1; the gap bounds what is missing."""
    solution = solve(X, np.ones(150), kernel, tol=tol)
    K, w = gram(X, kernel), np.full(150, 1 / 150)
    assert solution.alpha.sum() == pytest.approx(1.0)
    assert np.all(solution.alpha >= 0.0)
    gradient = K.T @ (w / (K @ solution.alpha))
    assert np.log(gradient.max()) <= tol + 1e-5
    assert solution.gap == pytest.approx(np.log(gradient.max()), abs=1e-5)
    better = solve(X, np.ones(150), kernel, tol=5e-5, max_iter=20_000)
    assert w @ np.log(K @ better.alpha) - w @ np.log(K @ solution.alpha) <= solution.gap


@over_kernels
@pytest.mark.parametrize("memory_mb", [100.0, 1e-3])
def test_log_likelihood_never_falls(X, kernel, memory_mb):
    """But for what points that are given up take with them, 1e-4 of an even weight each."""
    values = solve(X, np.ones(150), kernel, tol=1e-4, memory_mb=memory_mb).log_likelihoods
    assert len(values) > 10
    assert np.diff(values).min() > -2e-4
    assert values[-1] > values[0]


def test_a_longer_step_that_fails_is_taken_back(X, monkeypatch):
    """Steps that grow wildly overshoot again and again; what is accepted still never falls."""
    monkeypatch.setattr(climbing, "_STRETCH", 5.0)
    solution = solve(X, np.ones(150), Exponential(sigma=0.8), tol=1e-3)
    assert solution.gap <= 1e-3
    assert solution.n_iter > len(solution.log_likelihoods)
    assert np.diff(solution.log_likelihoods).min() > -2e-4


def test_points_given_up_too_early_are_taken_back(X, monkeypatch):
    monkeypatch.setattr(climbing, "_VANISHED", 0.9)
    solution = solve(X, np.ones(150), Exponential(sigma=0.3), tol=1e-3)
    assert solution.gap <= 1e-3


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_similarities_kept_or_computed_anew(X, rng, layout):
    points = RadialPoints.of(layout(X), KERNELS[0])
    columns = np.arange(0, 150, 3)
    K = gram(X, KERNELS[0])[:, columns]
    alpha, v = rng.random(50), rng.random(150)
    for memory_mb in (10.0, 1e-6):
        matrix = SimilarityMatrix(points, columns, memory_mb)
        np.testing.assert_allclose(matrix.forward(alpha), K @ alpha, rtol=1e-5)
        np.testing.assert_allclose(matrix.backward(v), K.T @ v, rtol=1e-5)


def test_attributes(X):
    model = ExemplarMixture(sigma=0.8).fit(X)
    assert model.kernel_ == Exponential(sigma=0.8)
    assert 2 < len(model.exemplars_) < 100
    assert np.all(np.diff(model.exemplars_) > 0)
    assert model.weights_.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(model.network_.centers, X[model.exemplars_])
    assert model.log_likelihood_ == pytest.approx(np.log(model.inlierness(X)).mean(), rel=1e-9)
    assert model.gap_ <= 1e-3
    assert 1 < model.n_iter_ < 1000


def test_fits_better_than_even_weights(X):
    fitted = ExemplarMixture(sigma=0.5).fit(X)
    even = KernelDensity(sigma=0.5).fit(X)
    assert fitted.log_density(X).mean() > even.log_density(X).mean() + 0.01


def test_bandwidth_decides_how_many_exemplars(X):
    counts = [len(ExemplarMixture(sigma=sigma).fit(X).exemplars_) for sigma in (0.01, 0.3, 2.0)]
    assert counts[0] == 150  # every row for itself
    assert counts[0] > counts[1] > counts[2]
    np.testing.assert_allclose(ExemplarMixture(sigma=0.01).fit(X).weights_, 1 / 150, rtol=0.05)


def test_two_clusters_are_weighted_by_their_size():
    X = np.repeat([[0.0, 0.0], [100.0, 0.0]], [30, 10], axis=0) + 1e-3 * np.arange(40)[:, None]
    model = ExemplarMixture(sigma=1.0, tol=1e-4, max_iter=100_000).fit(X)
    left = model.network_.centers[:, 0] < 50.0
    assert model.weights_[left].sum() == pytest.approx(0.75, abs=1e-3)


def test_weights_without_scale(X, rng):
    weights = rng.random(150) + 0.1
    first, second = (ExemplarMixture(sigma=0.8).fit(X, sample_weight=f * weights) for f in (1.0, 100.0))
    np.testing.assert_allclose(first.outlierness(X), second.outlierness(X), rtol=1e-6)


def test_copies_share_the_weight_of_their_exemplar(X):
    rows = np.concatenate([X, X])
    model = ExemplarMixture(sigma=0.8).fit(rows)
    once = ExemplarMixture(sigma=0.8).fit(X)
    # Merged rows come in another order, in which sums round differently; both are within the tolerance.
    assert model.log_likelihood_ == pytest.approx(once.log_likelihood_, abs=1e-3)
    np.testing.assert_allclose(model.outlierness(X), once.outlierness(X), rtol=0.01)
    alpha = np.zeros(300)
    alpha[model.exemplars_] = model.weights_
    np.testing.assert_allclose(alpha[:150], alpha[150:])


def test_small_memory_gives_the_same_model(X):
    small, large = (ExemplarMixture(sigma=0.8, memory_mb=mb).fit(X) for mb in (1e-3, 100.0))
    assert small.log_likelihood_ == pytest.approx(large.log_likelihood_, abs=1e-3)  # the tolerance
    np.testing.assert_allclose(small.outlierness(X), large.outlierness(X), rtol=0.01)


def test_too_few_iterations_warn(X):
    with pytest.warns(ConvergenceWarning, match="after 3 iterations.*Raise max_iter or tol") as caught:
        model = ExemplarMixture(sigma=0.8, max_iter=3).fit(X)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 3
    assert model.gap_ > 1e-3


def test_a_single_exemplar():
    """A bandwidth far beyond the data: one row may carry all the weight, and still has a threshold."""
    X = np.array([[-1.0], [0.0], [1.0]])
    model = ExemplarMixture(sigma=10.0, tol=1e-7, max_iter=100_000).fit(X)
    assert np.isfinite(model.threshold_)
    assert model.predict([[100.0]])[0] == -1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tol": 0.0}, "tol=0.0: expected a number above 0"),
        ({"tol": "small"}, "tol='small': expected a number above 0"),
        ({"memory_mb": -1}, "memory_mb=-1: expected a number above 0"),
        ({"max_iter": 0}, "max_iter=0: expected a number of iterations of at least 1"),
        ({"max_iter": 1.5}, "max_iter=1.5: expected a number of iterations of at least 1"),
        ({"sigma": "best"}, "sigma='best': expected a positive number, one of 'likelihood'"),
        ({"kernel": "box"}, "kernel='box': expected one of"),
        ({"kernel": "student"}, "sigma='likelihood' needs a density"),
    ],
    ids=str,
)
def test_wrong_parameters(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        ExemplarMixture(**parameters).fit(X)


def test_explanation_of_a_far_row(X):
    e = whyodd.explain(ExemplarMixture().fit(X), [[0.0, 8.0]])
    assert e.relevance[0, 1] > 0.9 * e.relevance[0].sum()
