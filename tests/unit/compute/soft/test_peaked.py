"""Rows explained by the few centers that count, and whole numbers without rounding: against the truth."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from reference import oracle
from whyodd.compute.points import are_whole, localize, squared_norms
from whyodd.kernels import Exponential, Student
from whyodd.network.distance_network import DistanceNetwork

EXACT = {np.float32: 1e-4, np.float64: 1e-9}
DTYPES = [np.float32, np.float64]
TRUTH = oracle.digits(40)


def cloud(n=12, m=48, d=5, seed=0, far=3.0, dtype=np.float64):
    """Centers, and rows farther out than they are."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(m, d)).astype(dtype).astype(np.float64)
    return (far * rng.normal(size=(n, d))).astype(dtype), centers


def check(X, centers, kernel, *, weights=None, own=None, t=1e-6, peaked=None, arithmetic=oracle.FLOATS):
    """Explain with and without a tolerance, and compare both with the truth; returns the tolerant one."""
    network = DistanceNetwork(centers, weights=weights, kernel=kernel)
    rows = X.toarray() if hasattr(X, "toarray") else X
    dense = centers.toarray() if hasattr(centers, "toarray") else centers
    truth = oracle.explain(rows, dense, kernel, weights=weights, own=own, arithmetic=arithmetic)
    exact, quick = (network.decompose(X, own=own, tolerance=tolerance) for tolerance in (0.0, t))
    rounding = EXACT[rows.dtype.type]
    assert_within(exact, truth, rounding, 0.0)
    assert_within(quick, truth, rounding, t)
    for got, atol in ((exact, 1e-12), (quick, -math.log1p(-t) + 1e-12)):
        np.testing.assert_allclose(got.log_inlierness, truth.log_g, rtol=rounding, atol=atol)
    assert (exact.discarded == 0.0).all()
    assert (quick.discarded <= t).all()
    same = quick.discarded == 0.0
    for name in ("relevance", "outlierness", "unexplained", "log_inlierness"):
        np.testing.assert_allclose(getattr(quick, name)[same], getattr(exact, name)[same], rtol=rounding)
    if peaked is not None:
        assert (quick.discarded > 0.0).any() == peaked
    return quick


