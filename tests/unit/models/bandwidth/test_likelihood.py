"""Bandwidth by the likelihood of each row under the others: plain loops, copies, invariances, samples."""

import math

import numpy as np
import pytest
from scipy import sparse

from whyodd import KernelDensity
from whyodd.kernels import Exponential, RationalQuadratic, Student
from whyodd.models.bandwidth import likelihood
from whyodd.models.bandwidth.likelihood import left_out_log_likelihood, likelihood_bandwidth
from whyodd.models.fitting.merging import merge_equal_rows

FAMILIES = [
    lambda sigma: Exponential(q=2.0, sigma=sigma),
    lambda sigma: Exponential(q=1.0, sigma=sigma),
    lambda sigma: Exponential(q=4.0, sigma=sigma),
    lambda sigma: Student(q=4.0, a=1.0, sigma=sigma),
    lambda sigma: Student(q=3.5, a=0.2, sigma=sigma),
    lambda sigma: RationalQuadratic(beta=2.5, sigma=sigma),
]
over_families = pytest.mark.parametrize("kernel_of", FAMILIES, ids=lambda family: str(family(1.0)))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def plain(X, weights, kernel):
    """Σ_i w_i log p(x_i) / Σ_i w_i, row by row, without every row equal to x_i."""
    total = 0.0
    for x, w in zip(X, weights, strict=True):
        others = [(u, v) for u, v in zip(X, weights, strict=True) if not np.array_equal(u, x)]
        k = [v * math.exp(float(kernel.log_similarity(((x - u) ** 2).sum()))) for u, v in others]
        total += w * math.log(sum(k) / sum(v for _, v in others))
    return total / sum(weights) - kernel.log_volume(X.shape[1])


def fast(X, weights, kernel):
    merged = merge_equal_rows(X, weights)
    counts = np.ones(len(merged.rows)) if merged.weights is None else merged.weights
    return left_out_log_likelihood(merged.rows, counts, kernel, np.arange(len(counts)))


@over_families
@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_likelihood_is_that_of_plain_loops(rng, kernel_of, sigma):
    X = rng.standard_normal((40, 3))
    X[:10] = X[10:20]
    weights = rng.integers(1, 4, 40).astype(float)
    kernel = kernel_of(sigma)
    assert fast(X, weights, kernel) == pytest.approx(plain(X, weights, kernel), rel=1e-9)


@over_families
def test_no_other_bandwidth_is_more_likely(rng, kernel_of):
    X = rng.standard_normal((120, 3)) * [1.0, 2.0, 0.5]
    X[:10] = X[10:20]
    best = likelihood_bandwidth(merge_equal_rows(X), kernel_of)
    value = fast(X, None, kernel_of(best))
    others = [fast(X, None, kernel_of(best * factor)) for factor in np.geomspace(1e-3, 1e3, 200)]
    assert value >= max(others) - 1e-6
    assert fast(X, None, kernel_of(best * 1.01)) < value  # to about a permille
    assert fast(X, None, kernel_of(best / 1.01)) < value


def test_the_best_of_several_maxima(rng):
    """Two scales: tight clusters far apart, and most rows alone."""
    tight = np.repeat(1000.0 * rng.standard_normal((5, 2)), 40, axis=0) + 1e-3 * rng.standard_normal((200, 2))
    X = np.concatenate([tight, 50.0 * rng.standard_normal((100, 2))])
    best = likelihood_bandwidth(merge_equal_rows(X), FAMILIES[0])
    grid = np.geomspace(1e-5, 1e4, 400)
    values = [fast(X, None, FAMILIES[0](sigma)) for sigma in grid]
    assert fast(X, None, FAMILIES[0](best)) >= max(values) - 1e-6


@pytest.mark.parametrize("copies", [2, 50])
def test_copies_do_not_pull_the_bandwidth_to_zero(rng, copies):
    X = rng.standard_normal((100, 2))
    repeated = np.repeat(X, copies, axis=0)
    once, often = (KernelDensity().fit(rows).kernel_.sigma for rows in (X, repeated))
    assert often == pytest.approx(once, rel=1e-3)  # the accuracy of the search


def test_weights_count(rng):
    """A wide cluster with all the weight decides."""
    X = np.concatenate([rng.standard_normal((200, 2)), 100.0 + 0.01 * rng.standard_normal((200, 2))])
    weights = np.repeat([1.0, 1e-6], 200)
    weighted = KernelDensity().fit(X, sample_weight=weights).kernel_.sigma
    assert weighted == pytest.approx(KernelDensity().fit(X[:200]).kernel_.sigma, rel=0.01)
    assert KernelDensity().fit(X).kernel_.sigma < 0.5 * weighted


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_bandwidth_scales_with_the_data_and_moves_with_it(rng, factor, shift):
    X = rng.standard_normal((150, 3))
    expected = factor * KernelDensity().fit(X).kernel_.sigma
    assert KernelDensity().fit(factor * (X + shift)).kernel_.sigma == pytest.approx(expected, rel=1e-3)


def test_csr_and_float32(rng):
    X = rng.standard_normal((150, 6)) * (rng.random((150, 6)) < 0.5)
    expected = KernelDensity().fit(X).kernel_.sigma
    assert KernelDensity().fit(sparse.csr_array(X)).kernel_.sigma == pytest.approx(expected, rel=1e-3)
    assert KernelDensity().fit(X.astype(np.float32)).kernel_.sigma == pytest.approx(expected, rel=1e-3)


def test_a_sample_of_many_rows_decides(rng, monkeypatch):
    X = rng.standard_normal((3000, 2))
    whole = KernelDensity().fit(X).kernel_.sigma
    monkeypatch.setattr(likelihood, "_MEASURED", 300)
    assert KernelDensity().fit(X).kernel_.sigma == pytest.approx(whole, rel=0.1)
    monkeypatch.setattr(likelihood, "_CENTERS", 1000)
    sampled = KernelDensity().fit(X).kernel_.sigma
    assert sampled == KernelDensity().fit(X).kernel_.sigma  # the same rows every time
    assert sampled == pytest.approx(
        whole * 3 ** (1 / 6), rel=0.15
    )  # fewer rows, a larger bandwidth: n^(-1/(d+4))


def test_two_rows(rng):
    """With one distance r the likelihood is largest at σ^q = r^q / d."""
    X = rng.standard_normal((2, 3))
    r = np.linalg.norm(X[0] - X[1])
    assert KernelDensity().fit(X).kernel_.sigma == pytest.approx(r / np.sqrt(3), rel=1e-3)


def test_a_student_kernel_without_density_is_a_clear_error(rng):
    with pytest.raises(
        ValueError, match=r"Student\(q=2.0.* has an infinite integral over 3 dimension\(s\)\."
    ):
        KernelDensity("student").fit(rng.standard_normal((20, 3)))


def test_equal_rows_have_no_bandwidth():
    with pytest.raises(ValueError, match="sigma='likelihood' on this data gives a bandwidth of 0"):
        KernelDensity().fit(np.ones((10, 2)))


def test_unknown_rule_names_the_likelihood_as_well(rng):
    with pytest.raises(ValueError, match=r"sigma='best': expected a positive number, one of 'likelihood'"):
        KernelDensity(sigma="best").fit(rng.standard_normal((10, 2)))
