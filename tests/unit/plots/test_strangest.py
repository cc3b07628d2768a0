"""The strangest window beside the normal one: what is drawn is what the explanation says."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import whyodd
from whyodd.patches import local_contrast
from whyodd.plots import PLOTS, strangest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def fitted(images, patch=(5, 5), **options):
    model = whyodd.PatchModel(whyodd.OneClassSVM(sigma="median"), patch=patch, random_state=0, **options)
    return model.fit(images)


def striped(shape=(24, 36), channels=()):
    random = np.random.default_rng(0)
    stripes = np.tile([40, 40, 200, 200], (shape[0], shape[1] // 4))
    stripes = stripes if channels == () else np.stack([stripes] * 3, axis=-1)
    return (stripes + random.integers(0, 9, (*shape, *channels))).astype(np.uint8)


def scratched(image):
    odd = image.copy()
    odd[10:14, 5:20] = 255
    return odd


def cut_or_overlapping(figure):
    figure.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    if figure._suptitle is not None:
        boxes.append(figure._suptitle.get_window_extent())
    width, height = figure.get_size_inches() * figure.dpi
    cut = [b for b in boxes if b.x0 < -1 or b.y0 < -1 or b.x1 > width + 1 or b.y1 > height + 1]
    over = [
        (i, j)
        for i, a in enumerate(boxes)
        for j, b in enumerate(boxes[:i])
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]
    return cut, over


class TestImages:
    @pytest.mark.parametrize("channels", [(), (3,)])
    def test_window_normal_patch_and_difference(self, channels):
        image = striped(channels=channels)
        e = fitted([image]).explain([scratched(image)], names=["tile $5$.png"])
        figure = strangest(e)
        place, here, normal, apart, _ = figure.axes
        window = e.strangest(0)
        low = min(window.values.min(), window.nearest.min())
        high = max(window.values.max(), window.nearest.max())
        for ax, values in ((here, window.values), (normal, window.nearest)):
            expected = np.round(255 * (values - low) / (high - low)).squeeze()
            assert np.abs(np.asarray(ax.images[0].get_array(), dtype=float) - expected).max() <= 1
        channel = (window.difference**2).sum(axis=(0, 1)).argmax()
        np.testing.assert_allclose(apart.images[0].get_array(), window.difference[..., channel])
        bottom, top = apart.images[0].get_clim()
        assert bottom == -top
        assert top == pytest.approx(np.abs(window.difference[..., channel]).max())
        frame = place.patches[1].get_bbox()
        assert frame.x0 < window.start[1] - 0.5 < window.stop[1] - 0.5 < frame.x1
        assert frame.y0 < window.start[0] - 0.5 < window.stop[0] - 0.5 < frame.y1

    def test_titles_say_what_is_seen(self):
        image = striped(channels=(3,))
        e = fitted([image]).explain([scratched(image)], names=["tile $5$.png"])
        figure = strangest(e)
        titles = [ax.get_title() for ax in figure.axes[:4]]
        assert titles[:3] == ["where it is", "the strangest window", "the normal patch most like it"]
        assert titles[3].split(", ")[1] in ("red channel", "green channel", "blue channel")
        assert figure.get_suptitle().startswith("tile $5$.png\nstrangest at rows ")
        assert not figure._suptitle.get_parse_math()

    def test_self_image_says_that_it_is_the_same_picture(self):
        odd = scratched(striped())
        e = fitted([odd]).explain([odd])
        assert strangest(e).axes[2].get_title() == "most like it, in the same picture"

    @pytest.mark.parametrize("shape", [(24, 36), (120, 16), (9, 200)])
    def test_nothing_is_cut_or_overlaps(self, shape):
        image = striped(shape)
        odd = image.copy()
        odd[:4, :4] = 255
        e = fitted([image], prepare=local_contrast).explain([odd], names=["n" * 300])
        figure = strangest(e)
        assert cut_or_overlapping(figure) == ([], [])
        assert "prepared" in figure.get_suptitle()

    def test_coarser_scales_mark_all_pixels_of_the_window(self):
        image = striped((40, 40))
        e = fitted([image], scale=4).explain([scratched(image)])
        place = strangest(e).axes[0].patches[1].get_bbox()
        window = e.strangest(0)
        assert place.width == window.stop[1] - window.start[1] + 2 == 22

    def test_a_window_without_difference(self):
        image = striped((16, 16))
        image[:, 8:] = image[:, :8]  # each window is there twice
        e = fitted([image], max_patches=500).explain([image], exclude_self=False)
        assert strangest(e).axes[3].images[0].get_clim()[1] > 0.0


@pytest.fixture(scope="module")
def explained():
    random = np.random.default_rng(0)
    time = np.arange(400)
    normal = np.stack([np.sin(time / 7 + k) for k in range(6)], axis=1)
    normal += random.normal(scale=0.05, size=normal.shape)
    odd = normal.copy()
    odd[200:212, 4] = 3.0
    return fitted(normal, patch=(16,), max_patches=200).explain([odd], names=["pump"])


class TestSeries:
    def test_channels_that_differ_most_come_first(self, explained):
        figure = strangest(explained)
        place, *others = figure.axes
        assert len(others) == 4
        window = explained.strangest(0)
        assert others[0].get_title() == explained.channels[4]
        here, normal = (line.get_ydata() for line in others[0].get_lines())
        np.testing.assert_allclose(here, window.values[:, 4])
        np.testing.assert_allclose(normal, window.nearest[:, 4])
        span = place.patches[-1].get_bbox()
        assert (span.x0, span.x1) == (window.start[0], window.stop[0] - 1)

    def test_legend_titles_and_nothing_cut(self, explained):
        figure = strangest(explained)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == [
            "the strangest window",
            "the normal one most like it",
        ]
        assert figure.get_suptitle().startswith("pump\nstrangest at steps ")
        assert cut_or_overlapping(figure) == ([], [])


def test_registered():
    assert PLOTS["strangest"] is strangest
