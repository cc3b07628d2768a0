"""Metrics: what they refuse, that they are frozen, and networks that are the same without them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from whyodd.kernels import Exponential
from whyodd.maths.hard_poolings import Nearest
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.distance_network import DistanceNetwork

RNG = np.random.default_rng(0)
X, CENTERS = 2 * RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))


@pytest.mark.parametrize(
    ("metric", "shown"),
    [
        (LinearMetric(np.ones((2, 3))), "LinearMetric(2 × 3)"),
        (ComponentMetric(np.ones((5, 3))), "ComponentMetric(5 × 3)"),
        (ComponentMetric(np.ones((5, 2, 3))), "ComponentMetric(5 × 2 × 3)"),
    ],
)
def test_shown_by_their_shape(metric, shown):
    assert repr(metric) == shown
    assert shown in repr(DistanceNetwork(CENTERS, metric=metric))


@pytest.mark.parametrize(
    ("make", "values", "expected"),
    [
        (LinearMetric, np.ones(3), r"shape \(k, d\) for a metric, got \(3,\)"),
        (LinearMetric, np.ones((5, 2, 3)), r"shape \(k, d\) for a metric, got \(5, 2, 3\)"),
        (LinearMetric, np.ones((0, 3)), r"shape \(k, d\) for a metric, got \(0, 3\)"),
        (ComponentMetric, np.ones(3), r"shape \(m, d\) or \(m, k, d\) for a metric, got \(3,\)"),
        (LinearMetric, [[np.inf, 1.0]], "finite: is a covariance singular"),
        (ComponentMetric, [[np.nan, 1.0]], "finite: is a covariance singular"),
    ],
)
def test_impossible_numbers_are_a_clear_error(make, values, expected):
    with pytest.raises(ValueError, match=expected):
        make(values)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (LinearMetric(np.eye(4)), r"The metric expects 4 variable\(s\), but the centers have 3\."),
        (ComponentMetric(np.ones((5, 4))), r"The metric expects 4 variable\(s\), but the centers have 3\."),
        (ComponentMetric(np.ones((6, 3))), r"The metric has maps for 6 centers, but there are 5\."),
    ],
)
def test_a_metric_for_something_else_is_a_clear_error(metric, expected):
    with pytest.raises(ValueError, match=expected):
        DistanceNetwork(CENTERS, metric=metric)


def test_a_metric_per_center_is_for_soft_pooling():
    with pytest.raises(ValueError, match="A metric per center works only with soft pooling"):
        DistanceNetwork(CENTERS, pooling=Nearest.kth(1), metric=ComponentMetric(np.ones((5, 3))))


def test_anything_else_is_no_metric():
    with pytest.raises(TypeError, match=r"Expected a metric from whyodd\.maths\.metrics, got ndarray"):
        DistanceNetwork(CENTERS, metric=np.eye(3))


@pytest.mark.parametrize("make", [LinearMetric, ComponentMetric])
def test_frozen_and_a_copy_of_what_was_given(make):
    given = np.ones((5, 3))
    metric = make(given)
    given[:] = 7.0
    (kept,) = vars(metric).values()
    assert (kept == 1.0).all()
    with pytest.raises(ValueError, match="read-only"):
        kept[0, 0] = 2.0
    with pytest.raises(AttributeError):
        metric.matrix = given


@pytest.mark.parametrize("make", [LinearMetric, ComponentMetric])
def test_pickled_and_still_read_only(make):
    metric = make(RNG.normal(size=(5, 3)))
    copied = pickle.loads(pickle.dumps(metric))
    (kept,), (original,) = vars(copied).values(), vars(metric).values()
    np.testing.assert_array_equal(kept, original)
    assert not kept.flags.writeable


def test_columns_tell_which_variables_count():
    assert LinearMetric([[1.0, 0.0], [2.0, 0.0]]).columns.any(axis=0).tolist() == [True, False]
    factors = np.ones((5, 2, 3))
    factors[:, :, 1] = 0.0
    assert ComponentMetric(factors).columns.any(axis=0).tolist() == [True, False, True]


def assert_same(got, wanted):
    for name in ("relevance", "outlierness", "unexplained", "log_inlierness"):
        np.testing.assert_allclose(getattr(got, name), getattr(wanted, name), rtol=1e-12, atol=1e-14)


PLAIN = [{"kernel": Exponential(1.5, 0.8)}, {"pooling": Nearest.mean(3)}]


@pytest.mark.parametrize("made_of", PLAIN, ids=str)
def test_the_identity_changes_nothing(made_of):
    plain = DistanceNetwork(CENTERS, **made_of).decompose(X)
    assert_same(DistanceNetwork(CENTERS, metric=LinearMetric(np.eye(3)), **made_of).decompose(X), plain)


@pytest.mark.parametrize("made_of", PLAIN, ids=str)
def test_a_diagonal_is_a_change_of_units(made_of):
    scale = np.array([3.0, -0.2, 1.0])
    metric = LinearMetric(np.diag(scale))
    wanted = DistanceNetwork(CENTERS * scale, **made_of).decompose(X * scale)
    assert_same(DistanceNetwork(CENTERS, metric=metric, **made_of).decompose(X), wanted)


@pytest.mark.parametrize("factor", [np.array([3.0, 0.2, 1.0]), RNG.normal(size=(3, 3)), np.ones((2, 3))])
def test_the_same_metric_for_each_center_is_one_for_all(factor):
    one = LinearMetric(np.diag(factor) if factor.ndim == 1 else factor)
    each = ComponentMetric(np.stack([factor] * 5))
    wanted = DistanceNetwork(CENTERS, metric=one).decompose(X)
    assert_same(DistanceNetwork(CENTERS, metric=each).decompose(X), wanted)


@pytest.mark.parametrize("made_of", PLAIN, ids=str)
def test_a_variable_that_does_not_count_has_no_relevance(made_of):
    metric = LinearMetric([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    got = DistanceNetwork(CENTERS, metric=metric, **made_of).decompose(X + np.array([0.0, 1e3, 0.0]))
    np.testing.assert_array_equal(got.relevance[:, 1], 0.0)
    np.testing.assert_allclose(got.relevance.sum(axis=1) + got.unexplained, got.outlierness, rtol=1e-12)


def test_a_broken_correlation_is_blamed_on_the_pair():
    """Both move against a correlation; another variable is farther out, but within what is usual."""
    covariance = np.array([[1.0, 0.99, 0.0], [0.99, 1.0, 0.0], [0.0, 0.0, 1.0]])
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    got = DistanceNetwork(np.zeros((1, 3)), metric=LinearMetric(root)).decompose([[1.5, -1.5, 2.2]])
    np.testing.assert_allclose(got.outlierness, 0.5 * (4.5 / 0.01 + 2.2**2), rtol=1e-10)
    np.testing.assert_allclose(got.relevance, [[112.5, 112.5, 2.42]], rtol=1e-10)
