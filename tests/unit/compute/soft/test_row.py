"""The compiled loops and the kernel classes say the same, for every family of ``KERNELS``, in both dtypes."""

from __future__ import annotations

import itertools
from dataclasses import fields

import numpy as np
import pytest
from scipy.special import logsumexp

from whyodd.compute.soft.centers import prepare
from whyodd.compute.soft.row import (
    energies,
    explain_row,
    explained_part,
    log_similarities,
    normalise_row,
    pool_row,
    row_max,
    row_min,
    row_sum,
)
from whyodd.kernels import KERNELS

DTYPES = (np.float32, np.float64)
# Some have loops of their own; the others, beside them and between, have not.
DEGREES = (0.5, 1.0, 1.7, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
# Of parameters that take other values than degrees.
VALUES = {"a": (1e-3, 1.0, 50.0), "beta": (0.3, 1.0, 50.0)}
SIGMA = 0.3
# Relative errors: a few roundings, and what a power with a real exponent adds (|log e| roundings in float32).
RELATIVE = {np.float32: 3e-6, np.float64: 1e-14}


def kernels():
    for name, family in KERNELS.items():
        names = [field.name for field in fields(family) if field.name != "sigma"]
        values = [VALUES.get(parameter, DEGREES) for parameter in names]
        for chosen in itertools.product(*values):
            kernel = family(sigma=SIGMA, **dict(zip(names, chosen, strict=True)))
            yield pytest.param(kernel, id="-".join([name, *map(str, chosen)]))


# From on top of a center to 30 bandwidths away.
DISTANCES = SIGMA * np.concatenate([[0.0], np.logspace(-6, 0.5, 40), np.linspace(3.5, 30, 23)])


class Row:
    """One row of squared distances to centers of unequal weights, compiled and as the class has it."""

    def __init__(self, kernel, dtype, distances=DISTANCES):
        m = distances.size
        alpha = np.random.default_rng(0).dirichlet(np.ones(m))
        self.kernel, self.m, self.log_alpha = kernel, m, np.log(alpha)
        centers = prepare(np.zeros((m, 1)), self.log_alpha, kernel, dtype=np.dtype(dtype))
        self.pool = centers.pool
        self.scaled = ((distances / centers.scale) ** 2).astype(dtype)
        # What the compiled loops see is rounded to their dtype: the class gets exactly that.
        self.d2 = self.scaled.astype(np.float64) * centers.scale**2
        self.e, self.p = np.empty(m, dtype), np.empty(m, dtype)
        self.weights = self.pool.log_weights[0].astype(dtype)

    def pooled(self):
        return self.pooled_with(-1, 0, self.weights, self.pool)

    def pooled_with(self, own, version, weights, pool):
        smallest = np.float64(row_min(self.scaled))
        return pool_row(self.scaled, smallest, own, version, weights, pool, pool.radial, self.e, self.p)

    def expected_log_g(self):
        return logsumexp(self.log_alpha + self.kernel.log_similarity(self.d2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", list(kernels()))
def test_log_similarities_are_the_classes(kernel, dtype):
    row = Row(kernel, dtype)
    v = np.empty_like(row.scaled)
    energies(row.scaled, row.pool.radial, row.e)
    log_similarities(row.e, np.zeros(row.m, dtype), row.pool.radial, v)
    expected = kernel.log_similarity(row.d2)
    # log k(0) is added at the very end, in float64, to log g.
    np.testing.assert_allclose(
        v + row.pool.radial.log_height, expected, rtol=RELATIVE[dtype], atol=10 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", list(kernels()))
def test_pooling_gives_the_classes_outlierness_and_assignments(kernel, dtype):
    row = Row(kernel, dtype)
    log_g, o, total = row.pooled()
    expected = row.expected_log_g()
    np.testing.assert_allclose(log_g, expected, rtol=RELATIVE[dtype], atol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(o, kernel.outlierness(expected, row.m), rtol=20 * RELATIVE[dtype])
    p = np.empty_like(row.p)
    normalise_row(row.p, total, p)
    exact = np.exp(row.log_alpha + kernel.log_similarity(row.d2) - expected)
    np.testing.assert_allclose(p, exact, rtol=0, atol=20 * RELATIVE[dtype] * exact.max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", list(kernels()))
def test_explained_and_unexplained_parts_are_the_classes(kernel, dtype):
    row = Row(kernel, dtype)
    _, o, total = row.pooled()
    weights = row.scaled.copy()
    unexplained = explain_row(weights, row.e, row.p, total, o, row.pool.radial)
    remainders = [
        explain_row(
            row.scaled[j : j + 1].copy(), row.e[j : j + 1], row.p[j : j + 1], total, o, row.pool.radial
        )
        for j in range(row.m)
    ]
    p = row.p.astype(float) / total
    explained = kernel.explained(row.d2, o)
    scale = o * p.max()
    np.testing.assert_allclose(
        weights * row.scaled, p * explained, rtol=5 * RELATIVE[dtype], atol=RELATIVE[dtype] * scale
    )
    np.testing.assert_allclose(remainders, p * (o - explained), atol=5 * RELATIVE[dtype] * scale, rtol=0)
    np.testing.assert_allclose(
        unexplained, (p * (o - explained)).sum(), rtol=50 * RELATIVE[dtype], atol=1e-7 * o
    )
    np.testing.assert_allclose(
        explained_part(weights, row.scaled) + unexplained, o, rtol=50 * RELATIVE[dtype]
    )
    assert weights[0] == 0.0  # on top of a center


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("own", [0, 5])
@pytest.mark.parametrize("name", KERNELS)
def test_a_center_left_out_has_no_part_in_anything(name, own, dtype):
    kernel = KERNELS[name](sigma=SIGMA)
    row = Row(kernel, dtype)
    version = int(own == row.pool.heaviest)
    weights = row.pool.log_weights[version].astype(dtype)
    row.scaled[own] = np.inf
    log_g, o, total = row.pooled_with(own, version, weights, row.pool)
    kept = np.arange(row.m) != own
    log_alpha = row.log_alpha[kept] - logsumexp(row.log_alpha[kept])
    expected = logsumexp(log_alpha + kernel.log_similarity(row.d2[kept]))
    np.testing.assert_allclose(log_g, expected, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(o, kernel.outlierness(expected, row.m - 1), rtol=100 * np.finfo(dtype).eps)
    assert row.p[own] == 0.0
    explain_row(row.scaled, row.e, row.p, total, o, row.pool.radial)
    assert row.scaled[own] == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_a_nearest_center_with_next_to_no_weight_does_not_hide_the_others(name, dtype):
    kernel = KERNELS[name](sigma=SIGMA)
    row = Row(kernel, dtype)
    log_alpha = np.zeros(row.m)
    log_alpha[np.argmin(row.d2)] = -600.0
    relative, log_alpha = log_alpha.astype(dtype), log_alpha - logsumexp(log_alpha)
    pool = row.pool._replace(shifts=np.full(2, log_alpha.max()))
    log_g, _, total = row.pooled_with(-1, 0, relative, pool)
    expected = logsumexp(log_alpha + kernel.log_similarity(row.d2))
    np.testing.assert_allclose(log_g, expected, rtol=20 * np.finfo(dtype).eps)
    exact = np.exp(log_alpha + kernel.log_similarity(row.d2) - expected)
    np.testing.assert_allclose(row.p / total, exact, rtol=0, atol=20 * RELATIVE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e-3, 0.04])
@pytest.mark.parametrize("q", [1.0, 2.0])
def test_a_small_outlierness_keeps_all_its_digits(q, size, dtype):
    kernel = KERNELS["exponential"](q=q, sigma=1.0)
    distances = np.full(7, (q * size) ** (1 / q))
    _, o, _ = Row(kernel, dtype, distances).pooled()
    np.testing.assert_allclose(o, size, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_distances_beyond_all_numbers_give_an_infinite_outlierness(name, dtype):
    row = Row(KERNELS[name](sigma=SIGMA), dtype)
    row.scaled[:] = np.inf
    log_g, o, _ = row.pooled()
    assert (log_g, o) == (-np.inf, np.inf)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 3, 4, 5, 255, 256, 257, 1000])
def test_reductions_of_a_row_see_every_entry(size, dtype):
    rng = np.random.default_rng(size)
    for place in range(min(size, 9)):
        row = rng.uniform(1, 2, size=size).astype(dtype)
        row[place] = 5
        assert row_max(row) == 5
        row[place] = -5
        assert row_min(row) == -5
        np.testing.assert_allclose(row_sum(row), row.sum(dtype=float), rtol=100 * np.finfo(dtype).eps)


def test_sums_of_many_float32_terms_keep_float64_digits():
    row = np.full(1_000_003, 0.1, dtype=np.float32)
    np.testing.assert_allclose(row_sum(row), row.sum(dtype=float), rtol=1e-6)
