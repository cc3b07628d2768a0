"""Weighted sums of distances, against plain loops."""

import numpy as np
import pytest

from reference import sums
from whyodd.maths.linear_maps import LinearMap
from whyodd.network.sums.weighted_distances import WeightedDistances

RNG = np.random.default_rng(0)
POINTS, WEIGHTS = RNG.normal(size=(3, 4)), np.array([1.0, 10.0, 0.5])
MEAN, SCALE = RNG.normal(size=4) * 5, np.array([1.0, 100.0, 0.01, 2.0])
SCORE = WeightedDistances(POINTS, WEIGHTS, MEAN, SCALE)
ROWS = np.vstack([MEAN + SCALE * RNG.normal(size=(6, 4)) * 3, MEAN + SCALE * POINTS[1]])


def test_is_that_of_the_plain_loops():
    parts = SCORE.decompose(ROWS)
    for x, relevance, o in zip(ROWS, parts.relevance, parts.outlierness, strict=True):
        expected = sums.weighted_distances(POINTS, WEIGHTS, (x - MEAN) / SCALE)
        np.testing.assert_allclose(relevance, expected[0], rtol=1e-9)
        np.testing.assert_allclose(o, expected[1], rtol=1e-12)
    np.testing.assert_allclose(SCORE.outlierness(ROWS), parts.outlierness, rtol=1e-12)
    np.testing.assert_allclose(parts.relevance.sum(axis=1), parts.outlierness, rtol=1e-12)
    assert not parts.unexplained.any()


@pytest.mark.parametrize("shape", [(4, 4), (4, 7), (4, 2)])
def test_behind_a_map_all_is_conserved(shape):
    B = RNG.normal(size=shape) * SCALE[:, None]
    M = B / SCALE[:, None]
    parts = SCORE.decompose(ROWS, through=LinearMap(B))
    for x, relevance in zip(ROWS, parts.relevance, strict=True):
        expected = np.zeros(shape[1])
        for v, a in zip(POINTS, WEIGHTS, strict=True):
            gap = (x - MEAN) / SCALE - v
            d = np.linalg.norm(gap)
            expected += a * (np.linalg.pinv(M) @ gap) * (M.T @ gap) / d if d > 0 else 0.0
        np.testing.assert_allclose(relevance, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-9)


def test_expects_the_points_by_their_part_in_the_relevance():
    far = MEAN + SCALE * 1e6  # all points are as far: by their weights alone
    expected = MEAN + SCALE * (WEIGHTS @ POINTS / WEIGHTS.sum())
    np.testing.assert_allclose(SCORE.expected(far[None])[0], expected, rtol=1e-5)


@pytest.mark.parametrize(
    "wrong", [{"weights": -WEIGHTS}, {"weights": WEIGHTS[:2]}, {"scale": 0 * SCALE}, {"points": POINTS[0]}]
)
def test_what_does_not_fit_together_is_refused(wrong):
    right = {"points": POINTS, "weights": WEIGHTS, "mean": MEAN, "scale": SCALE}
    with pytest.raises(ValueError, match=r"^Expected WeightedDistances\.\w+ as finite numbers"):
        WeightedDistances(**(right | wrong))
