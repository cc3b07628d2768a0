"""scikit-learn's words: the same gamma or bandwidth gives the same model, and what is unknown is told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import neighbors, svm
from sklearn.model_selection import GridSearchCV, KFold

import whyodd
from whyodd.kernels import Exponential

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 3))
NEW = RANDOM.normal(size=(50, 3)) * 2.0


# ---- support vector machines ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [whyodd.OneClassSVM, whyodd.SVDD])
@pytest.mark.parametrize("rows", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("gamma", [0.05, 0.5, "scale", "auto"])
@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_the_same_gamma_gives_the_same_model(kind, rows, gamma, nu):
    ours = kind(kernel="rbf", gamma=gamma, nu=nu, tol=1e-6).fit(rows)
    theirs = svm.OneClassSVM(kernel="rbf", gamma=gamma, nu=nu, tol=1e-6).fit(rows)
    scale = nu * len(X)  # what its weights sum to
    # Both are solved to a violation of 1e-6; ours has a boundary that is 1e-6 lower, for rounding.
    np.testing.assert_allclose(scale * ours.inlierness(NEW), theirs.score_samples(NEW), atol=1e-5)
    np.testing.assert_allclose(scale * np.exp(ours.offset_), theirs.offset_[0], rtol=1e-5)
    clear = np.abs(theirs.decision_function(NEW)) > 1e-4
    assert clear.sum() > 45
    np.testing.assert_array_equal(ours.predict(NEW)[clear], theirs.predict(NEW)[clear])


@pytest.mark.parametrize(
    ("gamma", "sigma"), [(0.5, 1.0), (2, 0.5), ("scale", "scale"), ("auto", 1.5**0.5), (None, "nn")]
)
def test_gamma_is_another_name_for_a_sigma(gamma, sigma):
    ours = whyodd.OneClassSVM("rbf", gamma=gamma).fit(X)
    assert ours.kernel_ == whyodd.OneClassSVM("gaussian", sigma=sigma).fit(X).kernel_


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf, np.nan, True, "nn", [1.0]])
def test_wrong_gammas(gamma):
    with pytest.raises(ValueError, match=r"^gamma=.*: expected a positive number, 'scale' or 'auto'\.$"):
        whyodd.OneClassSVM(gamma=gamma).fit(X)


@pytest.mark.parametrize("kernel", ["laplacian", "student", "exponential", Exponential(sigma=2.0)])
def test_gamma_is_that_of_the_gaussian_kernel(kernel):
    with pytest.raises(ValueError, match=r"gamma=0\.5 belongs to the Gaussian kernel, .* as sigma, or"):
        whyodd.OneClassSVM(kernel, gamma=0.5).fit(X)


# ---- densities --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "theirs"), [("gaussian", "gaussian"), ("rbf", "gaussian"), ("laplacian", "exponential")]
)
@pytest.mark.parametrize("bandwidth", [0.7, 2, "scott", "silverman"])
def test_the_same_bandwidth_gives_the_same_density(kernel, theirs, bandwidth):
    ours = whyodd.KernelDensity(kernel, bandwidth=bandwidth).fit(X)
    # In one leaf: with more, its bounds cancel and a small density loses all of its digits.
    other = neighbors.KernelDensity(kernel=theirs, bandwidth=bandwidth, leaf_size=len(X)).fit(X)
    np.testing.assert_allclose(ours.score_samples(NEW), other.score_samples(NEW), rtol=1e-9)
    assert ours.kernel_.sigma == pytest.approx(other.bandwidth_, rel=1e-15)


def test_a_search_over_bandwidths_finds_the_same():
    grid = {"bandwidth": [0.1, 0.2, 0.4, 0.8, 1.6]}
    kinds = [whyodd.KernelDensity(), neighbors.KernelDensity(leaf_size=len(X))]
    ours, theirs = (GridSearchCV(kind, grid, cv=KFold(5)).fit(X) for kind in kinds)
    assert ours.best_params_ == theirs.best_params_ != {"bandwidth": 0.1}


@pytest.mark.parametrize("bandwidth", ["scott", "silverman"])
def test_rules_count_weights_as_rows(bandwidth):
    counts = RANDOM.integers(1, 4, len(X))
    weighted = whyodd.KernelDensity(bandwidth=bandwidth).fit(X, sample_weight=counts)
    repeated = whyodd.KernelDensity(bandwidth=bandwidth).fit(np.repeat(X, counts, axis=0))
    assert weighted.kernel_ == repeated.kernel_


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, False, "likelihood", np.ones(2)])
def test_wrong_bandwidths(bandwidth):
    with pytest.raises(ValueError, match=r"^bandwidth=.*: expected a positive number, 'scott' or"):
        whyodd.KernelDensity(bandwidth=bandwidth).fit(X)


def test_what_scikit_learn_calls_exponential_is_told():
    with pytest.raises(ValueError, match=r"exp\(-d/h\) is 'laplacian' here.*='laplacian', or pass q"):
        whyodd.KernelDensity("exponential", bandwidth=0.5).fit(X)
    own = whyodd.KernelDensity("exponential", bandwidth=0.5, q=1.0).fit(X)
    assert own.kernel_ == whyodd.KernelDensity("laplacian", bandwidth=0.5).fit(X).kernel_


def test_a_kernel_that_has_its_own_bandwidth():
    with pytest.raises(ValueError, match=r"kernel=Exponential.* has its own bandwidth, got .*\. Leave"):
        whyodd.KernelDensity(Exponential(), bandwidth=0.5).fit(X)


# ---- both -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [1.0, "median", "scale"])
def test_two_bandwidths_are_one_too_many(sigma):
    with pytest.raises(ValueError, match=r"^Expected either gamma or sigma, got gamma=0\.5 and sigma="):
        whyodd.OneClassSVM(sigma=sigma, gamma=0.5).fit(X)
    with pytest.raises(
        ValueError, match=r"^Expected either bandwidth or sigma, got bandwidth=0\.5 and sigma="
    ):
        whyodd.KernelDensity(sigma=sigma, bandwidth=0.5).fit(X)


@pytest.mark.parametrize(
    "kind", [whyodd.OneClassSVM, whyodd.SVDD, whyodd.KernelDensity, whyodd.ExemplarMixture]
)
def test_kernels_of_scikit_learn(kind):
    assert kind("rbf").fit(X).kernel_ == kind("gaussian").fit(X).kernel_
    for kernel in {*svm_kernels(), *density_kernels()} - {"rbf", "gaussian", "exponential"}:
        with pytest.raises(ValueError, match=rf"^kernel='{kernel}' of scikit-learn .* Use kernel='gaussian'"):
            kind(kernel).fit(X)


def svm_kernels():
    """Those of the scikit-learn that is installed."""
    return svm.OneClassSVM._parameter_constraints["kernel"][0].options


def density_kernels():
    return neighbors.KernelDensity._parameter_constraints["kernel"][0].options
