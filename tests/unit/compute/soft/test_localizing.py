"""Rows from the origin of their centers and their norms, beside the same in plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from whyodd.compute.points import localize, squared_norms
from whyodd.compute.soft.localizing import fill_local

FLOATS = [np.float32, np.float64]


def filled(raw, origin, scale, dtype):
    local, norms = np.full(raw.shape, np.nan, dtype), np.full(len(raw), np.nan)
    fill_local(raw, origin, 1.0 / scale, local, norms)
    return local, norms


@pytest.mark.parametrize("came", FLOATS)
@pytest.mark.parametrize("wanted", FLOATS)
@given(data=st.data(), exponent=st.integers(-20, 20))
def test_the_same_as_in_numpy(came, wanted, data, exponent):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 40)))
    values = st.floats(-1e6, 1e6, width=32)
    raw = data.draw(arrays(came, shape, elements=values))
    origin = data.draw(arrays(np.float64, shape[1], elements=values))
    local, norms = filled(raw, origin, 2.0**exponent, wanted)
    expected = localize(raw, origin, 2.0**exponent, np.dtype(wanted))
    np.testing.assert_array_equal(local, expected)
    # Sums in another order: a few roundings of 40 terms.
    np.testing.assert_allclose(norms, squared_norms(expected), rtol=1e-14)


def test_rows_beyond_the_scale_come_out_infinite():
    raw = np.array([[1e300, 0.0], [1.0, 2.0]])
    local, norms = filled(raw, np.zeros(2), 1.0, np.float32)
    np.testing.assert_array_equal(local, np.array([[np.inf, 0.0], [1.0, 2.0]], np.float32))
    np.testing.assert_array_equal(norms, [np.inf, 5.0])
