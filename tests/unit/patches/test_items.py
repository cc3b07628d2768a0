"""Series as people have them: frames of every kind, times with gaps and jumps, channels by name."""

import datetime as dt
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whyodd
from whyodd.patches.items import as_items
from whyodd.patches.places import place_text
from whyodd.patches.strangest import StrangePatch

HOUR = dt.timedelta(hours=1)
START = dt.datetime(2024, 3, 1)
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


def hours(count, jumps=()):
    """Times an hour apart, except that before the steps in ``jumps`` five more hours pass."""
    at, times = START, []
    for step in range(count):
        at += HOUR * (6 if step in jumps else 1)
        times.append(at)
    return times


def one(frame, time=None):
    (item,) = as_items(frame, 1, time)
    return item


def window(start, stop):
    return StrangePatch((start,), (stop,), 1.0, 1.0, np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)), None)


@pytest.mark.parametrize("kind", KINDS)
class TestFrames:
    def test_dates_tell_the_time_and_numbers_are_channels(self, kind):
        frame = KINDS[kind](
            {"on": [True, False, True], "when": hours(3), "word": list("abc"), "b": [1, 2, 4]}
        )
        item = one(frame)
        assert item.channels == ("on", "b")
        assert item.given.tolist() == [[1.0, 1.0], [0.0, 2.0], [1.0, 4.0]]
        assert item.values is item.given
        assert item.times.tolist() == hours(3)
        assert item.is_named
        assert not item.is_utc

    def test_nothing_is_a_gap(self, kind):
        item = one(KINDS[kind]({"a": [1, None, 3], "b": [0.5, float("nan"), None]}))
        assert item.times is None
        np.testing.assert_array_equal(item.given, [[1, 0.5], [np.nan, np.nan], [3, np.nan]])

    def test_days(self, kind):
        days = [dt.date(2024, 2, 27) + dt.timedelta(days=i) for i in range(4)]
        frame = KINDS[kind]({"day": pd.to_datetime(days) if kind == "pandas" else days, "a": [1.0] * 4})
        assert one(frame).times[2] == np.datetime64("2024-02-29")

    def test_a_named_column_of_numbers_tells_the_time(self, kind):
        frame = KINDS[kind](
            {"t": [0.0, 0.1, 0.2, 0.3, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6], "a": range(12)}
        )
        assert one(frame).channels == ("t", "a")
        item = one(frame, "t")
        assert item.channels == ("a",)
        assert item.jumps.tolist() == [4]

    def test_rising_numbers_called_time_tell_it(self, kind):
        rising = {"a": [1.0, 2.0, 4.0], "Timestamp": [1700000000, 1700000060, 1700000120]}
        assert one(KINDS[kind](rising)).channels == ("a",)
        assert one(KINDS[kind]({**rising, "Timestamp": [3.0, 1.0, 2.0]})).channels == ("a", "Timestamp")

    def test_texts_do_not_tell_the_time(self, kind):
        frame = KINDS[kind]({"when": ["01/03/2024", "02/03/2024"], "a": [1.0, 2.0]})
        assert one(frame).times is None
        with pytest.raises(
            ValueError, match=r"dates or numbers in the time column 'when' of the item, got '01/03/2024'"
        ):
            one(frame, "when")

    def test_time_must_be_known_and_go_forward(self, kind):
        times = hours(5)
        for wrong, message in (
            ([*times[:3], times[2], times[4]], r"not go forward at row 3 of the item \(column 'when'"),
            (
                [*times[:3], times[1], times[4]],
                "not go forward at row 3 .* Sort the rows by it, and keep one",
            ),
            ([*times[:3], None, times[4]], r"Row 3 of the item has no time \(column 'when'\)"),
        ):
            with pytest.raises(ValueError, match=message):
                one(KINDS[kind]({"when": wrong, "a": range(5)}))

    def test_irregular_steps(self, kind):
        times = [START + HOUR * i * i for i in range(12)]
        with pytest.raises(ValueError, match=r"irregular: .* of 11 differ .* Resample"):
            one(KINDS[kind]({"when": times, "a": range(12)}))

    def test_unknown_or_several_times(self, kind):
        frame = KINDS[kind]({"from": hours(3), "to": hours(3), "a": range(3)})
        with pytest.raises(ValueError, match=r"no column 'when'. It has: 'from', 'to', 'a'"):
            one(frame, "when")
        with pytest.raises(ValueError, match=r"several date columns: 'from', 'to'. Pass the one"):
            one(frame)
        assert one(frame, "to").channels == ("a",)


