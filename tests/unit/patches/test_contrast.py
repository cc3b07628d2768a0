"""Local contrast and the Sobel reference, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from whyodd.patches import local_contrast, sobel


def gaussian_mean(image, width):
    """Gaussian mean of each pixel; beyond the edge the image is mirrored, the edge repeated."""
    reach = int(4.0 * width + 0.5)  # where the filter is cut off
    weights = np.array([np.exp(-0.5 * (k / width) ** 2) for k in range(-reach, reach + 1)])
    weights /= weights.sum()
    result = np.asarray(image, dtype=float)
    for axis in (0, 1):
        n = result.shape[axis]
        period = np.concatenate([np.arange(n), np.arange(n)[::-1]])
        moved = [
            result.take(period[(np.arange(n) + k) % (2 * n)], axis=axis) for k in range(-reach, reach + 1)
        ]
        result = sum(weight * part for weight, part in zip(weights, moved, strict=True))
    return result


def test_local_contrast_is_its_formula():
    image = np.random.default_rng(0).normal(size=(14, 9)) * 30 + 100
    detail = image - gaussian_mean(image, 2.0)
    expected = detail / (np.sqrt(gaussian_mean(detail**2, 4.0)) + 1.5)
    found = local_contrast(image, width=2.0, least=1.5)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_channels_are_not_mixed():
    image = np.random.default_rng(1).random(size=(20, 16, 3))
    together = local_contrast(image, width=3.0)
    assert together.shape == image.shape
    for channel in range(3):
        np.testing.assert_array_equal(together[..., channel], local_contrast(image[..., channel], width=3.0))


def test_changes_of_light_are_taken_out():
    """A slope and a change of strength over the image leave next to nothing of themselves."""
    rng = np.random.default_rng(2)
    texture = rng.normal(size=(96, 96)) * 20
    slope = np.linspace(0.0, 400.0, 96)
    plain = local_contrast(texture, width=8.0)
    inside = (slice(24, -24), slice(24, -24))
    np.testing.assert_allclose(local_contrast(texture + slope, width=8.0)[inside], plain[inside], atol=0.1)
    assert np.corrcoef(local_contrast(3.0 * texture)[inside].ravel(), plain[inside].ravel())[0, 1] > 0.98
    assert np.std(local_contrast(3.0 * texture)[inside]) / np.std(local_contrast(texture)[inside]) < 1.1


def test_a_flat_image_has_no_contrast():
    np.testing.assert_allclose(local_contrast(np.full((9, 9), 200, dtype=np.uint8)), 0.0, atol=1e-12)
    faint = local_contrast(np.random.default_rng(3).normal(size=(30, 30)) * 1e-3)
    assert np.abs(faint).max() < 0.01  # noise far below ``least`` is not blown up


def test_bytes_do_not_wrap_around():
    image = np.random.default_rng(4).integers(0, 256, size=(12, 12))
    np.testing.assert_array_equal(local_contrast(image.astype(np.uint8)), local_contrast(image.astype(float)))
    np.testing.assert_array_equal(sobel(image.astype(np.uint8)), sobel(image.astype(float)))


@pytest.mark.parametrize("channels", [None, 1, 3])
def test_sobel_is_the_squared_gradient_over_channels(channels):
    shape = (7, 6) if channels is None else (7, 6, channels)
    image = np.random.default_rng(5).random(size=shape)
    layers = image.reshape(7, 6, -1)
    expected = np.zeros((5, 4))
    smooth, slope = (1, 2, 1), (-1, 0, 1)
    for r in range(1, 6):
        for c in range(1, 5):
            for layer in range(layers.shape[2]):
                window = layers[r - 1 : r + 2, c - 1 : c + 2, layer]
                down = sum(slope[i] * smooth[j] * window[i, j] for i in range(3) for j in range(3))
                across = sum(smooth[i] * slope[j] * window[i, j] for i in range(3) for j in range(3))
                expected[r - 1, c - 1] += down**2 + across**2
    found = sobel(image)
    assert found.shape == (7, 6)
    np.testing.assert_allclose(found[1:-1, 1:-1], expected)
