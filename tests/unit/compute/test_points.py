"""Points, dense or sparse."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from whyodd.compute.points import heaviest


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 7))
def test_the_largest_entry_of_a_row_is_the_first_one_of_the_array(seed, n, m):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 4, size=(n, m)) * (rng.random((n, m)) < 0.5)  # with ties
    p[np.arange(n), rng.integers(m, size=n)] += 1  # no row is empty
    expected = p.argmax(axis=1)
    np.testing.assert_array_equal(heaviest(p.astype(float)), expected)
    np.testing.assert_array_equal(heaviest(sparse.csr_array(p.astype(float))), expected)
