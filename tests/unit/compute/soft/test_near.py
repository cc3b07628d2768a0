"""Peaked rows by leaves: as without a tolerance up to that tolerance, and what is discarded is told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference import oracle
from whyodd.compute.hard.leaves import LeafSearch
from whyodd.compute.soft import near
from whyodd.kernels import Exponential, Student
from whyodd.network.distance_network import DistanceNetwork

T = 1e-6
EXACT = {np.float32: 1e-4, np.float64: 1e-9}
DTYPES = [np.float32, np.float64]


@pytest.fixture
def by_leaves(monkeypatch):
    """Leaves are used however few centers there are."""
    monkeypatch.setattr(near, "_MANY_CENTERS", 1)
    monkeypatch.setattr(LeafSearch, "is_worthwhile", True)


def cloud(n, m, d, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return (2.0 * rng.normal(size=(n, d))).astype(dtype), rng.normal(size=(m, d))


def check(X, centers, kernel, *, weights=None, own=None, are_peaked=True):
    """Against plain loops: a share T of p changes at most T o and -log(1 - T) of o, twice in relevance."""
    network = DistanceNetwork(centers, weights=weights, kernel=kernel)
    rounding = EXACT[X.dtype.type]
    truth = oracle.explain(X, centers, kernel, weights=weights, own=own)
    got, scores = network.decompose(X, own=own, tolerance=T), network.assign(X, own=own, tolerance=T)
    more = -math.log1p(-T)
    for found in (got, scores):
        np.testing.assert_allclose(found.outlierness, truth.outlierness, rtol=rounding, atol=1.01 * more)
        assert ((found.discarded == T) | (found.discarded == 0.0)).all()
        if are_peaked is not None:
            assert ((found.discarded == T).mean() > 0.8) == are_peaked
    slack = 1.01 * (2.0 * T * truth.outlierness + more)[:, None] + rounding * truth.relevance.max(
        axis=1, keepdims=True
    )
    assert (np.abs(got.relevance - truth.relevance) <= slack).all()
    np.testing.assert_allclose(got.relevance.sum(axis=1) + got.unexplained, got.outlierness, rtol=rounding)


@pytest.mark.usefixtures("by_leaves")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("q", [1.0, 2.0, 3.0, 4.0])
def test_every_degree(q, dtype):
    sigma = {1.0: 0.02, 2.0: 0.2, 3.0: 0.4, 4.0: 0.5}[q]
    X, centers = cloud(40, 300, 4, dtype)
    check(X, centers, Exponential(q=q, sigma=sigma))


@pytest.mark.usefixtures("by_leaves")
@pytest.mark.parametrize("dtype", DTYPES)
def test_without_the_own_center_also_if_it_is_the_heaviest(dtype):
    _, centers = cloud(1, 200, 4)
    centers = centers.astype(dtype).astype(np.float64)
    weights = np.full(200, 0.1 / 199)
    weights[7] = 0.9
    own = np.arange(200)
    check(centers.astype(dtype), centers, Exponential(sigma=0.1), weights=weights, own=own, are_peaked=None)


@pytest.mark.usefixtures("by_leaves")
def test_the_nearest_center_may_have_no_weight():
    X, centers = cloud(30, 100, 3)
    weights = np.ones(100)
    weights[::2] = 0.0
    check(X, centers, Exponential(sigma=0.1), weights=weights / weights.sum(), are_peaked=None)


@pytest.mark.usefixtures("by_leaves")
def test_rows_that_are_not_peaked_take_the_usual_way():
    X, centers = cloud(30, 100, 3)
    check(X, centers, Exponential(sigma=10.0), are_peaked=False)
    check(X, centers, Student(q=4.0, sigma=0.01), are_peaked=False)
    mixed = np.vstack([X, np.repeat(centers.mean(axis=0)[None], 3, axis=0)])
    check(mixed, centers, Exponential(sigma=0.25), are_peaked=None)


@pytest.mark.usefixtures("by_leaves")
@pytest.mark.parametrize("far", [1e3, 1e30, 1e100])
def test_rows_far_away(far):
    X, centers = cloud(30, 100, 3)
    X[0] *= far
    got = DistanceNetwork(centers, kernel=Exponential(q=1.0, sigma=0.01)).decompose(X, tolerance=T)
    exact = DistanceNetwork(centers, kernel=Exponential(q=1.0, sigma=0.01)).decompose(X)
    np.testing.assert_allclose(got.outlierness, exact.outlierness, rtol=1e-9, atol=2.0 * T)


def test_leaves_are_used_for_many_centers_that_few_numbers_tell():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5_100, 2)) @ rng.normal(size=(2, 30))
    network = DistanceNetwork(points[:5_000], kernel=Exponential(sigma=0.05))
    assert network._passes._near is not None
    rows = points[5_000:]
    got, exact = network.decompose(rows, tolerance=T), network.decompose(rows)
    assert (got.discarded == T).mean() > 0.9
    np.testing.assert_allclose(got.outlierness, exact.outlierness, rtol=1e-9, atol=2.0 * T)
    done = []
    again = network.decompose(rows, tolerance=T, n_jobs=2, progress=done.append)
    np.testing.assert_array_equal(again.relevance, got.relevance)
    assert done[-1] == len(rows)
