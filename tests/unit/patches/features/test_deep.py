"""Features of the pretrained network, against plain NumPy; relevance back onto pixels."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyodd.patches.features import FEATURES, DeepFeatures, Features
from whyodd.patches.features.axes import cells, interpolation, local_means, shrunk, smooth_cells
from whyodd.patches.features.efficientnet import (
    BLOCKS,
    STEM,
    effective_width,
    graph_bytes,
    load_weights,
    step,
    usual_variance,
)
from whyodd.patches.features.running import open_session


def plain_convolution(x, kernel, stride, groups):
    """Convolution (C, H, W) with zeros around it as TensorFlow pads, in double precision."""
    size = kernel.shape[-1]
    outputs = [-(-length // stride) for length in x.shape[1:]]
    pads = [max((n - 1) * stride + size - length, 0) for n, length in zip(outputs, x.shape[1:], strict=True)]
    padded = np.pad(x, [(0, 0), *((pad // 2, pad - pad // 2) for pad in pads)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))[
        :, ::stride, ::stride
    ]
    if groups > 1:
        return np.einsum("chwij,cij->chw", windows, kernel[:, 0])
    return np.einsum("chwij,ocij->ohw", windows, kernel)


def plain_layer(x, layer, weights, bends):
    """Convolution, then batch norm as it is written, then ReLU6."""
    y = plain_convolution(x, weights[f"{layer.convolution}.weight"].astype(float), layer.stride, layer.groups)
    scale, shift, mean, variance = (
        weights[f"{layer.norm}.{name}"].astype(float)[:, None, None]
        for name in ("weight", "bias", "running_mean", "running_var")
    )
    y = scale * (y - mean) / np.sqrt(variance + 1e-3) + shift
    return np.clip(y, 0.0, 6.0) if bends else y


def plain_network(image, weights, last):
    """Outputs of all blocks up to ``last`` for an image (H, W, 3)."""
    x = plain_layer((image.transpose(2, 0, 1) - 127.0) / 128.0, STEM, weights, True)
    found = []
    for place, block in enumerate(BLOCKS[: last + 1]):
        *inner, end = block.layers(place)
        y = x
        for layer in inner:
            y = plain_layer(y, layer, weights, True)
        y = plain_layer(y, end, weights, False)
        x = y + x if block.is_residual else y
        found.append(x)
    return found


@pytest.fixture(scope="module")
def picture():
    return np.random.default_rng(0).uniform(0.0, 255.0, size=(45, 38, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def deep():
    return DeepFeatures()


def test_network_is_the_plain_one(picture):
    weights = load_weights()
    session = open_session(graph_bytes(weights, tuple(range(16))))
    found = session.run(None, {"image": ((picture - 127) / 128).transpose(2, 0, 1)[None].copy()})
    for ours, plain in zip(found, plain_network(picture.astype(float), weights, 15), strict=True):
        # Single precision through up to 49 layers.
        np.testing.assert_allclose(ours[0], plain, atol=2e-4 * np.abs(plain).max())


def test_features_are_unit_directions_of_local_means_on_the_finest_grid(picture, deep):
    found = deep(picture)
    assert found.shape == (6, 5, 152)
    assert found.dtype == np.float32
    mirrored = np.pad(picture.astype(float), [(0, 19), (0, 26), (0, 0)], mode="symmetric")
    fine = plain_network(mirrored, load_weights(), 4)[4]
    for row, column in ((0, 0), (2, 3), (5, 4)):
        around = fine[:, max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2].mean(axis=(1, 2))
        np.testing.assert_allclose(found[row, column, :40], around / np.linalg.norm(around), atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(found[..., 40:], axis=-1), 1.0, atol=1e-5)


def middles(length, block):
    """Middles of equal cells of an axis, in pixels."""
    count = length // step(block)
    return (np.arange(count) + 0.5) * length / count - 0.5


def test_places_answer_to_what_is_around_their_cells():
    """Energy of the answers to a spot that changes lies around the spot, on average."""
    session = open_session(graph_bytes(load_weights(), (4,)))
    rng, off = np.random.default_rng(1), []
    for length in (128, 96) * 4:
        image = rng.normal(size=(1, 3, length, length)).astype(np.float32)
        spot, changed = int(rng.integers(40, length - 40)), image.copy()
        changed[..., spot - 1 : spot + 2, spot - 1 : spot + 2] += 3.0
        answers = session.run(None, {"image": changed})[0] - session.run(None, {"image": image})[0]
        energy = (answers[0] ** 2).sum(axis=0)
        off += [
            along @ (middles(length, 4) - spot) / energy.sum()
            for along in (energy.sum(axis=a) for a in (0, 1))
        ]
    # Places are 8 pixels apart.
    assert abs(np.mean(off)) < 1.5


def test_grey_and_opacity(picture, deep):
    grey = picture[..., :1]
    np.testing.assert_array_equal(deep(grey), deep(np.repeat(grey, 3, axis=-1)))
    opaque = np.concatenate([picture, np.full((45, 38, 1), 255.0)], axis=-1)
    np.testing.assert_array_equal(deep(opaque), deep(picture))
    with pytest.raises(ValueError, match="Expected a grey or colour image"):
        deep(np.zeros((40, 40, 5)))


def test_small_images_are_refused(deep):
    with pytest.raises(ValueError, match="An image of 31 × 64 pixels is too small"):
        deep(np.zeros((31, 64, 1)))


def test_large_images_are_shrunk_and_relevance_comes_back_to_all_their_pixels():
    deep, image = DeepFeatures(longest=64), np.random.default_rng(0).uniform(0, 255, size=(90, 200, 3))
    features = deep(image)
    assert features.shape[:2] == (4, 8)
    heat = deep.spread(np.ones(features.shape), image)
    assert heat.shape == (90, 200)
    np.testing.assert_allclose(heat, features.size / heat.size, rtol=1e-9)


def test_very_long_images_keep_a_row_of_places():
    deep, image = DeepFeatures(longest=64), np.zeros((32, 3000, 1))
    features = deep(image)
    assert features.shape[:2] == (1, 8)
    assert deep.spread(np.ones(features.shape), image).sum() == pytest.approx(features.size)


@settings(max_examples=25, deadline=None)
@given(
    height=st.integers(32, 120),
    width=st.integers(32, 120),
    longest=st.sampled_from([32, 50, 1024]),
    blocks=st.sampled_from([(4, 10), (0,), (15,), (1, 6, 12)]),
    seed=st.integers(0, 9),
)
def test_spread_keeps_the_sum_and_evenness(height, width, longest, blocks, seed):
    deep, image = DeepFeatures(blocks, longest), np.zeros((height, width, 3))
    sides = [round(n / step(blocks[0])) for n in shrunk(image, longest).shape[:2]]
    relevance = np.random.default_rng(seed).exponential(size=(*sides, sum(BLOCKS[b].outputs for b in blocks)))
    heat = deep.spread(relevance, image)
    assert heat.shape == (height, width)
    assert (heat >= 0.0).all()
    # Rounding of sums over some ten thousand numbers.
    np.testing.assert_allclose(heat.sum(), relevance.sum(), rtol=1e-11)
    even = deep.spread(np.ones_like(relevance), image)
    np.testing.assert_allclose(even, relevance.size / even.size, rtol=1e-9)


def test_relevance_of_a_place_lands_around_it(deep):
    image = np.zeros((256, 256, 3))
    relevance = np.zeros((32, 32, 152))
    relevance[20, 8, :40] = 1.0
    heat = deep.spread(relevance, image)
    assert np.unravel_index(heat.argmax(), heat.shape)[0] in range(160, 168)
    width = np.sqrt(heat.sum(axis=1) / 40 @ (np.arange(256) - 163.5) ** 2)
    # The cell's own variance, (8² - 1) / 12, comes on top; so does what SciPy cuts off beyond 4 widths.
    expected = np.hypot(effective_width(load_weights(), 4), np.sqrt(63 / 12))
    assert abs(width - expected) < 0.05


def test_effective_width_is_near_the_measured_one():
    """Energy of what changes when a spot of a photograph-like picture changes, over all blocks."""
    weights = load_weights()
    session = open_session(graph_bytes(weights, (2, 4, 7, 10)))
    squares = {block: [] for block in (2, 4, 7, 10)}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        waves = np.hypot(*np.meshgrid(np.fft.fftfreq(256), np.fft.fftfreq(256)))
        waves[0, 0] = 1.0
        grain = np.fft.ifft2(np.fft.fft2(rng.normal(size=(3, 256, 256))) / waves).real
        image = (0.4 * grain / grain.std())[None].astype(np.float32)
        changed = image.copy()
        changed[..., 127:129, 127:129] += 0.5
        pairs = zip(session.run(None, {"image": image}), session.run(None, {"image": changed}), strict=True)
        for block, (before, after) in zip(squares, pairs, strict=True):
            energy = ((after - before)[0] ** 2).sum(axis=(0, 1))
            squares[block].append(energy @ (middles(256, block) - 127.5) ** 2 / energy.sum())
    for block, found in squares.items():
        assert effective_width(weights, block) == pytest.approx(np.sqrt(np.mean(found)), rel=0.3)


def test_variance_adds_up_along_residual_blocks():
    weights = load_weights()
    own = [float((weights[f"_blocks.{place}._bn2.weight"].astype(float) ** 2).sum()) for place in (3, 4)]
    assert usual_variance(weights, 3) == pytest.approx(own[0])
    assert usual_variance(weights, 4) == pytest.approx(sum(own))


@pytest.mark.parametrize("blocks", [(), (4, 4), (10, 4), (16,), (-1,)])
def test_blocks_are_checked(blocks):
    with pytest.raises(ValueError, match="blocks="):
        DeepFeatures(blocks)


def test_registry_makes_features():
    assert all(isinstance(make(), Features) for make in FEATURES.values())


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'whyodd\[deep\]'"):
        open_session(b"")


def test_shrinking_takes_means():
    image = np.arange(16.0).reshape(4, 4, 1)
    np.testing.assert_allclose(shrunk(image, 2)[..., 0], [[2.5, 4.5], [10.5, 12.5]])
    third = shrunk(np.array([0.0, 1.0, 2.0])[None, :, None], 2)
    np.testing.assert_allclose(third.ravel(), [1 / 3, 5 / 3])
    assert shrunk(image, 9) is image


@given(st.integers(1, 40), st.integers(1, 60), st.floats(0.3, 30.0))
def test_cells_are_fair(size, more, width):
    length = size + more
    for matrix in (cells(length, size), smooth_cells(length, size, width)):
        np.testing.assert_allclose(matrix.sum(axis=0), 1.0, rtol=1e-12)
        np.testing.assert_allclose(matrix.sum(axis=1), size / length, rtol=1e-9)


def test_means_and_interpolation_are_weighted_means():
    assert local_means(4).sum(axis=1).tolist() == [1.0] * 4
    np.testing.assert_allclose(local_means(4) @ [3.0, 6.0, 9.0, 12.0], [4.5, 6.0, 9.0, 10.5])
    known, at = np.array([1.5, 4.5, 7.5]), np.arange(9) + 0.5
    np.testing.assert_allclose(interpolation(9, 3) @ known, np.clip(at, 1.5, 7.5))
