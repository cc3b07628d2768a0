"""The map of reasons: rows with similar reasons are close, groups can be told apart, all text can be read."""

import sys
import time

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import whyodd
from unit.plots.boxes import hides
from whyodd.explanations.groups import group_by_reason
from whyodd.plots import PLOTS, reasons_map
from whyodd.plots.embedding import distances, embed
from whyodd.plots.reasons import LIGHT_GREY
from whyodd.plots.reasons_map import covered, signed_roots

mpl.use("Agg")
LONG = [f"department_of_very_long_measurement_names_sensor_{j:02d}_mean_over_{j * 7}_days" for j in range(60)]
HOSTILE = ["new\nline", r"$\frac{a}{b}$", "שלום", "x" * 10_000, "<b>&", "", "予算", "%s{}\\"]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def explained(names, n=120):
    """Rows that are odd in one variable or two, each with its own chance."""
    random = np.random.default_rng(0)
    d = len(names)
    rows = random.normal(size=(n, d))
    chances = 1.0 / np.arange(1, d + 1)
    for row in rows:
        row[random.choice(d, random.integers(1, 3), p=chances / chances.sum())] += random.choice([-9, 9])
    network = whyodd.DistanceNetwork(random.normal(size=(30, d)))
    return whyodd.explain(network, pd.DataFrame(rows, columns=names))


@pytest.fixture(scope="module")
def long():
    return explained(LONG)


def text_boxes(ax):
    ax.figure.draw_without_rendering()
    texts = [*ax.texts, ax.xaxis.label, ax._left_title, *ax.get_legend().get_texts()]
    return [text.get_window_extent() for text in texts if text.get_text()]


def cut(ax, boxes):
    width, height = ax.figure.get_size_inches() * ax.figure.dpi
    return [b for b in boxes if b.x0 < -1 or b.y0 < -1 or b.x1 > width + 1 or b.y1 > height + 1]


def stress(places, apart):
    return float(((distances(places, places) - apart) ** 2).sum())


class TestEmbedding:
    def test_two_dimensions_stay_as_they_are(self):
        points = np.random.default_rng(0).normal(size=(50, 2)) @ np.array([[1.0, 2.0, 0.0], [0.5, 0.0, 1.0]])
        np.testing.assert_allclose(
            distances(embed(points), embed(points)), distances(points, points), atol=1e-3
        )

    def test_no_worse_than_principal_components(self):
        points = np.sqrt(np.random.default_rng(0).dirichlet(np.full(8, 0.1), size=150))
        apart, centered = distances(points, points), points - points.mean(axis=0)
        left, sizes, _ = np.linalg.svd(centered)
        assert stress(embed(points), apart) < 0.7 * stress((left[:, :2] * sizes[:2]), apart)

    def test_groups_in_eight_directions_are_apart(self):
        groups = np.repeat(np.eye(8), 20, axis=0) + np.random.default_rng(0).normal(0, 0.02, size=(160, 8))
        places = embed(groups).reshape(8, 20, 2)
        middles = places.mean(axis=1)
        within = np.linalg.norm(places - middles[:, None], axis=2).max()
        between = (distances(middles, middles) + 9 * np.eye(8)).min()
        assert between > 3 * within

    def test_more_rows_than_landmarks(self):
        corners = np.repeat(np.eye(3), 150, axis=0)
        places = embed(corners + np.random.default_rng(0).normal(0, 0.001, size=corners.shape))
        nearest = distances(places, places[[10, 160, 310]]).argmin(axis=1)
        np.testing.assert_array_equal(nearest, np.repeat([0, 1, 2], 150))

    @pytest.mark.parametrize("rows", [np.ones((1, 3)), np.ones((5, 1)), np.zeros((300, 4)), np.eye(2)])
    def test_few_or_equal_points(self, rows):
        places = embed(rows)
        assert places.shape == (len(rows), 2)
        assert np.isfinite(places).all()

    def test_rounding_does_not_change_the_picture(self):
        points = np.sqrt(np.random.default_rng(0).dirichlet(np.full(8, 0.1), size=100))
        noise = 1e-9 * np.random.default_rng(1).normal(size=points.shape)
        # The rounds end when nothing moves by more than 1e-4: so much may rounding move, and not a lot more.
        np.testing.assert_allclose(embed(points + noise), embed(points), atol=1e-3)


