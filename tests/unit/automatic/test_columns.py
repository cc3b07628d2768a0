"""Kinds of columns, date parts, encodings: one column at a time."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from whyodd.automatic.dates import DateParts, choose_parts
from whyodd.automatic.kinds import judge_columns
from whyodd.automatic.reading import read_table
from whyodd.automatic.steps import Constants, PlainValues, SimplexEncoder, SurpriseEncoder

RNG = np.random.default_rng(0)
DAY = dt.timedelta(days=1)
START = dt.datetime(2024, 1, 1)


def judged(values):
    (column,) = judge_columns(read_table(pd.DataFrame({"a": values})))
    return column


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (RNG.normal(size=50), "number", ""),
        (RNG.integers(0, 9, 50), "count", ""),
        (RNG.integers(-9, 9, 50), "number", ""),
        (np.exp(RNG.normal(0.0, 4.0, 50)), "number", ""),
        (RNG.integers(0, 2, 50), "yes/no", "two values"),
        (RNG.integers(1, 3, 50), "category", "two values"),
        ([0.5, 1.5], "number", ""),
        (RNG.choice([True, False], 50), "yes/no", ""),
        (RNG.choice(["Yes", "no"], 50), "yes/no", ""),
        (RNG.choice(["a", "b"], 50), "category", ""),
        (RNG.choice(["A-101", "B-207", "A-300"], 50), "code", ""),
        (pd.Categorical(RNG.integers(0, 4, 50)), "category", ""),
        (pd.Categorical(["low", "high"] * 20, ["low", "high"], ordered=True), "ordered category", ""),
        (["a", 1] * 20, "category", "as texts"),
        (pd.cut(RNG.normal(size=50), 4), "ordered category", "as texts"),
        (["a"] * 20, "constant", "always a"),
        ([7] * 20, "constant", "always 7"),
        ([None] * 20, "constant", "no values"),
        ([7.0, None] * 20, "category", "7.0 or missing"),
        (np.arange(100, 150), "identifier", "numbers differ"),
        (np.random.default_rng(1).permutation(50), "identifier", "numbers differ"),
        (np.sort(RNG.choice(10**6, 50, replace=False)), "identifier", "numbers differ"),
        (RNG.permutation(RNG.choice(10**6, 50, replace=False)), "count", ""),
        (np.arange(50) + 0.5, "number", ""),
        ([1, 2, 3], "count", ""),
        ([f"id{i}" for i in range(50)], "identifier", "a different value"),
        ([f"name{i // 2}" for i in range(50)], "identifier", "a different value"),
        ([f"name{i // 3}" for i in range(51)], "category", ""),
        ([f"name{max(i - 35, 0)}" for i in range(50)], "identifier", "a different value"),
        ([f"the machine stopped at {i} o'clock" for i in range(50)], "free text", "whyodd text"),
        ([f"id{i}" for i in range(5)], "code", ""),
        ([START + i * DAY for i in range(50)], "date", "day of the week"),
        ([f"2024-01-{i:02d}" for i in range(1, 31)], "date", "day of the week"),
        (["2024-01-01", "2024-01-02", "soon"] * 9, "category", ""),
        ([START + i * dt.timedelta(minutes=1) for i in range(50)], "date", "no full day"),
        ([START] * 20, "constant", "always"),
        ([dt.time(i % 24, 5) for i in range(50)], "time of day", ""),
        ([i * DAY for i in range(50)], "duration", ""),
        ([{"x": 1}] * 20, "other", "of type dict"),
        ([1 + 2j] * 20, "other", "complex"),
        (2**60 + np.arange(50), "identifier", "numbers differ"),  # one float, or two, for all of them
        (2**60 + np.arange(50)[::-1] % 10, "identifier", "too large to distinguish"),
        (2**60 + np.arange(50) % 2, "category", "two values"),
        (np.array([2**63, 2**64 - 1, 7] * 20, dtype=np.uint64), "count", ""),
    ],
)
def test_kind_and_note(values, kind, words):
    column = judged(values)
    assert column.kind == kind
    assert words in column.note


def test_a_date_or_missing_is_the_same_in_every_frame():
    values = [START, None] * 20
    for frame in (pd.DataFrame({"a": values}), pl.DataFrame({"a": values})):
        (column,) = judge_columns(read_table(frame))
        assert (column.kind, column.used_as) == ("category", "mixed category")
        assert PlainValues(as_text=True).fit_transform(frame)[:2, 0].tolist() == ["2024-01-01 00:00:00", None]


def test_texts_are_read_a_part_at_a_time(monkeypatch):
    monkeypatch.setattr("whyodd.automatic.reading._OBJECTS_AT_A_TIME", 7)
    for values in (["tcp", None, "udp"] * 10, [f"id{i}" for i in range(30)], ["a"] * 30):
        for frame in (pl.DataFrame({"a": values}), pd.DataFrame({"a": pd.Series(values, dtype="str")})):
            (column,) = read_table(frame).columns
            assert column.family == "text"
            assert [
                None if gap else text for text, gap in zip(column.values, column.gaps, strict=True)
            ] == values


def test_equal_texts_are_one_object():
    (column,) = read_table(pl.DataFrame({"a": ["".join(["t", "cp"]) for _ in range(100)]})).columns
    assert len({id(value) for value in column.values}) == 1


def test_constants_are_marked_as_such():
    assert judged([3, 3]).is_constant
    assert not judged([None, None]).is_constant


# Dates


@pytest.mark.parametrize(
    ("days", "order", "parts"),
    [
        ([0.0, 0.4, 0.9], "rows", ()),
        ([0.0, 0.4, 1.9], "rows", ("hour of the day",)),
        ([0, 3, 9], "rows", ("day of the week",)),
        ([0.25, 3.5, 400.75], "rows", ("hour of the day", "day of the week", "day of the year")),
        ([0, 3, 1], "none", ("time elapsed",)),
        ([3, 0, 9], "none", ("time elapsed", "day of the week")),
    ],
)
def test_parts_that_the_dates_show_in_full(days, order, parts):
    dates = np.array([START + dt.timedelta(days=day) for day in days], dtype="datetime64[s]")
    assert (order == "rows") == bool(np.all(np.diff(dates) > np.timedelta64(0)))
    assert choose_parts(dates) == parts


def test_dates_lie_on_circles():
    hours = pd.DataFrame(
        {"when": pd.to_datetime(["2024-01-01 00:00", "2024-01-01 06:00", "2024-01-09 12:00"])}
    )
    step = DateParts(("hour of the day",)).fit(hours)
    np.testing.assert_allclose(step.transform(hours)[:, :2], [[1, 0], [0, 1], [-1, 0]], atol=1e-9)
    assert list(step.get_feature_names_out()) == [
        "when: hour of the day (cos)",
        "when: hour of the day (sin)",
        "when: hour of the day (rarity)",
        "when: missing",
    ]


def test_time_elapsed_is_standardised():
    when = pd.DataFrame({"when": pd.to_datetime(["2024-01-03", "2024-01-01", "2024-01-02"])})
    np.testing.assert_allclose(
        DateParts().fit_transform(when)[:, 0], [math.sqrt(1.5), -math.sqrt(1.5), 0.0], atol=1e-9
    )


def test_missing_dates_lie_in_the_middle_and_are_marked():
    when = pd.DataFrame({"when": [START, None, START + DAY]})
    step = DateParts(("time elapsed", "hour of the day")).fit(when)
    np.testing.assert_allclose(step.transform(when)[1], [0.0, 0.0, 0.0, 0.0, math.log(4.0)])
    assert step.get_feature_names_out()[-1] == "when: missing"


@pytest.mark.parametrize(
    "values",
    [
        [START + 0.3 * DAY, START + 2 * DAY],
        [(START + 0.3 * DAY).isoformat(), (START + 2 * DAY).isoformat() + "Z"],
        [dt.datetime(2024, 1, 1, 7, 12, tzinfo=dt.timezone(dt.timedelta(hours=5))), START + 2 * DAY],
        [np.datetime64(START + 0.3 * DAY), np.datetime64(START + 2 * DAY)],
    ],
    ids=["datetime", "text", "time zone", "numpy"],
)
def test_dates_of_every_kind(values):
    step = DateParts(("time elapsed",)).fit(np.array([[START], [START], [START + DAY]]))
    rows = np.empty((2, 1), dtype=object)
    rows[:, 0] = values
    seconds = step.transform(rows)[:, 0] * step.scale_ + step.mean_
    expected = [
        (value - dt.datetime(1970, 1, 1)).total_seconds() for value in (START + 0.3 * DAY, START + 2 * DAY)
    ]
    np.testing.assert_allclose(seconds, expected)


def test_a_frame_with_a_time_zone_is_read_as_its_clocks_show():
    utc = pl.DataFrame({"when": [START, START + DAY]}).with_columns(
        pl.col("when").dt.replace_time_zone("UTC")
    )
    berlin = utc.with_columns(pl.col("when").dt.convert_time_zone("Europe/Berlin"))
    hour = DateParts(("hour of the day",)).fit(berlin).transform(berlin)
    np.testing.assert_allclose(hour[:, 1], math.sin(math.tau / 24.0))  # one hour past midnight


def test_what_is_no_date_is_named():
    step = DateParts(("time elapsed",)).fit(np.array([["2024-01-01"], ["2024-01-03"]]))
    with pytest.raises(ValueError, match=r"not a date.*soon"):
        step.transform(np.array([["soon"]]))


# Encodings


def test_an_unseen_category_is_one_more_corner_of_the_simplex():
    step = SimplexEncoder(handle_unknown="infrequent_if_exist", sparse_output=False)
    step.fit(np.array([["a", "x"], ["b", "y"], ["c", "x"]], dtype=object))
    Z = step.transform(np.array([["a", "x"], ["b", "x"], ["c", "x"], ["new", "x"]], dtype=object))
    distances = np.linalg.norm(Z[:, np.newaxis] - Z, axis=2)
    np.testing.assert_allclose(distances[~np.eye(4, dtype=bool)], math.sqrt(2.0))
    both = step.transform(np.array([["new", "new"]], dtype=object))
    np.testing.assert_allclose(np.linalg.norm(both - Z[0]), 2.0)


def test_where_there_are_rare_categories_unseen_ones_count_as_rare():
    step = SimplexEncoder(handle_unknown="infrequent_if_exist", max_categories=2, sparse_output=False)
    step.fit(np.array([["a"], ["a"], ["b"], ["c"]], dtype=object))
    np.testing.assert_allclose(step.transform(np.array([["c"], ["new"]], dtype=object)), [[0, 1], [0, 1]])


def surprise_encoder(values, **options):
    step = SurpriseEncoder(handle_unknown="infrequent_if_exist", sparse_output=False, **options)
    return step.fit(np.array([[value] for value in values], dtype=object))


def encoded(step, *values):
    return step.transform(np.array([[value] for value in values], dtype=object))


def test_a_category_is_as_far_away_as_it_is_surprising():
    """As a number z standard deviations from the mean, whose surprise is z²/2 beyond that of the mean."""
    counts = {"a": 70, "b": 25, "c": 4, "d": 1}
    step = surprise_encoder([value for value, count in counts.items() for _ in range(count)])
    Z = encoded(step, *counts)
    for place, count in enumerate(counts.values()):
        expected = np.zeros(4)
        expected[place] = math.sqrt(-2.0 * math.log(count / 100))
        np.testing.assert_allclose(Z[place], expected)
    assert np.all(np.diff(np.linalg.norm(Z, axis=1)) > 0.0)


def test_an_unseen_category_is_as_surprising_as_one_that_was_seen_once():
    step = surprise_encoder(["a"] * 60 + ["b"] * 39 + ["c"])
    a, b, once, unseen = encoded(step, "a", "b", "c", "new")
    assert np.linalg.norm(unseen) == pytest.approx(step.unseen_)
    assert np.linalg.norm(once) == pytest.approx(math.sqrt(2.0 * math.log(100)))
    for known in (a, b):
        assert np.linalg.norm(unseen - known) > np.linalg.norm(once - known)
    with_rare = surprise_encoder(["a"] * 60 + ["b"] * 30 + list("cdefghijkl"), max_categories=3)
    np.testing.assert_array_equal(*encoded(with_rare, "c", "new"))


def test_plain_values_have_one_kind_of_gap():
    frame = pd.DataFrame({"a": ["x", None, np.nan, pd.NA], "b": [True, None, pd.NA, False]}, dtype=object)
    assert PlainValues().fit_transform(frame).tolist() == [
        ["x", True],
        [None, None],
        [None, None],
        [None, False],
    ]
    assert PlainValues(as_text=True).fit_transform(frame)[:, 1].tolist() == ["True", None, None, "False"]


def test_constants_are_remembered_and_not_passed_on():
    step = Constants().fit(pd.DataFrame({"a": [3, 3], "b": ["x", "x"], "c": [START, START]}))
    assert step.values_ == [3, "x", START]
    assert step.transform(np.zeros((5, 3))).shape == (5, 0)
    assert step.get_feature_names_out().size == 0


@pytest.mark.parametrize("step", [Constants(), DateParts(), PlainValues()])
def test_steps_want_to_be_fitted(step):
    with pytest.raises(NotFittedError):
        step.transform(np.zeros((2, 1)))
