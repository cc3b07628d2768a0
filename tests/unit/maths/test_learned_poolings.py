"""Poolings that a network has learned."""

import numpy as np
import pytest

import whyodd
from made_up.stacks import stack
from reference import dense
from whyodd.explainers.support.gradients import gradient
from whyodd.maths.learned_poolings import LearnedMean, LearnedScore

RNG = np.random.default_rng(3)
CENTERS = RNG.normal(size=(30, 3))
X = RNG.normal(size=(7, 3)) * 2
MEAN = LearnedMean(stack([4, 9, 4], [["relu", "layer_norm"], "softmax"]))
SCORE = LearnedScore(stack([4, 9, 1], ["tanh", []]))
POOLINGS = [MEAN, SCORE]


@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
class TestLearnedPooling:
    def test_relevance_is_that_of_plain_loops(self, pooling):
        parts = whyodd.DistanceNetwork(CENTERS, pooling=pooling).decompose(X)
        for at, x in enumerate(X):
            o, relevance = plain(pooling, x)
            np.testing.assert_allclose(parts.outlierness[at], o, rtol=1e-12)
            # The loops take the integral by the middles of 20,000 pieces: an error of about 1e-9.
            np.testing.assert_allclose(parts.relevance[at], relevance, rtol=0, atol=1e-8)

    def test_conserves_the_outlierness(self, pooling):
        parts = whyodd.DistanceNetwork(CENTERS, pooling=pooling).decompose(X)
        np.testing.assert_allclose(
            parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-12
        )

    def test_gradient_is_that_of_small_steps(self, pooling):
        network = whyodd.DistanceNetwork(CENTERS, pooling=pooling)
        for i in range(3):
            step = np.zeros(3)
            step[i] = 1e-6
            change = (network.outlierness(X + step) - network.outlierness(X - step)) / 2e-6
            np.testing.assert_allclose(gradient(network, X)[:, i], change, rtol=1e-5, atol=1e-7)


def plain(pooling, x):
    """Outlierness and relevance of one row, written from the formulas."""
    d2 = ((CENTERS - x) ** 2).sum(axis=1)
    near = np.argsort(d2)[:4]
    d = np.sqrt(d2[near])
    if isinstance(pooling, LearnedMean):
        part = np.array(dense.through(pooling.network, d)[1]) * d
        o = part.sum()
    else:
        t = (np.arange(20_000) + 0.5)[:, None] / 20_000
        f = pooling.network.forward(t * d)
        slopes = pooling.network.gradient(t * d, 1 / (1 + np.exp(-f)))
        part, o = d * slopes.mean(axis=0), np.log1p(np.exp(dense.through(pooling.network, d)[1][0]))
    return o, sum(p * (x - CENTERS[j]) ** 2 / d2[j] for p, j in zip(part, near, strict=True))


def test_mean_explains_all_and_score_leaves_what_it_has_at_distance_0():
    d = np.abs(X[:, [0, 1, 2, 0]])
    np.testing.assert_array_equal(MEAN.unexplained(d, None), np.zeros(7))
    at_0 = np.log1p(np.exp(SCORE.network.forward(np.zeros((1, 4)))[0, 0]))
    np.testing.assert_allclose(SCORE.unexplained(d, None), np.full(7, at_0), rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "network", "told"),
    [
        (LearnedMean, stack([4, 3], ["softmax"]), "a weight for each distance"),
        (LearnedMean, stack([4, 4], ["relu"]), "by a softmax"),
        (LearnedScore, stack([4, 2], ["relu"]), "one number for the distances"),
    ],
)
def test_network_of_another_shape_is_told(kind, network, told):
    with pytest.raises(ValueError, match=told):
        kind(network)
