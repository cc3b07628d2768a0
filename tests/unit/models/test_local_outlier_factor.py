"""Local outlier factor: scikit-learn's scores, plain loops, copies, weights, wrong input."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn import neighbors

import whyodd
from whyodd import LocalOutlierFactor
from whyodd.models.local_outlier_factor import local_reach


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def training_rows(rng):
    """Two clusters of different density."""
    return np.concatenate([rng.standard_normal((80, 3)), 10.0 + 0.1 * rng.standard_normal((80, 3))])


@pytest.fixture
def new(rng):
    return np.concatenate([2.0 * rng.standard_normal((20, 3)), 10.0 + rng.standard_normal((20, 3))])


def plain_factors(rows, X, k):
    """Breunig et al., with scikit-learn's 1e-10."""

    def nearest(x, without=None):
        return sorted((math.dist(x, u), j) for j, u in enumerate(X) if j != without)[:k]

    reach = [nearest(x, j)[-1][0] for j, x in enumerate(X)]

    def density(found):
        return 1.0 / (sum(max(reach[j], d) for d, j in found) / k + 1e-10)

    local = [density(nearest(x, j)) for j, x in enumerate(X)]
    return [sum(local[j] for _, j in nearest(x)) / k / density(nearest(x)) for x in rows]


@pytest.mark.parametrize("k", [1, 5, 20])
def test_plain_loops(X, new, k):
    found = LocalOutlierFactor(k).fit(X).outlierness(new)
    np.testing.assert_allclose(found, plain_factors(new, X, k), rtol=1e-9)


@pytest.mark.parametrize("k", [1, 5, 20, 159])
def test_scores_are_scikit_learns(X, new, k):
    ours = LocalOutlierFactor(k).fit(X)
    theirs = neighbors.LocalOutlierFactor(n_neighbors=k, novelty=True).fit(X)
    np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    assert ours.offset_ == theirs.offset_ == -1.5


def test_training_rows_without_themselves_are_scikit_learns_outliers(X):
    theirs = neighbors.LocalOutlierFactor(n_neighbors=10).fit(X)
    e = whyodd.explain(LocalOutlierFactor(10).fit(X), X)
    np.testing.assert_allclose(e.outlierness, -theirs.negative_outlier_factor_, rtol=1e-9)


@pytest.mark.data
@pytest.mark.parametrize("name", ["6_cardio", "12_fault", "30_satellite"])
def test_scores_are_scikit_learns_on_real_data(data_dir, name):
    X = np.load(data_dir / "adbench" / f"{name}.npz")["X"].astype(np.float64)
    X = np.unique((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), axis=0)[:3000]
    ours = LocalOutlierFactor().fit(X[::2])
    theirs = neighbors.LocalOutlierFactor(novelty=True, algorithm="kd_tree").fit(X[::2])
    np.testing.assert_allclose(ours.score_samples(X[1::2]), theirs.score_samples(X[1::2]), rtol=1e-6)


def test_far_from_the_origin(X, new):
    """Searching by matrix products would lose the digits."""
    wide = np.hstack([X] * 6)  # enough columns for scikit-learn to choose products
    expected = LocalOutlierFactor(5).fit(wide).outlierness(np.hstack([new] * 6))
    moved = LocalOutlierFactor(5).fit(wide + 1e6).outlierness(np.hstack([new] * 6) + 1e6)
    np.testing.assert_allclose(moved, expected, rtol=1e-6)  # 1e6 costs ten digits of sixteen


def test_turned_and_scaled_data(X, new, rng):
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    expected = LocalOutlierFactor(5).fit(X).outlierness(new)
    turned = LocalOutlierFactor(5).fit(100.0 * X @ turn)
    np.testing.assert_allclose(turned.outlierness(100.0 * new @ turn), expected, rtol=1e-7)


def test_copies_have_a_finite_density():
    X = np.concatenate([np.zeros((10, 2)), np.arange(20.0).reshape(10, 2)])
    ours = LocalOutlierFactor(5).fit(X)
    theirs = neighbors.LocalOutlierFactor(n_neighbors=5, novelty=True).fit(X)
    rows = [[0.0, 0.0], [1e-3, 0.0], [5.0, 5.5]]
    np.testing.assert_allclose(ours.score_samples(rows), theirs.score_samples(rows), rtol=1e-6)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_reaches_and_densities(X, layout):
    pooling = local_reach(layout(X), 7)
    theirs = neighbors.LocalOutlierFactor(n_neighbors=7, novelty=True).fit(X)
    assert pooling.k == 7
    np.testing.assert_allclose(pooling.reaches, theirs._distances_fit_X_[:, -1], rtol=1e-7)
    np.testing.assert_allclose(pooling.densities, theirs._lrd, rtol=1e-7)


def test_rows_without_weight_do_not_count(X, new):
    weights = np.repeat([2.0, 0.0], 80)
    model = LocalOutlierFactor(5).fit(X, sample_weight=weights)
    expected = LocalOutlierFactor(5).fit(np.repeat(X[:80], 2, axis=0))
    np.testing.assert_allclose(model.outlierness(new), expected.outlierness(new), rtol=1e-9)


@pytest.mark.parametrize("k", [0, -1, 2.5, 0.5, "20", None, True])
def test_wrong_number_of_neighbours(X, k):
    with pytest.raises(ValueError, match=r"n_neighbors=.*expected a whole number of at least 1"):
        LocalOutlierFactor(k).fit(X)


def test_more_neighbours_than_rows_warn_and_score_as_scikit_learn(X, new):
    with pytest.warns(UserWarning, match="n_neighbors=20, but each of 12 rows has only 11"):
        ours = LocalOutlierFactor().fit(X[:12])
    assert ours.n_neighbors_ == 11
    theirs = neighbors.LocalOutlierFactor(n_neighbors=11, novelty=True).fit(X[:12])
    np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), rtol=1e-9)


def test_weights_that_are_no_counts_are_a_clear_error(X):
    with pytest.raises(ValueError, match="LocalOutlierFactor counts rows"):
        LocalOutlierFactor().fit(X, sample_weight=np.full(160, 1.5))
