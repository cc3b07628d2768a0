"""Equal rows merged: the same weights in total, and back again."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from whyodd.models.fitting.merging import merge_equal_rows

ROWS = np.array([[2.0, 0.0], [1.0, 3.0], [2.0, 0.0], [0.0, 1.0], [1.0, 3.0], [2.0, 0.0]])


def dense(rows):
    return rows.toarray() if issparse(rows) else rows


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_equal_rows_become_one_with_their_weights_added(layout):
    merged = merge_equal_rows(layout(ROWS))
    found = {tuple(row): weight for row, weight in zip(dense(merged.rows), merged.weights, strict=True)}
    assert found == {(2.0, 0.0): 3.0, (1.0, 3.0): 2.0, (0.0, 1.0): 1.0}


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_weights_and_repetition_in_any_order_give_the_same(layout):
    weights = np.array([3.0, 2.0, 0.0, 1.0])
    distinct = np.array([[2.0, 0.0], [1.0, 3.0], [9.0, 9.0], [0.0, 1.0]])
    order = np.array([3, 2, 0, 1])
    by_weight = merge_equal_rows(layout(distinct[order]), weights[order])
    by_repetition = merge_equal_rows(layout(ROWS))
    np.testing.assert_array_equal(dense(by_weight.rows), dense(by_repetition.rows))
    np.testing.assert_array_equal(by_weight.weights, by_repetition.weights)


def test_coefficients_are_shared_out_by_weight_and_gathered_again():
    weights = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 2.0])
    merged = merge_equal_rows(ROWS, weights)
    alpha = np.arange(1.0, 1.0 + len(merged.weights))
    shared = merged.spread(alpha)
    assert shared[4] == 0.0
    np.testing.assert_allclose(shared[0] / weights[0], shared[2] / weights[2])
    np.testing.assert_allclose(merged.gather(shared), alpha)


def test_distinct_rows_stay_as_they_are():
    rows = np.random.default_rng(0).standard_normal((50, 3))
    merged = merge_equal_rows(rows)
    assert merged.rows is rows
    assert merged.weights is None
    alpha = np.arange(50.0)
    assert merged.spread(alpha) is alpha
    assert merged.gather(alpha) is alpha
