"""How fine the numbers of a column are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whyodd
from whyodd.explanations.resolution import resolution_of
from whyodd.explanations.sentences import at_resolution


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 2.0, 3.0], 1.0), ([0.1, 0.25], 0.01), ([0.0, 0.0, 0.5], 0.1), ([5e6, 7e6], 100.0), ([], 0.0)],
)
def test_is_the_last_decimal_or_a_ten_thousandth_of_the_middle_half(values, expected):
    assert resolution_of(np.array(values)) == pytest.approx(expected)


@given(
    st.integers(0, 4),
    st.lists(st.integers(-1_000, 1_000), min_size=2, max_size=30),
    st.floats(0.1, 1e3),
    st.floats(-1e3, 1e3),
)
def test_values_that_were_scaled_and_back_are_told_as_they_were(decimals, steps, scale, center):
    values = np.array(steps) / 10.0**decimals
    back = (values - center) / scale * scale + center
    fine = resolution_of(back)
    assert fine >= 10.0**-decimals * (1 - 1e-9) or np.allclose(values, np.round(values, decimals - 1))
    for value, same in zip(values, back, strict=True):
        assert at_resolution(float(same), fine) == pytest.approx(value, abs=0.51 * fine)


def test_an_explanation_of_a_column_near_zero_has_no_noise():
    X = np.column_stack([np.tile([0.1, 0.2, -0.3], 40), np.random.default_rng(0).normal(size=120)])
    e = whyodd.explain(whyodd.KernelDensity().fit(X), np.array([[0.0, 5.0]]), exclude_self=False)
    assert e.resolution(0) == pytest.approx(0.1)
    assert all("e-" not in reason.words for reason in e.reasons(0))
