"""One point against one center: compiled and plain, dense and CSR, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy.sparse import csr_array

from whyodd.compute.points import as_compiled
from whyodd.compute.soft.pairs import add_squares, squared_distance


@njit
def compiled_distance(X, i, U, j, per_scale):
    return squared_distance(X, i, U, j, per_scale)


@njit
def compiled_squares(X, i, U, j, per_scale, weight, out):
    add_squares(X, i, U, j, per_scale, weight, out)


DISTANCES = {"compiled": compiled_distance, "plain": squared_distance}
SQUARES = {"compiled": compiled_squares, "plain": add_squares}

# Rows whose non-zero entries overlap in every way: equal, nested, interleaved, disjoint, empty, at the ends.
PATTERNS = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [1, 0, 1, 0, 1, 0],
        [0, 1, 0, 1, 0, 1],
        [1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1],
        [0, 0, 1, 1, 0, 0],
        [1, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 1],
        [1, 0, 0, 0, 0, 0],
    ],
    dtype=float,
)


def tables(dtype):
    rng = np.random.default_rng(0)
    X = (PATTERNS * rng.normal(size=PATTERNS.shape)).astype(dtype)
    U = PATTERNS[::-1] * rng.normal(size=PATTERNS.shape)
    return X, U


def layout(kind, table, index=np.int32):
    if kind == "dense":
        return as_compiled(table)
    csr = csr_array(table)
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    return as_compiled(csr)


CASES = [("dense", np.int32), ("csr", np.int32), ("csr", np.int64)]


@pytest.mark.parametrize("way", DISTANCES)
@pytest.mark.parametrize(("kind", "index"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_distances_agree_with_numpy_for_every_overlap(way, kind, index, dtype):
    X, U = tables(dtype)
    points, centers = layout(kind, X, index), layout(kind, U, index)
    got = [[DISTANCES[way](points, i, centers, j, 0.25) for j in range(len(U))] for i in range(len(X))]
    expected = (((X[:, None, :].astype(float) - U[None]) / 4) ** 2).sum(axis=2)
    np.testing.assert_allclose(got, expected, rtol=1e-14)


@pytest.mark.parametrize("way", SQUARES)
@pytest.mark.parametrize(("kind", "index"), CASES)
def test_squares_are_added_to_what_is_there_for_every_overlap(way, kind, index):
    X, U = tables(np.float64)
    points, centers = layout(kind, X, index), layout(kind, U, index)
    for i in range(len(X)):
        for j in range(len(U)):
            out = np.arange(6.0)
            SQUARES[way](points, i, centers, j, 2.0, 3.0, out)
            expected = np.arange(6.0) + 3.0 * (2.0 * (X[i] - U[j])) ** 2
            np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_differences_are_taken_before_anything_is_squared():
    X, U = np.array([[1e8 + 1e-7, 1.0]]), np.array([[1e8, 1.0]])
    exact = (X[0, 0] - U[0, 0]) ** 2
    assert compiled_distance(as_compiled(X), 0, as_compiled(U), 0, 1.0) == exact
    for kind in ("dense", "csr"):
        assert compiled_distance(layout(kind, X), 0, layout(kind, U), 0, 1.0) == exact


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_huge_weight_times_a_tiny_square_does_not_underflow(kind):
    X, U, out = np.array([[1e-200]]), np.array([[0.0]]), np.zeros(1)
    compiled_squares(layout(kind, X), 0, layout(kind, U), 0, 1.0, 1e300, out)
    np.testing.assert_allclose(out, 1e-100, rtol=1e-12)