def assert_within(got, truth, rounding, t):
    """Within rounding, and what a share t of p can change.

    Discarded centers explain at most t o; those that are left have 1 / (1 - t) of theirs, and o is larger by
    at most -log(1 - t).
    """
    o = truth.outlierness
    more = -math.log1p(-t)
    slack = ((2.0 * t * o + more) / (1.0 - t))[:, None]
    largest = truth.relevance.max(axis=1, keepdims=True)
    least = 1e3 * np.finfo(got.relevance.dtype).tiny  # below, floats have few digits or none
    assert (np.abs(got.relevance - truth.relevance) <= rounding * largest + slack + least).all()
    assert (np.abs(got.outlierness - o) <= more + rounding * np.maximum(o, 1e-3)).all()
    assert (got.outlierness >= o - rounding * np.maximum(o, 1e-3)).all()
    assert (np.abs(got.unexplained - truth.unexplained) <= rounding * o + slack[:, 0]).all()
    # What was discarded is missing nowhere: the parts sum to o, to rounding.
    total = got.relevance.sum(axis=1, dtype=np.float64) + got.unexplained
    np.testing.assert_allclose(total, got.outlierness, rtol=rounding / 10)
    assert (got.relevance >= 0.0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("q", [0.5, 1.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("t", [1e-12, 1e-6, 1e-2, 0.3])
def test_every_degree_and_tolerance(dtype, q, t):
    X, centers = cloud(dtype=dtype)
    sigma = {0.5: 1e-5, 1.0: 0.02, 2.0: 0.2, 4.0: 0.5, 6.0: 0.7}[q]
    check(X, centers, Exponential(q=q, sigma=sigma), t=t, peaked=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("q", [1.0, 2.0, 4.0])
def test_own_centers_are_left_out(dtype, q):
    _, centers = cloud(m=48, dtype=dtype)
    own = np.arange(0, 48, 3)
    own[3] = -1  # stands on a center that is not left out
    check(centers[::3].astype(dtype), centers, Exponential(q=q, sigma=0.05), own=own, peaked=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_weights_of_zero_also_of_the_nearest_center(dtype):
    X, centers = cloud(dtype=dtype)
    weights = np.ones(48)
    nearest = np.argmin(((X[:, None].astype(np.float64) - centers) ** 2).sum(axis=2), axis=1)
    weights[nearest[:6]] = 0.0
    kernel = Exponential(sigma=0.2)
    got = check(X, centers, kernel, weights=weights / weights.sum(), peaked=True)
    # A nearest center without weight says nothing of how much the others count: all of them are taken.
    assert (got.discarded[np.isin(nearest, nearest[:6])] == 0.0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left_out", [False, True])
def test_all_weight_but_a_little_on_a_few_centers(dtype, left_out):
    X, centers = cloud(dtype=dtype, n=9)
    weights = 10.0 ** -np.linspace(0.0, 12.0, 48)
    X[:3] = centers[:3]
    own = np.full(9, -1)
    own[:3] = np.arange(3) if left_out else -1  # 0 is the heaviest
    check(X, centers, Exponential(sigma=0.1), weights=weights / weights.sum(), own=own, peaked=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_discarded_where_hardly_a_row_is_peaked(dtype):
    """Looking for peaked rows takes longer than few of them save: the bytes are those without a tolerance."""
    rng = np.random.default_rng(0)
    centers = np.concatenate(
        [0.01 * rng.normal(size=(100, 5)), 1e3 * np.arange(1, 101)[:, None] * np.ones(5)]
    )
    peaked, others = centers[100:110] + 0.1, 0.01 * rng.normal(size=(190, 5))
    network = DistanceNetwork(centers)
    alone = network.decompose(peaked.astype(dtype), tolerance=1e-6)
    assert (alone.discarded > 0.0).all()
    X = np.concatenate([peaked, others]).astype(dtype)[rng.permutation(200)]
    got, exact = (network.decompose(X, tolerance=t) for t in (1e-6, 0.0))
    assert (got.discarded == 0.0).all()
    np.testing.assert_array_equal(got.relevance, exact.relevance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("heavy", [0.5, 0.99, 1.0 - 1e-6])
@pytest.mark.parametrize("apart", [0.0, 1e-4, 0.1, 0.5, 2.0])
def test_the_heavy_center_left_out_beside_a_copy(dtype, heavy, apart):
    """With nothing but the copy left o is nearly 0, whatever -log g was with the weights as they are."""
    _, centers = cloud(dtype=dtype, m=40)
    centers = 30.0 * centers
    centers[1] = centers[0] + apart * np.array([0.8, 0.0, 0.0, 0.6, 0.0])
    centers = centers.astype(dtype).astype(np.float64)
    weights = np.full(40, 1e-9 * (1.0 - heavy))
    weights[:2] = heavy, 1.0 - heavy
    network = DistanceNetwork(centers, weights=weights / weights.sum())
    X, own = centers[[0, 0, 1]].astype(dtype), np.array([0, 0, 1])
    got, exact = (network.decompose(X, own=own, tolerance=t) for t in (1e-6, 0.0))
    np.testing.assert_allclose(got.outlierness, exact.outlierness, rtol=10 * EXACT[dtype] / 100, atol=0.0)
    assert (got.outlierness >= 0.0).all()
    assert (got.discarded[exact.outlierness < 0.05] == 0.0).all()
    check(X, centers, Exponential(), weights=weights / weights.sum(), own=own, arithmetic=TRUTH)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_small_outlierness_keeps_its_digits(dtype):
    """On a center with nearly all the weight o is as small as the tolerance: nothing may be discarded."""
    _, centers = cloud(dtype=dtype, m=40)
    weights = np.full(40, 1e-7)
    weights[0] = 1.0 - 39e-7
    got = check(centers[:1].astype(dtype), 20 * centers, Exponential(), weights=weights, arithmetic=TRUTH)
    assert got.outlierness[0] > 0.0
    on_top = DistanceNetwork(centers, weights=weights).decompose(centers[:1].astype(dtype), tolerance=1e-6)
    assert on_top.discarded[0] == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("q", [1.0, 2.0])
def test_rows_on_centers_and_copies_of_centers(dtype, q):
    _, centers = cloud(dtype=dtype)
    centers[1] = centers[0]
    check(centers[:8].astype(dtype), centers, Exponential(q=q, sigma=0.05), peaked=True)
    own = np.array([0, 1, 2, 3])
    check(centers[:4].astype(dtype), centers, Exponential(q=q, sigma=0.05), own=own, peaked=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e4, 1e8, 1e15])
def test_rows_far_away(dtype, size):
    X, centers = cloud(dtype=dtype)
    check((X * size).astype(dtype), centers, Exponential(q=2.0, sigma=0.5), arithmetic=TRUTH)


@pytest.mark.parametrize("dtype", DTYPES)
def test_data_far_from_the_origin(dtype):
    X, centers = cloud(dtype=dtype)
    moved = (1e6 + 64 * centers).astype(dtype).astype(np.float64)
    check((1e6 + 64 * X).astype(dtype), moved, Exponential(sigma=10.0), peaked=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_groups_of_centers_far_apart(dtype):
    X, centers = cloud(dtype=dtype)
    centers[::2] += 1e6
    X[::2] += dtype(1e6)
    centers = centers.astype(dtype).astype(np.float64)
    network = DistanceNetwork(centers, kernel=Exponential(sigma=0.2))
    assert len(network._passes._centers_for(np.dtype(dtype)).groups) == 2
    own = np.full(12, -1)
    own[:4] = [1, 0, 7, 30]
    X[:4] = centers[own[:4]]
    check(X, centers, Exponential(sigma=0.2), own=own, peaked=True)


@pytest.mark.parametrize("m", [1, 2, 5, 6, 7])
def test_few_centers(m):
    X, centers = cloud(m=m)
    check(X, centers, Exponential(sigma=0.1), peaked=m >= 6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_block_of_peaked_and_other_rows(dtype):
    X, centers = cloud(dtype=dtype, n=40)
    centers[:24] *= 0.01  # a bunch, in which none stands out
    X[::2] *= 0.01
    got = check(X, centers, Exponential(sigma=0.15), peaked=True)
    assert (got.discarded[::2] == 0.0).any()
    alone = DistanceNetwork(centers, kernel=Exponential(sigma=0.15)).decompose(X[::2], tolerance=1e-6)
    np.testing.assert_allclose(got.relevance[::2], alone.relevance, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse_rows_and_centers(dtype):
    X, centers = cloud(dtype=dtype, d=8)
    X[np.abs(X) < 1.5] = 0.0
    centers[np.abs(centers) < 0.7] = 0.0
    own = np.full(12, -1)
    own[2] = 5
    check(csr_array(X), csr_array(centers), Exponential(sigma=0.2), own=own, peaked=True)
    check(csr_array(X), csr_array(centers), Exponential(q=1.0, sigma=0.02), peaked=True)


@pytest.mark.parametrize("seed", range(60))
def test_random_networks_are_as_without_a_tolerance(seed):
    """Weights from 1e-40 and of 0, copies, groups far apart, whole numbers, rows near, far and on centers."""
    rng = np.random.default_rng(seed)
    dtype, q = DTYPES[seed % 2], float(rng.choice([0.5, 1.0, 1.5, 2.0, 4.0, 6.0]))
    size = 10.0 ** rng.uniform(0.5, 4)
    centers = size * rng.normal(size=(60, 5))
    centers[: 10 * (seed % 3)] = centers[30]
    centers[::2] += size * rng.choice([0.0, 10.0, 1e6])
    X = centers[:20] + size * rng.normal(size=(20, 5)) * 10.0 ** rng.uniform(-4, 2, size=(20, 1))
    if seed % 4 < 2:
        centers, X = np.rint(centers), np.rint(X)
    centers = centers.astype(dtype).astype(np.float64)
    X[:8] = centers[:8]
    own = np.where(np.arange(20) < 4, np.arange(20), -1)
    weights = 10.0 ** -rng.uniform(0.0, rng.choice([0.1, 12.0, 40.0]), size=60)
    weights[40 : 40 + 10 * (seed % 2)] = 0.0
    d2 = ((X[8:, None] - centers) ** 2).sum(axis=2)
    near = np.sqrt(np.where(d2 > 0.0, d2, np.inf).min(axis=1))
    sigma = float(np.quantile(near, rng.random())) * 10.0 ** rng.uniform(-2, 0)
    kernel = Exponential(q=q, sigma=sigma)
    network = DistanceNetwork(centers, weights=weights / weights.sum(), kernel=kernel)
    exact, quick = (network.decompose(X.astype(dtype), own=own, tolerance=t) for t in (0.0, 1e-6))
    assert_within(quick, replace(exact, relevance=exact.relevance.astype(np.float64)), EXACT[dtype], 1e-6)
    assert (quick.discarded <= 1e-6).all()


def test_students_kernels_are_never_peaked():
    X, centers = cloud()
    check(X, centers, Student(q=4.0, sigma=0.01), peaked=False)


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, float("nan"), "little"])
def test_a_tolerance_is_a_share(tolerance):
    X, centers = cloud()
    with pytest.raises(ValueError, match=r"tolerance=.*expected a share in \[0, 1\)"):
        DistanceNetwork(centers).decompose(X, tolerance=tolerance)


# Whole numbers


def noise(centers, X, kernel=None):
    prepared = DistanceNetwork(centers, kernel=kernel)._passes._centers_for(X.dtype)
    local = localize(X.astype(np.float64), prepared.origin, prepared.scale, prepared.dtype)
    return prepared.noise(X.astype(np.float64), squared_norms(local)[:, None])


def pixels(n, d, most=256, seed=0, least=0):
    return np.random.default_rng(seed).integers(least, most, size=(n, d)).astype(np.float64)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1.0, -2.0], [0.0, 255.0]], True),
        ([[1.0, 0.5]], False),
        ([[0.5, 1.0]], False),
        ([[1e17, 3.0]], True),
        ([[1.0, 1.0 + 2**-52]], False),
    ],
)
def test_what_is_whole(values, expected):
    assert are_whole(np.array(values)) == expected
    assert are_whole(csr_array(np.array(values))) == expected


def test_an_empty_sparse_matrix_has_no_whole_numbers():
    assert not are_whole(csr_array((2, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("q", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("sigma", [0.5, 5.0, 60.0, 400.0])
def test_pixels_of_eight_bits(dtype, q, sigma):
    centers = pixels(40, 27)
    X = centers[:10] + pixels(10, 27, most=30, seed=1)
    X[0] = centers[0]
    assert noise(centers, X.astype(dtype)) == 0.0
    check(X.astype(dtype), centers, Exponential(q=q, sigma=sigma))


@pytest.mark.parametrize(("q", "sigma"), [(1.0, 0.01), (2.0, 1.0), (2.0, 3.0), (4.0, 40.0), (6.0, 100.0)])
def test_exact_distances_that_nearly_tie_far_from_the_bandwidth(q, sigma):
    """Single precision rounds an energy of 10,000 to 0.001: distances are exact there, assignments not."""
    rng = np.random.default_rng(0)
    base = rng.integers(-200, 200, size=12)
    centers = np.array([rng.permutation(base) * rng.choice([-1, 1], 12) for _ in range(60)], dtype=float)
    X = (rng.random((10, 12)) < 0.2).astype(np.float32)
    assert noise(centers, X, Exponential(q=q, sigma=sigma)) == 0.0
    check(X, centers, Exponential(q=q, sigma=sigma))
    p = DistanceNetwork(centers, kernel=Exponential(q=q, sigma=sigma)).assignment(X)
    truth = oracle.explain(X, centers, Exponential(q=q, sigma=sigma), arithmetic=TRUTH)
    np.testing.assert_allclose(p, truth.assignment, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("energy", [5.0, 20.0, 60.0])
def test_a_row_on_a_copy_of_its_own_center_has_the_relevance_of_centers_far_below(dtype, energy):
    """What is explained is 1e-26 of o there, and nothing of it may drown in the rounding of o."""
    rng = np.random.default_rng(0)
    centers = pixels(40, 27)
    centers[1:8] = centers[0]
    for center in centers[2:8]:
        center[rng.choice(27, 3, replace=False)] += rng.choice([-1.0, 1.0], 3)
    X, own = centers[:1].astype(dtype), np.array([0])
    assert noise(centers, X) == 0.0
    kernel = Exponential(sigma=math.sqrt(3.0 / (2.0 * energy)))
    check(X, centers, kernel, own=own, arithmetic=TRUTH)


@pytest.mark.parametrize("sigma", [100.0, 20_000.0])
def test_pixels_of_sixteen_bits_are_too_large_for_single_precision(sigma):
    centers = pixels(30, 147, most=65536)
    X = (centers[:6] + pixels(6, 147, most=3, seed=1)).astype(np.float32)
    assert noise(centers, X) > 0.0
    assert noise(centers, X.astype(np.float64)) == 0.0
    for dtype in DTYPES:
        check(X.astype(dtype), centers, Exponential(sigma=sigma))


@pytest.mark.parametrize("d", [27, 120, 147, 300])
def test_distances_of_whole_numbers_are_exact_wherever_that_is_said(d):
    """The largest numbers that count as exact: sums of products next to 2²³."""
    for most in (64, 128, 256, 400):
        centers = np.where(pixels(12, d, most=2) > 0, float(most), 0.0)
        X = np.where(pixels(6, d, most=2, seed=1) > 0, float(most), 0.0).astype(np.float32)
        if noise(centers, X) > 0.0:
            continue
        prepared = DistanceNetwork(centers)._passes._centers_for(X.dtype)
        local = localize(X, prepared.origin, prepared.scale, prepared.dtype)
        products = local @ prepared.groups[0].transposed
        norms = squared_norms(local).astype(np.float32)[:, None] + prepared.pool.norms.astype(np.float32)
        d2 = (norms - np.float32(2.0) * products).astype(np.float64) * prepared.scale**2
        np.testing.assert_array_equal(d2, ((X[:, None].astype(float) - centers) ** 2).sum(axis=2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_negative_whole_numbers(dtype):
    centers, X = pixels(40, 9, most=60, least=-60), pixels(8, 9, most=200, least=-200, seed=1)
    check(X.astype(dtype), centers, Exponential(sigma=5.0), peaked=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_row_that_is_not_whole(dtype):
    centers, X = pixels(40, 27), pixels(8, 27, seed=1)
    X[:4] = centers[:4]
    X[3, 0] += 2.0**-9
    assert noise(centers, X.astype(dtype)) > 0.0
    check(X.astype(dtype), centers, Exponential(sigma=5.0))
    check(X[:3].astype(dtype), centers + 0.5, Exponential(sigma=5.0))


@pytest.mark.parametrize("shift", [1e15, 2.0**60])
def test_huge_whole_numbers(shift):
    """Beyond 2⁵³ every float is a whole number; differences of those near each other are exact."""
    step = 1.0 if shift < 2.0**53 else 256.0
    centers, X = shift + step * pixels(40, 9), shift + step * pixels(8, 9, seed=1)
    check(X, centers, Exponential(sigma=40.0 * step))
    check(X, centers, Exponential(sigma=2.0 * step), peaked=True)


def test_whole_numbers_far_apart_are_not_taken_for_exact():
    centers = np.array([[0.0, 1.0], [3.0, 5.0], [1e9, 1e9 + 1.0], [1e9 + 3.0, 1e9]] * 6)
    X = centers[:4] + 1.0
    for dtype in DTYPES:
        check(X.astype(dtype), centers, Exponential(sigma=2.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sigma", [0.2, 1.0])
def test_sparse_binary_rows(dtype, sigma):
    centers, X = pixels(40, 20, most=2), pixels(8, 20, most=2, seed=1)
    X[:2] = centers[:2]
    own = np.full(8, -1)
    own[1] = 1
    check(csr_array(X.astype(dtype)), csr_array(centers), Exponential(sigma=sigma), own=own)


@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_rows_of_students_kernel(dtype):
    centers, X = pixels(40, 27), pixels(8, 27, seed=1)
    X[0] = centers[0]
    check(X.astype(dtype), centers, Student(q=2.0, sigma=3.0), peaked=False)
