"""scikit-learn's Gaussian mixtures against their networks, where the numbers get hard."""

import numpy as np
import pytest
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

import whyodd
from whyodd.maths.metrics import ComponentMetric, LinearMetric

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(80, 3)), RNG.normal(size=(40, 3)) * 0.5 + 6.0])


def assert_recovers_scores(model, rows, rtol=1e-9):
    network = whyodd.neuralize(model)
    np.testing.assert_allclose(
        network.offset - network.outlierness(rows), model.score_samples(rows), rtol=rtol
    )


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_components_have_a_metric_each(kind):
    network = whyodd.neuralize(GaussianMixture(2, covariance_type=kind, random_state=0).fit(X))
    assert isinstance(network.metric, ComponentMetric)
    assert network.metric.is_diagonal == (kind != "full")
    assert network.weights.sum() == pytest.approx(1.0, rel=1e-14)


def test_tied_components_share_one_metric():
    network = whyodd.neuralize(GaussianMixture(2, covariance_type="tied", random_state=0).fit(X))
    assert isinstance(network.metric, LinearMetric)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["full", "diag"])
def test_784_dimensions_do_not_underflow(kind):
    rows = RNG.normal(size=(40, 784)) * 1e-3
    model = GaussianMixture(2, covariance_type=kind, reg_covar=1e-6, random_state=0).fit(rows)
    assert whyodd.neuralize(model).offset > np.log(np.finfo(np.float64).max)
    assert_recovers_scores(model, rows * 2)


def test_a_component_of_next_to_no_weight_keeps_it():
    model = GaussianMixture(2, random_state=0).fit(X)
    model.weights_ = np.array([1.0 - 1e-200, 1e-200])
    assert_recovers_scores(model, X)


@pytest.mark.parametrize("prior", ["dirichlet_process", "dirichlet_distribution"])
def test_constants_of_a_bayesian_mixture_differ_by_component(prior):
    model = BayesianGaussianMixture(
        n_components=3, weight_concentration_prior_type=prior, random_state=0, tol=0.1
    ).fit(X)
    plain = GaussianMixture(3, random_state=0).fit(X)
    for name in ("weights_", "means_", "precisions_cholesky_", "covariances_"):
        setattr(plain, name, getattr(model, name))
    # The same components without their posterior constants: not only another offset, but other weights.
    assert np.ptp(whyodd.neuralize(model).log_weights - whyodd.neuralize(plain).log_weights) > 0.01
    assert_recovers_scores(model, X * 2)


@pytest.mark.parametrize("mixture", [GaussianMixture(), BayesianGaussianMixture()])
def test_one_component_leaves_nothing_unexplained(mixture):
    model = type(mixture)(random_state=0).fit(X)
    e = whyodd.explain(model, X * 2)
    np.testing.assert_allclose(e.unexplained, 0.0, atol=1e-9)
