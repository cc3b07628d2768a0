"""Oddities planted in tables as people have them: the rank of the row, and the reason that is told."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import whyodd

N = 400
PLANTED = 17


def numbers(n=N, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"x{i}": rng.normal(size=n) for i in range(d)}), rng


def rank(found, row=PLANTED):
    return int(np.flatnonzero(found.order == row)[0]) + 1


def first_reason(found, row=PLANTED):
    place = int(np.flatnonzero(found.order == row)[0])
    return found.explanation.reasons(place)[0]


# Categories


def with_countries(n=N, d=3, seed=0):
    frame, rng = numbers(n, d, seed)
    return frame.assign(country=rng.choice(["DE", "FR", "IT", "ES"], n, p=[0.4, 0.3, 0.2, 0.1]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "d"), [(200, 1), (400, 3), (1000, 6)])
def test_a_country_seen_once_is_among_the_oddest_rows(n, d, seed):
    frame = with_countries(n, d, seed)
    frame.loc[PLANTED, "country"] = "LI"
    found = whyodd.find(frame)
    assert rank(found) <= 5
    assert first_reason(found).words.startswith("country is 'LI' (no usual row has it")


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_a_country_never_seen_is_above_the_threshold(d, trusted):
    model = whyodd.auto(with_countries(d=d), trusted=trusted)
    new = with_countries(50, d, seed=1).assign(country="LI")
    assert np.all(model.predict(new) == -1)
    assert {whyodd.explain(model, new).reasons(i)[0].name for i in range(50)} == {"country"}


def test_the_rarer_a_category_the_odder():
    frame = with_countries()
    frame.loc[[1, 2, 3, 4, 5], "country"] = "AT"
    frame.loc[PLANTED, "country"] = "LI"
    model = whyodd.auto(frame)
    usual = pd.DataFrame([{"x0": 0.0, "x1": 0.0, "x2": 0.0}] * 4).assign(country=["DE", "ES", "AT", "LI"])
    assert np.all(np.diff(whyodd.explain(model, usual).outlierness) > 0.0)


@pytest.mark.parametrize("share", [0.5, 0.3])
@pytest.mark.parametrize("d", [2, 4])
def test_two_values_of_pure_noise_receive_no_more_than_their_share(d, share):
    firsts = []
    for seed in range(4):
        frame, rng = numbers(500, d, seed)
        found = whyodd.find(frame.assign(member=rng.choice(["yes", "no"], 500, p=[1 - share, share])), top=50)
        firsts += [found.explanation.reasons(i)[0].name == "member" for i in range(50)]
    assert np.mean(firsts) <= 1.0 / (d + 1)


def test_no_row_is_odd_for_its_name():
    """As in a table of 406 cars that have 311 different names."""
    frame, rng = numbers(406)
    frame["car"] = [f"car {i}" for i in rng.permutation(np.r_[0:311, rng.integers(0, 311, 95)])]
    found = whyodd.find(frame, top=40)
    assert found.auto_report.set_aside["car"].startswith("nearly every row has a different value")
    assert {reason.name for i in range(40) for reason in found.explanation.reasons(i, 1)} <= {
        "x0",
        "x1",
        "x2",
    }


def with_stores(column="store"):
    frame, rng = numbers()
    frame[column] = rng.choice(np.setdiff1d(np.arange(101, 121), [110]), N)
    frame.loc[PLANTED, column] = 110  # between the others: no number would be odd for it
    return frame


def test_codes_are_told_apart():
    found = whyodd.find(with_stores())
    assert rank(found) <= 3
    assert first_reason(found).words.startswith("store is 110 (no usual row has it")


def test_what_is_no_code_by_its_name_may_be_called_one():
    frame = with_stores("place")
    assert rank(whyodd.find(frame)) > 10
    found = whyodd.find(frame, types={"place": "code"})
    assert rank(found) <= 3
    assert first_reason(found).words.startswith("place is 110 (no usual row has it")
    assert whyodd.find(with_stores(), types={"store": "number"}).auto_report.columns[-1].kind == "number"


# Gaps


def test_missing_where_it_never_was_missing_is_a_reason_of_its_own():
    frame, _ = numbers()
    model = whyodd.auto(frame)
    new = pd.DataFrame({"x0": [0.1, 0.1], "x1": [np.nan, 0.2], "x2": [0.0, 0.0]})
    e = whyodd.explain(model, new)
    assert e.outlierness[0] > e.threshold > e.outlierness[1]
    assert e.reasons(0)[0].words == "x1 is missing"


def test_missing_where_it_hardly_ever_is():
    frame, _ = numbers()
    frame.loc[PLANTED, "x1"] = np.nan
    found = whyodd.find(frame)
    assert rank(found) <= 3
    assert first_reason(found).words == "x1 is missing"


def test_gaps_that_many_rows_have_are_usual():
    frame, rng = numbers()
    frame.loc[rng.random(N) < 0.4, "x1"] = np.nan
    found = whyodd.find(frame, top=40)
    firsts = [found.explanation.reasons(i)[0].words for i in range(40)]
    assert firsts.count("x1 is missing") <= 40 / 3


def test_a_row_of_gaps_is_odd():
    frame = with_countries().assign(day=pd.date_range("2024-01-01", periods=N)[::-1])
    for column, seed in zip(frame.columns, range(5), strict=True):  # each has gaps of its own
        frame.loc[np.random.default_rng(seed).choice(N, 20, replace=False), column] = None
    frame.loc[PLANTED] = [None] * 5
    found = whyodd.find(frame)
    assert rank(found) == 1
    assert first_reason(found).words.endswith("is missing")


def test_a_date_that_is_missing_for_the_first_time():
    frame, _ = numbers()
    frame["day"] = pd.date_range("2024-01-01", periods=N)[::-1]
    e = whyodd.explain(whyodd.auto(frame), frame[:1].assign(day=pd.NaT))
    assert e.outlierness[0] > e.threshold
    assert e.reasons(0)[0].words == "day is missing"


def test_a_number_and_its_gaps_are_no_pair():
    frame, rng = numbers()
    frame.loc[rng.random(N) < 0.3, "x1"] = np.nan
    frame["country"] = rng.choice(["DE", "FR", "LI"], N, p=[0.8, 0.18, 0.02])
    model = whyodd.auto(frame)
    variables = np.array(model[-1].variables)
    views = {view.name: view.score for view in model[-1].network_.views}
    if "pairs" in views:
        first, second = variables[views["pairs"].pairs].T
        assert np.all(first != second)
    assert variables.tolist() == [0, 1, 2, 1, 3, 3, 3, 3]


# Dates, times of day and durations


def workdays(n, rng):
    days = [dt.datetime(2013, 1, 1) + dt.timedelta(days=int(day)) for day in rng.permutation(1500)[:n]]
    return [day if day.weekday() < 5 else day + dt.timedelta(days=2) for day in days]


def test_a_date_is_odd_for_its_weekday():
    frame, rng = numbers(d=2)
    frame["day"] = workdays(N, rng)
    frame.loc[PLANTED, "day"] = dt.datetime(2014, 3, 9)
    found = whyodd.find(frame)
    assert rank(found) <= 3
    told = first_reason(found).words
    assert told == "day is on an unusual weekday (2014-03-09, a Sunday; no usual row has that weekday)"


@pytest.mark.parametrize("package", [pd.DataFrame, pl.DataFrame])
def test_a_time_of_day_is_odd_for_its_hour(package):
    frame, rng = numbers(d=2)
    starts = [
        dt.time(int(h), int(m)) for h, m in zip(rng.integers(8, 18, N), rng.integers(0, 60, N), strict=True)
    ]
    starts[PLANTED] = dt.time(2, 13)
    found = whyodd.find(package({"x0": frame["x0"].to_numpy(), "start": starts}))
    assert rank(found) <= 3
    words = (
        "start is at an unusual hour (02:13:00; no usual row lies within half an hour of that time of day)"
    )
    assert first_reason(found).words == words


def test_a_date_is_odd_for_its_season_or_for_being_late():
    frame, rng = numbers(d=2)
    winters = [
        dt.datetime(2000 + int(y), 12, 1) + dt.timedelta(days=int(d)) for y, d in rng.integers(0, 20, (N, 2))
    ]
    frame["day"] = winters
    frame.loc[PLANTED, "day"] = dt.datetime(2009, 7, 4)
    frame.loc[PLANTED + 1, "day"] = dt.datetime(2190, 12, 7)
    found = whyodd.find(frame)
    assert (
        "(2009-07-04; no usual row lies within two weeks of that day of the year)"
        in first_reason(found).words
    )
    assert "(2190-12-07; later than all usual rows)" in first_reason(found, PLANTED + 1).words
    assert rank(found) <= 10


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_durations_are_numbers_and_shown_as_durations(package):
    frame, rng = numbers(d=2)
    frame["took"] = pd.to_timedelta(rng.normal(3600.0, 300.0, N), unit="s")
    frame.loc[PLANTED, "took"] = pd.Timedelta(hours=9)
    found = whyodd.find(pl.from_pandas(frame) if package == "polars" else frame)
    assert rank(found) == 1
    reason = first_reason(found)
    assert reason.words.startswith("took is too high (9 h, usually 5")
    assert isinstance(reason.expected, dt.timedelta)


# Copies


@pytest.mark.parametrize("package", [pd.DataFrame, pl.from_pandas])
def test_every_row_three_times_is_the_table_once(package):
    frame = with_countries(300)
    frame.loc[5, "x1"], frame.loc[PLANTED, "country"], frame.loc[9, "x2"] = 9.0, "LI", np.nan
    frame["order"] = np.random.default_rng(0).permutation(300)  # an identifier, also of copies
    once = whyodd.find(package(frame), top=10)
    thrice = whyodd.find(package(pd.concat([frame] * 3, ignore_index=True)), top=30)
    np.testing.assert_array_equal(thrice.outlierness.reshape(3, 300), [once.outlierness] * 3)
    for i in range(10):
        for copy in range(3):
            names = [reason.name for reason in thrice.explanation.reasons(3 * i + copy)]
            assert names == [reason.name for reason in once.explanation.reasons(i)]
    assert "Every row of frame comes three times: no row is judged against its own copies." in thrice.notes
    assert "order" in thrice.auto_report.set_aside


def test_near_copies_are_told_and_hardly_vouch_for_each_other():
    frame, rng = numbers(300)
    frame.loc[PLANTED, "x1"] = 6.0
    copies = frame + 1e-9 * rng.normal(size=frame.shape)
    found = whyodd.find(pd.concat([frame, copies], ignore_index=True))
    assert {rank(found), rank(found, 300 + PLANTED)} == {1, 2}
    assert any(note.endswith("equal another row except for rounding.") for note in found.notes)


# Names


def test_a_column_that_is_almost_called_so_gets_a_hint():
    frame, _ = numbers()
    frame.columns = ["press", "temp", "weight_kg"]
    model = whyodd.auto(frame)
    for name in ("Press", " press", "pres"):
        renamed = frame.rename(columns={"press": name})
        hint = f"Expected a column 'press', got {name!r}: rename it."
        for apply in (lambda rows: whyodd.explain(model, rows), lambda rows: whyodd.find(rows, model=model)):
            with pytest.raises(ValueError, match="press") as error:
                apply(renamed)
            assert hint in str(error.value)


def test_units_in_names_are_kept():
    frame, _ = numbers()
    frame = frame.rename(columns={"x1": "weight_kg"})
    frame.loc[PLANTED, "weight_kg"] = 12.5
    assert first_reason(whyodd.find(frame)).words.startswith("weight_kg is too high (12.5, usually ")


def test_names_that_are_empty_or_very_long():
    frame, _ = numbers()
    frame.columns = ["", "a" * 5000, "x"]
    frame.loc[PLANTED, ""], frame.loc[3, "a" * 5000] = 30.0, 30.0
    found = whyodd.find(frame)
    assert first_reason(found).words.startswith("'' is too high (30")
    assert len(first_reason(found, 3).words) < 200
    assert max(map(len, found.notes), default=0) < 500
    with pytest.raises(ValueError, match="more than one column named 'x'"):
        whyodd.find(frame.rename(columns={"": "x"}))
