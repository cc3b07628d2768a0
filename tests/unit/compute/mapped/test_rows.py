"""Rows after a map, made when they are asked for, and one metric for very many centers."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse import random as random_sparse

from reference import pooled
from whyodd.compute.mapped import rows as mapped_rows
from whyodd.compute.mapped.rows import Mapped, MappedRows, diagonal_of
from whyodd.kernels import Exponential, Student
from whyodd.maths.linear_maps import LinearMap
from whyodd.maths.metrics import LinearMetric
from whyodd.network import distance_network as network_module
from whyodd.network.distance_network import DistanceNetwork

RNG = np.random.default_rng(0)
POINTS, MATRIX, ORIGIN = RNG.normal(size=(30, 5)), RNG.normal(size=(3, 5)), RNG.normal(size=5)
MAPPED = (POINTS - ORIGIN) @ MATRIX.T


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("at_once", [1, 12, 1 << 18])
@pytest.mark.parametrize("which", [slice(None), slice(3, 11), np.array([7, 2, 2]), slice(5, 5)], ids=str)
def test_any_rows_at_any_time(monkeypatch, which, at_once, layout):
    monkeypatch.setattr(mapped_rows, "_DENSE_ELEMENTS", at_once)
    rows = MappedRows(layout(POINTS), MATRIX, ORIGIN)
    np.testing.assert_allclose(rows[which], MAPPED[which], rtol=1e-12, atol=1e-14)


def test_shape_and_dtype_are_those_after_the_map():
    rows = MappedRows(POINTS.astype(np.float32), MATRIX, ORIGIN)
    assert rows.shape == (30, 3)
    assert rows.dtype == rows[:].dtype == np.float64


def test_sizes_bound_what_rounding_can_do():
    rows = MappedRows(POINTS, MATRIX, ORIGIN)
    expected = np.linalg.norm(np.abs(POINTS - ORIGIN) @ np.abs(MATRIX).T, axis=1)
    np.testing.assert_allclose(rows.sizes(), expected, rtol=1e-14)
    assert (rows.sizes() >= np.linalg.norm(rows[:], axis=1)).all()


def test_wide_sparse_rows_are_made_dense_a_few_at_a_time():
    wide = csr_array(random_sparse(400, 20_000, density=1e-3, format="csr", random_state=0))
    rows = MappedRows(wide, np.ones((2, 20_000)), np.zeros(20_000))
    tracemalloc.start()
    try:
        got = rows[:]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(got[:, 0], wide.sum(axis=1), rtol=1e-12, atol=1e-12)
    assert peak < 16 * 2**20  # all of it would be 64 MB


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (np.diag([1.0, -2.0]), [1.0, -2.0]),
        (np.zeros((2, 2)), [0.0, 0.0]),
        (np.array([[1.0, 1e-300], [0.0, 1.0]]), None),
        (np.ones((1, 2)), None),
        (np.array([[3.0]]), [3.0]),
    ],
)
def test_diagonals_are_recognised(matrix, expected):
    found = diagonal_of(matrix)
    assert (None if found is None else found.tolist()) == expected


# ---- networks of very many centers ------------------------------------------------------------------------

CENTERS = RNG.normal(size=(280, 5))


@pytest.fixture(autouse=True)
def take_280_centers_for_very_many(monkeypatch):
    monkeypatch.setattr(network_module, "_FEW_COORDINATES", 1000)


ROWS = 2 * RNG.normal(size=(9, 5))
METRICS = {
    "square": LinearMetric(RNG.normal(size=(5, 5)) + 2 * np.eye(5)),
    "onto fewer": LinearMetric(RNG.normal(size=(3, 5))),
    "onto more": LinearMetric(RNG.normal(size=(7, 5))),
    "diagonal": LinearMetric(np.diag(RNG.uniform(0.5, 2.0, 5))),
}
over_metrics = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@over_metrics
@pytest.mark.parametrize("kernel", [Exponential(1.0, 0.7), Exponential(2.0, 1.5), Student(2.0, 0.5)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_centers_agree_with_plain_loops(metric, kernel, dtype):
    network = DistanceNetwork(CENTERS, kernel=kernel, metric=metric)
    assert isinstance(network._passes, Mapped)
    rows = np.vstack([ROWS, CENTERS[:3]]).astype(dtype)
    own = np.r_[np.full(9, -1), 0, 1, 2]
    expected = pooled.explain_network(rows, network, own)
    got = network.decompose(rows, own=own)
    scale = np.abs(expected.relevance).max(axis=1, keepdims=True)
    assert got.relevance.dtype == dtype
    np.testing.assert_allclose(
        got.relevance / scale, expected.relevance / scale, atol=1e-9 if dtype is np.float64 else 1e-6
    )
    np.testing.assert_allclose(got.outlierness, expected.outlierness, rtol=1e-10)
    np.testing.assert_allclose(got.unexplained, expected.unexplained, atol=1e-10 * expected.outlierness.max())
    np.testing.assert_allclose(network.assignment(rows, own=own), expected.assignment, atol=1e-9)


def test_a_diagonal_metric_leaves_no_relevance_negative():
    network = DistanceNetwork(CENTERS, metric=METRICS["diagonal"])
    assert isinstance(network._passes, Mapped)
    assert (network.decompose(np.vstack([ROWS, CENTERS, CENTERS * (1 + 1e-12)])).relevance >= 0).all()


@over_metrics
def test_before_a_map_the_sum_is_conserved(metric):
    through = LinearMap(RNG.normal(size=(5, 8)))
    network = DistanceNetwork(CENTERS, metric=metric)
    got, plain = network.decompose(ROWS, through=through), network.decompose(ROWS)
    assert got.relevance.shape == (9, 8)
    np.testing.assert_allclose(got.outlierness, plain.outlierness, rtol=1e-12)
    np.testing.assert_allclose(got.relevance.sum(axis=1) + got.unexplained, got.outlierness, rtol=1e-9)
    np.testing.assert_allclose(got.unexplained, plain.unexplained, rtol=1e-9)


def test_sparse_rows_and_centers():
    assert isinstance(DistanceNetwork(csr_array(CENTERS), metric=METRICS["square"])._passes, Mapped)
    rows, centers = ROWS * (ROWS > 0), CENTERS * (CENTERS > 0)
    dense = DistanceNetwork(centers, metric=METRICS["square"]).decompose(rows)
    sparse = DistanceNetwork(csr_array(centers), metric=METRICS["square"]).decompose(csr_array(rows))
    np.testing.assert_allclose(sparse.relevance, dense.relevance, rtol=1e-9, atol=1e-12)
