"""Pictures of rows of a table: what is drawn are the numbers of the explanation, and all text can be read."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM as LinearSVM

import whyodd
from unit.plots.boxes import hides
from whyodd.evaluation.flipping import area, flip
from whyodd.explanations.sentences import Reason, percent
from whyodd.plots import PLOTS, bars, beeswarm, expected, flipping, scores, waterfall
from whyodd.plots.beeswarm import offsets
from whyodd.plots.expected import Scale
from whyodd.plots.figures import title_of
from whyodd.plots.reasons import BLACK, BLUE, GREEN, GREY, LIGHT_GREY, VERMILLION, label
from whyodd.plots.scores import bin_edges

mpl.use("Agg")
LONG = [f"department_of_very_long_measurement_names_sensor_{j:02d}_mean_over_{j * 7}_days" for j in range(60)]
HOSTILE = [
    "new\nline\ttab",
    r"$\frac{a}{b}$ $$x_1",
    "שלום עולם",
    "\u202eback",
    "x" * 10_000,
    "<b>&",
    "",
    "%s{}\\",
]
COLOURS = {1: VERMILLION, -1: BLUE, 0: GREEN}
OF_ONE_ROW = [waterfall, bars, expected]
OF_EXPLANATIONS = [*OF_ONE_ROW, beeswarm, scores]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def explained(names, n=60):
    """Normal rows and a first one that is odd in all variables, up and down."""
    d = len(names)
    values = np.random.default_rng(0).normal(size=(n, d))
    values[0] = 6.0 * np.where(np.arange(d) % 2, -1, 1) * (1 + np.arange(d) / d)
    frame = pd.DataFrame(values, columns=names)
    return whyodd.explain(whyodd.OneClassSVM(nu=0.3).fit(frame[1:]), frame)


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    model = make_pipeline(StandardScaler(), whyodd.OneClassSVM(nu=0.2)).fit(data.data[data.target == 1])
    return whyodd.explain(model, data.data[:120])


@pytest.fixture(scope="module")
def signed():
    """A linear model, whose variables also speak against the oddness."""
    rows = np.random.default_rng(0).normal(3.0, 1.0, size=(50, 6))
    return whyodd.explain(LinearSVM(kernel="linear", nu=0.1).fit(rows), rows)


@pytest.fixture(scope="module")
def long():
    return explained(LONG)


@pytest.fixture(scope="module")
def hostile():
    return explained(HOSTILE)


def widths(ax):
    return np.array([bar.get_width() for bar in ax.patches])


def fills(ax):
    return [to_hex(bar.get_facecolor(), keep_alpha=False).upper() for bar in ax.patches]


def row_labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def written(ax):
    return [text.get_text() for text in ax.texts]


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def legend_colours(ax):
    """Colour of each entry of the legend, by its text."""
    signs = ax.get_legend().legend_handles
    drawn = [s.get_color() if isinstance(s, mpl.lines.Line2D) else s.get_facecolor() for s in signs]
    return dict(zip(legend_texts(ax), (to_hex(colour).upper() for colour in drawn), strict=True))


def across_at(ax, x):
    """The lines from the bottom of the axes to the top at ``x``."""
    upright = ax.get_xaxis_transform()
    return [line for line in ax.lines if line.get_transform() == upright and set(line.get_xdata()) == {x}]


def main(relevance, k):
    return np.argsort(-np.abs(relevance), kind="stable")[:k]


def text_boxes(ax):
    """Boxes of all text on the figure, as drawn."""
    ax.figure.draw_without_rendering()
    texts = [*ax.texts, ax.xaxis.label, ax.yaxis.label, ax._left_title]
    texts += [*ax.get_legend().get_texts()] if ax.get_legend() else []
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())  # ticks beyond are not drawn
        texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [text.get_window_extent() for text in texts if text.get_text()]


def cut(ax, boxes):
    width, height = ax.figure.get_size_inches() * ax.figure.dpi
    return [b for b in boxes if b.x0 < -1 or b.y0 < -1 or b.x1 > width + 1 or b.y1 > height + 1]


class TestWaterfall:
    @pytest.mark.parametrize("k", [1, 29, 99])
    def test_bars_lead_from_the_unexplained_part_to_the_outlierness(self, cancer, k):
        i = int(cancer.outlierness.argmax())
        ax = waterfall(cancer, i, k)
        starts = np.array([bar.get_x() for bar in ax.patches])
        ends = starts + widths(ax)
        assert starts[0] == 0.0
        assert widths(ax)[0] == pytest.approx(cancer.unexplained[i])
        np.testing.assert_allclose(starts[1:], ends[:-1])
        assert ends[-1] == pytest.approx(cancer.outlierness[i], rel=1e-6)
        shown = cancer.relevance[i][main(cancer.relevance[i], k)]
        np.testing.assert_allclose(widths(ax)[1 : 1 + len(shown)], shown)
        assert len(ax.patches) == 1 + min(k, 30) + (k < 30)
        dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
        assert dashed[0].get_xdata()[0] == pytest.approx(cancer.outlierness[i])
        assert legend_colours(ax).items() <= {"too high": VERMILLION, "too low": BLUE}.items()
        assert len(across_at(ax, 0.0)) == 1

    def test_what_speaks_against_it_goes_back(self, signed):
        i = int(signed.outlierness.argmax())
        ax = waterfall(signed, i, 3)
        order = main(signed.relevance[i], 3)
        np.testing.assert_allclose(widths(ax)[1:4], signed.relevance[i][order])
        assert (widths(ax)[1:4] < 0).all()
        assert widths(ax).sum() == pytest.approx(signed.outlierness[i])
        for text, end, width in zip(ax.texts, np.cumsum(widths(ax)), widths(ax), strict=True):
            assert text.xy[0] == pytest.approx(end)
            assert text.get_ha() == ("right" if width < 0 else "left")
            assert float(text.get_text()) == pytest.approx(width, rel=0.01)  # three digits

    def test_labels_tell_value_and_expected(self, cancer):
        reasons = cancer.reasons(3, 2)
        labels = row_labels(waterfall(cancer, 3, 2))
        assert labels == ["no single variable", *map(label, reasons), "28 other variables"]

    @pytest.mark.parametrize("name", ["cancer", "signed", "long"])
    def test_no_number_lies_across_the_dashed_line(self, name, request):
        e = request.getfixturevalue(name)
        i = int(e.outlierness.argmax())
        ax = waterfall(e, i, 30)
        boxes = text_boxes(ax)[: len(ax.texts)]
        line = ax.transData.transform((e.outlierness[i], 0))[0]
        assert not any(box.x0 - 1 < line < box.x1 + 1 for box in boxes)
        if name == "cancer":  # many bars end near the line: their numbers are beyond it, in their rows
            moved = [text for text in ax.texts if text.xy[0] == e.outlierness[i]]
            assert len(moved) > 5
            assert hides(boxes) == []

    def test_refuses_what_does_not_add_up(self, cancer):
        other = whyodd.explain(cancer.network, cancer.inputs, method="sensitivity")
        with pytest.raises(ValueError, match=r"which method='sensitivity' does not give\. Draw bars instead"):
            waterfall(other)


class TestBars:
    def test_lengths_colours_and_shares(self, long):
        ax = bars(long, 0, 5)
        relevance, order = long.relevance[0], main(long.relevance[0], 5)
        others = relevance.sum() - relevance[order].sum()
        sizes = [*relevance[order], others, long.unexplained[0]]
        np.testing.assert_allclose(widths(ax), sizes, rtol=1e-6)
        assert all(bar.get_x() == 0.0 for bar in ax.patches)
        assert fills(ax) == [*(COLOURS[s] for s in long.direction[0, order].tolist()), LIGHT_GREY, GREY]
        assert written(ax) == [percent(size / long.outlierness[0]) for size in sizes]
        assert legend_colours(ax) == {"too high": VERMILLION, "too low": BLUE}
        (zero,) = across_at(ax, 0.0)
        assert zero.get_color() == BLACK
        assert row_labels(ax)[-2:] == ["55 other variables", "no single variable"]

    def test_shares_of_the_sum_where_relevance_does_not_add_up(self, cancer):
        e = whyodd.explain(cancer.network, cancer.inputs[:2], method="sensitivity")
        ax = bars(e, 1, 30)
        assert len(ax.patches) == 30
        share = e.relevance[1].max() / np.abs(e.relevance[1]).sum()
        assert written(ax)[0] == percent(share)
        assert "by sensitivity" in ax.get_xlabel()

    def test_a_row_that_is_not_odd(self):
        network = whyodd.DistanceNetwork(np.zeros((1, 2)))
        ax = bars(whyodd.explain(network, np.zeros((1, 2)), exclude_self=False))
        assert (widths(ax) == 0).all()
        assert ax.get_xlim()[0] < ax.get_xlim()[1]


class TestBeeswarm:
    def test_a_dot_for_each_row_at_its_relevance(self, cancer):
        ax = beeswarm(cancer, 4)
        order = main(cancer.relevance.mean(axis=0), 4)
        assert row_labels(ax) == [cancer.feature_names[c] for c in order]
        assert len(ax.collections) == 4
        for place, (dots, c) in enumerate(zip(ax.collections, order, strict=True)):
            x, y = dots.get_offsets().T
            np.testing.assert_allclose(x, cancer.relevance[:, c])
            assert np.abs(y - place).max() < 0.5
            colours = [to_hex(colour).upper() for colour in dots.get_facecolors()]
            assert colours == [COLOURS[sign] for sign in cancer.direction[:, c].tolist()]
        (zero,) = across_at(ax, 0.0)
        assert zero.get_color() == BLACK
        assert zero.get_zorder() < ax.collections[0].get_zorder()

    def test_legend_has_the_colours_of_the_dots(self, cancer):
        assert legend_colours(beeswarm(cancer, 4)) == {"too high": VERMILLION, "too low": BLUE}
        same = whyodd.explain(whyodd.DistanceNetwork([[0.0, 0.0]]), [[0.0, 3.0]])
        assert legend_colours(beeswarm(same)) == {"too high": VERMILLION, "neither": GREEN}

    def test_dots_do_not_cover_each_other(self):
        x = np.random.default_rng(0).normal(size=80)
        y = offsets(x, 0.2, 0.02)
        gap = np.maximum(np.abs(x[:, None] - x) / 0.2, np.abs(y[:, None] - y) / 0.02)
        assert gap[~np.eye(80, dtype=bool)].min() > 1 - 1e-9

    def test_too_many_dots_stay_in_their_row(self):
        y = offsets(np.zeros(1000), 1.0, 0.1)
        assert np.abs(y).max() == pytest.approx(0.4)
        assert len(np.unique(y)) == 9

    def test_a_sample_of_many_rows_from_the_oddest_to_the_least_odd(self):
        rows = np.random.default_rng(0).normal(size=(5500, 2))
        e = whyodd.explain(whyodd.DistanceNetwork(np.zeros((1, 2))), rows)
        ax = beeswarm(e)
        assert ax._left_title.get_text() == "5,000 of 5,500 rows, evenly sampled"
        drawn = np.sum([dots.get_offsets()[:, 0] for dots in ax.collections], axis=0)
        assert drawn.size == 5000
        sums = e.relevance.sum(axis=1)
        assert (drawn.min(), drawn.max()) == pytest.approx((sums.min(), sums.max()))

    def test_a_few_far_off_make_the_axis_logarithmic(self):
        e = whyodd.explain(whyodd.DistanceNetwork(np.zeros((1, 1))), np.append(np.ones(50), 30.0)[:, None])
        ax = beeswarm(e)
        assert ax.get_xscale() == "symlog"
        assert ax.get_xlabel() == "relevance (logarithmic beyond 1)"
        assert ax.get_xlim()[1] > e.relevance.max()
        assert beeswarm(e[:50]).get_xscale() == "linear"


class TestExpected:
    def test_value_expected_and_usual_range_on_the_axis_of_each_variable(self):
        centers = np.column_stack([np.linspace(0, 10, 41), np.linspace(-3, 3, 41)])
        e = whyodd.explain(whyodd.DistanceNetwork(centers), np.array([[7.0, -2.0]]))
        ax = expected(e)
        low, high = np.percentile(centers, [5, 95], axis=0)
        order = main(e.relevance[0], 2)
        dots = [line for line in ax.lines if line.get_marker() == "o"]
        marks = [line for line in ax.lines if line.get_marker() == "None"]
        for c, band, dot, mark in zip(order, ax.patches, dots, marks, strict=True):
            size = high[c] - low[c]
            assert (band.get_x(), band.get_width()) == (0.0, 1.0)
            assert dot.get_xdata()[0] == pytest.approx((e.data[0, c] - low[c]) / size)
            assert mark.get_xdata()[0] == pytest.approx((e.expected[0, c] - low[c]) / size)
        assert sorted(written(ax)) == ["-2.7", "0.5", "2.7", "9.5"]
        told = {"usual range": LIGHT_GREY, "expected": BLACK, "too high": VERMILLION, "too low": BLUE}
        assert legend_colours(ax) == told

    def test_units_of_the_data_behind_a_pipeline(self, cancer):
        data = load_breast_cancer(as_frame=True)
        centers = data.data[data.target == 1].to_numpy()[cancer.network.rows]
        ax = expected(cancer, 0, 1)
        column = main(cancer.relevance[0], 1)[0]
        ends = np.percentile(centers[:, column], [5, 95])
        assert [float(text) for text in written(ax)[:2]] == pytest.approx(ends.tolist(), rel=0.01)

    @pytest.mark.parametrize(("value", "sign", "text"), [(900.0, ">", "900"), (-900.0, "<", "-900")])
    def test_a_value_far_outside_is_an_arrow_with_its_number(self, value, sign, text):
        network = whyodd.DistanceNetwork(np.linspace(0, 1, 9)[:, None])
        ax = expected(whyodd.explain(network, [[value]]))
        assert [line.get_marker() for line in ax.lines] == ["None", sign]
        assert text in written(ax)
        left, right = ax.get_xlim()
        assert left < ax.lines[1].get_xdata()[0] < right

    def test_a_variable_that_never_varied(self):
        scale = Scale.of(np.full(5, 3.0), Reason("a", 5.0, 3.0, 1, 1.0, 1.0))
        assert (scale.at(3.0), scale.at(5.0)) == (0.5, 1.5)

    def test_categories_in_words(self):
        random = np.random.default_rng(0)
        normal = pd.DataFrame(
            {"amount": random.normal(size=80), "protocol": random.choice(["tcp", "udp"], 80)}
        )
        odd = pd.DataFrame({"amount": [0.5, 0.5, 0.5], "protocol": ["$icmp$", "$tcp$", None]})
        e = whyodd.explain(whyodd.auto(normal.replace("tcp", "$tcp$")), odd)
        told = {
            0: f"instead of {e.expected[0, 1]!r}",
            1: "as expected",
            2: f"instead of {e.expected[2, 1]!r}",
        }
        assert e.expected[1, 1] == "$tcp$"
        for i, words in told.items():
            (text,) = [text for text in expected(e, i).texts if text.get_text() == words]
            assert not text.get_parse_math()

    def test_a_group_in_words_inside_the_axes(self):
        rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "c"])
        rows.iloc[0] = 30.0
        model = whyodd.OneClassSVM(nu=0.3).fit(rows[1:])
        ax = expected(whyodd.explain(model, rows, groups={"both": ["a", "b"], "c": ["c"]}))
        (text,) = [text for text in ax.texts if text.get_text().startswith("instead of a ")]
        boxes = text_boxes(ax)
        assert hides(boxes) == []
        assert ax.get_window_extent().x0 < text.get_window_extent().x0


class TestFlipping:
    def test_mean_of_curves_with_errors_the_best_first(self, cancer):
        random = np.random.default_rng(0).random(cancer.relevance.shape)
        curves = flip(cancer.network, cancer.inputs, {"a $x_1$": random, "dtd": cancer.relevance})
        ax = flipping(curves)
        for line, shade, name in zip(ax.lines, ax.collections, ["dtd", "a $x_1$"], strict=True):
            falls = curves[name] / curves[name][:, :1]
            x, y = line.get_data()
            np.testing.assert_allclose(x, np.linspace(0, 100, 31))
            np.testing.assert_allclose(y, falls.mean(axis=0))
            corners = shade.get_paths()[0].vertices
            error = falls[:, 10].std(ddof=1) / np.sqrt(len(falls))
            heights = corners[np.isclose(corners[:, 0], x[10]), 1]
            assert np.ptp(heights) == pytest.approx(2 * error)
            (fill,) = shade.get_facecolors()
            assert to_hex(fill).upper() == line.get_color()
            assert 0.1 < fill[3] < 0.5  # seen, and not for more than the line
        assert legend_texts(ax)[0] == f"dtd: area {area(curves['dtd']).mean():.3f}"
        assert legend_texts(ax)[1].startswith("a $x_1$: area ")
        assert list(legend_colours(ax).values()) == [BLUE, VERMILLION]

    def test_many_methods_with_long_names_can_be_told_apart(self):
        ax = flipping({f"{j} {'long ' * 30}": [[2.0, 2.0 - j / 12, 0.0]] for j in range(12)})
        assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 12
        boxes = text_boxes(ax)
        assert hides(boxes) == []
        assert cut(ax, boxes) == []

    def test_wrong_curves(self):
        with pytest.raises(TypeError, match=r"pass \{'dtd': curves\}"):
            flipping(np.ones((3, 4)))
        with pytest.raises(ValueError, match="at least one method"):
            flipping({})
        with pytest.raises(ValueError, match=r"'dtd' have shape \(0, 4\)"):
            flipping({"dtd": np.ones((0, 4))})


class TestScores:
    def test_counts_of_all_rows_and_how_many_are_above(self, cancer):
        threshold = float(np.quantile(cancer.outlierness, 0.9))
        ax = scores(cancer, threshold)
        counts = np.array([bar.get_height() for bar in ax.patches])
        above = np.array([fill == VERMILLION for fill in fills(ax)])
        expected_above = int((cancer.outlierness > threshold).sum())
        assert counts.sum() == 120
        assert counts[above].sum() == expected_above
        edges = bin_edges(cancer.outlierness, threshold)
        assert threshold in edges
        np.testing.assert_array_equal(
            counts[~above] + counts[above], np.histogram(cancer.outlierness, edges)[0]
        )
        (text,) = legend_texts(ax)
        assert text.endswith(f": {expected_above} of 120 rows above")
        (line,) = across_at(ax, threshold)
        assert (line.get_color(), line.get_linestyle()) == (BLACK, "--")
        (sign,) = ax.get_legend().legend_handles
        assert (sign.get_color(), sign.get_linestyle()) == (BLACK, "--")
        boxes = text_boxes(ax)
        assert (hides(boxes), cut(ax, boxes)) == ([], [])
        rug = next(line for line in ax.lines if line.get_marker() == "|")
        np.testing.assert_allclose(rug.get_xdata(), np.sort(cancer.outlierness)[-20:])

    def test_skewed_counts_are_logarithmic(self):
        network = whyodd.DistanceNetwork(np.zeros((1, 1)))
        rows = np.concatenate([np.full(99, 1.0), [9.0]])[:, None]
        assert scores(whyodd.explain(network, rows)).get_yscale() == "log"
        assert scores(whyodd.explain(network, rows[90:])).get_yscale() == "linear"

    def test_one_row_and_a_threshold_beyond_all(self, cancer):
        ax = scores(cancer[:1], 1e9)
        assert legend_texts(ax) == ["threshold 1e+09: 0 of 1 rows above"]
        with pytest.raises(ValueError, match="threshold=nan: expected a number"):
            scores(cancer, np.nan)


class TestAll:
    @pytest.mark.parametrize("plot", [*OF_ONE_ROW, beeswarm])
    @pytest.mark.parametrize("names", ["long", "hostile"])
    def test_no_text_covers_another_or_is_cut(self, plot, names, request):
        ax = plot(request.getfixturevalue(names))
        boxes = text_boxes(ax)
        assert len(boxes) > 5
        assert hides(boxes) == []
        assert cut(ax, boxes) == []

    def test_sixty_rows_of_long_names(self, long):
        ax = bars(long, k=60)
        assert len(row_labels(ax)) == 61
        assert hides(text_boxes(ax)) == []

    @pytest.mark.parametrize("plot", [*OF_ONE_ROW, beeswarm])
    def test_hostile_names_are_text(self, hostile, plot):
        ax = plot(hostile)
        drawn = [text.replace(" =\n", " = ") for text in row_labels(ax)]
        longest = 36 if plot is beeswarm else 30
        for name in HOSTILE:
            shown = title_of(name, longest) or "''"
            assert len(shown) <= longest
            assert any(text == shown or text.startswith(f"{shown} = ") for text in drawn)
        assert not any(text.get_parse_math() for text in ax.get_yticklabels())

    @pytest.mark.parametrize("plot", OF_EXPLANATIONS)
    def test_axes_given_are_used_and_no_figure_is_opened(self, cancer, plot):
        figure = mpl.figure.Figure(figsize=(12, 5), layout="constrained")
        left, right = figure.subplots(1, 2)
        assert plot(cancer, ax=right) is right
        assert not left.has_data()
        assert right.has_data()
        assert plt.get_fignums() == []

    def test_axes_given_for_flipping(self):
        ax = mpl.figure.Figure().subplots()
        assert flipping({"dtd": [[1.0, 0.0]]}, ax=ax) is ax
        assert plt.get_fignums() == []

    @pytest.mark.parametrize("plot", OF_EXPLANATIONS)
    def test_no_rows(self, cancer, plot):
        with pytest.raises(ValueError, match="no rows: there is nothing to draw"):
            plot(cancer[:0])

    @pytest.mark.parametrize("plot", [*OF_ONE_ROW, beeswarm])
    @pytest.mark.parametrize("k", [0, -1, 1.5, True])
    def test_wrong_k(self, cancer, plot, k):
        with pytest.raises(ValueError, match="expected a number of variables"):
            plot(cancer, k=k)

    @pytest.mark.parametrize("plot", OF_ONE_ROW)
    @pytest.mark.parametrize("i", [120, -121, "a", 0.5])
    def test_wrong_row(self, cancer, plot, i):
        with pytest.raises(IndexError, match="expected one of the 120 rows explained"):
            plot(cancer, i)

    @pytest.mark.parametrize("plot", OF_ONE_ROW)
    def test_title_names_the_row_of_the_data(self, cancer, plot):
        ax = plot(cancer[[7, 5]], -1)
        assert ax._left_title.get_text().startswith("Row 5: outlierness ")

    def test_found_by_name(self):
        for plot in (*OF_EXPLANATIONS, flipping):
            assert PLOTS[plot.__name__] is plot

    @pytest.mark.parametrize("plot", OF_EXPLANATIONS)
    def test_without_matplotlib(self, cancer, plot, monkeypatch):
        for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'whyodd\[plots\]'"):
            plot(cancer)


def test_label_on_one_line_or_two():
    assert label(Reason("amount", 12000.0, 35.5, 1, 1.0, 0.5)) == "amount = 12000, expected 35.5"
    assert label(Reason("a" * 50, 1.0, 2.0, -1, 1.0, 0.5)) == f"{title_of('a' * 50, 30)} =\n1, expected 2"
    assert label(Reason("age", None, 35.5, 0, 1.0, 0.5)) == "age = missing, expected 35.5"
    assert label(Reason("land", 1.0, 0.0, 1, 1.0, 1.0, never_varied=True)) == "land = 1, always 0"
    assert label(Reason("when", "x", None, 0, 1.0, 1.0)) == "when = 'x'"


def test_other_kinds_of_explanations_are_told_what_draws_them():
    table = whyodd.explain(whyodd.DistanceNetwork([[0.0, 0.0], [1.0, 0.0]]), [[0.5, 2.0]])
    image = np.random.default_rng(0).normal(size=(6, 6))
    patches = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3, 3)).fit(image).explain(image)
    for draw in (whyodd.plots.waterfall, whyodd.plots.bars, whyodd.plots.expected, whyodd.plots.beeswarm):
        with pytest.raises(TypeError, match=r"got PatchExplanation\. Draw images with heatmap"):
            draw(patches)
    for draw in (whyodd.plots.heatmap, whyodd.plots.heatmaps, whyodd.plots.series, whyodd.plots.strangest):
        with pytest.raises(TypeError, match=r"got Explanation\. Draw rows of tables with bars"):
            draw(table)


def test_a_row_at_the_threshold_is_drawn_below_it(cancer):
    threshold = float(
        np.sort(cancer.outlierness)[-5]
    )  # as of fdr=, where the threshold is the score of a row
    ax = scores(cancer, threshold=threshold)
    blue = [bar for bar in ax.patches if to_hex(bar.get_facecolor()) == to_hex(BLUE) and bar.get_height() > 0]
    assert blue
    assert max(bar.get_x() + bar.get_width() for bar in blue) <= threshold * (1 + 1e-9)
    assert sum(bar.get_height() for bar in blue) == len(cancer.outlierness) - 4
