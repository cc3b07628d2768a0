"""The detector of one series against plain loops, and where it has nothing to learn from."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import whyodd
from reference.series import nearest_relevance, spread_relevance, starts_of, step_scores
from whyodd.series import detector
from whyodd.series.detector import LENGTHS, note_on_strides, stride_of
from whyodd.series.passes import network_of
from whyodd.series.views import Values
from whyodd.series.windows import cut, mean_over_covering, whole_starts


def waves(n, seed=0, channels=2):
    steps = np.arange(n)[:, None]
    noise = np.random.default_rng(seed).normal(scale=0.1, size=(n, channels))
    return np.sin(steps / (4 + np.arange(channels))) + noise


@pytest.fixture(scope="module")
def model():
    return whyodd.SeriesDetector(windows=(4, 16), trusted=True).fit(waves(400))


class TestWindows:
    def test_mean_over_covering_against_a_loop(self):
        parts = np.random.default_rng(0).random((5, 2))
        starts = np.array([0, 2, 3, 9, 10])
        found = mean_over_covering(parts, starts, 3, 15)
        for step in range(15):
            inside = (starts <= step) & (step < starts + 3)
            expected = parts[inside].mean(axis=0) if inside.any() else [np.nan, np.nan]
            np.testing.assert_allclose(found[step], expected, rtol=1e-12)

    def test_starts_without_gaps(self):
        values = np.zeros((30, 1))
        values[[11, 20]] = np.nan
        assert whole_starts(values, 4).tolist() == starts_of(values, 4, 1)
        assert whole_starts(values[:3], 4).size == 0


class TestScores:
    @staticmethod
    def centers(model, k):
        width = model.views_[k].width
        return cut(model.values_, model.starts_[k], width).reshape(-1, width, 2).astype(np.float64)

    def test_against_plain_loops(self, model):
        new = waves(120, seed=1)
        new[50:55] += 2.0
        new[80] = np.nan  # a short gap, which is filled by a line
        new[100:108] = np.nan
        found = model.judge(new)
        data = model.read(new)
        values = model.units_.scaled(data.values).astype(np.float32).astype(np.float64)
        first, second, spread = model.views_
        looks = [
            (view.width, stride, partial(nearest_relevance, centers=self.centers(model, k), k=5))
            for k, (view, stride) in enumerate([(first, 1), (second, 2)])
        ]
        told = {"center": spread.center, "size": spread.size, "centers": np.zeros((1, 2)), "k": 1}
        looks.append((16, 2, partial(spread_relevance, **told)))
        expected = step_scores(values, looks, model.factors_)
        # Windows are of single precision: distances of some units have seven digits.
        np.testing.assert_allclose(found.relevance, expected, rtol=1e-4, atol=1e-6)
        assert np.isnan(found.outlierness[100:108]).all()

    def test_conserved(self, model):
        found = model.judge(waves(200, seed=3))
        np.testing.assert_allclose(found.relevance.sum(axis=1), found.outlierness, rtol=1e-12)
        assert (found.relevance >= 0.0).all()

    def test_a_usual_step_has_1(self, model):
        assert model.outlierness(waves(600, seed=5)).mean() == pytest.approx(1.0, abs=0.15)

    def test_focus_is_where_it_is_odd(self, model):
        new = waves(200, seed=1)
        new[90:95, 1] += 3.0
        found = model.judge(new)
        assert 90 <= found.focus.argmax() < 95
        assert found.at_steps[90:95].sum(axis=0).argmax() == 1

    def test_false_alarms_are_as_many_as_allowed(self):
        model = whyodd.SeriesDetector(trusted=True, false_alarms=0.05).fit(waves(3000))
        assert (model.predict(waves(3000, seed=9)) == -1).mean() == pytest.approx(0.05, abs=0.04)
        p = model.p_values(waves(3000, seed=9))
        assert (p <= 0.5).mean() == pytest.approx(0.5, abs=0.15)

    def test_the_learned_series_is_judged_stretch_by_stretch(self):
        train = waves(600)
        train[300:310] += 3.0
        model = whyodd.SeriesDetector()
        own = model.fit_judge(train)
        assert 290 < own.outlierness.argmax() < 320
        # Asked again, it is not its own evidence either; some windows were left out of what is learned then.
        again = model.judge(train)
        assert 290 < again.outlierness.argmax() < 320
        assert again.outlierness[300:310].min() > model.threshold_

    def test_two_copies_of_an_anomaly_do_not_excuse_each_other(self):
        train = waves(2000, channels=1)
        for start in (400, 1500):
            train[start : start + 12, 0] = 2.5
        scores = whyodd.SeriesDetector().fit_judge(train).outlierness
        usual = np.median(scores)
        assert min(scores[400:412].max(), scores[1500:1512].max()) > 2.0 * usual

    def test_one_strong_anomaly_does_not_hide_another(self):
        train = waves(3000, channels=1)
        train[500:510] += 1e6
        train[2000:2016] += 2.0
        model = whyodd.SeriesDetector()
        scores = model.fit_judge(train).outlierness
        assert scores[2000:2016].max() > model.threshold_

    def test_a_sensor_that_stands_still_amid_noise(self):
        random = np.random.default_rng(0)
        model = whyodd.SeriesDetector(trusted=True).fit(random.normal(size=(2000, 2)))
        new = random.normal(size=(500, 2))
        new[200:260, 1] = 0.0
        found = model.judge(new)
        assert 190 < found.outlierness.argmax() < 270
        assert found.relevance[230].argmax() == 1
        assert found.outlierness[230] > model.threshold_


class TestChannelsThatNeverVaried:
    def test_a_move_counts_most_whatever_its_size(self):
        train = np.column_stack([waves(500), np.zeros(500)])
        model = whyodd.SeriesDetector(trusted=True).fit(train)
        for size in (1e-6, 1.0, 1e6):
            new = np.column_stack([waves(300, seed=2), np.zeros(300)])
            new[150:155, 2] = size
            found = model.judge(new)
            assert found.relevance[152].argmax() == 2
            assert 140 < found.outlierness.argmax() < 165
        assert any("Never varied" in note for note in model.notes_)

    def test_rounding_is_no_move(self):
        train = np.column_stack([waves(500), np.full(500, 1e6)])
        model = whyodd.SeriesDetector(trusted=True).fit(train)
        new = np.column_stack([waves(100, seed=2), np.full(100, 1e6 + 1e-4)])
        assert model.judge(new).relevance[:, 2].max() == 0.0


class TestMistakes:
    @pytest.mark.parametrize(
        ("values", "options", "message"),
        [
            (np.zeros(100), {}, "No channel of the series ever varies"),
            (np.zeros(1), {}, "has 1 step, expected at least 10"),
            (np.arange(50.0), {"windows": 40}, r"fewer than two windows of 40\. Use a shorter window"),
            (np.arange(50.0), {"windows": 0}, "expected lengths of at least 1 step"),
            (np.arange(50.0), {"windows": []}, "windows is empty"),
            (np.arange(50.0), {"false_alarms": 2.0}, "expected a share of the steps"),
            (np.where(np.arange(100) % 12 < 6, 1.0 * np.arange(100), np.nan), {"windows": 8}, "without gaps"),
        ],
    )
    def test_clear_errors(self, values, options, message):
        with pytest.raises(ValueError, match=message):
            whyodd.SeriesDetector(**options).fit(values)

    def test_an_interrupted_fit_leaves_nothing_that_looks_fitted(self):
        other = whyodd.SeriesDetector(trusted=True).fit(waves(200))
        with pytest.raises(ValueError, match="ever varies"):
            other.fit(np.zeros(100))
        with pytest.raises(NotFittedError):
            other.outlierness(waves(100))

    def test_no_window_without_a_gap(self, model):
        values = waves(60)
        values[np.arange(60) % 9 < 6] = np.nan
        with pytest.raises(ValueError, match="consecutive steps without a gap"):
            model.judge(values)

    def test_a_short_series_has_shorter_windows(self):
        assert whyodd.SeriesDetector().fit(waves(20)).windows_ == (2,)
        assert whyodd.SeriesDetector().fit(waves(300)).windows_ == (8, 32)


def test_save_and_load(model, tmp_path):
    new = waves(150, seed=4)
    whyodd.save(model, tmp_path / "m.whyodd")
    loaded = whyodd.load(tmp_path / "m.whyodd")
    np.testing.assert_array_equal(loaded.outlierness(new), model.outlierness(new))
    np.testing.assert_array_equal(loaded.p_values(new), model.p_values(new))
    assert loaded.threshold_ == model.threshold_


def test_centers_are_bounded():
    values = np.random.default_rng(0).normal(size=(20_000, 2)).astype(np.float32)
    assert network_of(values, np.arange(19_000), Values(8)).n_centers == 4000


def test_a_very_long_series_is_looked_at_less_closely(monkeypatch):
    """Windows stand further apart, so that the work is bounded: see ``benchmarks/series.py --long``."""
    values = waves(6_000, seed=2)
    values[4_200:4_220] += 3.0
    model = whyodd.SeriesDetector(trusted=True).fit(values[:2_000])
    closely = model.outlierness(values)
    assert note_on_strides(len(values), model.windows_, values.shape[1]) == []
    monkeypatch.setattr(detector, "_WORK", 1e8)
    strides = [stride_of(len(values), width, values.shape[1]) for width in model.windows_]
    assert all(width // 8 < stride <= width for stride, width in zip(strides, model.windows_, strict=True))
    (note,) = note_on_strides(len(values), model.windows_, values.shape[1])
    assert f"those of 8 every {strides[0]} steps" in note
    less = model.outlierness(values)
    assert np.isfinite(less).all()
    # A mean over fewer windows scatters more, around the same level.
    assert np.median(less) == pytest.approx(np.median(closely), rel=0.1)
    assert 4_190 < less.argmax() < 4_230


@pytest.mark.parametrize("steps", [10_000, 1_000_000, 100_000_000])
@pytest.mark.parametrize("channels", [1, 40])
def test_work_is_bounded(steps, channels):
    """Windows never stand further apart than they are wide, and the work is below its limit till then."""
    for width in LENGTHS:
        stride = stride_of(steps, width, channels)
        assert max(width // 8, 1) <= stride <= width
        assert stride == width or steps / stride * 4_000 * (width * channels + 100) <= 5e11
