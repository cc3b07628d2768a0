"""A stream that does not change raises no alarm, and one that does is told in people's units."""

import gzip
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import whyodd
from whyodd.network.waist import score_rows
from whyodd.scale import drift
from whyodd.scale.drift import DriftMonitor
from whyodd.scale.stream import Watcher
from whyodd.scale.usual_rows import UsualRows

EVERY = 1_000


def usual_rows(rng, n=1_000, allowed=0.01):
    """What a model of n rows would know: a number, one with gaps, a category."""
    shares = {"DE": 0.6, "FR": 0.3, "(infrequent)": 0.1}
    numbers = {0: np.sort(rng.normal(size=n)), 1: np.sort(rng.exponential(size=n))}
    gaps = {0: 0.0, 1: 0.2, 2: 0.0}
    return UsualRows(("load", "wait", "country"), numbers, {2: shares}, gaps, n, allowed, n)


def stream(rng, n):
    data = np.empty((n, 3), dtype=object)
    data[:, 0] = rng.normal(size=n)
    data[:, 1] = np.where(rng.random(n) < 0.2, np.nan, rng.exponential(size=n))
    data[:, 2] = rng.choice(["DE", "FR", "NL", "AT"], n, p=[0.6, 0.3, 0.05, 0.05])
    return rng.random(n) < 0.01, data


def events(monitor, is_odd, data, step=None):
    step = step or len(data)
    parts = (slice(start, start + step) for start in range(0, len(data), step))
    rows = np.arange(len(data))
    return [event for p in parts for event in monitor.add(is_odd[p], data[p], rows[p].tolist())]


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_that_does_not_change_raises_no_alarm_in_200_000_rows(seed):
    rng = np.random.default_rng(seed)
    numbers = replace(usual_rows(rng), shares={}, gaps={0: 0.0, 1: 0.2})
    is_odd, data = rng.random(200_000) < 0.01, np.empty((200_000, 2))
    data[:, 0] = rng.normal(size=200_000)
    data[:, 1] = np.where(rng.random(200_000) < 0.2, np.nan, rng.exponential(size=200_000))
    assert events(DriftMonitor(numbers, EVERY), is_odd, data) == []


def test_nor_does_one_with_categories():
    rng = np.random.default_rng(0)
    assert events(DriftMonitor(usual_rows(rng), EVERY), *stream(rng, 50_000)) == []


