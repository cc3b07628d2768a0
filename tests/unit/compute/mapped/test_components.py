"""Passes for centers with a metric each: Gaussian densities, compiled loops, blocks, threads, memory."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from reference import pooled
from whyodd.compute.mapped import diagonal
from whyodd.compute.mapped.components import Components, factors_of
from whyodd.compute.mapped.rows import Mapped
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.distance_network import DistanceNetwork

MB = 2**20
M, D = 6, 4
RNG = np.random.default_rng(0)
X, CENTERS = 2 * RNG.normal(size=(50, D)), RNG.normal(size=(M, D))
LOG_WEIGHTS = np.log(RNG.dirichlet(np.ones(M)))
METRICS = {
    "diagonals": ComponentMetric(RNG.uniform(0.5, 2.0, (M, D))),
    "squares": ComponentMetric(RNG.normal(size=(M, D, D))),
    "onto fewer": ComponentMetric(RNG.normal(size=(M, 2, D))),
    "onto more": ComponentMetric(RNG.normal(size=(M, 7, D))),
    "one for all": LinearMetric(RNG.normal(size=(D, D))),
    "one diagonal": LinearMetric(np.diag(RNG.uniform(0.5, 2.0, D))),
}
over_metrics = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
THROUGH = LinearMap(RNG.normal(size=(D, 6)))


def made(metric, kernel=None):
    kernel = Exponential() if kernel is None else kernel
    return DistanceNetwork(CENTERS, kernel=kernel, log_weights=LOG_WEIGHTS, metric=metric)


def assert_same(got, wanted, tolerance=1e-12):
    scale = np.abs(wanted.relevance).max(axis=1, keepdims=True)
    np.testing.assert_allclose(got.relevance / scale, wanted.relevance / scale, rtol=0, atol=tolerance)
    o = wanted.outlierness
    np.testing.assert_allclose(got.outlierness / o, 1.0, rtol=tolerance)
    np.testing.assert_allclose(got.unexplained / o, wanted.unexplained / o, rtol=0, atol=tolerance)
    np.testing.assert_allclose(got.log_inlierness, wanted.log_inlierness, rtol=tolerance)


def test_log_density_of_a_gaussian_mixture():
    roots = RNG.normal(size=(M, D, D)) + 2 * np.eye(D)
    covariances = [np.linalg.inv(root.T @ root) for root in roots]
    heights = LOG_WEIGHTS + [np.linalg.slogdet(root)[1] for root in roots] - D / 2 * np.log(2 * np.pi)
    network = DistanceNetwork(CENTERS, log_weights=heights, metric=ComponentMetric(roots))
    parts = [
        weight + multivariate_normal(center, covariance).logpdf(X)
        for weight, center, covariance in zip(LOG_WEIGHTS, CENTERS, covariances, strict=True)
    ]
    np.testing.assert_allclose(
        logsumexp(heights) - network.outlierness(X), logsumexp(parts, axis=0), rtol=1e-10
    )


@over_metrics
@pytest.mark.parametrize("kernel", [Exponential(1.0, 0.7), Exponential(3.0), Student(2.0, 0.5)], ids=str)
def test_few_centers_take_this_way_and_agree_with_plain_loops(metric, kernel):
    network = made(metric, kernel)
    assert isinstance(network._passes, Components)
    own = np.resize([-1, 0, 3, -1, 5], len(X))
    expected = pooled.explain_network(X, network, own)
    got = network.decompose(X, own=own)
    scale = np.abs(expected.relevance).max(axis=1, keepdims=True)
    np.testing.assert_allclose(got.relevance / scale, expected.relevance / scale, atol=1e-10)
    np.testing.assert_allclose(got.unexplained, expected.unexplained, atol=1e-12 * expected.outlierness.max())
    np.testing.assert_allclose(network.assignment(X, own=own), expected.assignment, atol=1e-12)


def test_very_many_centers_under_one_metric_are_mapped_first():
    many = RNG.normal(size=(2100, D))
    assert isinstance(DistanceNetwork(many[:300], metric=METRICS["one for all"])._passes, Components)
    assert isinstance(DistanceNetwork(many, metric=METRICS["one for all"])._passes, Mapped)
    each = ComponentMetric(np.stack([METRICS["one for all"].matrix] * 2100))
    by_one, by_each = (
        DistanceNetwork(many, metric=metric).decompose(X) for metric in (METRICS["one for all"], each)
    )
    assert_same(by_one, by_each, 1e-9)


def test_a_diagonal_for_all_is_taken_as_diagonals():
    assert all(factor.shape == (D,) for factor in factors_of(METRICS["one diagonal"], M))
    assert all(factor.shape == (D, D) for factor in factors_of(METRICS["one for all"], M))
    assert len(factors_of(METRICS["one for all"], M)) == M


def test_a_matrix_for_all_is_looked_into_once(monkeypatch):
    ranks = []
    original = np.linalg.matrix_rank
    monkeypatch.setattr(np.linalg, "matrix_rank", lambda *a, **k: ranks.append(1) or original(*a, **k))
    network = made(METRICS["one for all"])
    network.decompose(X)
    network.decompose(X[:1])
    assert len(ranks) == 1


def test_compiled_loops_are_the_formulas():
    points, factors = CENTERS, METRICS["diagonals"].factors
    zeta = (X[:, None] - points) * factors
    d2 = np.empty((len(X), M))
    diagonal.squared_distances(X, points, factors, d2)
    np.testing.assert_allclose(d2, np.sum(zeta**2, axis=2), rtol=1e-14)
    weights = RNG.uniform(size=(len(X), M))
    out = np.ones((len(X), D))
    diagonal.add_shares(X, points, factors, weights, out)
    np.testing.assert_allclose(out, 1.0 + np.einsum("ij,ijk->ik", weights, zeta**2), rtol=1e-13)


@pytest.mark.parametrize("name", ["diagonals", "one diagonal"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_relevance_is_negative_where_nothing_is_mixed(name, dtype):
    rows = np.vstack([X, CENTERS, CENTERS * (1 + 1e-9)]).astype(dtype)
    got = made(METRICS[name]).decompose(rows)
    assert (got.relevance >= 0).all()
    assert (got.unexplained >= 0).all()
    assert (got.outlierness >= 0).all()


def test_units_that_differ_by_1e16_leave_every_variable_its_part():
    """Taken as one matrix, the small column would pass for rounding and lose its relevance."""
    scale = np.array([1e8, 1.0, 1e-8, 1.0])
    plain = made(METRICS["squares"])
    scaled = DistanceNetwork(
        CENTERS / scale,
        log_weights=LOG_WEIGHTS,
        metric=ComponentMetric(METRICS["squares"].factors * scale),
    )
    assert_same(scaled.decompose(X / scale), plain.decompose(X), 1e-9)


@over_metrics
def test_the_heaviest_center_may_be_left_out(metric):
    """1 - α of it is 0 in float64: what remains cannot be found by subtraction."""
    log_weights = np.r_[0.0, np.linspace(-500.0, -600.0, M - 1)]
    rest = ComponentMetric(np.stack(factors_of(metric, M)[1:]))
    network = DistanceNetwork(CENTERS, log_weights=log_weights, metric=metric)
    without = DistanceNetwork(CENTERS[1:], log_weights=log_weights[1:], metric=rest)
    assert_same(network.decompose(X, own=np.zeros(len(X), dtype=int)), without.decompose(X), 1e-11)


def test_components_without_weight_do_not_count():
    log_weights = LOG_WEIGHTS.copy()
    log_weights[2] = -np.inf
    metric = METRICS["squares"]
    kept = [0, 1, 3, 4, 5]
    without = DistanceNetwork(
        CENTERS[kept], log_weights=log_weights[kept], metric=ComponentMetric(metric.factors[kept])
    )
    network = DistanceNetwork(CENTERS, log_weights=log_weights, metric=metric)
    assert_same(network.decompose(X), without.decompose(X))


@over_metrics
@pytest.mark.parametrize("through", [None, THROUGH], ids=["as it is", "before a map"])
@pytest.mark.parametrize(
    "way", [{"memory_mb": 0.01}, {"n_jobs": 1}, {"n_jobs": 3, "memory_mb": 1.0}], ids=str
)
def test_neither_memory_nor_threads_change_the_result(metric, through, way):
    rows = np.tile(X, (60, 1))
    network = made(metric)
    assert_same(
        network.decompose(rows, through=through, **way), network.decompose(rows, through=through), 1e-11
    )


@over_metrics
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_and_centers(metric, dtype):
    rows = (X * (X > 0)).astype(dtype)
    wanted = made(metric).decompose(rows.astype(np.float64))
    sparse_centers = DistanceNetwork(csr_array(CENTERS), log_weights=LOG_WEIGHTS, metric=metric)
    for got in (made(metric).decompose(csr_array(rows)), sparse_centers.decompose(csr_array(rows))):
        assert got.relevance.dtype == dtype
        assert_same(got, wanted, 1e-6 if dtype is np.float32 else 1e-12)


@over_metrics
def test_pickled_networks_give_the_same_bytes(metric):
    network = made(metric)
    first, second = network.decompose(X), pickle.loads(pickle.dumps(network)).decompose(X)
    for name in ("relevance", "unexplained", "outlierness", "log_inlierness"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


def test_any_view_of_the_rows_gives_the_same():
    network = made(METRICS["diagonals"])
    wanted = network.decompose(X)
    read_only = X.copy()
    read_only.flags.writeable = False
    for rows in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], read_only):
        assert_same(network.decompose(rows), wanted)


def numpy_peak(function):
    """Most memory beyond what was there, in bytes, as NumPy tells tracemalloc."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.full
