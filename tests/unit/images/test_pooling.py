"""The power mean over places, against plain sums; its parts sum to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from whyodd.images.pooling import POWER, pooled, shared, smoothed

# Scores are distances beyond usual ones: none is below 0, and few are above some hundreds.
SCORES = st.just(0.0) | st.floats(1e-100, 1e3)
MAPS = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=SCORES)


def plain_pooled(scores):
    flat = [float(score) for score in scores.ravel()]
    return (sum(score**POWER for score in flat) / len(flat)) ** (1.0 / POWER)


def test_against_a_plain_sum():
    scores = np.random.default_rng(0).uniform(0.5, 3.0, size=(7, 5))
    assert pooled(scores) == pytest.approx(plain_pooled(scores), rel=1e-12)


@given(MAPS)
def test_parts_sum_to_the_outlierness(scores):
    parts = shared(scores)
    assert (parts >= 0.0).all()
    assert float(parts.sum()) == pytest.approx(pooled(scores), rel=1e-10)


@given(MAPS, st.floats(1e-3, 1e3))
def test_grows_with_the_scores_and_lies_below_the_largest(scores, factor):
    o = pooled(scores)
    assert 0.0 <= o <= scores.max() * (1.0 + 1e-12)
    assert pooled(scores * factor) == pytest.approx(factor * o, rel=1e-9)


def test_scores_whose_powers_no_float_holds():
    scores = np.array([[1e30, 1.0], [2.0, 1e-30]])
    assert pooled(scores) == pytest.approx(1e30 * 0.25 ** (1 / POWER))
    assert shared(scores).sum() == pytest.approx(pooled(scores))


def test_nothing_odd_anywhere():
    assert pooled(np.zeros((3, 4))) == 0.0
    assert not shared(np.zeros((3, 4))).any()


def test_shares_are_those_of_squares():
    parts = shared(np.array([[0.0, 2.0, 6.0]]))
    assert parts[0, 0] == 0.0
    assert parts[0, 2] / parts[0, 1] == pytest.approx(9.0)


@pytest.mark.parametrize("shape", [(1, 1), (2, 9), (16, 5)])
def test_smoothing_is_its_own_adjoint_and_keeps_sums(shape):
    """What relevance goes back by: Σ a G(b) = Σ G(a) b."""
    a, b = np.random.default_rng(0).random((2, *shape))
    assert (a * smoothed(b)).sum() == pytest.approx((smoothed(a) * b).sum(), rel=1e-12)
    assert smoothed(a).sum() == pytest.approx(a.sum(), rel=1e-12)
