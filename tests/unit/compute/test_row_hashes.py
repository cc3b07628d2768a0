"""Hashes of rows: equal for equal rows wherever they stand, different for others."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from whyodd.compute.row_hashes import row_hashes


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_and_only_they_have_equal_hashes(layout, dtype):
    rows = np.random.default_rng(0).integers(0, 3, size=(400, 4)).astype(dtype)
    hashes = row_hashes(layout(rows))
    _, kinds = np.unique(rows, axis=0, return_inverse=True)
    np.testing.assert_array_equal(hashes[:, None] == hashes, kinds.reshape(-1, 1) == kinds.ravel())


def test_order_of_columns_counts():
    first, second = row_hashes(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert first != second


def test_the_two_zeros_are_one():
    first, second = row_hashes(np.array([[0.0, 1.0], [-0.0, 1.0]]))
    assert first == second
