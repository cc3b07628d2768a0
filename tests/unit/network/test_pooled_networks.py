"""Every pooling with every metric against the plain loops, with and without a row's own center."""

import numpy as np
import pytest

from reference import pooled
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.network.distance_network import DistanceNetwork

RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(12, 4))
# Three rows are centers themselves.
X = np.vstack([RNG.normal(size=(6, 4)) * 3, CENTERS[:3]])
OWN = np.array([-1, 3, -1, 2, 0, -1, 0, 1, -1])

KERNELS = {
    "laplacian": Exponential(1, 0.7),
    "gaussian": Exponential(2, 1.3),
    "degree 4": Exponential(4, 2.0),
    "student": Student(2, 0.5, 1.5),
}
POOLINGS = {
    "mean": Nearest.mean(3),
    "kth": Nearest.kth(3),
    "median": Nearest.median(4),
    "mean vector": MeanVector(3),
    "local reach": LocalReach(3, reaches=RNG.uniform(0, 2, 12), densities=RNG.uniform(0.5, 2, 12)),
}
LINEAR = {
    "euclidean": None,
    "diagonal": LinearMetric(np.diag([1.0, 2.0, 3.0, 0.5])),
    "square": LinearMetric(RNG.normal(size=(4, 4))),
    "onto fewer": LinearMetric(RNG.normal(size=(2, 4))),
    "onto more": LinearMetric(RNG.normal(size=(6, 4))),
}
BY_CENTER = {
    "diagonal each": ComponentMetric(RNG.uniform(0.5, 2.0, size=(12, 4))),
    "square each": ComponentMetric(RNG.normal(size=(12, 4, 4))),
    "onto fewer each": ComponentMetric(RNG.normal(size=(12, 2, 4))),
}


@pytest.mark.parametrize("own", [None, OWN], ids=["all centers", "without the own one"])
class TestAgainstPlainLoops:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("metric", LINEAR | BY_CENTER)
    def test_soft_pooling(self, kernel, metric, own):
        log_weights = np.linspace(-3.0, 0.0, 12)
        assert_agrees(
            DistanceNetwork(
                CENTERS,
                kernel=KERNELS[kernel],
                log_weights=log_weights,
                metric=(LINEAR | BY_CENTER)[metric],
            ),
            own,
        )

    @pytest.mark.parametrize("pooling", POOLINGS)
    @pytest.mark.parametrize("metric", LINEAR)
    def test_hard_pooling(self, pooling, metric, own):
        assert_agrees(DistanceNetwork(CENTERS, pooling=POOLINGS[pooling], metric=LINEAR[metric]), own)


def assert_agrees(network, own):
    expected = pooled.explain_network(X, network, own)
    parts = network.decompose(X, own=own)
    largest = np.abs(expected.relevance).max(axis=1)
    within(parts.relevance, expected.relevance, 1e-9 * largest[:, None])
    within(parts.outlierness, expected.outlierness, 1e-9 * expected.outlierness)
    within(parts.unexplained, expected.unexplained, 1e-9 * expected.outlierness)
    # A logarithm near 0 has the rounding of the sum it is of.
    within(parts.log_inlierness, expected.log_g, 1e-9 * np.abs(expected.log_g) + 1e-14)
    within(network.assignment(X, own=own), expected.assignment, 1e-9)
    within(network.inlier_relevance(X, own=own), expected.inlier_relevance, 1e-9)
    within(network.center_relevance(X, own=own), expected.center_relevance, 1e-9 * largest.max())
    within(network.expected(X, own=own), expected.expected, 1e-9)


def within(values, expected, tolerance):
    assert values.shape == expected.shape
    assert np.all(np.abs(values - expected) <= tolerance), np.max(np.abs(values - expected))
