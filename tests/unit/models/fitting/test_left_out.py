"""Training rows without their own part in the weights, against plain sums; thresholds."""

import math

import numpy as np
import pytest

from whyodd.kernels import Exponential, Student
from whyodd.models.fitting.left_out import log_inlierness_without, some_rows
from whyodd.models.fitting.thresholds import usual_threshold

over_kernels = pytest.mark.parametrize("kernel", [Exponential(), Exponential(q=1.0), Student(a=0.5)], ids=str)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def similarity(kernel, x, u):
    return math.exp(float(kernel.log_similarity(((x - u) ** 2).sum())))


@over_kernels
def test_rows_without_their_share(rng, kernel):
    X = rng.standard_normal((15, 2))
    alpha = rng.random(15)
    alpha[::4] = 0.0  # no centers
    alpha /= alpha.sum()
    shares = alpha * rng.choice([0.0, 0.3, 1.0], 15)
    chosen = np.arange(1, 15)
    plain = []
    for i in chosen:
        left = alpha.copy()
        left[i] -= shares[i]
        g = sum(w * similarity(kernel, X[i], u) for w, u in zip(left, X, strict=True))
        plain.append(math.log(g / left.sum()))
    found = log_inlierness_without(X, alpha, shares, kernel, chosen)
    np.testing.assert_allclose(found, plain, rtol=1e-9)


def test_far_rows_do_not_underflow():
    X = np.array([[0.0], [1.0], [1e4]])
    found = log_inlierness_without(X, np.full(3, 1 / 3), np.full(3, 1 / 3), Exponential(), np.arange(3))
    assert found[2] == pytest.approx(-0.5 * (1e4 - 1.0) ** 2, rel=1e-6)


def test_the_only_center_stays():
    X = np.array([[0.0], [1.0]])
    found = log_inlierness_without(X, np.array([1.0, 0.0]), np.array([0.5, 0.0]), Exponential(), np.arange(2))
    np.testing.assert_allclose(found, [0.0, -0.5], atol=1e-12)


def test_some_rows():
    np.testing.assert_array_equal(some_rows(5, 5), np.arange(5))
    sample = some_rows(1000, 50)
    assert len(np.unique(sample)) == 50
    assert np.all(np.diff(sample) > 0)
    np.testing.assert_array_equal(sample, some_rows(1000, 50))


def test_a_tenth_lies_above_the_threshold(rng):
    scores = rng.standard_normal(200)
    threshold = usual_threshold(scores)
    assert np.mean(scores > threshold) == 0.1
    assert not np.any(scores == threshold)


def test_threshold_counts_weights(rng):
    scores, weights = rng.standard_normal(100), rng.integers(1, 5, 100).astype(float)
    by_weight = usual_threshold(scores, weights)
    assert weights[scores > by_weight].sum() / weights.sum() == pytest.approx(0.1, abs=4 / weights.sum())
    assert usual_threshold(scores, np.full(100, 0.3)) == usual_threshold(scores)


def test_equal_scores_are_not_outliers():
    assert usual_threshold(np.full(50, 2.5)) == 2.5
