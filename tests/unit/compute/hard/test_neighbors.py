"""Passes for hard pooling: own centers, blocks, threads, memory, and what whoever consumes is handed."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from reference import pooled
from whyodd.compute.hard import neighbors as nearest
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import LinearMetric
from whyodd.network.distance_network import DistanceNetwork

MB = 2**20


def cloud(n=60, m=40, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return 2 * rng.normal(size=(n, d)), rng.normal(size=(m, d))


def poolings(m):
    rng = np.random.default_rng(1)
    return [
        Nearest.mean(5),
        Nearest.kth(4),
        Nearest.median(6),
        MeanVector(3),
        LocalReach(4, rng.uniform(0.1, 1.0, m), rng.uniform(0.5, 2.0, m)),
    ]


over_poolings = pytest.mark.parametrize("pooling", poolings(40), ids=repr)


def assert_same(got, wanted, tolerance=1e-12):
    scale = np.abs(wanted.relevance).max(axis=1, keepdims=True)
    scale[scale == 0.0] = 1.0
    np.testing.assert_allclose(got.relevance / scale, wanted.relevance / scale, rtol=0, atol=tolerance)
    for name in ("outlierness", "unexplained", "log_inlierness"):
        np.testing.assert_allclose(getattr(got, name), getattr(wanted, name), rtol=tolerance, atol=1e-300)


@pytest.mark.parametrize("d", [4, 20])
def test_scores_are_those_of_scikit_learn(d):
    X, centers = cloud(d=d)
    distances = NearestNeighbors(n_neighbors=5).fit(centers).kneighbors(X)[0]
    network = DistanceNetwork(centers, pooling=Nearest.mean(5))
    np.testing.assert_allclose(network.outlierness(X), distances.mean(axis=1), rtol=1e-12)
    model = LocalOutlierFactor(n_neighbors=5, novelty=True).fit(centers)
    reach = LocalReach(5, model._distances_fit_X_[:, 4], model._lrd)
    np.testing.assert_allclose(
        DistanceNetwork(centers, pooling=reach).outlierness(X), -model.score_samples(X), rtol=1e-10
    )


@over_poolings
def test_log_inlierness_is_minus_the_outlierness(pooling):
    X, centers = cloud()
    got = DistanceNetwork(centers, pooling=pooling).decompose(X)
    np.testing.assert_array_equal(got.log_inlierness, -got.outlierness)
    np.testing.assert_allclose(
        DistanceNetwork(centers, pooling=pooling).inlierness(X), np.exp(-got.outlierness), rtol=1e-14
    )


@over_poolings
@pytest.mark.parametrize("d", [4, 20])
def test_outlierness_alone_is_that_of_the_explanation(pooling, d):
    X, centers = cloud(d=d)
    X[:5] = centers[:5]
    network = DistanceNetwork(centers, pooling=pooling)
    np.testing.assert_array_equal(network.outlierness(X), network.decompose(X).outlierness)


# ---- a row's own center -----------------------------------------------------------------------------------


@over_poolings
@pytest.mark.parametrize("d", [4, 20])
@pytest.mark.parametrize("which", ["all", "some", "others", "none"])
def test_own_centers_are_left_out(pooling, d, which):
    _, centers = cloud(d=d)
    own = {
        "all": np.arange(40),
        "some": np.where(np.arange(40) % 3, np.arange(40), -1),
        "others": np.roll(np.arange(40), 7),  # a center that is no neighbour may be left out too
        "none": np.full(40, -1),
    }[which]
    network = DistanceNetwork(centers, pooling=pooling)
    expected = pooled.explain_network(centers, network, own)
    got = network.decompose(centers, own=own)
    scale = np.abs(expected.relevance).max(axis=1, keepdims=True) + 1e-15
    np.testing.assert_allclose(got.relevance / scale, expected.relevance / scale, atol=1e-9)
    np.testing.assert_allclose(got.outlierness, expected.outlierness, rtol=1e-12)
    p = network.assignment(centers, own=own)
    np.testing.assert_allclose(p, expected.assignment, rtol=1e-15)
    assert (p[own >= 0, own[own >= 0]] == 0.0).all()


def test_own_among_more_duplicates_than_are_looked_at():
    centers = np.vstack([np.zeros((30, 2)), [[3.0, 4.0]]])
    network = DistanceNetwork(centers, pooling=Nearest.mean(3))
    got = network.decompose(np.zeros((31, 2)), own=np.arange(31))
    np.testing.assert_array_equal(got.outlierness, 0.0)
    np.testing.assert_array_equal(got.relevance, 0.0)
    assert (network.assignment(np.zeros((31, 2)), own=np.arange(31)).diagonal() == 0.0).all()


def test_leaving_out_one_too_many_is_a_clear_error():
    network = DistanceNetwork(np.eye(3), pooling=Nearest.mean(3))
    with pytest.raises(
        ValueError, match=r"Without a row's own center only 2 are left, but the pooling needs 3 neighbours"
    ):
        network.outlierness(np.eye(3), own=[0, -1, -1])
    assert network.outlierness(np.eye(3), own=[-1, -1, -1]).shape == (3,)


# ---- nearest centers, assignments, expected points --------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 5, 8, 40, 100])
@pytest.mark.parametrize("leaving", [False, True])
@over_poolings
def test_nearest_centers_in_their_order(pooling, k, leaving):
    _, centers = cloud(d=3)
    own = np.arange(40) if leaving else None
    index, p, similarity = DistanceNetwork(centers, pooling=pooling).nearest(centers, k, own=own)
    distances = np.linalg.norm(centers[:, None] - centers, axis=2)
    if leaving:
        np.fill_diagonal(distances, np.inf)
    given = min(k, 39 if leaving else 40)
    np.testing.assert_array_equal(index, np.argsort(distances, axis=1)[:, :given])
    ranks = np.zeros(max(given, pooling.k))
    ranks[: pooling.k] = pooling.assignment()
    np.testing.assert_array_equal(p, np.tile(ranks[:given], (40, 1)))
    g = DistanceNetwork(centers, pooling=pooling).inlierness(centers, own=own)
    np.testing.assert_allclose(similarity, p * g[:, None], rtol=1e-14)


@over_poolings
def test_expected_points_are_means_of_neighbours(pooling):
    X, centers = cloud()
    network = DistanceNetwork(centers, pooling=pooling)
    np.testing.assert_allclose(network.expected(X), network.assignment(X) @ centers, rtol=1e-12)


def test_assignments_are_handed_out_as_csr():
    X, centers = cloud()
    shapes = []
    network = DistanceNetwork(centers, pooling=Nearest.mean(5))
    network.assign(X, lambda rows, p: shapes.append((rows, p.shape, issparse(p), p.nnz)), memory_mb=0.01)
    assert len(shapes) > 1
    assert all(is_sparse and nnz == 5 * shape[0] for _, shape, is_sparse, nnz in shapes)
    assert sum(shape[0] for _, shape, _, _ in shapes) == len(X)


# ---- how it is computed does not matter -------------------------------------------------------------------


@pytest.mark.parametrize("d", [4, 20])
@pytest.mark.parametrize("memory_mb", [0.001, 1.0, 256.0])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@over_poolings
def test_neither_memory_nor_threads_change_the_result(pooling, memory_mb, n_jobs, d):
    X, centers = cloud(n=130, d=d)
    network = DistanceNetwork(centers, pooling=pooling)
    assert_same(network.decompose(X, memory_mb=memory_mb, n_jobs=n_jobs), network.decompose(X), 1e-10)


@pytest.mark.parametrize("d", [4, 20])
def test_many_rows_over_threads_are_as_in_one(d):
    X, centers = cloud(n=3000, m=600, d=d)
    assert len(X) * len(centers) > nearest.blocks.WORTH_A_THREAD
    network = DistanceNetwork(centers, pooling=Nearest.mean(5))
    assert_same(network.decompose(X, n_jobs=3), network.decompose(X, n_jobs=1), 1e-10)


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_of_the_search_are_those_allowed(monkeypatch, n_jobs, layout):
    allowed = []
    original = nearest.blocks.openmp_threads
    monkeypatch.setattr(
        nearest.blocks, "openmp_threads", lambda threads: allowed.append(threads) or original(threads)
    )
    X, centers = cloud(n=3000, m=600, d=20)
    DistanceNetwork(layout(centers), pooling=Nearest.mean(5)).outlierness(X, n_jobs=n_jobs)
    # Only scikit-learn's search, which sparse centers need, brings its own.
    assert allowed == ([n_jobs] if layout is csr_array else [])


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_output_has_the_dtype_of_the_rows(dtype, layout):
    X, centers = cloud()
    network = DistanceNetwork(centers, pooling=Nearest.mean(5))
    got = network.decompose(layout(X.astype(dtype)))
    assert got.relevance.dtype == dtype
    assert got.outlierness.dtype == got.unexplained.dtype == np.float64
    assert network.assignment(layout(X.astype(dtype))).dtype == dtype


def test_relevance_beyond_float32_is_a_clear_error():
    network = DistanceNetwork(np.full((2, 1), -3e38), pooling=Nearest.mean(2))
    X = np.array([[3e38]], dtype=np.float32)
    with pytest.raises(OverflowError, match=r"The relevance of row 0 of X exceeds the largest float32"):
        network.decompose(X)
    np.testing.assert_allclose(network.decompose(X.astype(np.float64)).relevance, 6e38, rtol=1e-6)


def test_progress_counts_all_rows():
    X, centers = cloud(n=300)
    seen = []
    DistanceNetwork(centers, pooling=Nearest.mean(5)).decompose(X, progress=seen.append, memory_mb=0.05)
    assert len(seen) > 1
    assert seen[-1] == 300


def numpy_peak(function):
    """Most memory beyond what was there, in bytes, as NumPy tells tracemalloc."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        result = function()
        return tracemalloc.get_traced_memory()[1] - before, result
    finally:
        tracemalloc.stop()


