"""Pictures of series show what was explained, also where series are long, wide or full of gaps."""

import itertools
import time

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import QuadMesh
from matplotlib.dates import num2date

import whyodd
from whyodd.patches.colours import common_limit
from whyodd.plots.series import judged, series
from whyodd.plots.time_axis import Cells

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def explained(test, width=5, train=None, stride=1, **options):
    train = test if train is None else train
    model = whyodd.PatchModel(
        whyodd.OneClassSVM(nu=0.2), patch=(width,), stride=stride, max_patches=200, random_state=0, **options
    )
    return model.fit(train).explain(test, names=["pump 7"])


def frame(values, names=None, jumps=()):
    values = np.atleast_2d(values.T).T
    hours = np.arange(len(values)) + sum(24 * (np.arange(len(values)) >= jump) for jump in jumps)
    times = np.datetime64("2024-03-01T00", "us") + hours * np.timedelta64(3_600_000_000, "us")
    names = names or [f"s{c}" for c in range(values.shape[1])]
    return pl.DataFrame({"when": times, **{name: values[:, c] for c, name in enumerate(names)}})


def shading(ax):
    (mesh,) = [child for child in ax.collections if isinstance(child, QuadMesh)]
    return mesh


def rows(figure):
    return [ax for ax in figure.axes[1:] if ax.get_title(loc="left")]


def texts(figure):
    return " ".join(text.get_text() for text in figure.findobj(match=plt.Text))


class TestShort:
    """Each step is a cell of its own."""

    def test_values_and_relevance_as_they_are(self):
        e = explained(RANDOM.normal(size=(60, 3)))
        figure = series(e)
        heat = e.heatmap(0)
        order = np.argsort(-heat.sum(axis=0))
        assert len(rows(figure)) == 3
        for ax, channel in zip(rows(figure), order, strict=True):
            np.testing.assert_allclose(shading(ax).get_array().ravel(), heat[:, channel])
            x, y = ax.lines[0].get_data()
            np.testing.assert_array_equal(x[::2], np.arange(60))
            np.testing.assert_array_equal(y[::2], e.data[0][:, channel])
            assert ax.get_title(loc="left").startswith(f"{e.channels[channel]}: ")

    def test_one_scale_of_colours_for_all_channels(self):
        e = explained(RANDOM.normal(size=(60, 3)))
        for limit in (None, 7.5):
            for ax in rows(series(e, limit=limit)):
                assert shading(ax).norm.vmin == 0.0
                assert shading(ax).norm.vmax == (limit or common_limit(e.relevance))

    def test_the_strip_on_top_sums_over_all_channels(self):
        e = explained(RANDOM.normal(size=(60, 3)))
        strip = series(e, top=1).axes[0]
        outline = strip.collections[0].get_paths()[0].vertices
        total = e.heatmap(0).sum(axis=1)
        for step in range(60):
            assert outline[outline[:, 0] == step, 1].max() == pytest.approx(total[step])

    def test_the_rest_in_words(self):
        e = explained(RANDOM.normal(size=(60, 5)))
        figure = series(e, top=2)
        heat = np.sort(e.heatmap(0).sum(axis=0))[::-1]
        assert len(rows(figure)) == 2
        assert f"3 more channels have {100 * heat[2:].sum() / e.outlierness[0]:.0f} %" in texts(figure)
        assert f"{100 * e.unexplained[0] / e.outlierness[0]:.0f} % of the outlierness belongs to no" in texts(
            figure
        )
        assert "more channel" not in texts(series(e))

    def test_one_channel_without_an_axis_for_it(self):
        e = explained(RANDOM.normal(size=40))
        (ax,) = rows(series(e))
        np.testing.assert_allclose(shading(ax).get_array().ravel(), e.heatmap(0))

    def test_a_series_of_several(self):
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(5,))
        parts = [RANDOM.normal(size=40), RANDOM.normal(size=50)]
        e = model.fit(parts).explain(parts, names=["first", "second"])
        assert shading(rows(series(e, 1))[0]).get_array().size == 50
        assert "second" in texts(series(e, -1))
        with pytest.raises(IndexError):
            series(e, 2)


