"""Model and bandwidth by held-out likelihood: agreement with plain loops, and the cases that mislead it."""

import math

import numpy as np
import pytest

from whyodd.automatic.choice import FARTHEST_SHARE, RESOLUTION, choose_model
from whyodd.models.registry import GaussianMixture, KernelDensity


def chosen(Z, *, seed=0, with_mixtures=True):
    return choose_model(np.asarray(Z, dtype=float), seed, with_mixtures=with_mixtures, say=lambda _: None)


def log_kernel_density(x, centers, sigma):
    """log mean_j N(x; u_j, σ²) of one row, as a plain loop."""
    terms = []
    for u in centers:
        energy = math.fsum((a - b) ** 2 for a, b in zip(x, u, strict=True)) / (2.0 * sigma**2)
        terms.append(-energy - len(x) * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi)))
    largest = max(terms)
    return largest + math.log(math.fsum(math.exp(t - largest) for t in terms)) - math.log(len(terms))


def test_likelihoods_agree_with_a_plain_loop():
    Z = np.random.default_rng(5).normal(size=(40, 2))
    choice = chosen(Z, seed=3, with_mixtures=False)
    rng = np.random.default_rng(3)
    blurred = Z + RESOLUTION * rng.standard_normal(Z.shape)
    order = rng.permutation(40)
    for candidate in choice.candidates:
        sigma, expected = candidate.model.sigma, []
        for part in np.array_split(order, 5):
            others = [i for i in range(40) if i not in part]
            expected += [log_kernel_density(blurred[i], Z[others], sigma) for i in part]
        np.testing.assert_allclose(candidate.log_likelihoods, expected, rtol=1e-9)
        assert candidate.mean == pytest.approx(math.fsum(expected) / 40)
    assert choice.chosen.mean == max(candidate.mean for candidate in choice.candidates)


def test_a_gaussian_cloud_is_found_gaussian():
    choice = chosen(np.random.default_rng(0).normal(size=(600, 15)))
    assert isinstance(choice.chosen.model, GaussianMixture)
    assert choice.chosen.model.n_components == 1
    assert "likelier than the best kernel density" in choice.reason


def test_a_curve_is_left_to_kernels():
    angle = np.random.default_rng(0).uniform(0.0, 6.0 * np.pi, 1500)
    spiral = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]) / 8.0
    choice = chosen(spiral)
    assert isinstance(choice.chosen.model, KernelDensity)


def test_a_mixture_must_be_clearly_better():
    # A kernel density of 30 rows is about as good: no clear winner, and the plainer model stays.
    choice = chosen(np.random.default_rng(2).normal(size=(30, 1)))
    assert isinstance(choice.chosen.model, KernelDensity)


def test_without_mixtures_there_are_none():
    choice = chosen(np.random.default_rng(0).normal(size=(200, 2)), with_mixtures=False)
    assert all(isinstance(candidate.model, KernelDensity) for candidate in choice.candidates)


def test_repeated_values_do_not_win_by_an_infinite_likelihood():
    # All rows are copies of a few: a bandwidth of 0 would have an infinite likelihood.
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.integers(0, 3, 600), rng.integers(0, 2, 600)]).astype(float)
    assert chosen(Z, with_mixtures=False).chosen.model.sigma == RESOLUTION
    # The likelihood of the blurred distribution itself is the largest there can be: -½ - log(τ √2π) per
    # column, less the entropy of the values.
    entropy = math.log(3) + math.log(2)
    best = 2.0 * (-0.5 - math.log(RESOLUTION * math.sqrt(2.0 * math.pi))) - entropy
    assert chosen(Z).chosen.mean == pytest.approx(best, abs=0.2)


def test_one_repeated_column_beside_others_does_not_decide():
    # Constant but for a few rows: a variance per column could be as small as it likes.
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(1200, 3))
    Z[:, 2] = np.where(rng.random(1200) < 0.005, 3.0, 0.0)
    likelihoods = [candidate.mean for candidate in chosen(Z).candidates]
    bound = 3.0 * (-0.5 - math.log(RESOLUTION * math.sqrt(2.0 * math.pi)))
    assert max(likelihoods) < bound


def test_a_few_far_rows_do_not_set_the_bandwidth():
    Z = np.random.default_rng(0).normal(size=(1500, 2))
    plain = chosen(Z, with_mixtures=False)
    Z[::150] += 1e4  # 10 rows, fewer than the share that is left out
    assert FARTHEST_SHARE > 10 / 1500
    assert chosen(Z, with_mixtures=False).chosen.name == plain.chosen.name


def test_columns_that_are_constant_where_a_model_is_fitted():
    # One row differs, so that one fold is fitted to equal rows, and no candidate fails or gains by it.
    Z = np.zeros((20, 2))
    Z[7] = 1.0
    assert np.isfinite(chosen(Z).chosen.mean)


@pytest.mark.parametrize("n", [2, 9])
def test_few_rows_are_not_compared(n):
    choice = chosen(np.random.default_rng(0).normal(size=(n, 1)))
    assert choice.candidates == ()
    assert "too few" in choice.reason