def test_frames_without_numbers():
    with pytest.raises(ValueError, match="without a numeric column"):
        one(pl.DataFrame({"when": hours(2), "word": ["a", "b"]}))
    with pytest.raises(ValueError, match=r"shape \(0, 1\)"):
        one(pl.DataFrame({"a": pl.Series([], dtype=pl.Float64)}))


def test_infinite_values():
    with pytest.raises(ValueError, match="infinite"):
        one(pd.DataFrame({"a": [1.0, np.inf]}))


@pytest.mark.parametrize("name", [None, "when"])
def test_an_index_of_dates_tells_the_time(name):
    frame = pd.DataFrame({"a": np.arange(4.0)}, index=pd.DatetimeIndex(hours(4), name=name))
    assert one(frame).times.tolist() == hours(4)
    assert one(frame, name).channels == ("a",)
    assert one(frame.reset_index(drop=True)).times is None


def test_time_zones_become_utc_and_a_clock_set_back_does_not_matter():
    times = pd.date_range("2024-10-27 00:30", periods=8, freq="30min", tz="Europe/Berlin")
    item = one(pd.DataFrame({"when": times, "a": np.arange(8.0)}))
    assert item.is_utc
    assert item.times[0] == np.datetime64("2024-10-26T22:30")
    assert item.jumps.size == 0
    assert place_text(window(0, 2), item) == "2024-10-26 22:30:00 to 2024-10-26 23:00:00 (UTC)"


def test_durations_and_fractions_of_seconds():
    item = one(pl.DataFrame({"t": [dt.timedelta(seconds=0.5 * i) for i in range(4)], "a": range(4)}), "t")
    assert place_text(window(1, 4), item) == "0.5 s to 1.5 s"
    item = one(pl.DataFrame({"t": [START + dt.timedelta(milliseconds=i) for i in range(4)], "a": range(4)}))
    assert place_text(window(0, 2), item) == "2024-03-01 00:00:00 to 2024-03-01 00:00:00.001"


class TestJumps:
    """Against a plain loop: a series is cut at its jumps, and every part is looked at by itself."""

    @given(st.integers(4, 40), st.data())
    def test_steps_of_values_and_of_what_was_given(self, count, data):
        jumps = sorted(data.draw(st.sets(st.integers(1, count - 1), max_size=max((count - 1) // 11, 0))))
        item = one(pl.DataFrame({"when": hours(count, jumps), "a": np.arange(float(count))}))
        expected = []
        for step in range(count):
            expected += [np.nan, float(step)] if step in jumps else [float(step)]
        np.testing.assert_array_equal(item.values[:, 0], expected)
        assert item.jumps.tolist() == jumps
        # A number that tells the step is its own place: also as relevance, and as the start of a window.
        np.testing.assert_array_equal(item.as_given(item.values), item.given)
        for place, step in enumerate(expected):
            if np.isnan(step):
                continue
            assert item.steps_given(np.array([place])).tolist() == [step]
            placed = item.placed(window(place, place + 1))
            assert (placed.start, placed.stop) == ((int(step),), (int(step) + 1,))

    @pytest.mark.parametrize("stride", [1, 3])
    def test_explained_as_parts_between_the_jumps(self, stride):
        random = np.random.default_rng(0)
        values = random.normal(size=(90, 2))
        bounds = [0, 30, 37, 39, 90]  # one part is shorter than a window
        frame = pl.DataFrame({"when": hours(90, bounds[1:-1]), "a": values[:, 0], "b": values[:, 1]})
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=2.0), patch=(5,), stride=stride)
        model.fit(random.normal(size=(60, 2)))
        e = model.explain(frame)
        relevance, total, best = np.zeros((90, 2)), 0.0, (0.0, 0, 0.0)
        for added, (start, stop) in enumerate(itertools.pairwise(bounds)):
            first = -(start + added) % stride  # windows stand every so many steps of all, jumps included
            if stop - start - first >= 5:
                part = model.explain(values[start + first : stop])
                relevance[start + first : stop] += part.heatmap(0)
                total += part.outlierness[0]
                strange = part.strangest(0)
                place = start + first + strange.start[0]
                best = max(best, (strange.relevance.sum(), place, strange.outlierness))
        np.testing.assert_allclose(e.heatmap(0), relevance, rtol=1e-9, atol=1e-12)
        assert e.outlierness[0] == pytest.approx(total, rel=1e-9)
        strange = e.strangest(0)
        assert strange.relevance.sum() == pytest.approx(best[0], rel=1e-9)
        assert (strange.start[0], strange.outlierness) == (best[1], pytest.approx(best[2], rel=1e-9))
        np.testing.assert_array_equal(strange.values, values[strange.start[0] : strange.stop[0]])

    def test_windows_with_a_gap_are_left_out(self):
        random = np.random.default_rng(1)
        values = random.normal(size=(40, 2))
        values[17, 1] = np.nan
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=2.0), patch=(5,)).fit(
            random.normal(size=(60, 2))
        )
        e = model.explain(values)
        before, after = (model.explain(part) for part in (values[:17], values[18:]))
        np.testing.assert_allclose(e.heatmap(0)[:17], before.heatmap(0), rtol=1e-9)
        np.testing.assert_allclose(e.heatmap(0)[18:], after.heatmap(0), rtol=1e-9)
        assert not e.heatmap(0)[17].any()
        assert np.flatnonzero(np.isnan(e.score_maps[0][0])).tolist() == [13, 14, 15, 16, 17]


