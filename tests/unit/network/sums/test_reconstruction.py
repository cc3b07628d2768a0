"""Errors of linear reconstructions."""

import numpy as np
import pytest

from whyodd.maths.linear_maps import LinearMap
from whyodd.network.sums.reconstruction import ReconstructionError

RNG = np.random.default_rng(0)
AXES = np.linalg.qr(RNG.normal(size=(5, 2)))[0].T
MEAN = RNG.normal(size=5)
ROWS = RNG.normal(size=(8, 5)) * 3
PROJECTION = ReconstructionError(MEAN, AXES, AXES)
OTHER = ReconstructionError(MEAN, RNG.normal(size=(2, 5)), RNG.normal(size=(2, 5)))


@pytest.mark.parametrize("score", [PROJECTION, OTHER], ids=["projection", "other"])
class TestReconstruction:
    def test_relevance_is_the_squared_error_of_each_variable(self, score):
        rebuilt = MEAN + np.array([score.decoder.T @ (score.encoder @ (x - MEAN)) for x in ROWS])
        parts = score.decompose(ROWS)
        np.testing.assert_allclose(parts.relevance, (ROWS - rebuilt) ** 2, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(parts.outlierness, parts.relevance.sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(score.outlierness(ROWS), parts.outlierness, rtol=1e-12)
        np.testing.assert_allclose(score.expected(ROWS), rebuilt, rtol=1e-9)

    @pytest.mark.parametrize("shape", [(5, 5), (5, 9), (5, 3)])
    def test_behind_a_map_it_is_that_of_the_shortest_change(self, score, shape):
        B = RNG.normal(size=shape)
        M = (np.eye(5) - score.decoder.T @ score.encoder) @ B
        parts = score.decompose(ROWS, through=LinearMap(B))
        for x, relevance, o in zip(ROWS, parts.relevance, parts.outlierness, strict=True):
            error = (np.eye(5) - score.decoder.T @ score.encoder) @ (x - MEAN)
            # The rank of M is that of errors that variables can make; beyond it is rounding.
            shortest = np.linalg.pinv(M, rcond=1e-9) @ error
            np.testing.assert_allclose(relevance, shortest * (M.T @ error), rtol=1e-7, atol=1e-9 * o)
        np.testing.assert_allclose(
            parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-9
        )


def test_what_is_left_is_the_shortest_change_that_leaves_no_error():
    left = ROWS - PROJECTION.expected(ROWS)
    assert PROJECTION.outlierness(ROWS - left).max() < 1e-24
    np.testing.assert_allclose(PROJECTION.outlierness(ROWS), (left**2).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize(
    "wrong", [{"mean": MEAN[:3]}, {"encoder": AXES[:1]}, {"decoder": AXES.T}, {"mean": np.full(5, np.nan)}]
)
def test_what_does_not_fit_together_is_refused(wrong):
    with pytest.raises(ValueError, match=r"^Expected ReconstructionError\.\w+ as finite numbers"):
        ReconstructionError(**({"mean": MEAN, "encoder": AXES, "decoder": AXES} | wrong))