class TestTime:
    def test_dates_and_jumps(self):
        e = explained(frame(RANDOM.normal(size=(60, 2)), jumps=[20, 45]))
        ax = rows(series(e))[-1]
        edges = shading(ax).get_coordinates()[0, :, 0]
        assert num2date(edges[0]).isoformat() == "2024-02-29T23:30:00+00:00"
        assert shading(ax).get_array().size == 62
        hidden = np.flatnonzero(np.ma.getmaskarray(shading(ax).get_array().ravel()))
        assert hidden.tolist() == [20, 46]
        np.testing.assert_allclose(np.diff(edges)[hidden], 1.0, atol=1e-6)  # a day each
        assert np.isnan(ax.lines[0].get_ydata()[40:42]).all()
        figure = ax.figure
        figure.canvas.draw()
        labels = [label.get_text() for label in ax.get_xticklabels()]
        assert 3 <= len(labels) <= 12
        assert any(label in ("02", "03", "Mar") for label in labels)

    def test_zone_is_told(self):
        zoned = frame(RANDOM.normal(size=50)).with_columns(pl.col("when").dt.replace_time_zone("UTC"))
        assert rows(series(explained(zoned)))[-1].get_xlabel() == "time (UTC)"

    def test_marks_are_drawn_within_the_picture(self):
        e = explained(frame(RANDOM.normal(size=50)))
        marks = [("2024-03-01T10:00", "2024-03-01T20:00"), ("2024-03-02T20", "2025-01-01"), ("2023", "2024")]
        strip = series(e, marks=marks).axes[0]
        spans = [line.get_xdata() for line in strip.lines if line.get_linewidth() == 4]
        assert len(spans) == 2  # the third is before the series
        assert num2date(spans[0][0]).hour == 10
        assert spans[1][1] == strip.get_xlim()[1]

    def test_marks_by_step(self):
        strip = series(explained(RANDOM.normal(size=50)), marks=[(10, 20)]).axes[0]
        assert list(strip.lines[0].get_xdata()) == [10, 20]


class TestGaps:
    def test_a_gap_breaks_the_line_and_is_grey(self):
        values = RANDOM.normal(size=(60, 2))
        values[30:33, 1] = np.nan
        e = explained(values)
        figure = series(e)
        assert "grey" in texts(figure)
        for ax in rows(figure):
            hidden = np.ma.getmaskarray(shading(ax).get_array().ravel())
            assert np.flatnonzero(hidden).tolist() == [30, 31, 32]
        broken = rows(figure)[list(np.argsort(-e.heatmap(0).sum(axis=0))).index(1)]
        assert np.isnan(broken.lines[0].get_ydata()[60:66]).all()
        assert "grey" not in texts(series(explained(RANDOM.normal(size=60))))

    @pytest.mark.parametrize("stride", [1, 3])
    @pytest.mark.parametrize("options", [{}, {"border": "edge"}, {"scale": 2}])
    def test_judged_by_some_window_against_a_plain_loop(self, stride, options):
        values = RANDOM.normal(size=80)
        values[[11, 30, 33, 60]] = np.nan
        e = explained(values, train=RANDOM.normal(size=80), width=4, stride=stride, **options)
        size, seen = options.get("scale", 1), np.zeros(80, dtype=bool)
        for window, score in enumerate(e.score_maps[0][0]):
            start = size * (stride * window - (1 if options.get("border") else 0))
            for step in range(start, start + 4 * size):
                if 0 <= step < 80 and np.isfinite(score):
                    seen[step] = True
        assert 0 < (~seen).sum() < 40
        np.testing.assert_array_equal(judged(e, 0), seen)

    def test_a_channel_that_never_varies_and_one_value_alone(self):
        values = np.column_stack([RANDOM.normal(size=60), np.full(60, 3.0)])
        low, high = rows(series(explained(values, train=values)))[1].get_ylim()
        assert low < 3.0 < high


