"""Laws of windows, reductions and models on patches, each for random images and series.

For windows pixels are multiples of 1/8, so that sums are exact; models have no ties between neighbours.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import whyodd
from whyodd.patches.grid import BORDERS, NO_PIXEL, Grid
from whyodd.patches.reduction import block_means, spread

law = settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
few = settings(law, max_examples=15)

numbers = st.integers(-32, 32).map(lambda k: k / 8)


@st.composite
def grids(draw, borders=tuple(BORDERS), stride=None):
    axes = draw(st.integers(1, 2))
    shape = tuple(draw(st.integers(1, 8)) for _ in range(axes))
    border = draw(st.sampled_from(borders))
    patch = tuple(draw(st.integers(1, n if border == "valid" else n + 3)) for n in shape)
    return Grid(shape, patch, draw(st.integers(1, 4)) if stride is None else stride, border)


@st.composite
def grids_and_values(draw):
    """A grid, an item for it, and numbers for all places of all windows."""
    grid = draw(grids())
    channels = draw(st.integers(1, 3))
    item = draw(arrays(np.float64, (*grid.shape, channels), elements=numbers))
    width = int(np.prod(grid.patch)) * channels
    return grid, item, draw(arrays(np.float64, (len(grid), width), elements=numbers))


def fold(grid, parts, channels):
    into = np.zeros((int(np.prod(grid.shape)), channels))
    beside = grid.fold(parts, np.arange(len(grid)), into)
    return into.reshape(*grid.shape, channels), beside


def extract(grid, item):
    return grid.extract(item, np.arange(len(grid)))


@law
@given(grids_and_values())
def test_fold_is_the_adjoint_of_extract(case):
    """⟨extract(x), y⟩ = ⟨x, fold(y)⟩: padding of zeros adds nothing to either side."""
    grid, item, parts = case
    folded, _ = fold(grid, parts, item.shape[-1])
    assert np.vdot(extract(grid, item), parts) == np.vdot(item, folded)


@law
@given(grids_and_values())
def test_folding_keeps_the_sum_of_every_window(case):
    grid, item, parts = case
    folded, beside = fold(grid, parts, item.shape[-1])
    assert folded.sum() + beside.sum() == parts.sum()
    if grid.border != "zero":
        assert (beside == 0.0).all()


@law
@given(grids())
def test_folding_ones_counts_the_windows_over_each_pixel(grid):
    ones = np.ones((*grid.shape, 1))
    counted, beside = fold(grid, extract(grid, ones), 1)
    expected = np.zeros(grid.shape)
    for window in range(len(grid)):
        for pixel in grid.pixels(np.array([window]))[0]:
            if pixel != NO_PIXEL:
                expected.ravel()[pixel] += 1.0
    np.testing.assert_array_equal(counted[..., 0], expected)
    assert (beside == 0.0).all()  # what is extracted there is 0
    # A window over no pixel at all would be odd without cause.
    assert (extract(grid, ones).sum(axis=1) > 0.0).all()


@law
@given(grids(borders=("valid",), stride=1))
def test_inside_a_pixel_is_under_as_many_windows_as_fit_over_it(grid):
    counted, _ = fold(grid, extract(grid, np.ones((*grid.shape, 1))), 1)
    expected = np.ones(grid.shape)
    for axis, (n, width) in enumerate(zip(grid.shape, grid.patch, strict=True)):
        place = np.arange(n)
        over = np.minimum.reduce([place + 1, n - place, np.full(n, width), np.full(n, n - width + 1)])
        expected *= over.reshape([-1 if a == axis else 1 for a in range(len(grid.shape))])
    np.testing.assert_array_equal(counted[..., 0], expected)


@law
@given(grids(borders=("reflect", "edge", "zero"), stride=1))
def test_every_pixel_is_the_middle_of_a_window(grid):
    assert grid.counts == grid.shape
    middle = np.ravel_multi_index(tuple((width - 1) // 2 for width in grid.patch), grid.patch)
    pixels = grid.pixels(np.arange(len(grid)))
    np.testing.assert_array_equal(pixels[:, middle], np.arange(len(grid)))


@law
@given(grids_and_values(), st.integers(-4, 4))
def test_extract_and_fold_are_linear_and_do_not_mind_blocks(case, factor):
    grid, item, parts = case
    windows = np.arange(len(grid))
    np.testing.assert_array_equal(extract(grid, factor * item), factor * extract(grid, item))
    once, beside = fold(grid, parts, item.shape[-1])
    scaled, beside_scaled = fold(grid, factor * parts, item.shape[-1])
    np.testing.assert_array_equal(scaled, factor * once)
    np.testing.assert_array_equal(beside_scaled, factor * beside)
    into = np.zeros((int(np.prod(grid.shape)), item.shape[-1]))
    for block in np.array_split(windows, 3):
        grid.fold(parts[block], block, into)
    np.testing.assert_array_equal(into.reshape(once.shape), once)


@st.composite
def items(draw, axes=None):
    count = draw(st.integers(1, 2)) if axes is None else axes
    shape = (*(draw(st.integers(1, 9)) for _ in range(count)), draw(st.integers(1, 3)))
    return draw(arrays(np.float64, shape, elements=numbers))


@law
@given(items(), st.integers(1, 5))
def test_relevance_of_blocks_keeps_its_sum(item, size):
    means = block_means(item, size)
    assert spread(means, size, item.shape[:-1]).sum() == pytest.approx(means.sum(), abs=1e-9)
    ones = np.ones_like(item)
    assert (block_means(ones, size) == 1.0).all()
    # Spread out, a block's 1 is 1/n of its n pixels: as many wholes as there are blocks.
    assert spread(block_means(ones, size), size, item.shape[:-1]).sum() == pytest.approx(means.size)


@law
@given(items(), st.integers(1, 5))
def test_spreading_is_the_adjoint_of_taking_means(item, size):
    """⟨means(x), y⟩ = ⟨x, spread(y)⟩: relevance goes back the way the values came."""
    y = np.random.default_rng(0).integers(-8, 8, size=block_means(item, size).shape).astype(float)
    back = spread(y, size, item.shape[:-1])
    assert np.vdot(block_means(item, size), y) == pytest.approx(np.vdot(item, back), abs=1e-9)
    # A mean of equal pixels is that pixel.
    flat = np.broadcast_to(item[(0,) * (item.ndim - 1)], item.shape)
    np.testing.assert_allclose(
        block_means(flat, size), flat[tuple(slice(None, None, size) for _ in item.shape[:-1])]
    )


# Models on patches

MODELS = {
    "density": whyodd.KernelDensity(sigma=1.0),
    "heavy tails": whyodd.KernelDensity("student", sigma=1.0, q=2.0),
    "neighbors": whyodd.KNearestNeighbors(2),
}


@st.composite
def cases(draw, axes=(1, 2), channels=(1, 3)):
    """A training item, another one, and a model on their patches that has all of them."""
    kind = draw(st.sampled_from(axes))
    shape = (*(draw(st.integers(7, 9)) for _ in range(kind)), draw(st.integers(*channels)))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    train, test = rng.normal(size=(2, *shape))
    patch = tuple(draw(st.integers(1, 3)) for _ in range(kind))
    inner = MODELS[draw(st.sampled_from(sorted(MODELS)))]
    return train, test, whyodd.PatchModel(inner, patch=patch, max_patches=10_000, tolerance=0.0)


def assert_same(found, expected):
    largest = max(np.abs(expected).max(), 1e-12)
    np.testing.assert_allclose(found / largest, expected / largest, rtol=0, atol=1e-9)


@few
@given(cases(), st.sampled_from(sorted(BORDERS)), st.integers(1, 2), st.sampled_from([1, 2, [1, 2]]))
def test_relevance_and_what_is_unexplained_sum_to_the_outlierness(case, border, stride, scale):
    train, test, model = case
    model.set_params(border=border, stride=stride, scale=scale, tolerance=1e-3)
    smallest = [-(-n // 2) - width for n, width in zip(train.shape, model.patch, strict=False)]
    assume(min(smallest) >= 2)  # some windows at every stride, also of blocks of two
    e = model.fit(train).explain([test, train])
    for i in range(2):
        assert e.heatmap(i).sum() + e.unexplained[i] == pytest.approx(e.outlierness[i], rel=1e-9)
        assert (e.heatmap(i) >= 0.0).all()
        assert e.unexplained[i] >= 0.0


@few
@given(cases(), st.integers(-1000, 1000), st.sampled_from(["valid", "reflect", "edge"]))
def test_a_shift_of_all_values_changes_nothing(case, shift, border):
    train, test, model = case
    model.set_params(border=border)
    expected = model.fit(train).explain(test)
    found = model.fit(train + shift).explain(test + shift)
    assert_same(found.heatmap(0), expected.heatmap(0))
    assert_same(found.unexplained, expected.unexplained)


@few
@given(cases(channels=(2, 3)), st.randoms(use_true_random=False))
def test_channels_in_another_order_have_their_relevance_in_that_order(case, random):
    train, test, model = case
    order = list(range(train.shape[-1]))
    random.shuffle(order)
    expected = model.fit(train).explain(test).heatmap(0)
    found = model.fit(train[..., order]).explain(test[..., order]).heatmap(0)
    assert_same(found, expected[..., order])


@few
@given(cases(), st.booleans())
def test_a_flipped_image_has_the_flipped_heatmap(case, left_out):
    train, test, model = case
    item = train if left_out else test
    for axis in range(train.ndim - 1):
        expected = model.fit(train).explain(item)
        found = model.fit(np.flip(train, axis)).explain(np.flip(item, axis))
        assert_same(found.heatmap(0), np.flip(expected.heatmap(0), axis))
        assert_same(found.outlierness, expected.outlierness)


@few
@given(cases(axes=(2,)))
def test_a_turned_image_has_the_turned_heatmap(case):
    train, test, model = case
    expected = model.fit(train).explain(test).heatmap(0)
    model.set_params(patch=model.patch[::-1])
    found = model.fit(np.swapaxes(train, 0, 1)).explain(np.swapaxes(test, 0, 1)).heatmap(0)
    assert_same(found, np.swapaxes(expected, 0, 1))


@few
@given(cases())
def test_several_scales_are_the_sum_of_each_alone(case):
    train, test, model = case
    second = tuple(width + 1 for width in model.patch)
    patch, first = model.patch, model.fit(train).explain(test)
    both = whyodd.PatchModel(model.model, patch=[patch, second], max_patches=10_000, tolerance=0.0).fit(train)
    alone = model.set_params(patch=second).fit(train).explain(test)
    weight = both.scales_[1].weight
    e = both.explain(test)
    assert_same(e.heatmap(0), first.heatmap(0) + weight * alone.heatmap(0))
    assert e.outlierness[0] == pytest.approx(first.outlierness[0] + weight * alone.outlierness[0], rel=1e-9)
    assert e.unexplained[0] == pytest.approx(
        first.unexplained[0] + weight * alone.unexplained[0], rel=1e-9, abs=1e-9 * e.outlierness[0]
    )


@few
@given(cases(), st.integers(2, 4))
def test_items_together_are_as_alone(case, count):
    train, test, model = case
    model.fit(train)
    several = [np.roll(test, k, axis=0) for k in range(count)]
    e = model.explain(several)
    order = np.argsort(-e.outlierness, kind="stable")
    for position, i in enumerate(order):
        alone = model.explain(several[i])
        for part in (e[int(i)], e[i : i + 1], e.top(count)[position]):
            np.testing.assert_array_equal(part.relevance[0], alone.relevance[0])
            np.testing.assert_array_equal(part.outlierness, alone.outlierness)
        assert e.strangest(int(i)).start == alone.strangest(0).start
