"""Leaves find what plain loops find, whatever is skipped, and are chosen only where they skip much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyodd.compute.hard import search
from whyodd.compute.hard.leaves import LeafSearch
from whyodd.compute.hard.search import ExactSearch


def plain_nearest(x, points, k):
    """All distances from differences; of equally near points the first counts."""
    distances = np.sqrt(((x[:, None] - points) ** 2).sum(axis=2))
    index = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, index, axis=1), index


def assert_same(found, expected):
    # Sums of up to 40 squares in another order.
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14, atol=0.0)
    np.testing.assert_array_equal(found[1], expected[1])


def low_dimensional(n, d, seed):
    mixing = np.random.default_rng(7).normal(size=(3, d))
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ mixing + 0.05 * rng.normal(size=(n, d))


@pytest.mark.parametrize("k", [1, 5, 64, 65, 200])
@pytest.mark.parametrize("d", [1, 2, 15, 16, 17, 40])
def test_finds_what_plain_loops_find(d, k):
    points, x = low_dimensional(700, d, 0), low_dimensional(70, d, 1)
    assert_same(LeafSearch.of(points).nearest(x, k), plain_nearest(x, points, k))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 300),
    st.integers(1, 20),
    st.integers(1, 9),
    st.sampled_from([1, 3, 10**6]),
    st.integers(0, 99),
)
def test_whole_numbers_with_many_equal_points(m, d, k, sides, seed):
    rng = np.random.default_rng(seed)
    points, x = (rng.integers(sides, size=(n, d)).astype(float) for n in (m, 9))
    x[0] = points[0]
    assert_same(LeafSearch.of(points).nearest(x, min(k, m)), plain_nearest(x, points, min(k, m)))


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e-8, 1.0, 1e8])
@pytest.mark.parametrize("middle", [0.0, 1.0])
def test_any_extent_around_any_middle(size, middle):
    points, x = (middle + size * low_dimensional(n, 20, n) for n in (400, 30))
    assert_same(LeafSearch.of(points).nearest(x, 4), plain_nearest(x, points, 4))


@pytest.mark.parametrize("far", [1e3, 1e10, 1e30, 1e100])
def test_rows_far_away(far):
    points, x = low_dimensional(400, 5, 0), low_dimensional(30, 5, 1)
    x[::2] *= far
    d, nearest = LeafSearch.of(points).nearest(x, 3)
    expected, _ = plain_nearest(x, points, 3)
    np.testing.assert_allclose(d, expected, rtol=1e-14)
    chosen = np.sqrt(((x[:, None] - points[nearest]) ** 2).sum(axis=2))
    np.testing.assert_allclose(chosen, expected, rtol=1e-14)


def test_most_leaves_are_skipped_where_few_numbers_tell_all():
    points, x = low_dimensional(20_000, 20, 0), low_dimensional(100, 20, 1)
    found = LeafSearch.of(points)
    leaves, measured = found._search(x, 5)[2] / len(x)
    assert leaves < 0.1 * (len(found.leaves.starts) - 1)
    assert measured < 100
    assert found.is_worthwhile


def test_not_worthwhile_where_nothing_can_be_skipped():
    points = np.random.default_rng(0).normal(size=(5_000, 40))
    assert not LeafSearch.of(points).is_worthwhile
    assert ExactSearch(points, None).by_products


def test_a_row_is_answered_the_same_whoever_comes_with_it():
    points, x = low_dimensional(5_000, 20, 0), low_dimensional(200, 20, 1)
    found = ExactSearch(points, None)
    d, nearest = found.nearest(x, 5)
    for i in (0, 63, 64, 199):
        alone = found.nearest(x[i : i + 1], 5)
        np.testing.assert_array_equal(alone[0][0], d[i])
        np.testing.assert_array_equal(alone[1][0], nearest[i])


@pytest.mark.parametrize("mapped", [False, True])
def test_the_search_uses_leaves_and_is_as_exact(mapped, monkeypatch):
    matrix = np.random.default_rng(3).normal(size=(18, 20)) if mapped else None
    points, x = 1e6 + low_dimensional(5_000, 20, 0), 1e6 + low_dimensional(50, 20, 1)
    by_leaves = ExactSearch(points, matrix)
    assert by_leaves._leaves is not None
    assert not by_leaves.by_products
    monkeypatch.setattr(search, "_LEAF_POINTS", 10**9)
    otherwise = ExactSearch(points, matrix)
    assert otherwise._leaves is None
    found, expected = by_leaves.nearest(x, 6), otherwise.nearest(x, 6)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)  # what the search promises
    np.testing.assert_array_equal(found[1], expected[1])
