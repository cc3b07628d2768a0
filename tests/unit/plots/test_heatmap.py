"""Heatmaps: what is drawn where, on one scale, with titles that fit."""

import sys
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import whyodd
from whyodd.explainers.methods.sobel import sobel
from whyodd.patches.colours import common_limit, displayed, overlay
from whyodd.plots import PLOTS, heatmap, heatmaps
from whyodd.plots.figures import title_of

mpl.use("Agg")
NAMES = ["scratched $x_1$ and {brace.png", "a" * 90 + ".png", "calm\n.png"]


@pytest.fixture(scope="module")
def explained():
    random = np.random.default_rng(0)
    images = (np.tile([40, 40, 200, 200], (24, 9)) + random.integers(0, 9, (4, 24, 36))).astype(np.uint8)
    images[1, 10:14, 5:20] = 255
    model = whyodd.PatchModel(whyodd.OneClassSVM(sigma="median"), patch=(5, 5), random_state=0)
    return model.fit(images[:1]).explain([images[1], images[2][:, :12], images[3][:6]], names=NAMES)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def drawn_pixels(ax):
    return np.asarray(ax.images[0].get_array())


def bars(figure):
    return [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]


def overlapping(figure):
    """Pairs of axes whose boxes, with titles and labels, overlap, and those that leave the figure."""
    figure.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    pairs = [
        (i, j)
        for i in range(len(boxes))
        for j in range(i)
        if min(boxes[i].x1, boxes[j].x1) - max(boxes[i].x0, boxes[j].x0) > 1
        and min(boxes[i].y1, boxes[j].y1) - max(boxes[i].y0, boxes[j].y0) > 1
    ]
    width, height = figure.get_size_inches() * figure.dpi
    cut = [i for i, b in enumerate(boxes) if b.x0 < -1 or b.y0 < -1 or b.x1 > width + 1 or b.y1 > height + 1]
    return pairs, cut


class TestHeatmap:
    def test_overlay_on_the_scale_of_all(self, explained):
        ax = heatmap(explained, 1)
        limit = common_limit(explained.relevance)
        np.testing.assert_array_equal(
            drawn_pixels(ax), overlay(explained.data[1], explained.heatmap(1), limit)
        )
        (bar,) = bars(ax.figure)
        assert bar.get_ylim() == pytest.approx((0.0, limit))
        assert "relevance" in bar.get_ylabel()
        assert overlapping(ax.figure)[1] == []
        assert not ax.title.get_window_extent().overlaps(bar.get_tightbbox())

    def test_given_axes_and_limit(self, explained):
        figure, axes = plt.subplots(1, 2)
        assert heatmap(explained, ax=axes[1], limit=7.0) is axes[1]
        assert not axes[0].images
        assert bars(figure)[0].get_ylim() == (0.0, 7.0)

    def test_title_names_the_picture_as_it_is(self, explained):
        ax = heatmap(explained)
        assert ax.get_title().startswith("scratched $x_1$ and {brace.png, outlierness ")
        assert not ax.title.get_parse_math()


class TestHeatmaps:
    def test_picture_relevance_and_edges_in_rows(self, explained):
        figure = heatmaps(explained)
        panels = [ax for ax in figure.axes if ax.images]
        assert len(panels) == 9
        limit = common_limit(explained.relevance)
        sharpest = common_limit([sobel(image) for image in explained.data])
        for i, image in enumerate(explained.data):
            picture, relevance, edges = panels[3 * i : 3 * i + 3]
            np.testing.assert_array_equal(drawn_pixels(picture), displayed(image))
            np.testing.assert_array_equal(
                drawn_pixels(relevance), overlay(image, explained.heatmap(i), limit)
            )
            np.testing.assert_array_equal(drawn_pixels(edges), overlay(image, sobel(image), sharpest))
            assert len({ax.get_position().y0 for ax in (picture, relevance, edges)}) == 1
            assert relevance.get_title().startswith("relevance, outlierness ")
            assert "Sobel" in edges.get_title()

    def test_one_bar_for_all(self, explained):
        figure = heatmaps(explained, limit=3.0)
        (bar,) = [ax for ax in figure.axes if not ax.images]
        assert bar.get_xlim() == (0.0, 3.0)
        assert "relevance" in bar.get_xlabel()

    @pytest.mark.parametrize("edges", [True, False])
    @pytest.mark.parametrize("some", [[0], [0, 1, 2], [2]])
    def test_nothing_overlaps_or_is_cut(self, explained, some, edges):
        figure = heatmaps(explained[some], sobel=edges)
        assert overlapping(figure) == ([], [])
        assert len([ax for ax in figure.axes if ax.images]) == (2 + edges) * len(some)

    def test_on_a_given_figure(self, explained):
        figure = Figure(figsize=(4, 3))
        assert heatmaps(explained, figure=figure) is figure
        assert not plt.get_fignums()

    def test_hot_pixels_are_hot_on_paper(self, explained):
        figure = heatmaps(explained[[0]])
        relevance = figure.axes[1]
        row, column = np.unravel_index(explained.heatmap(0).argmax(), explained.heatmap(0).shape)
        figure.canvas.draw()
        x, y = relevance.transData.transform((column, row))
        shown = np.asarray(figure.canvas.buffer_rgba())
        red, green, blue = shown[shown.shape[0] - 1 - int(y), int(x), :3].astype(int)
        assert red > 200
        assert red - blue > 60
        assert green - blue > 20

    def test_series_are_refused(self):
        series = np.random.default_rng(0).normal(size=60)
        model = whyodd.PatchModel(whyodd.OneClassSVM(sigma="median"), patch=(5,), random_state=0).fit(series)
        for draw in (heatmap, heatmaps):
            with pytest.raises(ValueError, match="A heatmap expected images, got series"):
                draw(model.explain(series))

    def test_no_images_are_refused(self, explained):
        with pytest.raises(ValueError, match="no images"):
            heatmaps(explained[[]])


def test_without_matplotlib_the_extra_is_named(explained, monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'whyodd\[plots\]'"):
        heatmaps(explained)


def test_registered():
    assert PLOTS["heatmap"] is heatmap
    assert PLOTS["heatmaps"] is heatmaps
    assert all(name == function.__name__ for name, function in PLOTS.items())


@pytest.mark.parametrize("longest", [3, 10, 11])
def test_titles_are_no_longer_than_told(longest):
    assert len(title_of("x" * 50, longest)) == longest
    assert title_of("a\nb", longest) == "a b"


def test_numbers_beside_the_colours_do_not_touch():
    model = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(3, 3), random_state=0)
    images = np.random.default_rng(0).normal(size=(3, 16, 16))
    figure = heatmaps(model.fit(images[:2]).explain(images[2:]), limit=0.00035)
    figure.canvas.draw()
    bar = figure.axes[-1]
    boxes = [label.get_window_extent() for label in bar.get_xticklabels() if label.get_visible()]
    boxes = [box for box in boxes if bar.bbox.x0 - 1 <= (box.x0 + box.x1) / 2 <= bar.bbox.x1 + 1]
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
