"""Series as people have them: gaps, repeated and unsorted times, uneven steps."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from whyodd.series.reading import FILLED, read_series

START = np.datetime64("2024-03-01T00:00", "us")


def frame(minutes, values=None):
    times = START + np.asarray(minutes) * np.timedelta64(60, "s")
    return pl.DataFrame(
        {"when": times, "heat": np.arange(len(times), dtype=float) if values is None else values}
    )


def test_an_even_series_is_its_own_grid():
    data = read_series(frame(5 * np.arange(20)))
    np.testing.assert_array_equal(data.at, np.arange(20))
    np.testing.assert_array_equal(data.values, data.given)
    assert (data.notes, data.step_seconds, data.when(1)) == ((), 300.0, "2024-03-01 00:05")


def test_few_missing_rows_are_filled_by_a_line():
    kept = np.array([0, 1, 2, *range(5, 40)])
    data = read_series(frame(5 * kept, kept.astype(float)))
    np.testing.assert_array_equal(data.values[:, 0], np.arange(40))
    np.testing.assert_array_equal(data.at, kept)
    assert data.notes == ()


def test_a_jump_breaks_windows():
    minutes = [*(5 * np.arange(10)), *(5000 + 5 * np.arange(10))]
    data = read_series(frame(minutes))
    assert np.isnan(data.values[10 : 11 + FILLED, 0]).all()
    assert data.at[10] == 11 + FILLED
    np.testing.assert_array_equal(data.jumps, [10])
    assert "time jumps once" in data.notes[0]


def test_repeated_times_count_once_by_their_mean():
    data = read_series(frame([0, 5, 5, 10, 15], [0.0, 1.0, 3.0, 4.0, 5.0]))
    np.testing.assert_array_equal(data.values[:, 0], [0.0, 2.0, 4.0, 5.0])
    np.testing.assert_array_equal(data.at, [0, 1, 1, 2, 3])
    assert "1 row repeats a time" in data.notes[0]


def test_a_clock_that_is_set_back_goes_on():
    minutes = np.concatenate([5 * np.arange(120), 5 * np.arange(108, 200)])
    data = read_series(frame(minutes))
    np.testing.assert_array_equal(data.at, np.arange(len(minutes)))
    assert "time runs backwards once" in data.notes[0]


def test_unsorted_rows_are_sorted():
    order = np.random.default_rng(0).permutation(50)
    data = read_series(frame(5 * order, order.astype(float)))
    np.testing.assert_array_equal(data.given[:, 0], np.arange(50))
    assert "not in order and were sorted by 'when'" in data.notes[0]


def test_irregular_steps_are_resampled():
    minutes = np.cumsum(np.random.default_rng(1).exponential(10.0, size=400)).round(3)
    data = read_series(pd.DataFrame({"time": minutes, "wave": np.sin(minutes / 60)}))
    assert any("irregular" in note for note in data.notes)
    assert len(data) == 400
    known = np.isfinite(data.values[:, 0])
    assert known.mean() > 0.95
    # The wave is still one, at the pace of the mean step.
    assert abs(np.ptp(data.values[known, 0]) - 2.0) < 0.1


def test_sparse_channels_are_set_aside():
    given = pd.DataFrame({"a": np.arange(10.0), "b": [1.0, *[np.nan] * 9]})
    data = read_series(given)
    assert data.channels == ("a",)
    assert "set aside" in data.notes[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.array(["a", "b"]), "must hold numbers"),
        (np.zeros((0, 2)), r"has shape \(0, 2\)"),
        (np.zeros((2, 2, 2)), "expected"),
        (np.full((5, 2), np.nan), "holds no values at all"),
        (np.array([1.0, np.inf]), "infinite"),
        (pl.DataFrame({"name": ["a", "b"]}), "no numeric column"),
        (pl.DataFrame({"a": pl.Series([], dtype=pl.Float64)}), "no rows"),
    ],
)
def test_clear_errors(given, message):
    with pytest.raises(ValueError, match=message):
        read_series(given)


def test_channels_of_a_model():
    with pytest.raises(ValueError, match="lacks the numeric column 'b'"):
        read_series(pl.DataFrame({"a": [1.0, 2.0]}), channels=("a", "b"))
    with pytest.raises(ValueError, match=r"1 channel\(s\), the model was fitted on 2"):
        read_series(np.zeros(5), channels=("a", "b"))
    more = read_series(pl.DataFrame({"b": [1.0], "c": [2.0], "a": [3.0]}), channels=("a", "b"))
    np.testing.assert_array_equal(more.given, [[3.0, 1.0]])
    assert "ignored columns that the model was not fitted on: c" in more.notes[0]