@pytest.mark.parametrize("kind", ["diagonals", "squares", "one for all"])
@pytest.mark.parametrize("width", [None, 700], ids=["plain", "before a map"])
def test_memory_stays_within_the_bound_whatever_the_number_of_rows(kind, width):
    d, m = 100, 20
    rows, centers = np.zeros((1000, d)), RNG.normal(size=(m, d))
    metric = {
        "diagonals": ComponentMetric(np.ones((m, d))),
        "squares": ComponentMetric(RNG.normal(size=(m, d, d))),
        "one for all": LinearMetric(RNG.normal(size=(d, d))),
    }[kind]
    through = None if width is None else LinearMap(RNG.normal(size=(d, width)))
    network = DistanceNetwork(centers, kernel=Exponential(sigma=1e3), metric=metric)
    network.decompose(rows[:2], through=through)
    peak = numpy_peak(lambda: network.decompose(rows, through=through, memory_mb=4, n_jobs=2))
    # Blocks of the usual size would take 16 MB for the legs of each thread.
    assert peak < 4 * MB + 8 * len(rows) * ((width or d) + 4) + MB


def test_as_sigma_shrinks_the_nearest_center_decides():
    """Soft pooling tends to hard pooling: q σ^q o → d to the nearest, for q = 1."""
    metric = METRICS["one for all"]
    hard = DistanceNetwork(CENTERS, pooling=Nearest.kth(1), metric=metric).decompose(X)
    soft = DistanceNetwork(CENTERS, kernel=Exponential(1.0, 1e-9), metric=metric).decompose(X)
    np.testing.assert_allclose(1e-9 * soft.outlierness, hard.outlierness, rtol=1e-7)
    scale = np.abs(hard.relevance).max(axis=1, keepdims=True)
    np.testing.assert_allclose(1e-9 * soft.relevance / scale, hard.relevance / scale, atol=1e-7)
