"""Passes over rows: bounded memory, any layout of X, rows of any magnitude, a change of dtype midway."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from reference import oracle
from whyodd.compute.soft import passes
from whyodd.compute.soft.centers import prepare
from whyodd.compute.work import Work
from whyodd.kernels import Exponential, Student
from whyodd.network.distance_network import DistanceNetwork

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
TOLERANCE = {np.float32: 1e-4, np.float64: 1e-9}
MB = 2**20


def cloud(n=60, m=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return 2 * rng.normal(size=(n, d)), rng.normal(size=(m, d))


def assert_same(got, expected, tolerance=1e-12):
    scale = expected.relevance.max(axis=1, keepdims=True)
    np.testing.assert_allclose(got.relevance / scale, expected.relevance / scale, rtol=0, atol=tolerance)
    for name in ("outlierness", "unexplained"):
        difference = getattr(got, name) - getattr(expected, name)
        np.testing.assert_allclose(difference / expected.outlierness, 0.0, atol=tolerance)


def numpy_peak(function):
    """Most memory beyond what was there, in bytes.

    NumPy tells tracemalloc; what compiled loops allocate for themselves (about 14 rows of m floats per
    thread) it does not see.
    """
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        result = function()
        return tracemalloc.get_traced_memory()[1] - before, result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", ["outlierness", "decompose"])
def test_memory_stays_within_the_bound_whatever_the_number_of_rows(method):
    X, centers = cloud(n=200_000, m=2_000, d=10)
    X = X.astype(np.float32)
    network = DistanceNetwork(centers, kernel=Exponential(sigma=2.0))
    getattr(network, method)(X[:2])  # compiled and prepared
    peak, _ = numpy_peak(lambda: getattr(network, method)(X, memory_mb=32, n_jobs=2))
    # Relevance, three scores, and -1 for the center each row leaves out.
    output = X.nbytes * (method == "decompose") + 4 * 8 * len(X)
    # Slack: which rows of the output are finite, and what Python and the threads need.
    assert peak < 32 * MB + output + len(X) + MB


def test_memory_stays_within_the_bound_when_every_row_is_far():
    X, centers = cloud(n=4_000, m=50, d=200)
    X *= 1e200
    network = DistanceNetwork(centers, kernel=Exponential(q=1.0))
    network.decompose(X[:2])
    peak, _ = numpy_peak(lambda: network.decompose(X, memory_mb=2, n_jobs=1))
    assert peak < 2 * MB + X.nbytes + MB


def test_memory_stays_within_the_bound_with_many_groups_of_centers():
    X, centers = cloud(n=2_000, m=320, d=500)
    centers[:, 0] += 1e5 * 4.0 ** (np.arange(320) % 16)
    X[:, 0] += centers[np.arange(2_000) % 320, 0]
    network = DistanceNetwork(centers)
    assert len(network._passes._centers_for(X.dtype).groups) == 16
    network.decompose(X[:2])
    peak, _ = numpy_peak(lambda: network.decompose(X, memory_mb=8, n_jobs=1))
    assert peak < 8 * MB + X.nbytes + MB


@pytest.mark.parametrize("memory_mb", [0.001, 1.0, 256.0])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neither_memory_nor_threads_change_the_result(memory_mb, n_jobs, dtype):
    X, centers = cloud(n=300)
    network = DistanceNetwork(centers)
    got = network.decompose(X.astype(dtype), memory_mb=memory_mb, n_jobs=n_jobs)
    assert_same(got, network.decompose(X.astype(dtype)), TOLERANCE[dtype] / 10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_all_magnitudes_in_one_call_are_as_one_by_one(dtype):
    X, centers = cloud(n=24)
    sizes = [1e0, 1e10, 1e20, 1e30] if dtype == np.float32 else [1e0, 1e100, 1e200, 1e290]
    X = (X * np.tile(sizes, 6)[:, None]).astype(dtype)
    network = DistanceNetwork(centers, kernel=Exponential(q=1.0))
    together = network.decompose(X)
    single = [network.decompose(X[i : i + 1]) for i in range(len(X))]
    for name in ("relevance", "outlierness", "unexplained", "log_inlierness"):
        one_by_one = np.concatenate([getattr(one, name) for one in single])
        np.testing.assert_allclose(getattr(together, name), one_by_one, rtol=10 * np.finfo(dtype).eps)
    p = network.assignment(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(
        p, np.concatenate([network.assignment(X[i : i + 1]) for i in range(len(X))]), atol=1e-5
    )


def test_far_rows_agree_with_the_reference():
    X, centers = cloud(n=8, m=6)
    X = X * np.tile([1e0, 1e100, 1e200, 1e290], 2)[:, None]
    kernel = Exponential(q=1.0)
    got = DistanceNetwork(centers, kernel=kernel).decompose(X)
    assert_same(got, oracle.explain(X, centers, kernel, arithmetic=oracle.digits(700)), 1e-9)


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("place", [1e200, -1e160])
def test_rows_may_be_ordinary_and_the_centers_far_away(place, layout):
    network = DistanceNetwork(layout([[place, 1.0], [place, 2.0]]), kernel=Exponential(q=1.0))
    np.testing.assert_allclose(network.outlierness([[1.0, 1.0]]), abs(place), rtol=1e-12)


def clusters_in_a_row():
    """Evenly spaced clusters that many bandwidths separate, and one center far from all of them."""
    rng = np.random.default_rng(0)
    places = np.repeat(np.arange(6) * 3e4, 12)
    centers = np.column_stack([places + rng.normal(size=72), rng.normal(size=72)])
    return np.vstack([centers, [[-4e4, 0.0]]])


@pytest.mark.parametrize(
    "kernel", [Exponential(q=2.0, sigma=2.0), Exponential(q=1.0, sigma=2.0), Student(q=2.0)]
)
def test_giving_up_float32_midway_gives_the_right_numbers(kernel):
    centers = clusters_in_a_row()
    rng = np.random.default_rng(1)
    easy = centers[-1] + rng.normal(size=(600, 2))  # one pair of each row needs care
    hard = centers[rng.integers(72, size=200)] + rng.normal(size=(200, 2))  # a whole cluster does
    X = np.vstack([easy, hard]).astype(np.float32)
    log_weights = np.full(len(centers), -np.log(len(centers)))
    ready = prepare(centers, log_weights, kernel, dtype=FLOAT32)
    own = np.full(len(X), -1, dtype=np.intp)
    # Blocks of a few rows, so that some are done in float32 and some are not.
    work = Work(n_jobs=1, memory_mb=0.05)
    passes.decompose(X[:600], own[:600], ready, work)
    assert "widened" not in ready.__dict__
    relevance, scores = passes.decompose(X, own, ready, work)
    assert "widened" in ready.__dict__
    checked = [0, 1, 300, 599, 600, 601, 700, 799]
    expected = oracle.explain(X[checked], centers, kernel, arithmetic=oracle.digits(40))
    scale = expected.relevance.max(axis=1, keepdims=True)
    np.testing.assert_allclose(relevance[checked] / scale, expected.relevance / scale, rtol=0, atol=1e-4)
    np.testing.assert_allclose(scores.outlierness[checked], expected.outlierness, rtol=1e-4)
    np.testing.assert_allclose(
        scores.unexplained[checked] / expected.outlierness,
        expected.unexplained / expected.outlierness,
        atol=1e-4,
    )
    assigned = np.empty((len(X), len(centers)))

    def copy(rows, p):
        assigned[rows] = p

    passes.assign(X, own, ready, work, copy)
    np.testing.assert_allclose(assigned[checked], expected.assignment, atol=1e-4)


VIEWS = {
    "fortran order": np.asfortranarray,
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed rows": lambda X: X[::-1].copy()[::-1],
    "reversed columns": lambda X: X[:, ::-1].copy()[:, ::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes(), dtype=X.dtype).reshape(X.shape),
    "big endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "not aligned": lambda X: np.frombuffer(b"\0" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("view", VIEWS)
def test_any_view_of_the_rows_gives_the_same(view, dtype):
    X, centers = cloud()
    X = X.astype(dtype)
    network = DistanceNetwork(centers)
    # What is not in the machine's byte order is computed in float64.
    tolerance = 1e-12 if view != "big endian" else TOLERANCE[dtype]
    assert_same(network.decompose(VIEWS[view](X)), network.decompose(X), tolerance)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float16])
def test_other_numbers_are_taken_as_float64(dtype):
    X, centers = cloud()
    X = np.abs(X).astype(dtype)
    network = DistanceNetwork(centers)
    got = network.decompose(X)
    assert got.relevance.dtype == np.float64
    assert_same(got, network.decompose(X.astype(np.float64)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("rows", "layout"),
    [(csr_array, np.asarray), (np.asarray, csr_array), (csr_array, csr_array)],
    ids=["sparse rows", "sparse centers", "both sparse"],
)
def test_sparse_and_dense_mix_freely(rows, layout, index, dtype):
    X, centers = cloud()
    X, centers = X * (X > 0.5), centers * (centers > -0.5)
    X[3] = 0.0
    X[4] = centers[7]
    expected = oracle.explain(X.astype(dtype)[:8], centers, Exponential())
    given = rows(X.astype(dtype))
    if rows is csr_array:
        given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    got = DistanceNetwork(layout(centers)).decompose(given)
    scale = expected.relevance.max(axis=1, keepdims=True)
    assert isinstance(got.relevance, np.ndarray)
    np.testing.assert_allclose(got.relevance[:8] / scale, expected.relevance / scale, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(got.outlierness[:8], expected.outlierness, rtol=TOLERANCE[dtype])


def test_what_is_consumed_covers_every_row_in_the_order_of_the_given_centers():
    """Far apart clusters are reordered inside; whoever consumes the assignments does not see that."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 2)) + 1e7 * (np.arange(20) % 2)[:, None]
    network = DistanceNetwork(centers)
    assert network._passes._centers_for(np.dtype(float)).order is not None
    np.testing.assert_array_equal(network.assignment(centers).argmax(axis=1), np.arange(20))
    own = np.arange(20)
    left = network.assignment(centers, own=own)
    np.testing.assert_array_equal(left[own, own], 0.0)


