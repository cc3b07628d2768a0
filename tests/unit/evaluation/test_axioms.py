"""Which scores are measures of outlierness in the sense of the paper (Definition 2)."""

import numpy as np
import pytest
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.kernels import Exponential, Student

X = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 2.0, 5.0] + 10.0


@pytest.mark.parametrize(
    ("model", "q", "c"),
    [
        (OneClassSVM(gamma=0.5), 2.0, 0.5),
        (whyodd.OneClassSVM(kernel=Exponential(q=1, sigma=2.0)), 1.0, 1 / 2),
        (whyodd.OneClassSVM(kernel=Exponential(q=4, sigma=1.5)), 4.0, 1 / (4 * 1.5**4)),
        (whyodd.KernelDensity(kernel=Student(q=2, a=1.0, sigma=2.0)), 2.0, 100 / 4.0),
        (KernelDensity(bandwidth=0.5), 2.0, 1 / (2 * 0.25)),
        (whyodd.KNearestNeighbors(), 1.0, 1.0),
        (whyodd.KNearestNeighbors(5, "mean_vector"), 1.0, 1.0),
        (KMeans(3, n_init=1, random_state=0), 1.0, 1.0),
        (whyodd.GaussianMixture(1, covariance_type="spherical"), 2.0, None),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_radial_models_grow_with_the_constants_of_the_design(model, q, c):
    check = whyodd.check_outlierness(model.fit(X))
    assert check, str(check)
    assert check.degree == pytest.approx(q, rel=1e-3)
    if c is not None:
        np.testing.assert_allclose(check.slopes, c, rtol=1e-2)
    assert str(check).startswith("a measure of outlierness")


@pytest.mark.parametrize(
    "model",
    [
        whyodd.Gaussian(),
        whyodd.Gaussian("diagonal"),
        whyodd.GaussianMixture(2, random_state=0),
        whyodd.LocalOutlierFactor(),
    ],
    ids=lambda model: repr(model),
)
def test_a_learned_metric_or_density_depends_on_the_direction(model):
    """The paper's counter-example, and its kin."""
    check = whyodd.check_outlierness(model.fit(X))
    assert not check
    assert "times as fast in one direction as in another" in str(check)


def test_the_ratio_is_that_of_the_variances():
    """o = ½ Σ x_i²/σ_i²: along the axes it grows with 1/σ_i²."""
    model = whyodd.Gaussian("diagonal").fit(X)
    check = whyodd.check_outlierness(model)
    variances = np.diag(model.covariance_)
    assert check.slopes.max() / check.slopes.min() == pytest.approx(
        variances.max() / variances.min(), rel=1e-3
    )


@pytest.mark.parametrize(
    "model", [IsolationForest(n_estimators=5, random_state=0), IForest(n_estimators=5, random_state=0)]
)
def test_a_bounded_score_does_not_grow(model):
    check = whyodd.check_outlierness(model.fit(X))
    assert not check
    assert "does not grow" in str(check)


def test_a_score_below_zero_is_told():
    check = whyodd.check_outlierness(OneClassSVM(kernel="linear").fit(X))
    assert not check
    assert "below 0" in str(check)


def test_less_than_the_distance():
    check = whyodd.check_outlierness(whyodd.KernelDensity(kernel=Exponential(q=0.5, sigma=1.0)).fit(X))
    assert "less than the distance itself" in str(check)


@pytest.mark.full
def test_what_does_not_say_how_many_columns():
    with pytest.raises(whyodd.UnsupportedModelError, match="n_features_in_"):
        whyodd.check_outlierness(HBOS().fit(X))


def test_of_a_pipeline_it_is_the_last_step():
    model = make_pipeline(StandardScaler(), KernelDensity(bandwidth=0.5)).fit(X)
    assert whyodd.check_outlierness(model).slopes[0] == pytest.approx(2.0, rel=1e-2)


def test_what_has_no_score():
    with pytest.raises(whyodd.UnsupportedModelError, match="neither score_samples nor decision_function"):
        whyodd.check_outlierness(object())
