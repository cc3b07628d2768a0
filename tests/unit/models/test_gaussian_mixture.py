"""Gaussian mixture: scikit-learn's log-densities, constant columns, weights, parts of the network."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn import mixture
from sklearn.exceptions import ConvergenceWarning

import whyodd
from whyodd import DistanceNetwork, GaussianMixture
from whyodd.kernels import Exponential
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.models.fitting.mixture_parts import gaussian_components

TYPES = ["full", "tied", "diag", "spherical"]
over_types = pytest.mark.parametrize("covariance_type", TYPES)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def training_rows(rng):
    left = rng.standard_normal((150, 3)) @ rng.standard_normal((3, 3))
    return np.concatenate([left, 8.0 + 0.5 * rng.standard_normal((50, 3))])


@pytest.fixture
def new(rng):
    return 5.0 * rng.standard_normal((50, 3))


@over_types
@pytest.mark.parametrize("n_components", [1, 2, 5])
def test_log_density_is_that_of_scikit_learn(X, new, covariance_type, n_components):
    ours = GaussianMixture(n_components, covariance_type, random_state=0).fit(X)
    theirs = mixture.GaussianMixture(n_components, covariance_type=covariance_type, random_state=0).fit(X)
    for rows in (X, new):
        np.testing.assert_allclose(ours.log_density(rows), theirs.score_samples(rows), rtol=1e-9, atol=1e-9)
        recovered = ours.network_.offset - ours.outlierness(rows)
        np.testing.assert_allclose(recovered, theirs.score_samples(rows), rtol=1e-9, atol=1e-9)
    assert np.all(ours.outlierness(X) >= 0.0)
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.data
@over_types
def test_log_density_is_that_of_scikit_learn_on_real_data(data_dir, covariance_type):
    X = np.load(data_dir / "adbench" / "12_fault.npz")["X"].astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = GaussianMixture(3, covariance_type, random_state=0).fit(X[::2])
    theirs = mixture.GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X[::2])
    np.testing.assert_allclose(ours.log_density(X), theirs.score_samples(X), rtol=1e-7)


@over_types
def test_many_dimensions_do_not_underflow(rng, covariance_type):
    """|2πΣ|^(-1/2) is 1e+1000 or so for these."""
    X = 0.01 * rng.standard_normal((60, 500))
    ours = GaussianMixture(2, covariance_type, random_state=0).fit(X)
    theirs = mixture.GaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(X)
    assert np.all(np.isfinite(ours.log_density(2.0 * X)))
    np.testing.assert_allclose(ours.log_density(X), theirs.score_samples(X), rtol=1e-9)


@over_types
def test_a_tenth_of_the_training_rows_are_outliers(X, covariance_type):
    model = GaussianMixture(2, covariance_type, random_state=0).fit(X)
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.1)


# ---- parts ------------------------------------------------------------------------------------------------


@over_types
def test_parts_are_a_sum_of_normal_densities(X, new, covariance_type):
    """Plain: Σ_k w_k N(x; μ_k, Σ_k) with weights that do not sum to 1."""
    fitted = mixture.GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    weights = np.array([0.1, 2.0, 0.7])
    parts = gaussian_components(fitted.means_, np.log(weights), fitted.precisions_cholesky_, covariance_type)
    covariance = {
        "full": lambda k: fitted.covariances_[k],
        "tied": lambda _: fitted.covariances_,
        "diag": lambda k: np.diag(fitted.covariances_[k]),
        "spherical": lambda k: fitted.covariances_[k] * np.eye(3),
    }[covariance_type]
    density = sum(
        w * multivariate_normal(fitted.means_[k], covariance(k)).pdf(new) for k, w in enumerate(weights)
    )
    network = DistanceNetwork(**parts)
    np.testing.assert_allclose(np.exp(network.offset - network.outlierness(new)), density, rtol=1e-9)
    assert np.exp(parts["log_weights"]).sum() == pytest.approx(1.0)
    assert parts["kernel"] == Exponential(q=2.0, sigma=1.0)


def test_metrics_are_as_simple_as_can_be(X):
    metrics = {name: GaussianMixture(2, name, random_state=0).fit(X).network_.metric for name in TYPES}
    assert isinstance(metrics["tied"], LinearMetric)
    assert all(isinstance(metrics[name], ComponentMetric) for name in ("full", "diag", "spherical"))
    assert metrics["diag"].is_diagonal
    assert metrics["spherical"].is_diagonal
    assert not metrics["full"].is_diagonal


def test_a_component_without_weight_has_no_part():
    parts = gaussian_components([[0.0], [9.0]], [0.0, -np.inf], [1.0, 1.0], "spherical")
    network = DistanceNetwork(**parts)
    assert network.outlierness([[9.0]])[0] == pytest.approx(40.5)


# ---- columns and weights ----------------------------------------------------------------------------------


@over_types
@pytest.mark.parametrize("value", [0.0, 1 / 3, 1e6])
def test_constant_columns_are_set_aside(X, new, covariance_type, value):
    """Their variance would be reg_covar alone: a deviation of 1 would be worth a million."""
    wide = np.insert(X, 1, value, axis=1)
    deviating = np.insert(new, 1, value + 5.0, axis=1)
    model = GaussianMixture(2, covariance_type, random_state=0).fit(wide)
    without = GaussianMixture(2, covariance_type, random_state=0).fit(X)
    np.testing.assert_array_equal(model.constant_, [False, True, False, False])
    np.testing.assert_allclose(model.outlierness(deviating), without.outlierness(new), rtol=1e-9)
    np.testing.assert_allclose(model.log_density(deviating), without.log_density(new), rtol=1e-9)
    relevance = whyodd.explain(model, deviating).relevance
    assert np.all(relevance[:, 1] == 0.0)
    np.testing.assert_allclose(whyodd.explain(model, deviating).expected[:, 1], value)


def test_data_that_does_not_vary():
    with pytest.raises(ValueError, match="Every column of X is constant"):
        GaussianMixture().fit(np.ones((10, 2)))


@over_types
def test_weights_are_repetition_in_any_order(X, new, rng, covariance_type):
    weights = rng.integers(0, 4, 200)
    weighted = GaussianMixture(3, covariance_type, random_state=0).fit(X, sample_weight=weights)
    rows = np.repeat(X, weights, axis=0)[rng.permutation(weights.sum())]
    repeated = GaussianMixture(3, covariance_type, random_state=0).fit(rows)
    np.testing.assert_array_equal(weighted.log_density(new), repeated.log_density(new))


def test_weights_that_are_no_counts_are_a_clear_error(X):
    with pytest.raises(ValueError, match="GaussianMixture counts rows"):
        GaussianMixture().fit(X, sample_weight=np.full(200, 0.5))


# ---- wrong input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"reg_covar": -1.0}, "reg_covar"),
        ({"n_components": 300}, "n_components"),
    ],
    ids=str,
)
def test_wrong_parameters_are_told_by_scikit_learn(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        GaussianMixture(**parameters).fit(X)


def test_too_few_iterations_warn(X):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        GaussianMixture(4, max_iter=1, tol=1e-10, random_state=0).fit(X)


def test_seed_decides(X, new):
    first, second = (GaussianMixture(5, random_state=3).fit(X).outlierness(new) for _ in range(2))
    np.testing.assert_array_equal(first, second)
