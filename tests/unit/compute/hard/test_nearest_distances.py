"""Distances to the nearest other row against all differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from whyodd.compute.hard.nearest_distances import nearest_neighbor_distances

# Columns for the k-d tree, and for matrix products.
COLUMNS = [1, 3, 6, 7, 40]


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def plain_nearest(X):
    X = np.asarray(X, dtype=np.float64)
    nearest = np.empty(len(X))
    for i, x in enumerate(X):
        squares = np.sum((X - x) ** 2, axis=1)
        squares[i] = np.inf
        nearest[i] = np.sqrt(squares.min())
    return nearest


@pytest.mark.parametrize("d", COLUMNS)
@pytest.mark.parametrize("n", [2, 3, 4, 257, 900])
def test_are_exact(rng, n, d):
    X = rng.standard_normal((n, d))
    np.testing.assert_allclose(nearest_neighbor_distances(X), plain_nearest(X), rtol=1e-10)


@pytest.mark.parametrize("d", COLUMNS)
@pytest.mark.parametrize("n", [2, 3, 4, 300])
def test_are_exact_far_from_the_origin(rng, n, d):
    X = 1e6 + 1e-2 * rng.standard_normal((n, d))
    # Coordinates have an absolute rounding of 1e-10 there, in the mean that is taken away too: 1e-8 of 1e-2.
    np.testing.assert_allclose(nearest_neighbor_distances(X), plain_nearest(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("d", COLUMNS)
def test_float32_rows_are_measured_in_float64(rng, d):
    X = rng.standard_normal((300, d)).astype(np.float32)
    distances = nearest_neighbor_distances(X)
    assert distances.dtype == np.float64
    np.testing.assert_allclose(distances, plain_nearest(X), rtol=1e-9)


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("n", [1, 2, 300])
def test_duplicates_are_at_distance_zero(rng, n, d):
    X = np.repeat(rng.standard_normal((n, d)), 2, axis=0)
    np.testing.assert_array_equal(nearest_neighbor_distances(X), 0.0)


def test_nearly_equal_rows_far_from_the_rest(rng):
    X = np.repeat(rng.standard_normal((200, 20)), 3, axis=0) + 1e-9 * rng.standard_normal((600, 20))
    X[::3] += 1e-3
    # Distances of 1e-9 between coordinates of 1: seven digits are there.
    np.testing.assert_allclose(nearest_neighbor_distances(X), plain_nearest(X), rtol=1e-6)


def test_clusters_far_apart(rng):
    X = rng.standard_normal((600, 20)) + 1e6 * (np.arange(600) % 2)[:, None]
    np.testing.assert_allclose(nearest_neighbor_distances(X), plain_nearest(X), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 300])
def test_sparse_rows(rng, n):
    X = rng.standard_normal((n, 30)) * (rng.random((n, 30)) < 0.3)
    distances = nearest_neighbor_distances(sparse.csr_array(X))
    # Through ‖x‖² + ‖u‖² - 2⟨x, u⟩: half of the digits of float64.
    np.testing.assert_allclose(distances, plain_nearest(X), rtol=1e-7)


def test_sparse_duplicates_are_at_distance_zero(rng):
    X = np.repeat(rng.standard_normal((100, 30)) * (rng.random((100, 30)) < 0.5), 3, axis=0)
    np.testing.assert_array_equal(nearest_neighbor_distances(sparse.csr_array(X)), 0.0)


@given(n=st.integers(2, 40), d=st.integers(1, 12), seed=st.integers(0, 999), levels=st.integers(1, 4))
def test_on_a_grid_with_many_ties(n, d, seed, levels):
    X = np.random.default_rng(seed).integers(0, levels, (n, d)).astype(float)
    np.testing.assert_allclose(nearest_neighbor_distances(X), plain_nearest(X), rtol=1e-12)
