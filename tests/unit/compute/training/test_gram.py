"""Tiles of kernel matrices against plain loops over float64 differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from reference.one_class_dual import gram as plain_gram
from whyodd.compute.training.gram import CoarseGram, GramRows, RadialPoints, for_row_tiles, spans
from whyodd.kernels import Exponential, Student

KERNELS = [Exponential(q=q, sigma=1.7) for q in (0.5, 1.0, 2.0, 3.0, 4.0)] + [
    Student(q=q, a=a, sigma=0.9) for q in (0.5, 1.0, 2.0, 3.0, 4.0) for a in (1e-3, 1.0, 50.0)
]
# Elements are float32, and inner products may be: what the gram module itself tolerates of that is 1e-4 of
# k(0); these data, within ten bandwidths of their mean, are far from it.
CLOSE = 2e-5

over_kernels = pytest.mark.parametrize("kernel", KERNELS, ids=str)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(name="X")
def rows(rng):
    X = rng.standard_normal((700, 11))
    X[5] = X[600]  # a duplicate in another tile
    return X


def gram_of(points):
    """The matrix of the points among themselves."""
    return points.block(points)


def relative_gram(X, kernel):
    """K relative to k(0), as inside the solver."""
    K = plain_gram(X, kernel)
    return K / np.exp(kernel.log_similarity(0.0))


@over_kernels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_is_the_kernel_of_the_distances(X, kernel, dtype):
    X = X.astype(dtype)
    K = gram_of(RadialPoints.of(X, kernel))
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, relative_gram(X, kernel), atol=CLOSE, rtol=CLOSE)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    exact = gram_of(RadialPoints.of(X, kernel, 0.0))
    np.testing.assert_allclose(exact, relative_gram(X.astype(np.float64), kernel), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(exact, exact.T)
    np.testing.assert_array_equal(np.diag(exact), 1.0)


@over_kernels
def test_a_duplicate_has_the_similarity_of_the_point_itself(X, kernel):
    K = gram_of(RadialPoints.of(X, kernel))
    assert K[5, 600] == 1.0
    np.testing.assert_allclose(K[5], K[600], rtol=CLOSE)


@over_kernels
def test_products_are_those_with_the_matrix(X, kernel, rng):
    points, v = RadialPoints.of(X, kernel), rng.standard_normal(700)
    K = gram_of(points).astype(np.float64)
    # Tiles of another shape come from other BLAS kernels: their last bits differ.
    scale = 2e-6 * (K @ np.abs(v))
    assert np.all(np.abs(points.gram_product(v) - K @ v) <= scale)
    part = rng.permutation(700)[:530]
    assert np.all(np.abs(points.product(points.take(part), v[part]) - K[:, part] @ v[part]) <= scale)
    np.testing.assert_allclose(points.take(part).block(points), K[part], atol=2e-6, rtol=2e-6)


@over_kernels
def test_the_coarse_matrix_is_within_half_a_step_of_16_bits(X, kernel, rng):
    points, v = RadialPoints.of(X, kernel), rng.standard_normal(700)
    K = gram_of(points).astype(np.float64)
    # As promised: ‖v‖₁ 2⁻¹⁷ for fixed point, and float32 sums of up to 512 terms.
    bound = (2.0**-17 + 512 * np.finfo(np.float32).eps) * np.abs(v).sum()
    assert np.all(np.abs(CoarseGram(points).product(v) - K @ v) <= bound)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 255, 256, 257, 513, 1025])
def test_products_at_the_edges_of_tiles(n, rng):
    points, v = RadialPoints.of(rng.standard_normal((n, 3)), Exponential()), rng.standard_normal(n)
    expected = gram_of(points).astype(np.float64) @ v
    size = np.abs(v).sum()
    for product in (points.gram_product(v), points.product(points, v)):
        np.testing.assert_allclose(product, expected, atol=2e-6 * size)
    np.testing.assert_allclose(CoarseGram(points).product(v), expected, atol=2e-5 * size)


def test_products_with_no_points_are_zero(X):
    points = RadialPoints.of(X, Exponential())
    nobody = np.array([], dtype=np.intp)
    np.testing.assert_array_equal(points.product(points.take(nobody), np.array([])), np.zeros(700))


@over_kernels
def test_sparse_points_give_the_same_matrix(rng, kernel):
    X = rng.standard_normal((600, 40)) * (rng.random((600, 40)) < 0.2)
    points = RadialPoints.of(sparse.csr_array(X), kernel)
    np.testing.assert_allclose(gram_of(points), relative_gram(X, kernel), atol=CLOSE, rtol=CLOSE)
    v = rng.random(600)
    np.testing.assert_allclose(
        points.gram_product(v), RadialPoints.of(X, kernel).gram_product(v), rtol=2 * CLOSE
    )


@pytest.mark.parametrize("q", [1.0, 2.0])
@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e6), (0.0, 1e-6), (1.0, 1e-6)])
def test_far_from_the_origin_and_at_any_scale(X, q, shift, scale):
    X = scale * X + shift
    kernel = Exponential(q=q, sigma=1.3 * scale)
    K = gram_of(RadialPoints.of(X, kernel))
    # Of these digits the data have lost as many as the shift has more than the bandwidth: 1e-10 to 1e-9.
    np.testing.assert_allclose(K, relative_gram(X, kernel), atol=CLOSE)


def test_clusters_far_apart_need_double_precision(rng):
    X = rng.standard_normal((300, 5)) + 1e5 * (np.arange(300) % 2)[:, None]
    points = RadialPoints.of(X, Exponential())
    assert points.points.dtype == np.float64
    # ε (‖x‖² + ‖u‖²) = 2e-16 · 1e11
    np.testing.assert_allclose(gram_of(points), relative_gram(X, Exponential()), atol=1e-4)


def test_a_point_at_a_small_but_real_distance_is_not_merged(rng):
    X = rng.standard_normal((300, 5))
    X[7] = X[8] + 1e-3
    K = gram_of(RadialPoints.of(X, Exponential(q=1.0)))
    # d = 1e-3 sqrt(5): the Laplacian sees it.
    assert K[7, 8] == pytest.approx(np.exp(-1e-3 * np.sqrt(5)), abs=CLOSE)


@pytest.mark.parametrize("rounding", [0.0, 1.0])
def test_rows_are_computed_once_and_multiplied(X, rounding):
    points = RadialPoints.of(X, Exponential(), rounding)
    rows, v = GramRows(points, 9), np.zeros(700)
    v[[600, 3, 17]] = [0.2, 0.3, 0.5]
    rows.add(np.array([600, 3]))
    rows.add(np.array([17, 5, 4]))
    np.testing.assert_array_equal(np.sort(rows.slots)[-5:], np.arange(5))
    K = gram_of(points)
    np.testing.assert_allclose(rows.values[rows.slots[[3, 17, 600]]], K[[3, 17, 600]], atol=2e-6)
    np.testing.assert_allclose(rows.product(v), v @ K, rtol=1e-5)
    rows.add(np.arange(100, 110))  # as far as there is room
    assert rows.is_full
    assert np.count_nonzero(rows.slots >= 0) == 9


def test_capacity_is_what_fits(rng):
    n = CoarseGram.capacity(1e6)
    coarse = CoarseGram(RadialPoints.of(rng.standard_normal((n, 2)), Exponential()))
    used = sum(rows.nbytes for rows in coarse._rows.values())
    assert 0.7e6 < used <= 1e6
    assert CoarseGram.capacity(0.0) == CoarseGram.capacity(-1.0) == 0


def test_interrupting_a_thread_ends_the_others_early():
    seen = []

    def work(tiles):
        for tile in tiles:
            seen.append(tile)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        for_row_tiles(256 * 40, work)
    assert len(seen) < 40


def test_row_tiles_are_shared_out_without_loss():
    shares = for_row_tiles(1000, lambda tiles: [i for tile in tiles for i in range(1000)[tile]])
    assert sorted(i for share in shares for i in share) == list(range(1000))


def test_spans_cover_the_range():
    assert [(s.start, s.stop) for s in spans(5, 2)] == [(0, 2), (2, 4), (4, 5)]
    assert spans(0, 3) == []
