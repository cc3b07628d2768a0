"""Volume under a kernel, against numerical integration."""

import math

import numpy as np
import pytest

from whyodd.kernels import Exponential, RationalQuadratic, Student


def integrated(kernel, d):
    """Surface of the unit sphere times ∫ k(r) r^(d-1) dr, by the trapezoid rule over t = log r.

    The rule is exact to rounding for a smooth function that vanishes at both ends.
    """
    sphere = math.log(2.0) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d)
    t = math.log(kernel.sigma) + np.arange(-60.0, 60.0, 0.01)
    return sphere + np.logaddexp.reduce(kernel.log_similarity(np.exp(2.0 * t)) + d * t) + math.log(0.01)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("q", [0.7, 1.0, 2.0, 3.3, 4.0])
@pytest.mark.parametrize("sigma", [0.01, 1.0, 300.0])
def test_exponential_kernels(q, sigma, d):
    kernel = Exponential(q=q, sigma=sigma)
    assert kernel.log_volume(d) == pytest.approx(integrated(kernel, d), abs=1e-9)


@pytest.mark.parametrize(("q", "d"), [(2.0, 1), (3.0, 2), (4.0, 1), (4.0, 2), (4.0, 3), (9.5, 5)])
@pytest.mark.parametrize("a", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sigma", [0.01, 1.0, 300.0])
def test_student_kernels(q, a, sigma, d):
    kernel = Student(q=q, a=a, sigma=sigma)
    assert kernel.log_volume(d) == pytest.approx(integrated(kernel, d), abs=1e-9)


@pytest.mark.parametrize(("q", "d"), [(1.0, 1), (2.0, 2), (2.0, 3), (4.0, 4), (4.0, 100)])
def test_student_kernels_that_fall_too_slowly_have_no_finite_volume(q, d):
    assert Student(q=q).log_volume(d) == math.inf


def test_student_kernel_that_falls_just_fast_enough():
    """sin(πd/q) ≈ π (q - d)/d: the volume in one dimension is 2 π / (q sin(π/q))."""
    q = 1.0 + 1e-9
    expected = math.log(2.0 / (q - 1.0))
    assert Student(q=q).log_volume(1) == pytest.approx(expected, abs=1e-6)


def test_gaussian_in_many_dimensions():
    assert Exponential(sigma=0.5).log_volume(784) == pytest.approx(392 * np.log(2 * np.pi * 0.25), rel=1e-12)


@pytest.mark.parametrize(("beta", "d"), [(0.8, 1), (3.0, 1), (3.0, 2), (3.0, 5), (40.0, 20)])
@pytest.mark.parametrize("sigma", [0.01, 1.0, 300.0])
def test_rational_quadratic_kernels(beta, sigma, d):
    kernel = RationalQuadratic(beta=beta, sigma=sigma)
    assert kernel.log_volume(d) == pytest.approx(integrated(kernel, d), abs=1e-9)


@pytest.mark.parametrize(("beta", "d"), [(0.5, 1), (1.0, 2), (1.0, 3)])
def test_rational_quadratic_kernels_that_fall_too_slowly_have_no_finite_volume(beta, d):
    assert RationalQuadratic(beta=beta).log_volume(d) == math.inf
