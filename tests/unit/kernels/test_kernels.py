"""Kernels: the three scalar functions against their formulas, and the contract of everything in KERNELS."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from whyodd.kernels import KERNELS, SPECIAL_KERNELS, Exponential, Kernel, RationalQuadratic, Student

DEGREES = (0.5, 1.0, 2.0, 3.0, 4.0)
DISTANCES = (1e-6, 0.1, 1.0, 2.5, 1e3)

# A handful of roundings per formula (square root, division, power, logarithm), of relative size 1e-16 each.
ROUNDING = 1e-14

over_degrees = pytest.mark.parametrize("q", DEGREES)
over_distances = pytest.mark.parametrize("d", DISTANCES)
over_registry = pytest.mark.parametrize("name", KERNELS)


def variants(name):
    """Kernels of a family, with different values of each parameter but the bandwidth."""
    names = [field.name for field in dataclasses.fields(KERNELS[name]) if field.name != "sigma"]
    return [KERNELS[name](**{parameter: value}) for parameter in names for value in DEGREES]


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


@over_distances
@pytest.mark.parametrize("beta", [0.3, 1.0, 7.0, 1e4])
def test_rational_quadratic_formulas(beta, d):
    kernel, x = RationalQuadratic(beta=beta, sigma=1.7), d * d / (2 * beta * 1.7**2)
    got = kernel.log_similarity(np.float64(d * d))
    assert got == pytest.approx(-beta * math.log1p(x), rel=ROUNDING)
    assert kernel.outlierness(got, m=1) == pytest.approx(1 + x, rel=1e3 * ROUNDING)
    assert kernel.explained(np.float64(d * d), 3.0) == pytest.approx(3 * x / (1 + x), rel=ROUNDING)


def test_the_rational_quadratic_with_beta_1_is_a_student_kernel():
    ours, other = RationalQuadratic(beta=1.0, sigma=1.3), Student(q=2.0, a=1.0, sigma=math.sqrt(2.0) * 1.3)
    d2, log_g = np.geomspace(1e-6, 1e6, 50), np.linspace(-20.0, 0.0, 50)
    np.testing.assert_allclose(ours.log_similarity(d2), other.log_similarity(d2), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(ours.outlierness(log_g, 7), other.outlierness(log_g, 7), rtol=ROUNDING)
    np.testing.assert_allclose(ours.explained(d2, 3.0), other.explained(d2, 3.0), rtol=ROUNDING)
    assert ours.log_volume(1) == pytest.approx(other.log_volume(1), rel=ROUNDING)


def test_the_rational_quadratic_goes_to_the_gaussian_as_beta_grows():
    """β (o - 1) goes to o_G + log m, and β Δ_j to p_j d²/(2σ²); what is left is of the order 1/β."""
    beta, gaussian = 1e6, Exponential(q=2.0, sigma=1.3)
    kernel, d2, m = RationalQuadratic(beta=beta, sigma=1.3), np.linspace(0.0, 20.0, 30), 5
    np.testing.assert_allclose(kernel.log_similarity(d2), gaussian.log_similarity(d2), atol=100 / beta)
    o = kernel.outlierness(gaussian.log_similarity(d2), m)
    limit = gaussian.outlierness(gaussian.log_similarity(d2), m) + math.log(m)
    np.testing.assert_allclose(beta * (o - 1.0), limit, atol=100 / beta)
    np.testing.assert_allclose(beta * kernel.explained(d2, o), d2 / (2 * 1.3**2), atol=100 / beta)
    assert kernel.log_volume(3) == pytest.approx(gaussian.log_volume(3), abs=10 / beta)


@over_registry
def test_registered_under_the_name_of_its_class(name):
    assert issubclass(KERNELS[name], Kernel)
    assert KERNELS[name].__name__.lower() == name.replace("_", "")


@pytest.mark.parametrize("name", SPECIAL_KERNELS)
def test_special_names_fix_parameters_of_a_family(name):
    family, fixed = SPECIAL_KERNELS[name]
    assert name not in KERNELS
    assert KERNELS[family](**fixed)


def test_defaults_are_those_that_are_told():
    """Of the Gaussian kernel, and of Student's that is 1 / (1 + d²)."""
    assert Exponential() == Exponential(q=2.0, sigma=1.0)
    assert Student() == Student(q=2.0, a=1.0, sigma=1.0)
    assert RationalQuadratic() == RationalQuadratic(beta=1.0, sigma=1.0)


@over_registry
def test_every_parameter_has_a_default_and_is_kept_as_a_float(name):
    kernel = KERNELS[name]()
    assert "sigma" in {field.name for field in dataclasses.fields(kernel)}
    for field in dataclasses.fields(kernel):
        for value in (2, np.float32(2), np.int64(2)):
            kept = getattr(KERNELS[name](**{field.name: value}), field.name)
            assert type(kept) is float
            assert kept == 2.0


@over_registry
def test_similarity_falls_with_the_distance(name):
    d2 = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 50)])
    for kernel in variants(name):
        assert kernel.log_profile(0.0) == 0.0
        assert (np.diff(kernel.log_similarity(d2)) < 0).all()


@over_registry
def test_the_profile_is_the_exponential_of_its_logarithm(name):
    e = np.concatenate([[0.0], np.geomspace(1e-6, 1e2, 50)])
    for kernel in variants(name):
        np.testing.assert_allclose(kernel.profile(e), np.exp(kernel.log_profile(e)), rtol=1e-12)


@over_registry
def test_the_steepness_is_the_slope_of_log_k_over_log_e(name):
    t, step = np.linspace(-8.0, 8.0, 60), 1e-5
    for kernel in variants(name):
        slope = (kernel.log_profile(np.exp(t - step)) - kernel.log_profile(np.exp(t + step))) / (2 * step)
        # Central differences: step² of truncation, and rounding of log f over the step.
        size = 1.0 + np.abs(kernel.log_profile(np.exp(t)))
        assert (np.abs(kernel.steepness(np.exp(t)) - slope) <= 1e-9 * size).all()


@over_registry
def test_the_rise_is_the_slope_of_o_over_log_g(name):
    log_g, step = np.linspace(-9.0, -1.0, 20), 1e-5
    for kernel in variants(name):
        above, below = (kernel.outlierness(log_g + s + kernel.log_height, 3) for s in (step, -step))
        o = kernel.outlierness(log_g + kernel.log_height, 3)
        np.testing.assert_allclose(kernel.rise(o) * np.ones(20), (below - above) / (2 * step), rtol=1e-7)


@over_registry
def test_explained_part_lies_between_nothing_at_the_center_and_the_outlierness(name):
    d2 = np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 50)])
    for kernel in variants(name):
        explained = kernel.explained(d2, np.full(d2.shape, 1.3))
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
    kernel = dataclasses.replace(variants(name)[-1], sigma=sigma)
    energy = kernel.energy((np.array([0.5, 2.0]) * sigma) ** 2)
    np.testing.assert_allclose(energy, [0.5**kernel.q, 2.0**kernel.q], rtol=ROUNDING)


@over_registry
def test_frozen_and_compared_by_value(name):
    kernel = KERNELS[name](sigma=2)
    assert kernel == KERNELS[name](sigma=2.0)
    assert hash(kernel) == hash(KERNELS[name](sigma=2.0))
    assert kernel != KERNELS[name](sigma=2.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.sigma = 1.0


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
