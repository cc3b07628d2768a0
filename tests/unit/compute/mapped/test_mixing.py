"""Relevance through linear maps: pair by pair, by matrix products, and in bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array

from whyodd.compute.mapped import mixing
from whyodd.compute.mapped.mixing import MixedContraction, shares, way_back
from whyodd.compute.soft.centers import prepare
from whyodd.kernels import Exponential
from whyodd.maths.linear_maps import LinearMap
from whyodd.network.distance_network import DistanceNetwork

RNG = np.random.default_rng(0)
ZETA = RNG.normal(size=(20, 4))
B = {
    "square": RNG.normal(size=(4, 4)),
    "from more": RNG.normal(size=(4, 6)),
    "from fewer": RNG.normal(size=(4, 3)),
    "principal axes": np.linalg.qr(RNG.normal(size=(7, 4)))[0].T,
    "scaling": np.diag([1.0, -2.0, 0.5, 3.0]),
    "one unused": np.diag([1.0, 0.0, 2.0, 1.0]),
}
over_maps = pytest.mark.parametrize("matrix", B.values(), ids=B)


def test_without_a_map_a_share_is_a_square():
    np.testing.assert_array_equal(shares(ZETA, None), ZETA**2)


@over_maps
def test_shares_are_shortest_difference_times_gradient(matrix):
    expected = (ZETA @ np.linalg.pinv(matrix).T) * (ZETA @ matrix)
    np.testing.assert_allclose(shares(ZETA, LinearMap(matrix)), expected, atol=1e-13)


@pytest.mark.parametrize("name", ["principal axes", "scaling", "one unused"])
def test_shares_that_are_squares_are_not_negative_by_rounding(name):
    zeta = RNG.normal(size=(2000, 4)) * 10.0 ** RNG.uniform(-8, 8, size=(2000, 4))
    assert (shares(zeta, LinearMap(B[name])) >= 0.0).all()


def test_rounding_leaves_no_square_negative():
    """The first variable is the same in the row and in all centers that count: its relevance is next to 0."""
    centers = np.vstack([RNG.normal(size=(30, 4)), RNG.normal(size=(30, 4)) + 50.0])
    centers[:30, 0], centers[30:, 0] = 1.0, -1.0
    rows = RNG.normal(size=(300, 4))
    rows[:, 0] = 1.0
    got = DistanceNetwork(centers).decompose(rows, through=LinearMap(B["scaling"]))
    assert (got.relevance >= 0.0).all()
    assert (got.relevance[:, 0] < 1e-10).all()


# ---- ways back --------------------------------------------------------------------------------------------

A = {
    "none": None,
    "diagonal": np.array([2.0, -1.0, 0.5, 1.0]),
    "diagonal with a zero": np.array([2.0, 0.0, 0.5, 1.0]),
    "square": RNG.normal(size=(4, 4)),
    "onto fewer": RNG.normal(size=(2, 4)),
    "onto more": RNG.normal(size=(6, 4)),
    "with a zero column": RNG.normal(size=(4, 4)) * [1.0, 0.0, 1.0, 1.0],
    "of rank 2": RNG.normal(size=(4, 2)) @ RNG.normal(size=(2, 4)),
    "all zeros": np.zeros((3, 4)),
}


def as_matrix(factor):
    if factor is None:
        return np.eye(4)
    return np.diag(factor) if factor.ndim == 1 else factor


@pytest.mark.parametrize("factor", A.values(), ids=A)
@pytest.mark.parametrize("matrix", [None, *B.values()], ids=["no map", *B])
def test_a_way_back_is_that_of_the_whole_map(factor, matrix):
    difference = RNG.normal(size=(20, 4))
    zeta = difference @ as_matrix(factor).T
    whole = as_matrix(factor) if matrix is None else as_matrix(factor) @ matrix
    way = way_back(factor, None if matrix is None else LinearMap(matrix))
    expected = (zeta @ np.linalg.pinv(whole, rcond=1e-10).T) * (zeta @ whole)
    got, outside = way.shares(difference, zeta), way.outside(zeta)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(got.sum(axis=1) + outside, np.sum(zeta**2, axis=1), atol=1e-12)
    assert (outside >= 0.0).all()


def test_no_inverse_is_sought_where_the_difference_is_known(monkeypatch):
    """For a metric that loses nothing x - u itself is the shortest difference."""

    def refuse(*_, **__):
        raise AssertionError("a product with the map was inverted")

    monkeypatch.setattr(LinearMap, "then", refuse)
    assert way_back(A["square"]).through is None
    assert way_back(A["onto more"], LinearMap(B["from more"])).matrix is A["onto more"]
    assert way_back(A["diagonal"], LinearMap(B["square"])).matrix is A["diagonal"]


def test_columns_in_very_different_units_are_not_taken_for_lost():
    matrix = A["square"] * [1e9, 1.0, 1e-9, 1.0]
    assert way_back(matrix).matrix is matrix


# ---- by matrix products -----------------------------------------------------------------------------------


def contraction(centers, through, memory_mb=256.0):
    log_weights = np.full(len(centers), -np.log(len(centers)))
    ready = prepare(centers, log_weights, Exponential(), dtype=np.dtype(np.float64))
    return MixedContraction.of(ready, through, memory_mb), ready


def contract(centers, x, W, through, memory_mb=256.0):
    """R for raw rows and weights of raw squared distances."""
    made, ready = contraction(centers, through, memory_mb)
    local = [(x - group.origin) / ready.scale for group in ready.groups]
    order = slice(None) if ready.order is None else ready.order
    return made.contract((W * ready.scale**2)[:, order], x, local)


def plain_contract(centers, x, W, matrix):
    zeta = x[:, None] - centers
    parts = (zeta @ np.linalg.pinv(matrix).T) * (zeta @ matrix)
    missing = np.sum(zeta**2, axis=2) - parts.sum(axis=2)
    return np.einsum("ij,ijk->ik", W, parts), np.einsum("ij,ij->i", W, missing)


@over_maps
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_products_are_the_sum_over_pairs(matrix, shift):
    x, centers, W = RNG.normal(size=(9, 4)), RNG.normal(size=(30, 4)), RNG.uniform(size=(9, 30))
    got, outside = contract(centers + shift, x + shift, W, LinearMap(matrix))
    expected, missing = plain_contract(centers + shift, x + shift, W, matrix)
    scale = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(got / scale, expected / scale, atol=1e-9)
    np.testing.assert_allclose(outside / scale[:, 0], missing / scale[:, 0], atol=1e-9)


@over_maps
def test_rows_next_to_the_only_center_that_counts_are_summed_by_pairs(matrix, monkeypatch):
    centers = RNG.normal(size=(30, 4))
    x = centers[:9] + 1e-6 * RNG.normal(size=(9, 4))
    W = np.zeros((9, 30))
    W[np.arange(9), np.arange(9)] = 1.0
    calls = []
    original = MixedContraction._exactly
    monkeypatch.setattr(
        MixedContraction, "_exactly", lambda self, *args: calls.append(1) or original(self, *args)
    )
    got, outside = contract(centers, x, W, LinearMap(matrix))
    expected, missing = plain_contract(centers, x, W, matrix)
    assert len(calls) == 9
    scale = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(got / scale, expected / scale, atol=1e-9)
    np.testing.assert_allclose(outside / scale[:, 0], missing / scale[:, 0], atol=1e-9)


@pytest.mark.parametrize("at_once", [1, 1 << 18])
def test_how_many_pairs_are_summed_at_once_does_not_matter(monkeypatch, at_once):
    monkeypatch.setattr(mixing, "_EXACT_ELEMENTS", at_once)
    test_rows_next_to_the_only_center_that_counts_are_summed_by_pairs(B["square"], monkeypatch)


def test_ordinary_rows_are_not_summed_by_pairs(monkeypatch):
    def refuse(*_):
        raise AssertionError("a row was summed by pairs")

    monkeypatch.setattr(MixedContraction, "_exactly", refuse)
    x, centers = RNG.normal(size=(200, 4)), RNG.normal(size=(50, 4))
    DistanceNetwork(centers).decompose(x + 1e4, through=LinearMap(B["square"]))


@over_maps
@pytest.mark.parametrize("memory_mb", [1e-6, 0.003, 256.0])
def test_pieces_of_variables_make_the_same_whole(matrix, memory_mb):
    x, centers, W = RNG.normal(size=(9, 4)), RNG.normal(size=(30, 4)), RNG.uniform(size=(9, 30))
    wide = LinearMap(np.hstack([matrix] * 12))
    assert (len(contraction(centers, wide, memory_mb)[0].pieces) == 1) == (memory_mb == 256.0)
    got, outside = contract(centers, x, W, wide, memory_mb)
    expected, missing = plain_contract(centers, x, W, np.hstack([matrix] * 12))
    np.testing.assert_allclose(got, expected, atol=1e-10)
    np.testing.assert_allclose(outside, missing, atol=1e-10)


@pytest.mark.parametrize("memory_mb", [1e-3, 256.0])
def test_sparse_maps_and_sparse_points(memory_mb):
    n = 40
    dense_rows, centers = (
        RNG.normal(size=(size, n)) * (RNG.uniform(size=(size, n)) < 0.2) for size in (15, 25)
    )
    matrix = diags_array(RNG.uniform(0.5, 2.0, n)).tolil()
    matrix[0, 1] = 1.0
    through = LinearMap(matrix)
    dense = DistanceNetwork(centers).decompose(dense_rows, through=through)
    got = DistanceNetwork(csr_array(centers)).decompose(
        csr_array(dense_rows), through=through, memory_mb=memory_mb
    )
    np.testing.assert_allclose(got.relevance, dense.relevance, atol=1e-10 * dense.outlierness.max())
    np.testing.assert_allclose(got.unexplained, dense.unexplained, rtol=1e-9)


def test_scaling_leaves_relevance_as_it_is():
    rows, centers = RNG.normal(size=(15, 4)), RNG.normal(size=(25, 4))
    network = DistanceNetwork(centers)
    got = network.decompose(rows, through=LinearMap(B["scaling"]))
    np.testing.assert_allclose(got.relevance, network.input_relevance(rows), rtol=1e-10)


def test_what_no_variable_makes_is_unexplained():
    """The second variable of the network comes from nothing: all that it does is unexplained."""
    network = DistanceNetwork(np.zeros((1, 2)))
    got = network.decompose([[2.0, 3.0]], through=LinearMap([[1.0], [0.0]]))
    np.testing.assert_allclose(got.relevance, [[2.0]], rtol=1e-12)
    np.testing.assert_allclose(got.unexplained, [4.5], rtol=1e-12)
    np.testing.assert_allclose(got.outlierness, [6.5], rtol=1e-12)


def test_memory_is_bounded_where_few_dimensions_come_from_very_many_variables():
    rows, centers = RNG.normal(size=(64, 5)), RNG.normal(size=(400, 5))
    through = LinearMap(RNG.normal(size=(5, 20_000)))
    network = DistanceNetwork(centers)
    network.decompose(rows[:2], through=through)
    assert through.shortest.shape == (5, 20_000)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        got = network.decompose(rows, through=through, memory_mb=16, n_jobs=1)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    # What all centers look like to all variables would take 192 MB.
    assert peak < 16 * 2**20 + got.relevance.nbytes + 2**20
    np.testing.assert_allclose(got.relevance.sum(axis=1) + got.unexplained, got.outlierness, rtol=1e-9)
