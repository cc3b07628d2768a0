"""Exact search, where matrix products would find the wrong neighbours: against plain distances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from whyodd.compute.hard import search
from whyodd.compute.hard.search import ExactSearch, lengths
from whyodd.compute.points import as_compiled
from whyodd.compute.soft.pairs import fill_squares


def cloud(n=40, m=300, d=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d))


def plain_nearest(X, points, k, matrix=None):
    """Distances from differences, row by row, in extended precision."""
    d, index = np.empty((len(X), k)), np.empty((len(X), k), dtype=int)
    for i, x in enumerate(X.astype(np.longdouble)):
        zeta = x - points.astype(np.longdouble)
        if matrix is not None:
            zeta = zeta @ matrix.T.astype(np.longdouble)
        distances = np.sqrt(np.sum(zeta * zeta, axis=1))
        index[i] = np.argsort(distances, kind="stable")[:k]
        d[i] = distances[index[i]]
    return d, index


def assert_exact(found, expected, ties=False):
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    if not ties:
        np.testing.assert_array_equal(found[1], expected[1])


def far_apart(d, apart):
    X, points = cloud(d=d)
    X[::2, 0] += apart
    points[::2, 0] += apart
    return X, points


@pytest.mark.parametrize("k", [1, 5, 300])
@pytest.mark.parametrize("d", [1, 3, 15, 16, 40])
def test_finds_what_plain_loops_find(d, k):
    X, points = cloud(d=d)
    assert_exact(ExactSearch(points, None).nearest(X, k), plain_nearest(X, points, k))


@pytest.mark.parametrize("apart", [1e4, 1e6, 1e8, 1e10])
@pytest.mark.parametrize("d", [3, 20])
def test_clusters_far_apart(d, apart):
    X, points = far_apart(d, apart)
    assert_exact(ExactSearch(points, None).nearest(X, 6), plain_nearest(X, points, 6))


def test_products_alone_would_find_others():
    """Else the tests above test nothing."""
    X, points = far_apart(20, 1e8)
    made = ExactSearch(points, None)
    found = made._find(made._place(X), 6)
    expected = plain_nearest(X, points, 6)
    assert (found[1] != expected[1]).any()
    assert np.abs(found[0] * made._scale / expected[0] - 1.0).max() > 1e-3


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("d", [3, 20])
def test_many_points_next_to_a_row(d, distance):
    """Closer than products can tell: 300 points around each of two rows, 10 apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2, d)) * 10
    points = np.repeat(X, 300, axis=0) + distance * rng.normal(size=(600, d))
    assert_exact(ExactSearch(points, None).nearest(X, 7), plain_nearest(X, points, 7))


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("d", [3, 20])
def test_rows_that_are_points_have_the_distance_0(d, layout):
    _, points = cloud(d=d)
    points = points + 1e6
    d_found, neighbors = ExactSearch(layout(points), None).nearest(layout(points[:50]), 3)
    np.testing.assert_array_equal(neighbors[:, 0], np.arange(50))
    np.testing.assert_array_equal(d_found[:, 0], 0.0)
    assert_exact((d_found, neighbors), plain_nearest(points[:50], points, 3))


