"""Energies of the contrast: what they see, and that relevance on them stays all there on pixels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyodd.patches.features.contrast import ContrastFeatures

SIDES = st.integers(16, 70)
FEATURES = ContrastFeatures()


@settings(deadline=None, max_examples=25)
@given(SIDES, SIDES, st.sampled_from([1, 2, 3, 4]), st.sampled_from([1024, 40]))
def test_relevance_is_conserved(height, width, channels, longest):
    """Also of sides that are no multiples of 16, of colours, and of images that are shrunk."""
    features = ContrastFeatures(longest=longest)
    image = np.random.default_rng(0).uniform(0.0, 255.0, (height, width, channels))
    relevance = np.random.default_rng(1).random(features(image).shape)
    spread = features.spread(relevance, image)
    assert spread.shape == (height, width)
    assert (spread >= 0.0).all()
    assert spread.sum() == pytest.approx(relevance.sum(), rel=1e-12)


@pytest.mark.parametrize(("channels", "each"), [(1, 5), (2, 5), (3, 7), (4, 7)])
def test_shape(channels, each):
    image = np.random.default_rng(0).uniform(0.0, 255.0, (48, 33, channels))
    found = FEATURES(image)
    assert found.shape == (12, 8, 5 * each)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()


@pytest.mark.parametrize("row", [10, 37, 60])
def test_relevance_lies_where_its_place_is(row):
    image = np.zeros((64, 64, 1))
    relevance = np.zeros((16, 16, 25))
    relevance[row // 4, 5, :5] = 1.0
    spread = FEATURES.spread(relevance, image)
    at = np.unravel_index(spread.argmax(), spread.shape)
    assert abs(at[0] - row) <= 4
    assert abs(at[1] - 22) <= 4


def test_an_edge_raises_its_direction_most():
    """Directions are 0, 45, 90 and 135 degrees; along the first, contrast changes from left to right."""
    image = np.full((64, 64, 1), 100.0) + np.random.default_rng(0).normal(0.0, 1.0, (64, 64, 1))
    image[:, 32:] += 80.0
    upright, turned = FEATURES(image)[8, 8, :4], FEATURES(np.moveaxis(image, 0, 1))[8, 8, :4]
    assert upright.argmax() == 0
    assert turned.argmax() == 2
    np.testing.assert_allclose(upright[[0, 2]], turned[[2, 0]], rtol=1e-4)


def test_light_is_taken_out_and_colour_is_seen():
    grey = np.repeat(np.random.default_rng(0).uniform(50.0, 100.0, (48, 48, 1)), 3, axis=-1)
    brighter, reddish = grey * 2.0, grey + np.array([30.0, 0.0, 0.0])
    energies = np.r_[0:4]
    np.testing.assert_allclose(FEATURES(brighter)[..., energies], FEATURES(grey)[..., energies], rtol=0.1)
    assert np.abs(FEATURES(reddish)[..., 5] - FEATURES(grey)[..., 5]).min() > 0.5


def test_too_small():
    with pytest.raises(ValueError, match=r"15 × 40 pixels is too small .* at least 16 a side"):
        FEATURES(np.zeros((15, 40, 1)))
