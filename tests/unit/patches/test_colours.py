"""Colours over images: one scale for a set, hot pixels bright, cold ones grey, whatever kind of image."""

import numpy as np
import pytest

from whyodd.patches.colours import common_limit, displayed, legend, overlay, per_pixel

YELLOW = (255, 242, 115)


def reference_overlay(image, heat, limit):
    """Pixel by pixel, for 8 bits of grey."""
    stops, colours = (
        (0.0, 0.35, 0.7, 1.0),
        ((0.42, 0.1, 0.5), (0.8, 0.15, 0.33), (0.98, 0.52, 0.08), (1, 0.95, 0.45)),
    )
    drawn = np.empty((*image.shape, 3), dtype=np.uint8)
    for at in np.ndindex(*image.shape):
        share = min(max(heat[at] / limit, 0.0), 1.0)
        opacity = 3 * share**2 - 2 * share**3
        grey = 0.12 + 0.66 * image[at] / 255
        for c in range(3):
            colour = np.interp(share, stops, [rgb[c] for rgb in colours])
            drawn[(*at, c)] = round(255 * ((1 - opacity) * grey + opacity * colour))
    return drawn


def luminance(colours):
    return np.asarray(colours, dtype=float) @ [0.299, 0.587, 0.114]


class TestLimit:
    def test_quantile_over_all_pixels_of_all_items(self):
        random = np.random.default_rng(0)
        heatmaps = [random.exponential(size=(20, 30)), random.exponential(size=(7, 50))]
        pixels = sorted(value for heat in heatmaps for value in heat.ravel())
        rank = 0.999 * (len(pixels) - 1)
        below = int(rank)
        expected = pixels[below] + (rank - below) * (pixels[below + 1] - pixels[below])
        assert common_limit(heatmaps) == pytest.approx(expected)

    def test_at_least_four_times_the_mean(self):
        heat = np.random.default_rng(0).uniform(0.9, 1.1, size=(20, 30))
        assert common_limit([heat]) == pytest.approx(4.0 * heat.mean())

    def test_channels_are_summed(self):
        heat = np.full((4, 5, 3), [1.0, 2.0, 0.5])
        assert common_limit([heat]) == pytest.approx(4.0 * 3.5)
        assert per_pixel(heat).shape == (4, 5)

    @pytest.mark.parametrize("heatmaps", [[], [np.zeros((3, 3))], [np.full((2, 2), -1.0)]])
    def test_positive_where_nothing_is_relevant(self, heatmaps):
        assert 0.0 < common_limit(heatmaps) < 1e-6


class TestOverlay:
    def test_agrees_with_the_loop(self):
        random = np.random.default_rng(1)
        image = random.integers(0, 256, (9, 11), dtype=np.uint8)
        heat = random.exponential(size=(9, 11))
        difference = overlay(image, heat, 2.0).astype(int) - reference_overlay(image, heat, 2.0)
        assert np.abs(difference).max() <= 1  # halves may round to either side

    @pytest.mark.parametrize("brightness", [0, 128, 255])
    def test_hot_pixels_stand_out_on_dark_and_bright(self, brightness):
        image = np.full((2, 2), brightness, dtype=np.uint8)
        drawn = overlay(image, np.array([[0.0, 0.5], [1.0, 9.0]]), 1.0)
        cold, warm, hot, hotter = drawn.reshape(4, 3).astype(int)
        assert len(set(cold)) == 1  # grey
        assert max(warm) - min(warm) > 60  # a colour, not a shade
        assert tuple(hot) == tuple(hotter) == YELLOW  # clipped at the limit
        assert luminance(hot) - luminance(cold) > 25
        assert np.abs(hot - cold).max() > 80

    def test_calm_images_do_not_glow_on_a_common_scale(self):
        image = np.full((8, 8), 128, dtype=np.uint8)
        calm, odd = np.full((8, 8), 0.1), np.full((8, 8), 0.1)
        odd[2, 3:5] = 10.0
        limit = common_limit([calm, odd])
        nothing = overlay(image, np.zeros((8, 8)), limit).astype(int)
        assert np.abs(overlay(image, calm, limit) - nothing).max() <= 1
        assert np.abs(overlay(image, odd, limit) - nothing).max() > 100

    def test_brighter_and_brighter_for_those_who_see_no_hue(self):
        colours = legend(50)
        assert colours.shape == (50, 3)
        assert luminance(colours[-1]) > luminance(colours[25]) > 0.2
        assert (np.diff(luminance(colours[25:])) > 0).all()

    @pytest.mark.parametrize("shape", [(5, 6), (5, 6, 1), (5, 6, 2), (5, 6, 3), (5, 6, 4), (5, 6, 7)])
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, bool])
    def test_every_kind_of_image(self, shape, dtype):
        image = (np.random.default_rng(0).random(shape) * 200).astype(dtype)
        drawn = overlay(image, np.ones(shape), 5.0)
        assert (drawn.shape, drawn.dtype) == ((5, 6, 3), np.uint8)
        shown = displayed(image)
        assert shown.shape == ((5, 6, 3) if shape[2:] in [(3,), (4,)] else (5, 6))


class TestDisplay:
    def test_eight_bits_are_shown_as_they_are(self):
        image = np.array([[10, 20], [30, 40]], dtype=np.uint8)
        np.testing.assert_array_equal(displayed(image), image)

    def test_sixteen_bits_from_least_to_largest(self):
        image = np.array([[1000, 1500], [2000, 3000]], dtype=np.uint16)
        np.testing.assert_array_equal(displayed(image), [[0, 64], [128, 255]])

    def test_floats_between_0_and_1_are_shown_as_they_are(self):
        np.testing.assert_array_equal(displayed(np.array([[0.2, 0.4]])), [[51, 102]])

    def test_other_floats_from_least_to_largest(self):
        np.testing.assert_array_equal(displayed(np.array([[-3.0, 0.0, 3.0]])), [[0, 128, 255]])

    def test_one_value_is_medium_grey(self):
        assert set(displayed(np.full((2, 2), 700, dtype=np.uint16)).ravel()) == {128}

    def test_fourth_channel_is_not_shown(self):
        image = np.random.default_rng(0).integers(0, 256, (3, 3, 4), dtype=np.uint8)
        np.testing.assert_array_equal(displayed(image), image[..., :3])