@pytest.mark.full
@pytest.mark.parametrize("pooling", [Nearest.mean(5), MeanVector(5)], ids=repr)
@pytest.mark.parametrize("d", [10, 20])
@pytest.mark.parametrize("method", ["outlierness", "decompose"])
def test_memory_stays_within_the_bound_whatever_the_number_of_rows(method, d, pooling):
    X, centers = cloud(n=50_000, m=50, d=d)
    X = X.astype(np.float32)
    network = DistanceNetwork(centers, pooling=pooling)
    getattr(network, method)(X[:2])
    peak, _ = numpy_peak(lambda: getattr(network, method)(X, memory_mb=4, n_jobs=2))
    # Relevance is made in float64; three scores, and -1 for the center each row leaves out.
    output = 3 * X.nbytes * (method == "decompose") + 4 * 8 * len(X)
    assert peak < 4 * MB + output + len(X) + MB


def test_memory_stays_within_the_bound_when_assignments_are_made_dense():
    X, centers = cloud(n=3_000, m=5_000, d=3)
    network = DistanceNetwork(centers, pooling=Nearest.mean(5))
    network.assignment(X[:2])
    peak, p = numpy_peak(lambda: network.assignment(X, memory_mb=8, n_jobs=1))
    assert peak < 8 * MB + p.nbytes + MB


