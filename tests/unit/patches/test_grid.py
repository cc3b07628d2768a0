"""Windows on images and series: where they stand and what is in them, against plain loops."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from reference import patched
from whyodd.patches.grid import BORDERS, NO_PIXEL, Grid, times

SHAPES = [((5, 7), (3, 3)), ((6, 4), (2, 3)), ((7, 5), (1, 4)), ((9,), (4,)), ((8,), (3,)), ((6,), (1,))]


@pytest.mark.parametrize(("shape", "patch"), SHAPES)
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_pixels_are_those_of_the_plain_loops(shape, patch, border, stride):
    grid = Grid(shape, patch, stride, border)
    expected = [
        [NO_PIXEL if pixel is None else np.ravel_multi_index(pixel, shape) for pixel in window]
        for window in patched.windows(shape, patch, stride, border)
    ]
    assert len(grid) == len(expected) == np.prod(grid.counts)
    np.testing.assert_array_equal(grid.pixels(np.arange(len(grid))), expected)
    # In any order, and only some.
    some = np.arange(len(grid))[::-2]
    np.testing.assert_array_equal(grid.pixels(some), np.array(expected)[some])


@pytest.mark.parametrize(("shape", "patch"), [((2, 3), (7, 9)), ((1, 1), (5, 4)), ((1,), (6,)), ((2,), (9,))])
@pytest.mark.parametrize("border", ["reflect", "edge", "zero"])
def test_padding_may_be_wider_than_the_item(shape, patch, border):
    grid = Grid(shape, patch, 1, border)
    expected = [
        [NO_PIXEL if pixel is None else np.ravel_multi_index(pixel, shape) for pixel in window]
        for window in patched.windows(shape, patch, 1, border)
    ]
    assert grid.counts == shape
    np.testing.assert_array_equal(grid.pixels(np.arange(len(grid))), expected)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extract_holds_places_then_channels(border, dtype):
    values = np.random.default_rng(0).normal(size=(6, 5, 3)).astype(dtype)
    grid = Grid((6, 5), (3, 2), 2, border)
    expected = [patched.contents(values, window) for window in patched.windows((6, 5), (3, 2), 2, border)]
    found = grid.extract(values, np.arange(len(grid)))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


def test_extract_leaves_the_item_as_it_is():
    values = np.ones((4, 4, 1))
    Grid((4, 4), (3, 3), 1, "zero").extract(values, np.arange(16))
    assert (values == 1.0).all()


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fold_adds_up_overlaps_and_tells_what_falls_beside(border, dtype):
    shape, patch, channels = (6, 5), (3, 4), 2
    grid = Grid(shape, patch, 1, border)
    parts = np.random.default_rng(1).normal(size=(len(grid), 12 * channels)).astype(dtype)
    into = np.full((30, channels), 0.5)
    beside = grid.fold(parts, np.arange(len(grid)), into)

    expected, left = np.full((*shape, channels), 0.5), np.zeros(len(grid))
    for number, window in enumerate(patched.windows(shape, patch, 1, border)):
        for place, pixel in enumerate(window):
            for channel in range(channels):
                part = float(parts[number, place * channels + channel])
                if pixel is None:
                    left[number] += part
                else:
                    expected[(*pixel, channel)] += part
    np.testing.assert_allclose(into.reshape(expected.shape), expected, atol=1e-12)
    np.testing.assert_allclose(beside, left, atol=1e-12)


def test_corner_is_the_first_pixel_also_in_the_padding():
    assert Grid((8, 9), (3, 4), 2).corner(5) == (2, 4)
    padded = Grid((8, 9), (3, 4), 2, "zero")
    assert padded.corner(0) == (-1, -1)
    assert padded.corner(len(padded) - 1) == (5, 7)
    assert Grid((8,), (3,), 3).corner(1) == (3,)


@pytest.mark.parametrize("border", BORDERS)
def test_at_most_one_pixel_more_than_the_windows_reach(border):
    """The last window of a stride ends inside, and the next one would not."""
    for size in range(3, 12):
        for stride in (1, 2, 3, 5):
            grid = Grid((size,), (3,), stride, border)
            last = grid.corner(len(grid) - 1)[0] + 3
            end = size if border == "valid" else size + 1
            assert last <= end < last + stride


def test_an_item_smaller_than_the_patch_is_told():
    with pytest.raises(ValueError, match=r"An item of 5 × 6 is smaller than the patch of 7 × 3\."):
        Grid((5, 6), (7, 3))
    with pytest.raises(ValueError, match="item of 5 is smaller than the patch of 6"):
        Grid((5,), (6,))


def test_sizes_as_people_write_them():
    assert times((7, 7)) == "7 × 7"
    assert times((32,)) == "32"


@pytest.mark.parametrize("border", BORDERS)
def test_some_windows_of_a_large_image_take_no_more_memory_than_they_hold(border):
    values = np.zeros((2000, 2000, 1), dtype=np.float32)
    tracemalloc.start()
    try:
        grid = Grid((2000, 2000), (7, 7), 1, border)
        grid.extract(values, np.arange(0, len(grid), len(grid) // 100))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20  # one number for each pixel would be 32 MB
