"""Kernels: the three scalar functions against their formulas, and the contract of everything in KERNELS."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from whyodd.kernels import KERNELS, Exponential, Kernel, Student

DEGREES = (0.5, 1.0, 2.0, 3.0, 4.0)
DISTANCES = (1e-6, 0.1, 1.0, 2.5, 1e3)

# A handful of roundings per formula (square root, division, power, logarithm), of relative size 1e-16 each.
ROUNDING = 1e-14

over_degrees = pytest.mark.parametrize("q", DEGREES)
over_distances = pytest.mark.parametrize("d", DISTANCES)
over_registry = pytest.mark.parametrize("name", KERNELS)


@over_distances
@over_degrees
@pytest.mark.parametrize("sigma", [0.3, 1.0, 20.0])
def test_energy_is_the_distance_in_bandwidths_to_the_degree_q(sigma, q, d):
    energy = Exponential(q=q, sigma=sigma).energy(np.float64(d * d))
    assert energy == pytest.approx((d / sigma) ** q, rel=ROUNDING)


@over_distances
@over_degrees
def test_exponential_log_similarity(q, d):
    got = Exponential(q=q, sigma=1.7).log_similarity(np.float64(d * d))
    assert got == pytest.approx(-(d**q) / (q * 1.7**q), rel=ROUNDING)


@over_distances
@over_degrees
def test_student_similarity(q, d):
    got = Student(q=q, a=0.4, sigma=1.7).log_similarity(np.float64(d * d))
    # The absolute error of the logarithm is the relative error of the similarity.
    assert got == pytest.approx(-math.log(0.4 + (d / 1.7) ** q), rel=ROUNDING, abs=ROUNDING)


@pytest.mark.parametrize(
    ("kernel", "gamma_form"),
    [
        (Exponential(q=1, sigma=2.0), lambda d: math.exp(-d / 2.0)),
        (Exponential(q=2, sigma=2.0), lambda d: math.exp(-(d**2) / (2 * 2.0**2))),
        (Student(q=2, a=1, sigma=2.0), lambda d: 1 / (1 + d**2 / 2.0**2)),
    ],
    ids=["laplacian", "gaussian", "cauchy"],
)
def test_named_kernels_are_special_cases(kernel, gamma_form):
    d = np.array([0.0, 0.5, 1.0, 3.0])
    np.testing.assert_allclose(np.exp(kernel.log_similarity(d**2)), [gamma_form(v) for v in d], rtol=ROUNDING)


@pytest.mark.parametrize("log_g", [-1e4, -3.0, -1e-300, 0.0])
def test_exponential_outlierness_is_minus_log_g_for_any_number_of_centers(log_g):
    assert Exponential().outlierness(np.float64(log_g), m=1) == -log_g
    assert Exponential().outlierness(np.float64(log_g), m=50) == -log_g


def test_exponential_outlierness_is_not_negative_when_log_g_rounds_above_zero():
    assert Exponential().outlierness(np.float64(1e-17), m=1) == 0.0


@pytest.mark.parametrize("log_g", [-600.0, -3.0, 0.0, 1.5])
@pytest.mark.parametrize("m", [1, 7])
def test_student_outlierness_is_the_number_of_centers_over_g(log_g, m):
    assert Student().outlierness(np.float64(log_g), m) == pytest.approx(m / math.exp(log_g), rel=ROUNDING)


def test_outlierness_takes_a_number_of_centers_per_row():
    got = Student().outlierness(np.zeros(3), np.array([4, 3, 4]))
    np.testing.assert_array_equal(got, [4.0, 3.0, 4.0])


@over_distances
@over_degrees
def test_exponential_explains_the_energy_but_no_more_than_the_outlierness(q, d):
    kernel, energy = Exponential(q=q, sigma=1.7), d**q / (q * 1.7**q)
    for o in (0.5 * energy, 2.0 * energy):
        assert kernel.explained(np.float64(d * d), o) == pytest.approx(min(o, energy), rel=ROUNDING)


@over_distances
@over_degrees
def test_student_explains_the_share_of_the_energy_in_the_kernel(q, d):
    kernel, energy = Student(q=q, a=0.4, sigma=1.7), (d / 1.7) ** q
    got = kernel.explained(np.float64(d * d), 3.0)
    assert got == pytest.approx(3.0 * energy / (0.4 + energy), rel=ROUNDING)


@over_registry
def test_registered_under_its_family(name):
    assert issubclass(KERNELS[name], Kernel)
    assert KERNELS[name].family == name


@over_registry
def test_every_parameter_has_a_default_and_is_kept_as_a_float(name):
    kernel = KERNELS[name]()
    assert {field.name for field in dataclasses.fields(kernel)} >= {"q", "sigma"}
    for field in dataclasses.fields(kernel):
        for value in (2, np.float32(2), np.int64(2)):
            kept = getattr(KERNELS[name](**{field.name: value}), field.name)
            assert type(kept) is float
            assert kept == 2.0


@over_registry
def test_similarity_falls_with_the_distance(name):
    d2 = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 50)])
    for q in DEGREES:
        assert (np.diff(KERNELS[name](q=q).log_similarity(d2)) < 0).all()


@over_registry
def test_explained_part_lies_between_nothing_at_the_center_and_the_outlierness(name):
    d2 = np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 50)])
    for q in DEGREES:
        explained = KERNELS[name](q=q).explained(d2, np.full(d2.shape, 1.3))
        assert explained[0] == 0.0
        assert (np.diff(explained) >= 0).all()
        assert (explained <= 1.3).all()


@over_registry
def test_one_center_at_distance_zero_is_the_least_outlying_point(name):
    kernel = KERNELS[name]()
    o = kernel.outlierness(kernel.log_similarity(np.geomspace(1e-6, 1e6, 50)), m=1)
    assert (o >= kernel.outlierness(kernel.log_similarity(np.zeros(1)), m=1)).all()
    assert (np.diff(o) > 0).all()


@over_registry
def test_functions_keep_the_shape_of_their_input(name):
    kernel, d2 = KERNELS[name](), np.ones((3, 4))
    assert kernel.energy(d2).shape == kernel.log_similarity(d2).shape == (3, 4)
    assert kernel.outlierness(d2, m=2).shape == kernel.explained(d2, d2).shape == (3, 4)


@over_registry
@pytest.mark.parametrize("sigma", [1e-150, 1e150])
def test_energy_at_extreme_bandwidths_neither_overflows_nor_underflows(name, sigma):
    # d^4 and σ^4 are far out of range here, (d/σ)^4 is not.
    energy = KERNELS[name](q=4.0, sigma=sigma).energy((np.array([0.5, 2.0]) * sigma) ** 2)
    np.testing.assert_allclose(energy, [0.0625, 16.0], rtol=ROUNDING)


@over_registry
def test_frozen_and_compared_by_value(name):
    kernel = KERNELS[name](q=3, sigma=2)
    assert kernel == KERNELS[name](q=3.0, sigma=2.0)
    assert hash(kernel) == hash(KERNELS[name](q=3.0, sigma=2.0))
    assert kernel != KERNELS[name](q=3.0, sigma=2.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.q = 1.0


WRONG_VALUES = (0, 0.0, -1.0, math.nan, math.inf, -math.inf, "1", None, True, [1.0], 1j)


@over_registry
@pytest.mark.parametrize("value", WRONG_VALUES, ids=repr)
def test_wrong_parameters_are_named_with_what_to_do(name, value):
    for field in dataclasses.fields(KERNELS[name]):
        with pytest.raises(
            ValueError, match=rf"{field.name}=.*expected.*\. Pass a positive \w+\.$"
        ) as raised:
            KERNELS[name](**{field.name: value})
        assert repr(value) in str(raised.value)
