"""Models that learn part by part: as at once, whatever the parts; and what they forget."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import whyodd
from whyodd.models.in_parts import InParts
from whyodd.models.registry import MODELS

EXACT = [
    whyodd.Committee(max_rows=100),
    whyodd.KernelDensity(sigma="median"),
    whyodd.KNearestNeighbors(0.02),
    whyodd.KNearestNeighbors(4, "kth", contamination=0.2),
    whyodd.Gaussian("robust", random_state=0),
]
ALL = [*EXACT, whyodd.Gaussian(), whyodd.Gaussian("diagonal", contamination=0.1)]


def over(models):
    return pytest.mark.parametrize("model", models, ids=lambda model: "".join(repr(model).split()))


def new(model):
    return type(model)(**model.get_params())


def in_parts(model, X, ends=(1, 40, 41, 130), weights=None, **keywords):
    """The model after parts of a table, one of them of one row."""
    model = new(model)
    for rows in np.split(np.arange(X.shape[0]), ends):
        model.partial_fit(X[rows], None, None if weights is None else weights[rows], **keywords)
    return model


@pytest.fixture(scope="module", name="X")
def rows():
    return np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 2.0, 0.5] + [0.0, 100.0, 1.0]


@pytest.fixture(scope="module")
def others(X):
    return X[:50] + np.random.default_rng(1).normal(size=(50, 3))


def assert_same(one, other, X, *, tolerance=0.0):
    np.testing.assert_allclose(one.outlierness(X), other.outlierness(X), rtol=tolerance)
    np.testing.assert_allclose(one.threshold_, other.threshold_, rtol=tolerance)


def test_models_with_partial_fit():
    assert {type(model) for model in ALL} == {kind for kind in MODELS.values() if issubclass(kind, InParts)}


@over(EXACT)
def test_parts_give_what_all_rows_give(model, X, others):
    at_once, parts = new(model).fit(X), in_parts(model, X)
    assert_same(parts, at_once, others)
    e, f = whyodd.explain(parts, X), whyodd.explain(at_once, X)
    assert np.array_equal(e.relevance, f.relevance)
    assert np.array_equal(e.excluded, f.excluded)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_gaussian_of_parts_is_exact(covariance, X, others):
    """Means of parts round where that of all rows does not: by 1e-14 of 1,000 standard deviations squared."""
    at_once, parts = whyodd.Gaussian(covariance).fit(X), in_parts(whyodd.Gaussian(covariance), X)
    np.testing.assert_allclose(parts.covariance_, at_once.covariance_, atol=1e-11)
    assert_same(parts, at_once, others, tolerance=1e-9)


def test_columns_that_never_varied_are_known_of_all_parts(X):
    X = np.column_stack([X, np.full(200, 3.0), np.r_[np.zeros(199), 1.0]])
    model = whyodd.Gaussian()
    for part in np.split(X, 4):
        model.partial_fit(part)
    assert model.constant_.tolist() == [False, False, False, True, False]
    assert model.location_[3] == 3.0
    committee = whyodd.Committee(max_rows=20)
    for part in np.split(X, 4):
        committee.partial_fit(part)
    assert committee.network_.extent.tolist() == [X.min(axis=0).tolist(), X.max(axis=0).tolist()]


@over(ALL)
def test_parts_go_on_from_fit(model, X, others):
    first = new(model).fit(X[:120])
    first.partial_fit(X[120:150]).partial_fit(X[150:])
    both = new(model).fit(X)
    tolerance = 0.0 if model in EXACT else 1e-9
    np.testing.assert_allclose(first.outlierness(others), both.outlierness(others), rtol=tolerance)
    if model.get_params().get("covariance") != "full":  # it holds no rows of fit
        np.testing.assert_allclose(first.threshold_, both.threshold_, rtol=tolerance)


def test_a_gaussian_holds_no_rows_of_fit(X):
    model = whyodd.Gaussian().fit(X)
    threshold = model.threshold_
    assert model.seen_.rows.shape == (0, 3)
    model.partial_fit(X[:1] + 0.1)
    assert model.threshold_ == threshold
    model.partial_fit(X[:150])  # enough to tell a threshold
    assert model.threshold_ != threshold


@over(ALL)
def test_weights_of_parts(model, X, others):
    weights = np.random.default_rng(2).integers(0, 3, 200).astype(float)
    weights[[0, 40]] = 1.0  # parts of one row
    model = new(model).set_params(max_rows=150) if "max_rows" in model.get_params() else model
    at_once = new(model).fit(X, sample_weight=weights)
    parts = in_parts(model, X, weights=weights)
    assert_same(parts, at_once, others, tolerance=0.0 if model in EXACT else 1e-9)


@over(ALL)
def test_there_is_no_model_of_one_row(model, X):
    model = new(model).partial_fit(X[:1])
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X[1:])
    assert model.predict(X).shape == (200,)


@over(ALL)
def test_a_call_that_fails_changes_nothing(model, X, others):
    model = in_parts(model, X)
    before, scores = dict(model.__dict__), model.outlierness(others)
    wrong = {
        "^Input X contains NaN": np.full((3, 3), np.nan),
        "^X has 2 features, but .* is expecting 3 features": X[:, :2],
        "^The largest value of X is .*: its square does not fit into a float": 1e200 * X,
    }
    for message, rows in wrong.items():
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows)
    with pytest.raises(ValueError, match="half-life in rows, above 0"):
        model.partial_fit(X, forget=-1.0)
    assert model.__dict__ == before
    assert np.array_equal(model.outlierness(others), scores)


@over(ALL)
def test_fit_starts_anew(model, X, others):
    model = in_parts(model, X[:100] + 50.0, ends=(20,)).fit(X)
    assert_same(model, new(model).fit(X), others)


@over(ALL)
def test_a_saved_model_goes_on(model, X, others, tmp_path):
    model = new(model).partial_fit(X[:120], forget=500.0)
    whyodd.save(model, tmp_path / "m.whyodd")
    again = whyodd.load(tmp_path / "m.whyodd")
    assert_same(again.partial_fit(X[120:], forget=500.0), model.partial_fit(X[120:], forget=500.0), others)


def test_sparse_rows(X):
    centers = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    at_once = whyodd.KernelDensity(sigma="median").fit(centers)
    parts = in_parts(whyodd.KernelDensity(sigma="median"), centers)
    assert np.array_equal(parts.outlierness(centers), at_once.outlierness(centers))


def test_a_committee_of_auto_keeps_nothing_to_go_on_from(X):
    pipeline = whyodd.auto(X)
    with pytest.raises(ValueError, match=r"keeps nothing for partial_fit to continue from.*TableSummary"):
        pipeline[-1].partial_fit(pipeline[:-1].transform(X))


# More rows than are kept


def test_beyond_the_sample_the_cut_into_parts_does_not_matter(others):
    many = np.random.default_rng(3).normal(size=(900, 3))
    a = in_parts(whyodd.Committee(max_rows=100), many)
    b = in_parts(whyodd.Committee(max_rows=100), many, ends=(300, 600))
    assert a.seen_.rows.shape == (200, 3)
    assert_same(a, b, others)
    network = a.network_
    assert network.n_rows == 900
    assert np.array_equal(many[network.rows], network.centers)


def test_rows_kept_count_for_all_of_the_density(monkeypatch):
    """log g of sampled centers is off by √((E k²/g² - 1)/m) on average: by no more than four times that."""
    monkeypatch.setattr("whyodd.models.in_parts._MOST_KEPT", 1_000)
    rng = np.random.default_rng(0)
    X, points = rng.normal(size=(20_000, 2)), rng.normal(size=(40, 2))
    sigma = 0.5
    model = whyodd.KernelDensity(sigma=sigma)
    for part in np.split(X, 10):
        model.partial_fit(part)
    assert model.network_.n_centers == 1_000
    k = np.exp(-((points[:, None, :] - X) ** 2).sum(axis=2) / (2.0 * sigma**2))
    predicted = np.sqrt(((k**2).mean(axis=1) / k.mean(axis=1) ** 2 - 1.0) / 1_000)
    errors = model.outlierness(points) + np.log(k.mean(axis=1))
    ratio = math.sqrt(np.mean((errors / predicted) ** 2))
    assert 0.5 < ratio < 1.7  # the root mean square of 40 that depend on each other


# Forgetting


def aged(n, half_life):
    return 0.5 ** ((n - 1.0 - np.arange(n)) / half_life)


@pytest.mark.parametrize(
    "model", [whyodd.Gaussian(), whyodd.KernelDensity(sigma=1.0)], ids=["gaussian", "kernel"]
)
def test_a_row_of_one_half_life_counts_half(model, X, others):
    parts = in_parts(model, X, forget=30.0)
    at_once = new(model).fit(X, sample_weight=aged(200, 30.0))
    np.testing.assert_allclose(parts.outlierness(others), at_once.outlierness(others), rtol=1e-9)


@pytest.mark.parametrize("model", [whyodd.Committee(max_rows=500), whyodd.KNearestNeighbors(3)])
def test_models_that_count_rows_keep_fewer_old_ones(model):
    X = np.random.default_rng(0).normal(size=(4_000, 2))
    rows = in_parts(model, X, ends=(1_000, 2_000, 3_000), forget=1_000.0).seen_.sample.row
    counts = np.bincount(rows // 1_000)
    expected = aged(4, 1.0) * counts.sum() / aged(4, 1.0).sum()
    assert np.all(np.abs(counts - expected) < 4.5 * np.sqrt(expected))


@over(ALL)
def test_forgetting_may_begin_later(model, X):
    """All that was learned before is as of then; 40 half-lives later nothing of it is left."""
    far = X + 1_000.0
    model = new(model).fit(far)
    for _ in range(8):
        model.partial_fit(X, forget=40.0)
    assert (model.predict(X) == 1).mean() > 0.5
    assert (model.predict(far) == -1).all()
    with pytest.raises(ValueError, match="half-life 40, the other with inf"):
        model.partial_fit(X)


def test_forgetting_from_some_row_on_counts_earlier_rows_as_of_then(X, others):
    model = whyodd.Gaussian().partial_fit(X[:50]).partial_fit(X[50:], forget=25.0)
    weights = 0.5 ** ((199.0 - np.maximum(np.arange(200), 49.0)) / 25.0)
    at_once = whyodd.Gaussian().fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.outlierness(others), at_once.outlierness(others), rtol=1e-9)
    density = whyodd.KernelDensity(sigma=1.0).partial_fit(X[:50]).partial_fit(X[50:], forget=25.0)
    at_once = whyodd.KernelDensity(sigma=1.0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(density.outlierness(others), at_once.outlierness(others), rtol=1e-9)
