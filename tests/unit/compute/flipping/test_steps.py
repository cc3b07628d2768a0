"""Flipping with metrics and hard poolings, row by row, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from reference import flipped
from whyodd import DistanceNetwork
from whyodd.compute.flipping.removals import Removals, stages_of
from whyodd.compute.flipping.steps import StepFlipping
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.metrics import ComponentMetric, LinearMetric

N, M, D = 4, 25, 5
RANDOM = np.random.default_rng(0)
X, CENTERS, RELEVANCE = (RANDOM.normal(size=size) for size in ((N, D), (M, D), (N, D)))
WEIGHTS = RANDOM.dirichlet(np.ones(M))
MATRIX, FACTORS = RANDOM.normal(size=(3, D)), RANDOM.normal(size=(M, 4, D))
REACHES, DENSITIES = RANDOM.uniform(0.2, 2.0, M), RANDOM.uniform(0.5, 2.0, M)
METRICS = {
    "plain": None,
    "linear": LinearMetric(MATRIX),
    "scaled": LinearMetric(np.diag(RANDOM.uniform(0.1, 3.0, D))),
    "components": ComponentMetric(FACTORS),
    "diagonals": ComponentMetric(FACTORS[:, 0]),
}
POOLINGS = [Nearest.mean(3), Nearest.kth(4), MeanVector(3), LocalReach(3, REACHES, DENSITIES)]
NETWORKS = {
    **{
        f"{kernel!r}-{name}": DistanceNetwork(CENTERS, WEIGHTS, kernel, metric=metric)
        for kernel in (Exponential(2.0), Exponential(1.0), Student(1.5))
        for name, metric in METRICS.items()
    },
    **{
        f"{pooling!r}-{name}": DistanceNetwork(CENTERS, pooling=pooling, metric=METRICS[name])
        for pooling in POOLINGS
        for name in ("plain", "linear")
    },
}
# Of a row's first value: roundings of some dozen sums.
CLOSE = 1e-12


def curves_of(network, X, relevance, own=None, checkpoints=None):
    steps = relevance.shape[1] if checkpoints is None else checkpoints
    own = np.full(X.shape[0], -1) if own is None else np.asarray(own)
    flips = StepFlipping(
        network.centers,
        network.log_weights,
        network.kernel,
        np.zeros(network.n_centers),
        network.metric,
        network.pooling,
    )
    return flips.curves(X, Removals.of(stages_of(relevance, steps), steps), own)


def assert_close(curves, reference, relative=CLOSE):
    assert curves.shape == reference.shape
    assert (np.abs(curves - reference) / reference[:, :1]).max() <= relative


@pytest.mark.parametrize("name", NETWORKS)
def test_agrees_with_plain_loops(name):
    network = NETWORKS[name]
    assert_close(curves_of(network, X, RELEVANCE), flipped.flip(X, network, RELEVANCE))
    own = [int(np.argmax(WEIGHTS)), -1, 0, 24]
    reference = flipped.flip(X, network, RELEVANCE, own=own, checkpoints=3)
    assert_close(curves_of(network, X, RELEVANCE, own, checkpoints=3), reference)


@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
def test_sparse_centers_and_rows(pooling):
    few, sparse_rows = np.where(np.abs(CENTERS) < 1.0, 0.0, CENTERS), sparse.csr_array(X)
    network = DistanceNetwork(sparse.csr_array(few), pooling=pooling)
    assert_close(curves_of(network, sparse_rows, RELEVANCE), flipped.flip(X, network, RELEVANCE))


def test_equally_near_centers_count_in_their_order():
    """At the end all distances are 0; a local reach depends on which of the centers count."""
    curves = curves_of(NETWORKS[f"{POOLINGS[3]!r}-plain"], X, RELEVANCE)
    expected = DENSITIES[:3].mean() * (REACHES[:3].mean() + POOLINGS[3].floor)
    np.testing.assert_allclose(curves[:, -1], expected, rtol=1e-14)


def test_all_digits_of_an_outlierness_near_zero():
    network = DistanceNetwork(CENTERS, WEIGHTS, Exponential(2.0, 1e6))
    reference = flipped.flip(X, network, RELEVANCE)
    assert reference[:, 0].max() < 1e-10
    assert_close(curves_of(network, X, RELEVANCE), reference)


@pytest.mark.parametrize("name", ["plain", "linear", "components"])
def test_columns_that_go_in_parts(name):
    network = DistanceNetwork(CENTERS[:, :D], WEIGHTS, metric=METRICS[name])
    removals = Removals(
        stages=np.array([[2, 1, 1, 1, 2, 2]], dtype=np.int32),
        steps=2,
        columns=np.array([0, 0, 1, 2, 3, 4]),
        gains=np.array([[0.25, 0.75, 1.0, 1.0, 1.0, 1.0]]),
    )
    kept = np.zeros(network.n_centers)
    flips = StepFlipping(network.centers, network.log_weights, network.kernel, kept, network.metric)
    curves = flips.curves(X[:1], removals, np.array([-1]))
    shares = [np.ones(D), np.array([0.5, 0.0, 0.0, 1.0, 1.0]), np.zeros(D)]
    expected = [flipped.outlierness((share * (X[0] - CENTERS)).tolist(), network) for share in shares]
    assert_close(curves, np.array([expected]))