@pytest.mark.parametrize("d", [3, 20])
def test_duplicates_are_all_found(d):
    X, points = cloud(d=d)
    points = np.tile(points[:30], (10, 1))
    d_found, neighbors = ExactSearch(points, None).nearest(points[:30], 12)
    np.testing.assert_array_equal(d_found[:, :10], 0.0)
    np.testing.assert_array_equal(neighbors[:, :10] % 30, np.arange(30)[:, None] + np.zeros((1, 10)))
    assert_exact((d_found, neighbors), plain_nearest(points[:30], points, 12), ties=True)
    assert all(len(set(row)) == 12 for row in neighbors)
    assert_exact(ExactSearch(points, None).nearest(X, 12), plain_nearest(X, points, 12), ties=True)


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("matrix", [None, np.eye(20) + 0.1])
def test_next_to_more_duplicates_than_are_looked_at(matrix, layout):
    """Products cannot tell whether a duplicate beyond those found is nearer: all points are measured once."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(900, 20))
    points[:800] = points[0]
    X = points[:1] + 1e-4 * rng.normal(size=(30, 20))
    points[850] = X[3] + 1e-5
    found = ExactSearch(layout(points), matrix).nearest(layout(X), 6)
    assert_exact(found, plain_nearest(X, points, 6, matrix), ties=True)
    assert found[1][3, 0] == 850


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_all_squared_distances(layout):
    X, points = cloud(n=7, m=11, d=5)
    X, points = X * (X > 0), points * (points > 0)
    out = np.empty((7, 11))
    fill_squares(as_compiled(layout(X)), as_compiled(layout(points)), 0.5, out)
    np.testing.assert_allclose(out, np.sum((X[:, None] - points) ** 2, axis=2) / 4, rtol=1e-14)


@pytest.mark.parametrize("apart", [0.0, 1e6])
@pytest.mark.parametrize("k", [3, 20])
def test_under_a_metric(k, apart):
    X, points = far_apart(18, apart)
    matrix = np.random.default_rng(1).normal(size=(k, 18))
    found = ExactSearch(points, matrix).nearest(X, 5)
    assert_exact(found, plain_nearest(X, points, 5, matrix))


def test_under_a_metric_that_cancels():
    """Two variables in 1e6 that the metric compares: what it makes of them is small.

    Their differences are rounded by 1e6 · 2^-53 = 1.1e-10 each, whoever takes them.
    """
    rng = np.random.default_rng(0)
    level = 1e6 * rng.normal(size=(340, 1))
    points = np.hstack([level, level + rng.normal(size=(340, 1)), rng.normal(size=(340, 1))])
    matrix = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    found = ExactSearch(points[:300], matrix).nearest(points[300:], 5)
    expected = plain_nearest(points[300:], points[:300], 5, matrix)
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1.5e-9)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_sparse_points_are_searched_where_they_are(layout):
    rng = np.random.default_rng(0)
    X, points = (rng.poisson(0.3, size=(n, 50)) * rng.uniform(size=(n, 50)) for n in (30, 200))
    found = ExactSearch(layout(points), None).nearest(layout(X), 4)
    assert_exact(found, plain_nearest(X, points, 4))


def test_sparse_points_far_from_0():
    """CSR cannot be moved: products lose nearly all digits here."""
    X, points = cloud(d=5)
    found = ExactSearch(csr_array(points + 1e7), None).nearest(csr_array(X + 1e7), 4)
    assert_exact(found, plain_nearest(X + 1e7, points + 1e7, 4))


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160, 1e200])
@pytest.mark.parametrize("d", [3, 20])
def test_squares_beyond_the_range_of_floats(d, scale):
    X, points = cloud(d=d)
    assert_exact(
        ExactSearch(points * scale, None).nearest(X * scale, 4), plain_nearest(X * scale, points * scale, 4)
    )


@pytest.mark.parametrize("d", [3, 20])
def test_rows_of_all_sizes_at_once(d):
    X, points = cloud(d=d)
    X = X * 10.0 ** np.linspace(0, 300, len(X))[:, None]
    found, _ = ExactSearch(points, None).nearest(X, 4)
    assert_exact((found, None), plain_nearest(X, points, 4), ties=True)


def test_few_distances_are_measured_when_data_are_ordinary(monkeypatch):
    measured = []
    monkeypatch.setattr(
        search, "lengths", lambda rows: measured.append(len(rows)) or np.sqrt(np.sum(rows**2, axis=1))
    )
    X, points = cloud(n=500, d=20)
    ExactSearch(points, None).nearest(X, 5)
    assert sum(measured) == 0
    ExactSearch(points, None).nearest(np.vstack([X, points[:3]]), 5)
    assert sum(measured) == 3


@pytest.mark.parametrize("at_once", [1, 50, 1 << 17])
def test_how_many_are_measured_at_once_does_not_matter(monkeypatch, at_once):
    monkeypatch.setattr(search, "_MEASURED_AT_ONCE", at_once)
    X, points = far_apart(20, 1e8)
    assert_exact(ExactSearch(points, None).nearest(X, 6), plain_nearest(X, points, 6))


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_lengths_of_any_size(layout):
    rows = np.array([[3.0, 4.0], [3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0], [5e-324, 0.0]])
    np.testing.assert_allclose(lengths(layout(rows)), [5.0, 5e200, 5e-200, 0.0, 0.0], rtol=1e-15, atol=1e-320)
    assert lengths(np.array([[1.7e308, 1.7e308]])) == np.inf
    assert lengths(np.array([[np.inf, 1.0]])) == np.inf


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("size", [1.0, 1e-170, 1e170])
def test_few_points_are_all_measured(k, size):
    X, points = cloud(m=10, d=3)
    X[0] = points[4]
    d, neighbors = ExactSearch(points * size, None).nearest(X * size, k)
    expected, index = plain_nearest(X * size, points * size, k)
    np.testing.assert_array_equal(neighbors, index)
    np.testing.assert_allclose(d, expected, rtol=1e-12, atol=1e-300)