@pytest.mark.parametrize("memory_mb", [0, -1, np.nan])
def test_impossible_memory_is_a_clear_error(memory_mb):
    with pytest.raises(ValueError, match="memory_mb="):
        Work(memory_mb=memory_mb)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_of_the_progress_callback_reaches_the_caller(n_jobs):
    def progress(_):
        raise KeyboardInterrupt

    X, centers = cloud(n=2000)
    with pytest.raises(KeyboardInterrupt):
        DistanceNetwork(centers).decompose(X, progress=progress, n_jobs=n_jobs)


def test_relevance_beyond_float32_is_finite_or_a_clear_error():
    network = DistanceNetwork([[0.0], [1.0]], kernel=Student(q=4.0))
    try:
        got = network.decompose(np.array([[1e12]], dtype=np.float32))
    except OverflowError:
        return
    assert np.isfinite(got.relevance).all()


def test_a_large_constant_of_students_kernel_is_explained_in_float32():
    network = DistanceNetwork([[0.0], [1.0]], kernel=Student(a=1e40))
    got = network.decompose(np.array([[0.5]], dtype=np.float32))
    np.testing.assert_allclose(got.relevance, 0.5, rtol=1e-4)


@pytest.mark.parametrize("q", [2.0, 4.0])
def test_a_tiny_bandwidth_leaves_a_row_on_its_center(q):
    network = DistanceNetwork([[0.0], [1.0]], kernel=Exponential(q=q, sigma=1e-200))
    np.testing.assert_allclose(network.outlierness([[0.0]]), np.log(2), rtol=1e-12)


def test_a_small_outlierness_counts_centers_beyond_all_numbers():
    network = DistanceNetwork([[0.0], [1e5]], weights=[0.9995, 0.0005], kernel=Exponential(q=64.0))
    np.testing.assert_allclose(network.outlierness([[0.0]]), -np.log(0.9995), rtol=1e-9)


def test_expected_points_of_clusters_far_apart_are_good_in_float32():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(60, 2)) + 1e6 * (np.arange(60) % 2)[:, None]
    network = DistanceNetwork(centers)
    X = centers[:10:2]
    np.testing.assert_allclose(network.expected(X.astype(np.float32)), network.expected(X), atol=1e-4)


@pytest.mark.parametrize("method", ["outlierness", "decompose", "assignment"])
def test_a_difference_beyond_the_largest_float_is_a_clear_error(method):
    network = DistanceNetwork([[-1.7e308]], kernel=Exponential(q=1.0))
    with pytest.raises(OverflowError, match="Row 0 of X is so far"):
        getattr(network, method)([[1.7e308]])
