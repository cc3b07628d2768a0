"""Gradients of the outlierness: against central differences of the plain loops, for every kind of network."""

import numpy as np
import pytest
from scipy import sparse

import whyodd
from reference import baselines
from whyodd.explainers.support.gradients import gradient
from whyodd.kernels import Exponential, Student
from whyodd.maths.hard_poolings import LocalReach, MeanVector, Nearest
from whyodd.maths.metrics import ComponentMetric, LinearMetric
from whyodd.models.registry import MODELS
from whyodd.network.waist import offers

RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(9, 3))
WEIGHTS = RNG.dirichlet(np.ones(9))
ROWS = np.vstack([2.0 * RNG.normal(size=(3, 3)), CENTERS[:1] + 0.3])
MAP = RNG.normal(size=(2, 3))

KERNELS = [Exponential(q, 0.8) for q in (1, 1.5, 2, 4)] + [Student(q, 0.5, 0.8) for q in (1, 1.5, 2, 4)]
POOLINGS = [
    Nearest.kth(1),
    Nearest.mean(3),
    Nearest.kth(3),
    Nearest.median(4),
    MeanVector(3),
    LocalReach(3, RNG.uniform(0.5, 2.0, 9), RNG.uniform(0.5, 2.0, 9)),
]
METRICS = [
    LinearMetric(MAP),
    LinearMetric(np.diag([1.0, 3.0, 0.0])),
    ComponentMetric(RNG.uniform(0.5, 2.0, (9, 3))),
    ComponentMetric(RNG.normal(size=(9, 2, 3))),
]


def assert_is_gradient(network, rows=ROWS, own=None):
    """Within 1e-6 of the row's largest slope: what rounding and h² leave of central differences."""
    left_out = np.full(len(rows), -1) if own is None else own
    expected = np.array([baselines.gradient(network, x, int(j)) for x, j in zip(rows, left_out, strict=True)])
    found = gradient(network, rows, own)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
class TestKernel:
    def test_under_the_plain_distance(self, kernel):
        assert_is_gradient(whyodd.DistanceNetwork(CENTERS, WEIGHTS, kernel))

    def test_without_own_centers(self, kernel):
        network = whyodd.DistanceNetwork(CENTERS, WEIGHTS, kernel)
        rows = np.vstack([CENTERS[:3], CENTERS[3:4] + 0.1])
        assert_is_gradient(network, rows, own=np.array([0, 1, 2, -1]))

    @pytest.mark.parametrize("metric", METRICS, ids=["map", "diagonal", "scales", "maps"])
    def test_under_a_metric(self, kernel, metric):
        assert_is_gradient(whyodd.DistanceNetwork(CENTERS, WEIGHTS, kernel, metric=metric), ROWS[:2])


@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
class TestPooling:
    def test_under_the_plain_distance(self, pooling):
        assert_is_gradient(whyodd.DistanceNetwork(CENTERS, pooling=pooling))

    def test_without_own_centers(self, pooling):
        network = whyodd.DistanceNetwork(CENTERS, pooling=pooling)
        assert_is_gradient(network, CENTERS[:4] + 0.01, own=np.array([0, 1, -1, 3]))

    def test_under_a_metric(self, pooling):
        network = whyodd.DistanceNetwork(CENTERS, pooling=pooling, metric=LinearMetric(MAP))
        assert_is_gradient(network, ROWS[:2])


@pytest.mark.parametrize("name", MODELS)
def test_of_every_model_that_measures_distances(name):
    X = np.random.default_rng(1).normal(size=(25, 3))
    network = whyodd.neuralize(MODELS[name]().fit(X))
    if not offers(network, "distances"):  # a committee counts rows in bins too, which have no slope
        with pytest.raises(whyodd.UnsupportedModelError, match="measures no distances"):
            whyodd.explain(network, X, method="sensitivity")
        return
    assert_is_gradient(network, np.array([[2.0, -1.0, 0.5], [0.3, 3.0, 0.2]]))


@pytest.mark.parametrize("q", [1, 1.5, 2, 4])
def test_a_center_at_distance_0_has_no_part(q):
    network = whyodd.DistanceNetwork(CENTERS, WEIGHTS, Exponential(q, 0.8))
    np.testing.assert_allclose(
        gradient(network, CENTERS), [baselines.gradient_by_pairs(network, u) for u in CENTERS], atol=1e-12
    )


def test_is_exact_next_to_a_center_of_far_clusters():
    """Differences of 1e-7 between coordinates of 1e6: a product would leave no digit of them."""
    centers = np.vstack([CENTERS - 1e6, CENTERS + 1e6])
    network = whyodd.DistanceNetwork(centers, kernel=Exponential(1, 0.8))
    x = centers[12] + [3e-7, -1e-7, 2e-7]
    expected = baselines.gradient_by_pairs(network, x)
    # Coordinates of 1e6 are rounded to 1e-10 when the mean of the centers is taken off: 1e-3 of 3e-7.
    np.testing.assert_allclose(gradient(network, x[None])[0], expected, atol=2e-3 * np.abs(expected).max())


def test_of_sparse_centers():
    dense = np.where(np.abs(CENTERS) > 0.5, CENTERS, 0.0)
    for kernel in (Exponential(1, 0.8), Student(2, 0.5, 0.8)):
        network = whyodd.DistanceNetwork(sparse.csr_array(dense), WEIGHTS, kernel)
        same = whyodd.DistanceNetwork(dense, WEIGHTS, kernel)
        np.testing.assert_allclose(gradient(network, ROWS), gradient(same, ROWS), rtol=1e-12)
    pooled = whyodd.DistanceNetwork(sparse.csr_array(dense), pooling=Nearest.mean(3))
    assert_is_gradient(pooled)


def test_blocks_of_neighbours_are_put_together(monkeypatch):
    network = whyodd.DistanceNetwork(CENTERS, pooling=Nearest.mean(3))
    whole = gradient(network, ROWS)
    monkeypatch.setattr("whyodd.explainers.support.gradients._BLOCK", 10)
    np.testing.assert_array_equal(gradient(network, ROWS), whole)