class TestChannelsByName:
    @pytest.fixture
    def model(self):
        values = np.random.default_rng(2).normal(size=(60, 3)) * [1.0, 5.0, 20.0]
        frame = pd.DataFrame(values, columns=["a", "b", "c"])
        return whyodd.PatchModel(whyodd.KernelDensity(sigma=2.0), patch=(4,), standardize=True).fit(frame)

    @pytest.fixture
    def frame(self):
        return pl.DataFrame(np.random.default_rng(3).normal(size=(30, 3)), schema=["a", "b", "c"])

    def test_order_does_not_matter(self, model, frame):
        straight = model.explain(frame)
        turned = model.explain(frame.select("c", "a", "b"))
        assert turned.channels == ("a", "b", "c")
        np.testing.assert_array_equal(turned.heatmap(0), straight.heatmap(0))
        np.testing.assert_array_equal(turned.data[0], frame.to_numpy())
        assert model.outlierness(frame.select("b", "c", "a")) == model.outlierness(frame)

    def test_what_was_not_in_fit_is_left_out(self, model, frame):
        more = frame.select("a", pl.col("b").alias("extra"), "b", "c")
        np.testing.assert_array_equal(model.explain(more).heatmap(0), model.explain(frame).heatmap(0))

    def test_missing_channels_are_named(self, model, frame):
        with pytest.raises(ValueError, match=r"no channel 'b'. Pass the channels used in fit: a, b, c"):
            model.explain(frame.rename({"b": "B"}))
        with pytest.raises(ValueError, match="no channel 'b' and no channel 'c'"):
            model.explain(frame.select("a"))

    def test_arrays_are_matched_by_position(self, model, frame):
        plain = model.explain(frame.to_numpy())
        np.testing.assert_array_equal(plain.heatmap(0), model.explain(frame).heatmap(0))
        with pytest.raises(ValueError, match=r"2 channel\(s\), the model was fitted on 3: a, b, c"):
            model.explain(frame.to_numpy()[:, :2])

    def test_a_frame_for_a_model_of_arrays(self, frame):
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=2.0), patch=(4,)).fit(frame.to_numpy())
        np.testing.assert_array_equal(
            model.explain(frame).heatmap(0), model.explain(frame.to_numpy()).heatmap(0)
        )

    def test_the_training_frame_is_known_again_in_any_order(self, frame):
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=2.0), patch=(4,)).fit(frame)
        assert model.explain(frame.select("c", "b", "a")).twins == (0,)


def test_the_time_column_of_fit_is_remembered():
    steps = np.arange(24.0)
    frame = pl.DataFrame({"t": np.where(steps < 12, steps, steps + 5), "a": np.sin(steps)})
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=2.0), patch=(4,)).fit(frame, time="t")
    assert model.channels_ == ("a",)
    assert np.isnan(model.score_map(frame)).sum() == 4
    assert model.outlierness(frame) == model.explain(frame, time="t").outlierness