class TestLong:
    def test_cells_against_a_plain_loop(self):
        values = RANDOM.normal(size=4000)
        e = explained(frame(values, jumps=[100, 2501]), train=frame(values[:300]))
        cells = Cells.of(e.items[0])
        heat, ends = cells.largest(e.heatmap(0)[:, 0]), cells.ends(values)
        place = step = 0
        while step < 4000:
            if step in (100, 2501):
                assert np.isnan(heat[place])
                assert np.isnan(ends[place]).all()
                place += 1
            stop = min([step + 3, 4000, *(jump for jump in (100, 2501) if jump > step)])
            assert heat[place] == max(e.heatmap(0)[step:stop, 0])
            assert ends[place].tolist() == [min(values[step:stop]), max(values[step:stop])]
            step, place = stop, place + 1
        assert place == heat.size == len(cells.edges) - 1
        assert (np.diff(cells.edges) > 0).all()

    def test_quick_and_the_peak_is_there(self, tmp_path):
        values = RANDOM.normal(size=(20_000, 2))
        values[12_345, 1] = 40.0
        e = explained(values, train=values[:500])
        start = time.perf_counter()
        figure = series(e)
        figure.savefig(tmp_path / "long.png")
        assert time.perf_counter() - start < 10.0  # about half a second; axes full of rectangles take minutes
        (ax,) = [ax for ax in rows(figure) if ax.get_title(loc="left").startswith("channel 1")]
        assert ax.lines[0].get_ydata().max() == 40.0
        assert ax.lines[0].get_ydata().size < 4000
        assert shading(ax).get_array().max() == e.heatmap(0)[:, 1].max()


def drawn_labels(axis):
    low, high = axis.get_view_interval()
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [label for tick in ticks for label in (tick.label1, tick.label2) if label.get_visible()]


@pytest.mark.full
@pytest.mark.parametrize(("channels", "top"), [(1, 8), (3, 8), (60, 8), (60, 20)])
def test_nothing_overlaps(channels, top):
    long = (
        "plant/line/a very long name of a sensor, with $money$ and_under_scores, in kilopascal per hour no. "
    )
    e = explained(frame(1e6 * RANDOM.normal(size=(80, channels)), [f"{long}{c}" for c in range(channels)]))
    figure = series(e, top=top, marks=[("2024-03-02", "2024-03-03")])
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    written = [text for ax in figure.axes for text in (ax._left_title, ax.xaxis.label, ax.yaxis.label)]
    written += [label for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) for label in drawn_labels(axis)]
    renderer = figure.canvas.get_renderer()
    found = [(text.get_window_extent(renderer), text.get_text()) for text in (*written, *figure.texts)]
    found = [(box, text) for box, text in found if text]
    assert len(found) > 8
    for box, text in found:
        assert box.x0 >= 0, text
        assert box.x1 <= width, text
        assert box.y0 >= 0, text
        assert box.y1 <= height, text
    pairs = itertools.combinations(found, 2)
    assert not [(one, other) for (box, one), (beside, other) in pairs if box.overlaps(beside)]


def test_what_it_is_not_for():
    with pytest.raises(ValueError, match="expected series, got images"):
        series(
            whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(2, 2)).fit(np.eye(5)).explain(np.eye(5))
        )
    e = explained(RANDOM.normal(size=30))
    for top in (0, 1.5, True):
        with pytest.raises(ValueError, match="expected a number of channels"):
            series(e, top=top)


def test_on_a_figure_of_ones_own():
    figure = plt.figure(figsize=(6, 4), layout="constrained")
    assert series(explained(RANDOM.normal(size=30)), 0, figure) is figure
    figure.canvas.draw()