@pytest.mark.full
@pytest.mark.parametrize("is_trusted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_nor_does_one_that_a_model_was_learned_from(seed, is_trusted):
    """With all that a model gets wrong of its own false alarms, of numbers with heavy tails."""
    rng = np.random.default_rng(seed)
    mixing, names = rng.normal(size=(5, 5)), [f"c{i}" for i in range(5)]

    def rows(n):
        return pl.DataFrame(np.exp(0.3 * rng.normal(size=(n, 5)) @ mixing), schema=names)

    model = whyodd.auto(rows(2_000), trusted=is_trusted)
    judge = Watcher(model)._judge
    X = rows(200_000).to_numpy()
    is_odd = score_rows(judge.prepared.network, X) > model[-1].threshold_
    usual = UsualRows.of(model, judge.prepared, judge.variables)
    assert events(DriftMonitor(usual, EVERY), is_odd, X) == []


def changed(rng, n=5_000):
    """A stream of which everything changes after 2,000 rows, and is as before after 4,000."""
    is_odd, data = stream(rng, n)
    now = slice(2_000, 4_000)
    is_odd[now] = rng.random(2_000) < 0.15
    data[now, 0] = data[now, 0] + 3.0
    data[now, 1] = np.nan
    data[now, 2] = rng.choice(["DE", "FR", "NL"], 2_000, p=[0.2, 0.3, 0.5])
    return is_odd, data


def test_what_changes_is_told_once_and_when_it_is_as_usual_again():
    found = events(
        DriftMonitor(usual_rows(np.random.default_rng(0)), EVERY), *changed(np.random.default_rng(1))
    )
    what = [(event["row"], event["event"], event["what"], event.get("column")) for event in found]
    changes = {("odd rows", None), ("numbers", "load"), ("gaps", "wait"), ("categories", "country")}
    assert {entry[2:] for entry in what} == changes
    assert {entry[:2] for entry in what} == {(2_999, "drift"), (4_999, "as usual")}
    assert len(what) == 8
    told = {event["what"]: event for event in found if event["event"] == "drift"}
    assert told["odd rows"]["to"] == pytest.approx(0.15, abs=0.04)
    low, high = told["numbers"]["to"]
    assert (low, high) == pytest.approx((3.0 - 1.28, 3.0 + 1.28), abs=0.3)
    assert told["numbers"]["words"].startswith("load shifted: most usual rows have -1.")
    assert told["gaps"]["words"].startswith("wait is missing in 100 % of the last 1,000 rows, but in")
    # NL is none of the values that usual rows have by name.
    assert told["categories"]["value"] in ("DE", "(infrequent)")


@settings(max_examples=20)
@given(step=st.integers(1, 5_000), every=st.integers(300, 1_500))
def test_it_does_not_depend_on_how_rows_come(step, every):
    step = max(step, 50)
    usual, rows = usual_rows(np.random.default_rng(0)), changed(np.random.default_rng(1))
    together, apart = (events(DriftMonitor(usual, every), *rows, step=s) for s in (None, step))
    assert together == apart


def test_without_usual_rows_the_first_window_is_what_is_usual():
    """A one-class SVM keeps only rows at the border."""
    rng = np.random.default_rng(0)
    model = whyodd.OneClassSVM(nu=0.1).fit(rng.normal(size=(200, 2)))
    watcher = Watcher(model, drift_every=500)
    rows = rng.normal(size=(2_000, 2))
    rows[1_000:, 1] += 5.0
    answers = watcher.watch([{"x0": a, "x1": b} for a, b in rows.tolist()])
    assert [(event["what"], event["column"], event["row"]) for event in answers.events] == [
        ("numbers", "x1", 1_499)
    ]


@pytest.mark.parametrize(("n", "share"), [(10, 0.1), (1_000, 0.02), (5_000, 0.3)])
def test_chances_are_those_of_a_binomial(n, share):
    for count in (0, 1, n // 3, n):
        expected = stats.binom.sf(count - 1, n, share)
        assert drift._chance_of(count, n, share) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(st.lists(st.floats(-5, 5), min_size=1), st.lists(st.floats(-5, 5), min_size=1))
def test_the_distance_is_that_of_kolmogorov_and_smirnov(a, b):
    a, b = np.sort(a), np.sort(b)
    points = np.concatenate([a, b])
    expected = max(abs(np.mean(a <= point) - np.mean(b <= point)) for point in points)
    distance, at = drift._distance(a, b)
    assert distance == pytest.approx(expected, abs=1e-12)
    assert abs(np.mean(a <= at) - np.mean(b <= at)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.data
def test_a_level_shift_of_taxi_rides_is_told_and_what_is_usual_is_not(data_dir):
    """Half-hourly rides in New York: six weeks are learned, half a year of them is watched."""
    path = data_dir / "nab" / "nyc_taxi.csv.gz"
    rides = pl.read_csv(gzip.decompress(path.read_bytes()))["value"].to_numpy().astype(np.float64)
    learned, shifted = 2_016, 6_016
    model = whyodd.auto(pl.DataFrame({"rides": rides[:learned]}))
    told = {}
    for shift in (0.0, 8_000.0):
        values = rides[learned:] + shift * (np.arange(learned, len(rides)) >= shifted)
        watcher = Watcher(model, only_odd=True, drift_every=EVERY)
        told[shift] = watcher.watch([{"rides": value} for value in values.tolist()]).events
    assert told[0.0] == []
    moved = next(event for event in told[8_000.0] if event["what"] == "numbers")
    assert (moved["event"], moved["column"], moved["row"]) == (
        "drift",
        "rides",
        shifted - learned + EVERY - 1,
    )
    np.testing.assert_allclose(np.subtract(moved["to"], moved["from"]), 8_000.0, atol=2_000.0)


@pytest.mark.data
def test_failures_of_a_machine_are_drift_while_they_last(data_dir):
    """Temperatures of a machine that fails twice, as its owners have marked; the first weeks are learned."""
    path = data_dir / "nab" / "machine_temperature_system_failure.csv.gz"
    record = pl.read_csv(gzip.decompress(path.read_bytes()))
    windows = json.loads((data_dir / "nab" / "combined_windows.json").read_text())
    marked = next(times for name, times in windows.items() if path.name[:-7] in name)
    failures = [record["timestamp"].search_sorted(start[:19]) for start, _ in (marked[1], marked[3])]
    learned = 3_404
    model = whyodd.auto(record[:learned].select("value"))
    watcher = Watcher(model, only_odd=True, drift_every=EVERY)
    values = record["value"][learned:].to_list()
    events = watcher.watch([{"value": value} for value in values]).events
    odd = [(event["event"], learned + event["row"]) for event in events if event["what"] == "odd rows"]
    assert [event for event, _ in odd] == ["drift", "as usual", "drift", "as usual"]
    for (_, row), failure in zip(odd[::2], failures, strict=True):
        assert failure <= row < failure + EVERY
