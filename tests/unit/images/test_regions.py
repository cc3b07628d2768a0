"""Odd regions against a plain flood fill."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from whyodd.images.regions import odd_regions

MAPS = arrays(np.float64, (7, 9), elements=st.sampled_from([0.0, 0.5, 2.0, 3.0]))


def flood(mask):
    """Sets of pixels that touch, at their corners too."""
    left, found = {tuple(map(int, at)) for at in np.argwhere(mask)}, []
    while left:
        todo, region = [left.pop()], set()
        while todo:
            row, column = todo.pop()
            region.add((row, column))
            near = {(row + i, column + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} & left
            left -= near
            todo += near
        found.append(region)
    return found


@given(MAPS)
def test_against_a_flood_fill(places):
    relevance = np.random.default_rng(0).random(places.shape)
    expected = flood(places > 1.0)
    found = odd_regions(places, relevance, 1.0)
    if not expected:
        assert [region.is_odd for region in found] == [False]
        return
    expected.sort(key=lambda region: -sum(relevance[at] for at in region))
    assert len(found) == len(expected)
    for region, pixels in zip(found, expected, strict=True):
        rows, columns = zip(*pixels, strict=True)
        assert region.start == (min(rows), min(columns))
        assert region.stop == (max(rows) + 1, max(columns) + 1)
        assert region.n_pixels == len(pixels)
        assert region.relevance == pytest.approx(sum(relevance[at] for at in pixels))
        assert region.peak in pixels
        assert region.score == places[region.peak] == max(places[at] for at in pixels)
        assert region.is_odd


@pytest.mark.parametrize("peak", [(0, 0), (15, 20), (29, 39)])
def test_of_a_calm_image_what_is_around_its_strangest_place(peak):
    places = np.full((30, 40), 0.5)
    places[peak] = 0.9
    (region,) = odd_regions(places, np.ones((30, 40)), 1.0)
    assert not region.is_odd
    assert region.peak == peak
    assert region.score == 0.9
    assert all(a <= at < b for a, at, b in zip(region.start, peak, region.stop, strict=True))
    assert region.relevance == region.n_pixels <= 16 * 16


def test_an_image_that_is_odd_everywhere():
    (region,) = odd_regions(np.full((3, 1), 2.0), np.ones((3, 1)), 1.0)
    assert region.place == "rows 0 to 2, column 0"
