"""Kernel density: scikit-learn's densities, kernels, weights, thresholds."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from sklearn import neighbors
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import whyodd
from whyodd import KernelDensity
from whyodd.kernels import Exponential, Student
from whyodd.models.kernel_density import _log_inlierness_at


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def training_rows(rng):
    return rng.standard_normal((200, 3))


@pytest.fixture
def new(rng):
    return 2.0 * rng.standard_normal((50, 3))


@pytest.mark.parametrize(("kernel", "theirs"), [("gaussian", "gaussian"), ("laplacian", "exponential")])
@pytest.mark.parametrize("sigma", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_log_density_is_that_of_scikit_learn(X, new, rng, kernel, theirs, sigma, weighted):
    weights = rng.random(200) if weighted else None
    ours = KernelDensity(kernel, sigma).fit(X, sample_weight=weights)
    # In one leaf: with more, its bounds cancel and a small density loses all of its digits.
    other = neighbors.KernelDensity(kernel=theirs, bandwidth=sigma, leaf_size=200)
    other.fit(X, sample_weight=weights)
    np.testing.assert_allclose(ours.log_density(new), other.score_samples(new), rtol=1e-9)
    np.testing.assert_allclose(
        ours.log_density(new), ours.network_.offset - ours.outlierness(new), rtol=1e-12
    )


@pytest.mark.data
def test_log_density_is_that_of_scikit_learn_on_real_data(data_dir):
    X = np.load(data_dir / "adbench" / "6_cardio.npz")["X"]
    ours = KernelDensity().fit(X[::2])
    other = neighbors.KernelDensity(bandwidth=ours.kernel_.sigma, leaf_size=len(X)).fit(X[::2])
    np.testing.assert_allclose(ours.log_density(X[1::2]), other.score_samples(X[1::2]), rtol=1e-9)


def test_plain_sum(X, new):
    model = KernelDensity("exponential", 0.7, q=3.0).fit(X)
    d = np.sqrt(((new[:, None] - X) ** 2).sum(axis=-1))
    np.testing.assert_allclose(model.outlierness(new), np.log(200) - logsumexp(-((d / 0.7) ** 3) / 3, axis=1))


@pytest.mark.parametrize(
    "model",
    [
        KernelDensity("laplacian", 0.5),
        KernelDensity("student", 0.5, q=4.0),
        KernelDensity("cauchy", 0.5, a=3.0),
    ],
    ids=str,
)
def test_densities_integrate_to_one(rng, model):
    X = rng.standard_normal((5, 1))
    model.fit(X)

    def density(t):
        # x = t / (1 - t²): the whole line between -1 and 1, for tails that fall slowly.
        return np.exp(model.log_density([[t / (1 - t * t)]])[0]) * (1 + t * t) / (1 - t * t) ** 2

    total = sum(quad(density, a, a + 0.2, limit=200)[0] for a in np.arange(-5, 5) / 5)
    assert total == pytest.approx(1.0, abs=1e-6)


def test_student_without_density_has_scores_but_no_log_density(X, new):
    model = KernelDensity("student", "median").fit(X)
    np.testing.assert_allclose(model.score_samples(new), np.log(model.inlierness(new)), rtol=1e-14)
    with pytest.raises(ValueError, match=r"Student\(q=2.*infinite integral over 3 dimension\(s\)"):
        model.log_density(new)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "student"])
def test_scores_are_log_densities(X, new, kernel):
    model = KernelDensity(kernel, "median", q=4.0 if kernel == "student" else None).fit(X)
    np.testing.assert_array_equal(model.score_samples(new), model.log_density(new))
    assert model.score(new) == model.score_samples(new).mean()


@pytest.mark.parametrize("m", [1, 2, 1000])
@pytest.mark.parametrize("o", [1e-9, 0.3, 7.0, 1e5, 1e300])
@pytest.mark.parametrize("kernel", [Exponential(1.0), Student(3.0, a=0.2), Student(2.0, a=50.0)], ids=str)
def test_the_offset_is_the_score_of_a_row_on_the_threshold(kernel, o, m):
    least = float(kernel.outlierness(kernel.log_similarity(np.zeros(1)), m)[0])
    o = max(o, least)  # no row has less
    found = _log_inlierness_at(o, kernel, m)
    # Just below, and by no more than rounding of thresholds may be.
    assert kernel.outlierness(np.asarray(found), m) == pytest.approx(o, rel=2e-12)
    assert kernel.outlierness(np.asarray(found), m) >= o


@pytest.mark.parametrize("kernel", ["gaussian", "student"])
def test_rows_on_the_threshold_are_no_outliers(X, kernel):
    for n in range(11, 111, 10):  # a tenth of the steps between rows: the threshold is the score of a row
        model = KernelDensity(kernel, "median", contamination=0.1).fit(X[:n])
        assert model.threshold_ in model.outlierness(X[:n])
        assert np.sum(model.predict(X[:n]) == -1) == n // 10


def test_log_density_of_a_row_far_away_does_not_underflow(X):
    model = KernelDensity(sigma=0.1).fit(X)
    assert model.inlierness([[100.0, 0.0, 0.0]])[0] == 0.0
    assert -1e6 < model.log_density([[100.0, 0.0, 0.0]])[0] < -1e5


def test_unfitted_model_has_no_density(X):
    with pytest.raises(NotFittedError):
        KernelDensity().log_density(X)


def test_all_rows_with_a_weight_are_centers(X, rng):
    weights = rng.integers(0, 3, 200).astype(float)
    network = KernelDensity(sigma=1.0).fit(X, sample_weight=weights).network_
    np.testing.assert_array_equal(network.rows, np.flatnonzero(weights))
    np.testing.assert_allclose(network.weights, weights[weights > 0] / weights.sum())
    assert network.n_rows == 200


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"kernel": "gaussian"}, Exponential(q=2.0, sigma=1.5)),
        ({"kernel": "exponential", "q": 0.7}, Exponential(q=0.7, sigma=1.5)),
        ({"kernel": "student", "q": 1.0, "a": 3.0}, Student(q=1.0, a=3.0, sigma=1.5)),
        ({"kernel": "cauchy"}, Student(q=2.0, a=1.0, sigma=1.5)),
        ({"kernel": Student(q=1.0, sigma=7.0), "sigma": "likelihood"}, Student(q=1.0, sigma=7.0)),
    ],
    ids=str,
)
def test_kernels_by_name_and_object(X, parameters, expected):
    assert KernelDensity(**{"sigma": 1.5} | parameters).fit(X).kernel_ == expected


def test_threshold_is_that_of_rows_without_themselves(X):
    """Plain: fit without each row in turn, and ask for its outlierness."""
    model = KernelDensity(sigma=0.5).fit(X)
    left_out = [
        KernelDensity(sigma=0.5).fit(np.delete(X, i, axis=0)).outlierness(X[i : i + 1])[0] for i in range(200)
    ]
    assert np.mean(np.array(left_out) > model.threshold_) == pytest.approx(0.1)
    assert model.threshold_ == pytest.approx(np.mean(np.sort(left_out)[179:181]), rel=1e-9)


def test_a_row_with_copies_is_left_out_once(X):
    rows = np.concatenate([X, X[:50], X[:50]])
    model = KernelDensity(sigma=0.5).fit(rows)
    left_out = [
        KernelDensity(sigma=0.5).fit(np.delete(rows, i, axis=0)).outlierness(rows[i : i + 1])[0]
        for i in range(300)
    ]
    assert np.mean(np.array(left_out) > model.threshold_) == pytest.approx(0.1, abs=3 / 300)


@pytest.mark.parametrize("kernel", ["gaussian", "student"])
def test_scores_do_not_depend_on_the_scale_of_weights(X, new, rng, kernel):
    weights = 2.0 + rng.random(200)
    models = [KernelDensity(kernel, "median").fit(X, sample_weight=factor * weights) for factor in (1.0, 7.0)]
    np.testing.assert_allclose(models[0].outlierness(new), models[1].outlierness(new), rtol=1e-9)


def test_explanation_of_a_far_row(X):
    e = whyodd.explain(KernelDensity().fit(X), [[0.0, 8.0, 0.0]])
    assert e.reasons(0)[0].feature == "x1"
    assert e.relevance[0, 1] > 0.9 * e.relevance[0].sum()


def test_a_search_over_parameters_maximises_the_density():
    X = np.random.default_rng(0).normal(size=(200, 2))
    search = GridSearchCV(KernelDensity(), {"sigma": [0.01, 0.4, 10.0]}).fit(X)
    assert search.best_params_ == {"sigma": 0.4}
    assert search.best_estimator_.score(X) == pytest.approx(search.best_estimator_.log_density(X).mean())
