"""A center that stands for several equal rows is as many centers, each of which leaves its own part out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import whyodd
from whyodd.evaluation import flip
from whyodd.kernels import Exponential, RationalQuadratic, Student
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.distance_network import DistanceNetwork

D = 3
KERNELS = [Exponential(2, 1.5), Exponential(1, 2.0), Exponential(4, 3.0), Exponential(3, 2.0)]
METRICS = {
    "plain": lambda _: None,
    "linear": lambda _: LinearMetric(np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3]])),
    "components": lambda m: ComponentMetric(np.tile([1.0, 0.5, 2.0], (m, 1))),
}
# What is promised, over a row's largest relevance; o of float32 rounds at single precision.
PROMISED = {np.float64: 1e-9, np.float32: 1e-4}


def both(kernel, points, counts, *, metric="plain", given=np.asarray):
    """Centers with copies, and every copy as a center: equal rows have equal weights."""
    m = len(points)
    per_row = 1.0 + np.arange(m) % 3
    rows = np.repeat(np.arange(m), counts)
    first = np.searchsorted(rows, np.arange(m))
    is_copy = np.ones(len(rows), dtype=bool)
    is_copy[first] = False
    copies = np.column_stack([np.arange(len(rows)), rows])[is_copy]
    total = per_row @ counts
    merged = DistanceNetwork(
        given(points),
        per_row * counts / total,
        kernel,
        metric=METRICS[metric](m),
        rows=first,
        n_rows=len(rows),
        copies=copies,
    )
    spread = DistanceNetwork(
        given(points[rows]), per_row[rows] / total, kernel, metric=METRICS[metric](len(rows))
    )
    return merged, spread, rows


def made(seed=0, m=7):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, D)), rng.integers(1, 5, m)


def owns(rows, n):
    """For each row of X a copy to leave out, or none: its center, and itself."""
    own = np.resize(np.concatenate([[-1], np.arange(len(rows))]), n)
    return np.where(own < 0, -1, rows[own]), own


def assert_same(merged, spread, X, rows, own, of_copies, **work):
    """Everything but what counts centers: assignments of copies add up, shares of o are the same."""
    promised = PROMISED[X.dtype.type]
    got, wanted = merged.decompose(X, own=own, **work), spread.decompose(X, own=of_copies, **work)
    tiny = promised * np.maximum(np.abs(wanted.log_inlierness), 1.0)
    assert (np.abs(got.log_inlierness - wanted.log_inlierness) <= tiny).all()
    p, all_p = (
        merged.assignment(X, own=own).astype(float),
        spread.assignment(X, own=of_copies).astype(float),
    )
    added = np.zeros(p.shape)
    np.add.at(added.T, rows, all_p.T)
    np.testing.assert_allclose(p, added, atol=promised)
    shares, wanted_shares = (
        np.column_stack([e.relevance, e.unexplained]) / np.maximum(e.outlierness, 1e-9)[:, None]
        for e in (got, wanted)
    )
    np.testing.assert_allclose(shares, wanted_shares, atol=promised)
    if isinstance(merged.kernel, Exponential):
        np.testing.assert_allclose(got.outlierness, wanted.outlierness, rtol=promised, atol=promised)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("kernel", [*KERNELS, Student(2, 1, 1.5), RationalQuadratic(1.5, 1.0)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
class TestCopies:
    def test_are_one_center(self, kernel, dtype):
        points, counts = made()
        merged, spread, rows = both(kernel, points, counts)
        X = np.concatenate([points, points + 0.1, 3.0 * points]).astype(dtype)
        nobody = np.full(len(X), -1)
        assert_same(merged, spread, X, rows, nobody, nobody)

    def test_leave_their_part_out(self, kernel, dtype):
        points, counts = made()
        merged, spread, rows = both(kernel, points, counts)
        X = np.repeat(np.concatenate([points, 2.0 * points + 0.3]), 4, axis=0).astype(dtype)
        assert_same(merged, spread, X, rows, *owns(rows, len(X)))

    def test_of_themselves(self, kernel, dtype):
        """On top of a center that is many rows: o near 0, where -log g has lost its digits."""
        points, counts = made()
        counts[0] = 1000
        merged, spread, rows = both(kernel, points, counts)
        X = points[rows].astype(dtype)
        assert_same(merged, spread, X, rows, rows, np.arange(len(rows)))


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("metric", ["linear", "components"])
def test_with_a_metric(metric):
    points, counts = made()
    merged, spread, rows = both(KERNELS[0], points, counts, metric=metric)
    X = np.repeat(points, 4, axis=0)
    assert_same(merged, spread, X, rows, *owns(rows, len(X)))


@pytest.mark.usefixtures("compiled_only")
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("kernel", [KERNELS[0], KERNELS[1], Student(2, 1, 1.5)], ids=repr)
def test_in_flipping(kernel, is_sparse):
    points, counts = made()
    merged, spread, rows = both(kernel, points, counts, given=sparse.csr_array if is_sparse else np.asarray)
    X = np.repeat(2.0 * points, 4, axis=0)
    own, of_copies = owns(rows, len(X))
    own[::5], of_copies[::5] = -1, -1
    relevance = np.random.default_rng(1).random(X.shape)
    got, wanted = (flip(network, X, relevance, exclude_self=False) for network in (merged, spread))
    exponential = isinstance(kernel, Exponential)
    ratio = 1.0 if exponential else merged.n_centers / spread.n_centers
    np.testing.assert_allclose(got, ratio * wanted, rtol=1e-9)
    from whyodd.compute.flipping.removals import Removals

    removals = Removals.of(np.tile([1, 2, 3], (len(X), 1)).astype(np.int32), 3)
    got, wanted = merged.flip(X, removals, own), spread.flip(X, removals, of_copies)
    if not exponential:  # m - 1 centers are counted where one is left out
        kept = np.array([(counts[c] > 1) if c >= 0 else True for c in own])
        got = got / np.where(kept, merged.n_centers, merged.n_centers - 1)[:, None]
        wanted = wanted / np.where(of_copies < 0, spread.n_centers, spread.n_centers - 1)[:, None]
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("compiled_only")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [Exponential(2, 0.5), Student(8, 1, 0.05)], ids=repr)
def test_where_few_centers_count(kernel, dtype):
    """Peaked rows take a way of their own, by leaves if there are thousands of centers."""
    for m in (60, 5000):
        points = np.linspace(0.0, float(4 * m), m)[:, None] * np.ones(D)
        counts = 1 + np.arange(m) % 3
        merged, spread, rows = both(kernel, points, counts)
        X = np.repeat(points[:20], 3, axis=0).astype(dtype)
        own = np.resize(np.arange(-1, 40), len(X))
        own, of_copies = np.where(own < 0, -1, rows[own]), own
        got = merged.decompose(X, own=own, tolerance=1e-9)
        exact = merged.decompose(X.astype(np.float64), own=own)
        wanted = spread.decompose(X.astype(np.float64), own=of_copies)
        for reference in (exact, wanted):
            np.testing.assert_allclose(
                got.log_inlierness, reference.log_inlierness, rtol=1e-4 if dtype == np.float32 else 1e-7
            )
        np.testing.assert_allclose(
            got.relevance, exact.relevance, rtol=1e-3, atol=1e-4 * exact.outlierness.max()
        )
        # With a copy left nothing is far; alone, the nearest other center is.
        far = np.flatnonzero((own >= 0) & (counts[own] == 1) & (np.arange(len(X)) // 3 == own))
        assert far.size
        assert (got.log_inlierness[far] < -5.0).all()


@given(st.lists(st.integers(1, 6), min_size=2, max_size=6), st.integers(0, 2**16))
def test_for_any_counts(counts, seed):
    points, counts = made(seed, len(counts))[0], np.array(counts)
    merged, spread, rows = both(KERNELS[0], points, counts)
    assert_same(merged, spread, points[rows], rows, rows, np.arange(len(rows)))


class TestModels:
    """Repeated rows cost nothing, and are explained without themselves."""

    X = np.round(np.random.default_rng(0).normal(size=(400, 2)), 1)

    @pytest.mark.parametrize("kernel", ["gaussian", "student"])
    @pytest.mark.parametrize("make", [whyodd.OneClassSVM, whyodd.SVDD, whyodd.ExemplarMixture])
    def test_have_one_center_for_equal_rows(self, make, kernel):
        model = make(kernel, sigma=1.0).fit(self.X)
        network = whyodd.neuralize(model)
        centers = np.asarray(network.centers)
        assert len(np.unique(centers, axis=0)) == network.n_centers
        used = getattr(model, "support_", getattr(model, "exemplars_", None))
        assert network.n_centers < len(used) == len(model.weights_)
        np.testing.assert_allclose(model.weights_.sum(), 1.0)
        together = np.bincount(np.searchsorted(used, used), model.weights_)
        np.testing.assert_allclose(together.sum(), network.weights.sum())
        from whyodd.network.waist import center_of_rows

        center = center_of_rows(network)
        np.testing.assert_array_equal(np.flatnonzero(center >= 0), used)
        np.testing.assert_array_equal(centers[center[used]], self.X[used])

    def test_of_scikit_learn_too(self):
        from sklearn.svm import OneClassSVM

        model = OneClassSVM(nu=0.5, gamma=0.5).fit(self.X)
        network = whyodd.neuralize(model)
        assert network.n_centers == len(np.unique(model.support_vectors_, axis=0)) < len(model.support_)
        o = network.outlierness(self.X)
        np.testing.assert_allclose(np.exp(network.offset - o), model.score_samples(self.X))
        e = whyodd.explain(model, self.X)
        assert (e.excluded[model.support_] >= 0).all()

    def test_rows_are_explained_without_themselves(self):
        model = whyodd.OneClassSVM(nu=0.5, sigma=1.0, tol=1e-6).fit(self.X)
        e = whyodd.explain(model, self.X)
        every = np.flatnonzero(np.isin(np.arange(len(self.X)), model.support_))
        spread = DistanceNetwork(
            self.X[model.support_], kernel=model.kernel_, log_weights=np.log(model.weights_)
        )
        own = np.full(len(self.X), -1)
        own[every] = np.arange(len(every))
        wanted = spread.decompose(self.X, own=own)
        np.testing.assert_allclose(e.outlierness, wanted.outlierness, rtol=1e-9)
        np.testing.assert_allclose(e.relevance, wanted.relevance, rtol=1e-6, atol=1e-9)

    def test_survive_saving(self, tmp_path):
        model = whyodd.OneClassSVM(nu=0.5, sigma=1.0).fit(self.X)
        whyodd.save(model, tmp_path / "m.whyodd")
        loaded = whyodd.load(tmp_path / "m.whyodd")
        e, again = whyodd.explain(model, self.X), whyodd.explain(loaded, self.X)
        np.testing.assert_array_equal(e.outlierness, again.outlierness)


@pytest.mark.parametrize(
    ("copies", "message"),
    [([0, 1], "Expected copies as pairs"), ([[0, 2]], "copies of centers between 0 and 1, got 2")],
)
def test_wrong_copies_are_named(copies, message):
    with pytest.raises(ValueError, match=message):
        DistanceNetwork([[0.0], [1.0]], copies=copies)


def test_a_lone_center_of_two_rows_leaves_one():
    network = DistanceNetwork([[0.0]], rows=[0], n_rows=2, copies=[[1, 0]])
    assert network.outlierness([[0.0], [2.0]], own=[0, 0]).tolist() == [0.0, 2.0]
