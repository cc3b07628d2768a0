"""k nearest neighbours: γ, κ, the median and δ as plain loops, Knorr's outliers, weights, wrong input."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

import whyodd
from whyodd import KNearestNeighbors


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def training_rows(rng):
    return rng.standard_normal((100, 3))


@pytest.fixture
def new(rng):
    return 2.0 * rng.standard_normal((30, 3))


def plain(x, X, k, measure):
    """Outlierness of one row, from the definitions of Harmeling et al."""
    order = sorted(range(len(X)), key=lambda j: math.dist(x, X[j]))[:k]
    distances = [math.dist(x, X[j]) for j in order]
    if measure == "mean":
        return sum(distances) / k
    if measure == "kth":
        return distances[-1]
    if measure == "median":
        middle = (k - 1) // 2
        return distances[middle] if k % 2 else 0.5 * (distances[middle] + distances[middle + 1])
    difference = [sum(x[i] - X[j][i] for j in order) / k for i in range(len(x))]
    return math.sqrt(sum(value**2 for value in difference))


@pytest.mark.parametrize("measure", ["mean", "kth", "median", "mean_vector"])
@pytest.mark.parametrize("k", [1, 4, 5])
def test_plain_loops(X, new, measure, k):
    model = KNearestNeighbors(k, measure).fit(X)
    np.testing.assert_allclose(model.outlierness(new), [plain(x, X, k, measure) for x in new], rtol=1e-9)


def test_scikit_learns_neighbours(X, new):
    distances, neighbors = NearestNeighbors(n_neighbors=7).fit(X).kneighbors(new)
    scores = {
        "mean": distances.mean(axis=1),
        "kth": distances[:, -1],
        "median": np.median(distances, axis=1),
        "mean_vector": np.linalg.norm(new - X[neighbors].mean(axis=1), axis=1),
    }
    for measure, expected in scores.items():
        found = KNearestNeighbors(7, measure).fit(X).outlierness(new)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.data
@pytest.mark.parametrize("name", ["6_cardio", "12_fault"])
def test_scikit_learns_neighbours_on_real_data(data_dir, name):
    X = np.load(data_dir / "adbench" / f"{name}.npz")["X"].astype(np.float64)
    distances, _ = NearestNeighbors(n_neighbors=5, algorithm="kd_tree").fit(X[::2]).kneighbors(X[1::2])
    found = KNearestNeighbors().fit(X[::2]).outlierness(X[1::2])
    np.testing.assert_allclose(found, distances.mean(axis=1), rtol=1e-9, atol=1e-9 * distances.max())


def test_mean_vector_is_small_in_the_midst_of_neighbours():
    """γ cannot tell a row among its neighbours from one beside them; δ can."""
    ring = np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)])
    gamma, delta = (KNearestNeighbors(11, measure).fit(ring) for measure in ("mean", "mean_vector"))
    middle = [[0.0, 0.0]]
    assert gamma.outlierness(middle)[0] == pytest.approx(1.0)
    assert delta.outlierness(middle)[0] < 0.1


@pytest.mark.parametrize("measure", ["mean", "kth", "median", "mean_vector"])
def test_turned_moved_and_scaled_data(X, new, rng, measure):
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    expected = 5.0 * KNearestNeighbors(measure=measure).fit(X).outlierness(new)
    moved = KNearestNeighbors(measure=measure).fit(5.0 * X @ turn + 100.0)
    np.testing.assert_allclose(moved.outlierness(5.0 * new @ turn + 100.0), expected, rtol=1e-9)


# ---- Knorr's DB(p, D) -------------------------------------------------------------------------------------


def knorr(rows, T, p, D):
    """At least a fraction p of the objects in T lie farther away than D."""
    return np.array([sum(math.dist(x, t) > D for t in T) >= p * len(T) - 1e-9 for x in rows])


@pytest.mark.parametrize("p", [0.5, 0.9, 0.95, 0.957, 0.99, 0.995])
@pytest.mark.parametrize("D", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("n", [100, 93])
def test_distance_based_outliers(X, new, p, D, n):
    model = KNearestNeighbors.distance_based(p, D).fit(X[:n])
    np.testing.assert_array_equal(model.predict(X[:n]) == -1, knorr(X[:n], X[:n], p, D))
    np.testing.assert_array_equal(model.predict(new) == -1, knorr(new, X[:n], p, D))
    assert model.threshold_ == D


@pytest.mark.parametrize(("p", "n", "k"), [(0.9, 10, 2), (0.99, 100, 2), (0.57, 100, 44), (0.999, 100, 1)])
def test_number_of_neighbours_of_knorr(rng, p, n, k):
    """⌊n(1 - p)⌋ + 1, where 1 - p is not quite what people write."""
    assert KNearestNeighbors.distance_based(p, 1.0).fit(rng.standard_normal((n, 2))).n_neighbors_ == k


def test_distance_based_detector_is_an_estimator_like_any_other():
    model = KNearestNeighbors.distance_based(0.95, 1.5)
    assert model.get_params() == clone(model).get_params()
    assert model.measure == "kth"
    assert isinstance(model, KNearestNeighbors)


# ---- thresholds and weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["mean", "kth", "median", "mean_vector"])
def test_threshold_is_that_of_rows_without_themselves(X, measure):
    left_out = [plain(X[i], np.delete(X, i, axis=0), 5, measure) for i in range(100)]
    model = KNearestNeighbors(measure=measure).fit(X)
    assert model.threshold_ == pytest.approx(np.mean(np.sort(left_out)[89:91]), rel=1e-9)


def test_threshold_given(X, new):
    model = KNearestNeighbors(threshold=1.25).fit(X)
    assert model.threshold_ == 1.25
    np.testing.assert_array_equal(model.predict(new) == -1, model.outlierness(new) > 1.25)


def test_copies_are_neighbours():
    model = KNearestNeighbors(2, "kth").fit([[0.0], [0.0], [1.0], [5.0], [5.0]])
    np.testing.assert_allclose(model.outlierness([[0.0], [1.0], [5.5]]), [0.0, 1.0, 0.5])


def test_rows_without_weight_are_no_neighbours(X):
    weights = np.ones(100)
    weights[50:] = 0.0
    model = KNearestNeighbors().fit(X, sample_weight=weights)
    expected = KNearestNeighbors().fit(X[:50])
    np.testing.assert_allclose(model.outlierness(X), expected.outlierness(X), rtol=1e-12)
    e = whyodd.explain(model, X)
    np.testing.assert_array_equal(e.excluded, np.where(weights > 0, np.arange(100), -1))


def test_weights_that_are_no_counts_are_a_clear_error(X):
    with pytest.raises(ValueError, match=r"KNearestNeighbors counts rows: .*whole numbers.*got 0.5"):
        KNearestNeighbors().fit(X, sample_weight=np.full(100, 0.5))


# ---- wrong input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, r"n_neighbors=0: expected a whole number of at least 1, or a share"),
        ({"n_neighbors": -3}, "n_neighbors=-3"),
        ({"n_neighbors": 1.5}, "n_neighbors=1.5"),
        ({"n_neighbors": 0.0}, "n_neighbors=0.0"),
        ({"n_neighbors": True}, "n_neighbors=True"),
        ({"n_neighbors": "5"}, "n_neighbors='5'"),
        ({"n_neighbors": None}, "n_neighbors=None"),
        ({"measure": "max"}, "measure='max': expected one of 'kth', 'mean', 'mean_vector', 'median'"),
        ({"threshold": 0.0}, "threshold=0.0: expected a distance above 0"),
        ({"threshold": np.nan}, "threshold=nan"),
        ({"threshold": "far"}, "threshold='far'"),
        (
            {"threshold": 1.0, "contamination": 0.1},
            "Expected threshold or contamination, got both: 1.0 and 0.1. Pass one",
        ),
    ],
    ids=str,
)
def test_wrong_parameters(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        KNearestNeighbors(**parameters).fit(X)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.5, 2.0])
def test_fraction_out_of_range(X, p):
    with pytest.raises(ValueError, match="expected a whole number of at least 1, or a share"):
        KNearestNeighbors.distance_based(p, 1.0).fit(X)


def test_more_neighbours_than_rows_warn(X):
    with pytest.warns(UserWarning, match="n_neighbors=20, but each of 10 rows has only 9") as caught:
        model = KNearestNeighbors(20).fit(X[:10])
    assert caught[0].filename == __file__
    assert model.n_neighbors_ == 9


def test_one_row_with_a_weight(X):
    with pytest.raises(ValueError, match="at least two rows with a weight, but there is 1"):
        KNearestNeighbors(1).fit(X, sample_weight=np.eye(100)[0])