@pytest.mark.parametrize("distance", [1e-7, 1.0])
def test_memory_stays_within_the_bound_when_every_distance_is_in_doubt(distance):
    """Clusters so far apart that all points of one look the same to matrix products."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(20)[:2] * 1e9 * distance, 1000, axis=0) + distance * rng.normal(size=(2000, 20))
    network = DistanceNetwork(X, pooling=Nearest.kth(3))
    network.decompose(X[:2])
    peak, got = numpy_peak(lambda: network.decompose(X[:300], own=np.arange(300), memory_mb=16))
    # What is measured at once takes a few arrays of a fixed size beside the blocks.
    assert peak < 16 * MB + 16 * MB
    distances = np.linalg.norm(X[:20, None] - X, axis=2)
    np.testing.assert_allclose(got.outlierness[:20], np.sort(distances, axis=1)[:, 3], rtol=1e-9)


# ---- pickle and words -------------------------------------------------------------------------------------


@over_poolings
def test_pickled_networks_give_the_same_bytes(pooling):
    X, centers = cloud()
    known = {"offset": 2.0, "rows": np.arange(40), "n_rows": 40}
    network = DistanceNetwork(centers, pooling=pooling, metric=LinearMetric(np.eye(4) + 0.1), **known)
    first = network.decompose(X)
    copied = pickle.loads(pickle.dumps(network))
    second = copied.decompose(X)
    for name in ("relevance", "unexplained", "outlierness", "log_inlierness"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    assert (copied.offset, copied.n_rows) == (2.0, 40)
    assert repr(copied) == repr(network)


def test_shown_with_its_pooling():
    network = DistanceNetwork(np.eye(3), pooling=Nearest.mean(2))
    assert repr(network) == "DistanceNetwork(3 centers, 3 variables, Nearest.mean(2))"


@pytest.mark.parametrize("unused", [{"weights": np.full(3, 1 / 3)}, {"log_weights": np.zeros(3)}])
def test_weights_beside_a_pooling_are_a_clear_error(unused):
    with pytest.raises(ValueError, match="A hard pooling uses neither weights nor a kernel"):
        DistanceNetwork(np.eye(3), pooling=Nearest.mean(2), **unused)


def test_anything_else_is_no_pooling():
    with pytest.raises(TypeError, match=r"Expected a pooling from whyodd\.maths\.hard_poolings, got str"):
        DistanceNetwork(np.eye(3), pooling="mean")


def test_a_map_that_ends_elsewhere_is_a_clear_error():
    network = DistanceNetwork(np.eye(3), pooling=Nearest.mean(2))
    with pytest.raises(ValueError, match=r"LinearMap\(5 -> 2\) must end in the 3 variable\(s\)"):
        network.decompose(np.eye(3), through=LinearMap(np.ones((2, 5))))
