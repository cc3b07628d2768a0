"""Events and what changed in them."""

import numpy as np
import pandas as pd
import pytest

import whyodd
from whyodd.findings.series import find_in_series
from whyodd.series.changes import Normal, period_of
from whyodd.series.detector import StepScores
from whyodd.series.events import find_events

LENGTH = 1500


def plant(seed, **changes):
    """Pump and heat that swing together, pressure of its own, a valve that stands still."""
    steps, random = np.arange(LENGTH), np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "time": pd.date_range("2024-03-01", periods=LENGTH, freq="5min"),
            "pump": np.sin(steps / 8) + random.normal(scale=0.1, size=LENGTH),
            "heat": 40 + 5 * np.sin(steps / 8) + random.normal(scale=0.5, size=LENGTH),
            "pressure": 2.7 + random.normal(scale=0.1, size=LENGTH),
            "valve": 0.0,
        }
    )
    for name, change in changes.items():
        frame.loc[700:759, name] = change(frame, slice(700, 760))
    return frame


@pytest.fixture(scope="module")
def model():
    return whyodd.SeriesDetector(trusted=True).fit(plant(0))


def swing(frame, rows):
    return 40 - (frame["heat"].to_numpy()[rows] - 40)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"pressure": lambda f, s: f["pressure"][s] + 5.4}, "level", "pressure is too high: 8.0"),
        ({"pressure": lambda f, s: f["pressure"][s] - 2.0}, "level", "pressure is too low"),
        ({"pressure": lambda *_: 2.7}, "spread", "pressure stands still at 2.7"),
        (
            {"pressure": lambda f, s: 2.7 + 6 * (f["pressure"][s] - 2.7)},
            "spread",
            "pressure varies too much, from ",
        ),
        ({"heat": swing}, "relation", "pump and heat move against each other"),
        ({"valve": lambda *_: 3.0}, "new value", "valve never varied in training (always 0), now 3"),
    ],
)
def test_changes_are_named(model, changes, kind, words):
    found = find_in_series(plant(1, **changes), model=model)
    e = found.explanation
    assert abs(e.events[0].start - 700) < 16
    assert abs(e.events[0].stop - 760) < 16
    assert e.why(0).startswith(words)
    first = e.reasons(0, 1)[0]
    assert (first.kind, first.name in (*changes, "pump")) == (kind, True)


def test_a_spike_and_a_lost_rhythm(model):
    frame = plant(1)
    frame.loc[900, "pressure"] = 9.0
    spike = find_in_series(frame, model=model).explanation
    assert spike.events[0].peak == 900
    assert "9" in spike.why(0)
    steps, random = np.arange(LENGTH), np.random.default_rng(3)
    train = pd.DataFrame({"wave": np.sin(2 * np.pi * steps / 25) + random.normal(scale=0.1, size=LENGTH)})
    new = train.copy()
    new.loc[700:799, "wave"] = random.permutation(train["wave"][700:800].to_numpy())
    told = find_in_series(new, train).explanation
    assert told.change(0, "wave").kind == "rhythm"
    assert "lost its rhythm of about 25 steps" in told.why(0)


def test_many_channels_that_share_an_event():
    random = np.random.default_rng(0)
    train, new = random.normal(size=(2, 600, 12))
    new[300:340] += 6.0
    why = find_in_series(new, train).why(0)
    assert why.count("is too high") == 3
    assert why.endswith("; 9 other channels have the rest")


def test_a_spread_that_is_hardly_ever_there():
    """What rounding leaves of nothing is 0, not 4.34e-19."""
    values = np.zeros((2_000, 1))
    values[::200] = 1.0
    normal = Normal(values, ("flow",))
    told = normal.change(np.resize([[-9.0], [0.0], [9.0]], (32, 1)), 0, 32, 0).told
    assert told.startswith("flow varies too much, from -9 to 9: by 7.")
    assert ", usually by 0 to 0." in told


def test_several_events_are_told_apart(model):
    frame = plant(1, pressure=lambda f, s: f["pressure"][s] + 5.0)
    frame.loc[900:909, "valve"] = 1.0
    frame.loc[1300:1339, "heat"] += 20.0
    found = find_in_series(frame, model=model)
    e = found.odd
    # Chance makes small ones, too.
    assert {next(iter(e.by_channel(i))) for i in range(3)} == {"pressure", "valve", "heat"}
    assert (e.outlierness[3:] < 2.0).all()
    assert next(iter(e.by_channel(0))) == "valve"
    inside = np.zeros(LENGTH, dtype=bool)
    for event in e.events:
        inside[event.start : event.stop] = True
    np.testing.assert_array_equal(found.is_odd, inside)
    np.testing.assert_allclose(e.relevance.sum(axis=1), e.outlierness, rtol=1e-12)
    assert found.explain([730, 731]).names == tuple(name for name in e.names if "10:" in name)


def test_nothing_odd_has_an_oddest_place(model):
    found = find_in_series(plant(5), model=model, false_alarms=0.0001)
    assert len(found.explanation) >= 1
    if found.n_odd == 0:
        assert found.headline.startswith("None of 1,500 steps")


def test_events_of_plain_scores():
    o, focus = np.ones(100), np.ones((100, 1))
    o[20:40], o[60:63] = 5.0, 9.0
    focus[25:30], focus[61] = 40.0, 90.0
    found = find_events(StepScores(o, focus.copy(), focus), 2.0, 3.0, gap=8)
    assert [(event.start, event.stop, event.peak) for event in found] == [(61, 62, 61), (25, 30, 25)]


@pytest.mark.parametrize("period", [7, 25, 60])
def test_period(period):
    steps = np.arange(1000)
    noise = np.random.default_rng(0).normal(scale=0.3, size=1000)
    assert period_of(np.sin(2 * np.pi * steps / period) + noise) == pytest.approx(period, abs=1)
    assert period_of(noise) is None
    assert period_of(np.zeros(100)) is None
