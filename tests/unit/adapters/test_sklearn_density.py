"""scikit-learn's kernel density estimate against its network."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity

import whyodd
from whyodd.kernels import Exponential

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
ROWS = RNG.normal(size=(20, 3)) * 3


def test_gaussian_and_exponential_kernels_keep_their_bandwidth():
    assert whyodd.neuralize(KernelDensity(bandwidth=0.3).fit(X)).kernel == Exponential(q=2, sigma=0.3)
    exponential = KernelDensity(kernel="exponential", bandwidth=0.3).fit(X)
    assert whyodd.neuralize(exponential).kernel == Exponential(q=1, sigma=0.3)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
@pytest.mark.parametrize("d", [1, 2, 3, 30])
def test_normaliser_is_scikit_learns_in_every_dimension(kernel, d):
    rows = RNG.normal(size=(30, d))
    model = KernelDensity(kernel=kernel, bandwidth=1.7).fit(rows)
    network = whyodd.neuralize(model)
    np.testing.assert_allclose(
        network.offset - network.outlierness(rows), model.score_samples(rows), rtol=1e-12
    )


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_sample_weights_are_kept_also_those_of_zero(kernel):
    weights = np.arange(60.0)
    model = KernelDensity(kernel=kernel, leaf_size=100).fit(X, sample_weight=weights)
    network = whyodd.neuralize(model)
    np.testing.assert_allclose(network.weights, weights / weights.sum(), rtol=1e-14)
    with np.errstate(divide="ignore"):  # scikit-learn's own logarithm of the weight 0
        own = model.score_samples(ROWS)
    np.testing.assert_allclose(network.offset - network.outlierness(ROWS), own, rtol=1e-12)


def test_network_has_the_exact_sum_where_scikit_learns_tree_loses_it():
    far = X[:5] + 12.0
    network = whyodd.neuralize(KernelDensity(bandwidth=0.5, leaf_size=2).fit(X))
    density = logsumexp(-(cdist(far, X) ** 2) / (2 * 0.5**2), axis=1) - math.log(60)
    density -= 1.5 * math.log(2 * math.pi * 0.5**2)
    np.testing.assert_allclose(network.offset - network.outlierness(far), density, rtol=1e-12)


def test_centers_are_the_training_rows_in_their_order():
    network = whyodd.neuralize(KernelDensity(leaf_size=2).fit(X))
    np.testing.assert_array_equal(network.centers, X)
    np.testing.assert_array_equal(network.rows, np.arange(60))
    assert network.n_rows == 60


@pytest.mark.parametrize("kernel", ["tophat", "epanechnikov", "linear", "cosine"])
def test_kernels_without_reach_are_named(kernel):
    with pytest.raises(
        whyodd.UnsupportedModelError, match=rf"kernel='{kernel}'.*expected kernel='gaussian' or 'exponential'"
    ):
        whyodd.neuralize(KernelDensity(kernel=kernel).fit(X))


@pytest.mark.parametrize(
    ("metric", "parameters"), [("manhattan", None), ("minkowski", {"p": 3}), ("chebyshev", None)]
)
def test_other_metrics_are_named(metric, parameters):
    model = KernelDensity(metric=metric, metric_params=parameters).fit(X)
    with pytest.raises(
        whyodd.UnsupportedModelError, match=rf"KernelDensity .*metric='{metric}'.*Fit it again with metric="
    ):
        whyodd.neuralize(model)


@pytest.mark.parametrize(("metric", "parameters"), [("l2", None), ("minkowski", {"p": 2}), ("euclidean", {})])
def test_every_name_of_the_euclidean_metric_is_known(metric, parameters):
    model = KernelDensity(metric=metric, metric_params=parameters).fit(X)
    network = whyodd.neuralize(model)
    np.testing.assert_allclose(network.offset - network.outlierness(X), model.score_samples(X), rtol=1e-9)
