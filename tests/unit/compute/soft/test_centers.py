"""Centers made ready: weights without cancellation, scales that round nothing, orders that lead back."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.sparse import csr_array

from whyodd.compute.soft.centers import (
    TOLERANCE,
    choose_dtype,
    length_scale,
    log_of_rest,
    power_of_two,
    prepare,
    rounding,
)
from whyodd.kernels import Exponential, RationalQuadratic, Student

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def exact_log_of_rest(log_weights):
    with mpmath.workdps(700):
        weights = [mpmath.exp(mpmath.mpf(float(value))) for value in log_weights]
        return [
            float(mpmath.log(sum(weights[:j], mpmath.mpf(0)) + sum(weights[j + 1 :], mpmath.mpf(0))))
            for j in range(len(weights))
        ]


@pytest.mark.parametrize(
    "small",
    [0.4, 1e-3, 1e-17, 1e-300],
    ids=["40 %", "a thousandth", "below the rounding of 1", "near the smallest number"],
)
@pytest.mark.parametrize("others", [1, 3])
def test_the_weight_of_the_rest_has_all_its_digits(small, others):
    share = np.full(others, small / others)
    log_weights = np.concatenate([np.log(share), [np.log1p(-small)]])
    np.testing.assert_allclose(
        log_of_rest(log_weights), exact_log_of_rest(log_weights), rtol=1e-14, atol=1e-300
    )


def test_the_weight_of_the_rest_may_be_too_small_for_a_float():
    log_weights = np.array([-2000.0, 0.0, -1500.0])
    rest = log_of_rest(log_weights)
    assert rest[1] == pytest.approx(-1500.0, rel=1e-15)
    np.testing.assert_array_equal(rest[[0, 2]], 0.0)


def test_nothing_is_left_of_a_lone_center():
    np.testing.assert_array_equal(log_of_rest(np.zeros(1)), -np.inf)
    np.testing.assert_array_equal(log_of_rest(np.array([0.0, -np.inf])), [-np.inf, 0.0])


@pytest.mark.parametrize("size", [5e-324, 1e-310, 2.0**-1022, 0.1, 0.5, 1.0, 1.5, 2.0, 3.999, 1e16, 1.7e308])
def test_power_of_two_is_the_largest_at_or_below_the_size(size):
    power = power_of_two(size)
    assert math.frexp(power)[0] == 0.5
    assert power <= size < 2 * power


def test_power_of_two_of_nothing_is_one():
    assert power_of_two(0.0) == 1.0


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_rounding_grows_with_the_number_of_terms_and_stays_a_rounding(dtype):
    errors = [rounding(dtype, terms) for terms in (1, 2, 10, 100, 384, 1000, 10**9)]
    assert errors == sorted(errors)
    assert np.finfo(dtype).eps <= errors[0]
    assert errors[-1] < TOLERANCE[dtype]


def test_rounding_bounds_the_error_of_matrix_products():
    rng = np.random.default_rng(0)
    for d in (1, 3, 30, 300, 3000):
        X, U = rng.normal(size=(2, 40, d)).astype(np.float32)
        size = (X.astype(float) ** 2).sum(axis=1)[:, None] + (U.astype(float) ** 2).sum(axis=1)
        error = np.abs(2 * (X @ U.T) - 2 * (X.astype(float) @ U.T.astype(float)))
        assert (error <= rounding(FLOAT32, d) * size).all()


@pytest.mark.parametrize(
    ("kernel", "length"),
    [
        (Exponential(q=2.0, sigma=0.7), 0.7),
        (Exponential(q=1.0, sigma=0.7), 0.35),
        (Student(q=3.0, a=5.0, sigma=0.7), 0.7 * 5.0 ** (1 / 3)),
        (RationalQuadratic(beta=0.02, sigma=0.7), 0.7 * 0.2),
        (RationalQuadratic(beta=1e6, sigma=0.7), 0.7),
    ],
    ids=str,
)
def test_the_length_scale_is_where_the_kernel_begins_to_fall(kernel, length):
    assert length_scale(kernel) == pytest.approx(length, rel=2e-6)


@pytest.mark.parametrize(("span", "expected"), [(1e5, FLOAT32), (1e7, FLOAT64)])
@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_float32_is_kept_while_it_resolves_the_bandwidth(span, expected, layout):
    points = layout(np.array([[0.0, 1.0], [span, 1.0]]))
    assert choose_dtype(FLOAT32, points, Exponential(sigma=1.0)) == expected
    assert choose_dtype(FLOAT64, points, Exponential(sigma=1.0)) == FLOAT64


def grouped(dtype=FLOAT64):
    rng = np.random.default_rng(0)
    label = rng.permutation(np.repeat([0, 1, 2], 8))
    points = rng.normal(size=(24, 3)) + 1e7 * label[:, None]
    log_weights = np.log(rng.dirichlet(np.ones(24)))
    return points, log_weights, prepare(points, log_weights, Exponential(sigma=2.0), dtype=dtype)


def test_a_cloud_is_one_group_in_the_given_order():
    points = np.random.default_rng(0).normal(size=(20, 3))
    centers = prepare(points, np.full(20, -np.log(20)), Exponential(), dtype=FLOAT64)
    assert centers.order is None
    assert [group.columns for group in centers.groups] == [slice(0, 20)]
    own = np.array([-1, 3, 19])
    assert centers.own_in_order(own) is own
    assert centers.in_given_order(points.T) is not None
    np.testing.assert_array_equal(centers.in_given_order(points.T), points.T)


def test_groups_partition_the_centers_and_lead_back_to_the_given_order():
    points, log_weights, centers = grouped()
    assert len(centers.groups) == 3
    columns = np.concatenate([np.arange(24)[group.columns] for group in centers.groups])
    np.testing.assert_array_equal(columns, np.arange(24))
    np.testing.assert_array_equal(centers.in_given_order(centers.points.T).T, points)
    np.testing.assert_array_equal(centers.in_given_order(centers.log_weights), log_weights)


def test_centers_to_leave_out_are_the_same_ones_in_the_order_of_the_groups():
    points, _, centers = grouped()
    own = np.array([5, -1, 0, 23, -1])
    moved = centers.own_in_order(own)
    np.testing.assert_array_equal(moved[own < 0], -1)
    np.testing.assert_array_equal(centers.points[moved[own >= 0]], points[own[own >= 0]])


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_each_group_holds_its_centers_around_its_origin_in_scaled_units(dtype):
    _, _, centers = grouped(dtype)
    assert power_of_two(centers.scale) == centers.scale
    for group in centers.groups:
        members = centers.points[group.columns]
        assert group.centers.dtype == dtype
        back = group.centers.astype(float) * centers.scale + group.origin
        np.testing.assert_allclose(back, members, rtol=0, atol=10 * np.finfo(dtype).eps)
        np.testing.assert_allclose(group.norms, (group.centers.astype(float) ** 2).sum(axis=1), rtol=1e-14)


def test_widened_centers_are_the_given_ones_in_float64():
    points, log_weights, centers = grouped(FLOAT32)
    wide = centers.widened
    assert (wide.dtype, wide.scale) == (FLOAT64, centers.scale)
    np.testing.assert_array_equal(wide.in_given_order(wide.points.T).T, points)
    np.testing.assert_array_equal(wide.in_given_order(wide.log_weights), log_weights)
    assert centers.widened is wide


def test_rescaled_centers_describe_the_same_kernel():
    _, _, centers = grouped()
    other = centers.rescaled(centers.scale * 2.0**100)
    assert other.pool.radial.rate / other.scale == centers.pool.radial.rate / centers.scale
    assert other.pool.per_scale * other.scale == 1.0


def test_sparse_centers_stay_where_they_are():
    points = csr_array(np.array([[0.0, 1e7], [1.0, 0.0]]))
    centers = prepare(points, np.log([0.5, 0.5]), Exponential(), dtype=FLOAT64)
    assert centers.is_sparse
    assert len(centers.groups) == 1
    np.testing.assert_array_equal(centers.groups[0].origin, 0.0)


def test_the_pool_knows_the_weights_with_and_without_the_heaviest_center():
    log_weights = np.log([0.1, 0.7, 0.2])
    pool = prepare(np.eye(3), log_weights, Exponential(), dtype=FLOAT64).pool
    assert pool.heaviest == 1
    np.testing.assert_allclose(pool.shifts, np.log([0.7, 0.2]))
    np.testing.assert_allclose(pool.log_weights + pool.shifts[:, None], [log_weights] * 2, rtol=1e-15)
    assert pool.spread == pytest.approx(np.log(7))


def test_centers_without_weight_do_not_count_for_the_spread():
    log_weights = np.array([-np.inf, np.log(0.5), np.log(0.5)])
    pool = prepare(np.eye(3), log_weights, Exponential(), dtype=FLOAT64).pool
    assert pool.spread == 0.0
    np.testing.assert_array_equal(pool.log_weights[:, 0], -np.inf)
