"""scikit-learn's covariance estimates against their networks, singular and badly scaled ones too."""

import numpy as np
import pytest
from sklearn.covariance import OAS, EllipticEnvelope, EmpiricalCovariance, GraphicalLasso, ShrunkCovariance

import whyodd

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 4)) @ RNG.normal(size=(4, 4)) + 5.0
ROWS = RNG.normal(size=(20, 4)) * 3


def assert_recovers_distances(model, rows, rtol=1e-9):
    network = whyodd.neuralize(model)
    np.testing.assert_allclose(2 * network.outlierness(rows), model.mahalanobis(rows), rtol=rtol)
    return network


@pytest.mark.parametrize("estimator", [OAS(), ShrunkCovariance(), GraphicalLasso(alpha=0.1)])
def test_every_estimator_is_recognised_by_its_base(estimator):
    network = assert_recovers_distances(estimator.fit(X), ROWS)
    np.testing.assert_array_equal(network.centers[0], estimator.location_)


def test_relevance_of_a_variable_is_its_term_in_the_quadratic_form():
    model = EmpiricalCovariance().fit(X)
    difference = ROWS - model.location_
    e = whyodd.explain(model, ROWS)
    np.testing.assert_allclose(e.relevance, 0.5 * difference * (difference @ model.precision_), atol=1e-9)


def test_a_broken_correlation_is_blamed_on_the_pair():
    rows = RNG.normal(size=(1000, 5))
    rows[:, 1] = rows[:, 0] + 0.1 * RNG.normal(size=1000)
    model = EllipticEnvelope(random_state=0).fit(rows)
    positive = whyodd.explain(model, [[1.5, -1.5, 2.2, 0.0, 0.0]]).relevance[0].clip(0.0)
    assert positive[:2].sum() >= 0.85 * positive.sum()


def test_columns_of_very_different_spread_keep_their_digits():
    spread = np.array([1e-4, 1.0, 1e4, 1.0])
    model = EmpiricalCovariance().fit(X * spread)
    # 1e16 between the variances: the model's own pseudo-inverse is what limits it.
    assert_recovers_distances(model, ROWS * spread, rtol=1e-6)


def test_directions_without_variance_have_no_part():
    singular = np.column_stack([X, X[:, 0] - X[:, 1], np.full(len(X), 7.0)])
    model = EmpiricalCovariance().fit(singular)
    odd = np.column_stack([ROWS, RNG.normal(size=(20, 2))])
    network = assert_recovers_distances(model, odd)
    assert network.metric.matrix.shape == (4, 6)
    relevance = whyodd.explain(model, odd).relevance
    np.testing.assert_allclose(relevance[:, 5], 0.0, atol=1e-9 * np.abs(relevance).max())


def test_a_constant_column_alone_has_no_distance():
    model = EmpiricalCovariance().fit(np.column_stack([X[:, 0], np.full(100, 3.0)]))
    e = whyodd.explain(model, [[X[:, 0].mean(), 50.0]])
    np.testing.assert_allclose(e.outlierness, 0.0, atol=1e-12)
