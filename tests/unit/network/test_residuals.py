"""Each variable against what all others let expect: against a regression on the others."""

import numpy as np
import pytest

from reference.committee import _residuals as residuals_by_loop
from whyodd.network.residuals import Residuals

RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=4)
FACTOR = RNG.normal(size=(4, 4))
COVARIANCE = FACTOR @ FACTOR.T + 0.1 * np.eye(4)
PRECISION = np.linalg.inv(COVARIANCE)
X = 2.0 * RNG.normal(size=(9, 4))


def test_is_the_squared_residual_of_a_regression_in_units_of_its_variance():
    found = Residuals(MEAN, PRECISION).decompose(X).relevance
    for i in range(4):
        others = [k for k in range(4) if k != i]
        slopes = np.linalg.solve(COVARIANCE[np.ix_(others, others)], COVARIANCE[others, i])
        variance = COVARIANCE[i, i] - COVARIANCE[i, others] @ slopes
        residual = X[:, i] - MEAN[i] - (X[:, others] - MEAN[others]) @ slopes
        np.testing.assert_allclose(found[:, i], residual**2 / variance, rtol=1e-8)


@pytest.mark.parametrize("precision", [PRECISION, np.array([1.0, 2.0, 0.5, 3.0])], ids=["full", "diagonal"])
def test_agrees_with_plain_loops_and_conserves(precision):
    view = Residuals(MEAN, precision)
    found = view.decompose(X)
    np.testing.assert_allclose(found.relevance, [residuals_by_loop(x, view, -1) for x in X], rtol=1e-10)
    np.testing.assert_allclose(found.relevance.sum(axis=1), found.outlierness, rtol=1e-12)
    np.testing.assert_array_equal(view.outlierness(X), found.outlierness)
    assert (found.unexplained == 0.0).all()


def test_a_diagonal_is_a_matrix_without_correlations():
    scales = np.array([1.0, 2.0, 0.5, 3.0])
    whole, diagonal = (Residuals(MEAN, P).decompose(X).relevance for P in (np.diag(scales), scales))
    np.testing.assert_allclose(whole, diagonal, rtol=1e-12)


def test_columns_that_are_not_compared_have_no_relevance():
    columns = np.array([2, 0])
    part = Residuals(MEAN[columns], np.linalg.inv(COVARIANCE[np.ix_(columns, columns)]), columns)
    found = part.decompose(X)
    alone = Residuals(part.mean, part.precision).decompose(X[:, columns])
    np.testing.assert_allclose(found.relevance[:, columns], alone.relevance, rtol=1e-12)
    assert (found.relevance[:, [1, 3]] == 0.0).all()
    np.testing.assert_allclose(found.outlierness, alone.outlierness, rtol=1e-12)


def test_a_broken_correlation_is_seen_in_both_variables():
    view = Residuals(np.zeros(2), np.linalg.inv([[1.0, 0.99], [0.99, 1.0]]))
    (usual, broken) = view.decompose([[1.0, 1.0], [1.0, -1.0]]).relevance
    assert usual.max() < 0.1
    assert broken.min() > 50.0


def test_does_not_hold_on_to_what_it_was_given():
    mean = np.zeros(2)
    view = Residuals(mean, np.ones(2))
    mean[:] = 9.0
    assert view.outlierness([[0.0, 0.0]])[0] == 0.0
