"""The comparison on magnetic tiles, and that what relevance is compared with is computed right."""

import numpy as np
import pytest

import tiles
from painted import PAINTERS, painted_tiles
from tile_rivals import Rivals, differences_and_gradients
from whyodd.patches import local_contrast

# Whole blocks at every scale, so that means over cells and over pixels are the same.
SHAPE = (64, 48)


def stripes(seed):
    rng = np.random.default_rng(seed)
    brightness = 90 + 40 * rng.random(SHAPE[1])
    return np.clip(brightness + 12 * rng.standard_normal(SHAPE), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def train():
    return [stripes(seed) for seed in range(4)]


@pytest.fixture(scope="module")
def model(train):
    return tiles.fit_tiles(train, 60)


def total_outlierness(model, values):
    return sum(scale.score(values, None, lambda _: None).sum() for scale in model.scales_)


# One test for all that is learnt from the run: it takes most of a minute, and workers share no fixtures.
@pytest.mark.full
@pytest.mark.data
def test_relevance_finds_defects_best_and_leaves_good_tiles_calm(data_dir):
    result = tiles.compare(data_dir / "magnetic_tile", tiles.FEW_PATCHES)
    assert [len(result.tiles[kind]) for kind in tiles.KINDS] == [13, 13, 13, 10]
    assert len(result.tiles[tiles.HELD_OUT]) == 10

    average = {method: tiles.average(result.areas[method]) for method in tiles.METHODS}
    # Measured: 0.891 with few patches (0.907 with all); other draws of the patches move it by some 0.002.
    assert average[tiles.OURS] >= 0.88
    # Not by chance of the tiles either: 0.004 was the lowest end of the three intervals.
    for method in tiles.METHODS[1:]:
        assert average[tiles.OURS] > average[method], method
        assert tiles.interval(result.lead(method))[0] > 0.0, method

    calm = tiles.calmness(result)
    good = calm[tiles.HELD_OUT]
    # Measured: 1.4 times what the model was trained on, with 3 % of the pixels hot; inside the masks of any
    # kind relevance is at least 3 times that, and hot pixels are at least 4.8 times as many.
    assert good.mean < 2.0
    assert good.hot < 0.05
    for kind in tiles.KINDS:
        inside = calm[f"inside {kind}"]
        assert inside.mean > 2.0 * good.mean, kind
        assert inside.hot > 3.0 * good.hot, kind


def test_gradient_of_a_window_is_that_of_its_outlierness(model):
    network = model.scales_[0].network
    X = np.asarray(network.centers[:5]) + np.random.default_rng(0).normal(0, 0.7, (5, network.n_features))
    _, gradient = differences_and_gradients(network, X)
    step = 1e-5
    for i in (0, 17, 48):
        shift = step * np.eye(network.n_features)[i]
        slope = (network.outlierness(X + shift) - network.outlierness(X - shift)) / (2 * step)
        # Differences of numbers around 10 lose 1e-10 of them over the step, and its square is below that.
        np.testing.assert_allclose(gradient[:, i], slope, rtol=1e-5, atol=1e-4)


def test_sensitivity_is_the_squared_gradient_of_the_outlierness_of_a_tile(model, train):
    values = local_contrast(stripes(9)[..., None]).astype(np.float64)
    _, sensitivity = Rivals(model, train).differences(values)
    step = 1e-4
    for pixel in [(0, 0), (1, 47), (30, 20), (63, 5)]:
        up, down = values.copy(), values.copy()
        up[pixel] += step
        down[pixel] -= step
        slope = (total_outlierness(model, up) - total_outlierness(model, down)) / (2 * step)
        # A sum of thousands loses 1e-12 of them, over a step of 1e-4 and slopes of about 1: 1e-5 at worst.
        np.testing.assert_allclose(sensitivity[pixel], slope**2, rtol=1e-4)


def test_difference_is_that_from_the_nearest_patch(model):
    network = model.scales_[1].network
    X = np.random.default_rng(1).normal(size=(4, network.n_features))
    difference, _ = differences_and_gradients(network, X)
    for x, found in zip(X, difference, strict=True):
        nearest = min(network.centers, key=lambda u: np.sum((x - u) ** 2))
        np.testing.assert_allclose(found, (x - nearest) ** 2, rtol=1e-12)


def test_every_scale_counts_as_much_for_edges(model, train):
    rivals = Rivals(model, train)
    edges = [rivals.edges(local_contrast(tile[..., None])) for tile in train]
    assert np.mean(edges) == pytest.approx(len(tiles.SCALES))


def test_smoothing_keeps_the_sum():
    heat = np.random.default_rng(0).random(SHAPE)
    assert tiles.smoothed(heat, 8.0).sum() == pytest.approx(heat.sum(), rel=1e-12)


def test_interval_holds_the_average_and_narrows_with_more_tiles():
    rng = np.random.default_rng(0)
    few, many = ({kind: rng.random(n) for kind in tiles.KINDS} for n in (10, 1000))
    widths = []
    for values in (few, many):
        low, high = tiles.interval(values)
        assert low < tiles.average(values) < high
        widths.append(high - low)
    # √100 times, within what 10 numbers tell of their spread.
    assert 5.0 < widths[0] / widths[1] < 20.0


def test_painted_defects_change_their_masks_and_little_else():
    clean = [stripes(seed) for seed in range(3)]
    painted = painted_tiles(clean)
    assert list(painted) == list(PAINTERS)
    for pairs in painted.values():
        for tile, (image, mask) in zip(clean, pairs, strict=True):
            change = np.abs(image.astype(float) - tile)
            # Outlines are softened by at most 2 pixels.
            assert change[mask].mean() > 2.0 * change[~mask].mean()
            assert (image.shape, image.dtype) == (tile.shape, np.uint8)
