"""Means over blocks of pixels and relevance spread back over them, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from reference import patched
from whyodd.patches.reduction import block_means, spread

SHAPES = [(6, 4, 1), (7, 5, 3), (1, 9, 2), (8, 1), (9, 3), (2, 2, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_block_means_with_smaller_last_blocks(shape, size):
    values = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_allclose(block_means(values, size), patched.reduce(values, size), atol=1e-14)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_relevance_is_spread_evenly(shape, size):
    relevance = np.random.default_rng(1).random(patched.reduce(np.zeros(shape), size).shape)
    found = spread(relevance, size, shape[:-1])
    np.testing.assert_allclose(found, patched.spread(relevance, size, shape), atol=1e-15)
    np.testing.assert_allclose(
        found.sum(axis=(*range(len(shape) - 1),)), relevance.reshape(-1, shape[-1]).sum(axis=0)
    )


def test_single_precision_is_summed_in_double_and_stays():
    """16,777,216 + 1 is no number of single precision: the mean of many such would drift."""
    values = np.full((64, 64, 1), 16_777_215.0, dtype=np.float32)
    means = block_means(values, 64)
    assert means.dtype == np.float32
    assert means[0, 0, 0] == 16_777_215.0


def test_a_gap_is_a_gap_of_its_block_only():
    values = np.arange(7.0)[:, None]
    values[3] = np.nan
    np.testing.assert_array_equal(block_means(values, 2).ravel(), [0.5, np.nan, 4.5, 6.0])
