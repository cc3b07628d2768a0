"""Centers and scales that gross values cannot move, and distances that a root bounds."""

import math

import numpy as np
import pytest

from whyodd.maths.robust_scales import FAR, center_and_scale, soften


def test_of_a_normal_distribution_it_is_mean_and_standard_deviation():
    center, scale = center_and_scale(np.random.default_rng(0).normal(50.0, 5.0, (100_000, 1)))
    assert center[0] == pytest.approx(50.0, abs=0.05)
    assert scale[0] == pytest.approx(5.0, abs=0.05)


@pytest.mark.parametrize("gross", [1e3, 1e150])
def test_gross_values_do_not_move_it(gross):
    X = np.random.default_rng(0).normal(size=(200, 1))
    plain = center_and_scale(X)
    X[:10] = gross
    for one, other in zip(center_and_scale(X), plain, strict=True):
        np.testing.assert_allclose(one, other, atol=0.2)


@pytest.mark.parametrize("unit", [2.0**-300, 2.0**-10, 2.0**300])
def test_it_follows_the_unit(unit):
    X = np.exp(np.random.default_rng(1).normal(0.0, 4.0, (200, 2)))
    for one, other in zip(center_and_scale(unit * X), center_and_scale(X), strict=True):
        np.testing.assert_allclose(one, unit * other, rtol=1e-12)


def test_where_most_values_are_the_same_the_others_tell_the_scale():
    X = np.zeros((100, 1))
    X[:3, 0] = [2.0, 4.0, -6.0]
    center, scale = center_and_scale(X)
    assert (center[0], scale[0]) == (0.0, 4.0)


@pytest.mark.parametrize(("value", "scale"), [(7.0, 7.0), (-7.0, 7.0), (0.0, 1.0)])
def test_what_never_varies_is_measured_by_its_size(value, scale):
    found = center_and_scale(np.full((5, 1), value))
    assert (found[0][0], found[1][0]) == (value, scale)


def test_distances_grow_as_a_root_beyond_some_scales():
    z = np.concatenate([np.linspace(0.0, FAR, 50), FAR * np.geomspace(1.001, 1e12, 200)])
    softened = soften(z)
    expected = [v if v <= FAR else FAR * math.sqrt(v / FAR) for v in z]
    np.testing.assert_allclose(softened, expected, rtol=1e-12)
    np.testing.assert_array_equal(soften(-z), -softened)
    assert np.all(np.diff(softened) > 0.0)


def test_nothing_is_softened_of_no_rows():
    assert soften(np.empty((0, 3))).shape == (0, 3)