class TestMap:
    def test_roots_of_shares_have_length_one_and_the_sign_of_the_direction(self, long):
        points = signed_roots(long)
        np.testing.assert_allclose((points**2).sum(axis=1), 1.0)
        np.testing.assert_allclose(points**2 * long.relevance.sum(axis=1)[:, None], long.relevance, rtol=1e-9)
        assert (points[long.direction < 0] <= 0).all()
        assert (points[long.direction > 0] >= 0).all()

    def test_dots_are_the_members_of_groups(self, long):
        ax = reasons_map(long)
        groups = group_by_reason(long, max_groups=9)
        assert len(ax.collections) == len(groups) == 9
        places = embed(signed_roots(long[np.argsort(-long.outlierness, kind="stable")]))
        rank = np.argsort(np.argsort(-long.outlierness, kind="stable"))
        for dots, group in zip(ax.collections, groups, strict=True):
            np.testing.assert_allclose(dots.get_offsets(), places[rank[group.members]])
            assert (np.diff(dots.get_sizes()) <= 0).all()  # the oddest first, and the largest
        assert to_hex(ax.collections[-1].get_facecolors()[0]).upper() == LIGHT_GREY
        assert ax.get_legend().get_texts()[-1].get_text() == groups[-1].sentence

    def test_groups_differ_in_colour_and_in_sign(self, long):
        dots = reasons_map(long).collections
        assert len({to_hex(part.get_facecolors()[0]) for part in dots}) == 9
        assert len({part.get_paths()[0].vertices.tobytes() for part in dots[:-1]}) == 8

    def test_the_oddest_rows_have_their_number(self, long):
        ax = reasons_map(long[10:])
        oddest = long.rows[10:][np.argsort(-long.outlierness[10:])][:12]
        assert {int(text.get_text()) for text in ax.texts} <= set(oddest.tolist())
        assert len(ax.texts) > 6
        assert str(oddest[0]) in [text.get_text() for text in ax.texts]

    @pytest.mark.parametrize("names", [LONG, HOSTILE])
    def test_no_text_covers_another_or_is_cut(self, names):
        ax = reasons_map(explained(names))
        ax.figure.canvas.draw()  # a letter that the font does not have would be an error
        boxes = text_boxes(ax)
        assert len(boxes) > 12
        assert hides(boxes) == []
        assert cut(ax, boxes) == []
        legend = ax.get_legend()
        assert legend.get_window_extent().x0 >= ax.get_window_extent().x1
        assert not any(text.get_parse_math() for text in legend.get_texts())

    def test_few_rows(self, long):
        for n in (1, 2, 3):
            ax = reasons_map(long[:n])
            assert sum(len(dots.get_offsets()) for dots in ax.collections) == n
            boxes = text_boxes(ax)
            assert (hides(boxes), cut(ax, boxes)) == ([], [])

    @pytest.mark.full
    def test_many_rows_are_sampled_in_time(self):
        rows = np.random.default_rng(0).standard_t(3, size=(5500, 20))
        e = whyodd.explain(whyodd.DistanceNetwork(np.zeros((1, 20))), rows)
        start = time.process_time()
        ax = reasons_map(e)
        assert time.process_time() - start < 10.0  # 1.5 s on an idle core; t-SNE would take a minute
        seen = sum(int(np.isfinite(np.asarray(dots.get_offsets())[:, 0]).sum()) for dots in ax.collections)
        assert seen == 5000
        assert "5,500 rows (5,000 are drawn)" in ax._left_title.get_text()

    def test_rows_that_are_not_odd(self):
        network = whyodd.DistanceNetwork(np.zeros((1, 2)))
        ax = reasons_map(whyodd.explain(network, np.zeros((4, 2)), exclude_self=False))
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["4 rows: other reasons"]

    def test_dots_under_a_box(self):
        dots = np.array([[0.0, 0.0], [5.0, 0.0], [2.9, 2.9], [1.0, 1.0]])
        assert covered((1.0, -1.0, 3.0, 2.0), dots, np.full(4, 1.0)) == 2


class TestCalls:
    def test_given_axes(self, long):
        figure = mpl.figure.Figure(figsize=(16, 5), layout="constrained")
        left, right = figure.subplots(1, 2)
        assert reasons_map(long, ax=left) is left
        assert not right.has_data()
        assert plt.get_fignums() == []

    def test_wrong_arguments(self, long):
        with pytest.raises(ValueError, match="no rows: there is nothing to draw"):
            reasons_map(long[:0])
        with pytest.raises(TypeError, match="got list"):
            reasons_map([1])

    def test_found_by_name(self):
        assert PLOTS["reasons_map"] is reasons_map

    def test_without_matplotlib(self, long, monkeypatch):
        for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'whyodd\[plots\]'"):
            reasons_map(long)
