"""What is drawn beside reasons, and what leads from one row to another: against plain loops."""

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whyodd
from whyodd.explanations.sentences import Partner
from whyodd.findings.summary.rows.scatters import Scatters
from whyodd.findings.summary.rows.strips import date_strip, number_strip
from whyodd.report.render import render

N, NIGHT, PAIR, HUGE = 400, 7, 8, 9


def orders():
    """Orders by day; one at night, one whose weight does not go with its items, one with a huge amount."""
    rng = np.random.default_rng(0)
    items = rng.integers(1, 9, N)
    start = dt.datetime(2024, 1, 1)
    hours = rng.integers(0, 300, N) * 24 + rng.integers(9, 17, N)
    when = [start + dt.timedelta(hours=int(hour)) for hour in hours]
    frame = pd.DataFrame(
        {
            "when": when,
            "country": rng.choice(["DE", "FR", "NL"], N, p=[0.7, 0.2, 0.1]),
            "items": items,
            "weight": (2.0 * items + rng.normal(0.0, 0.2, N)).round(2),
            "amount": rng.normal(50.0, 5.0, N).round(2),
        }
    )
    frame.loc[NIGHT, "when"] = dt.datetime(2024, 5, 5, 3, 12)
    frame.loc[PAIR, ["items", "weight"]] = [2, 13.5]
    frame.loc[HUGE, "amount"] = 98_000.0
    return frame


@pytest.fixture(scope="module")
def found():
    return whyodd.find(orders())


@pytest.fixture(scope="module")
def summary(found):
    return found.to_dict(top=12)


def card(summary, row):
    return next(each for each in summary["anomalies"] if each["row"] == row)


def reason(summary, row, name):
    return next(each for each in card(summary, row)["reasons"] if each["name"] == name)


def test_all_of_it_is_plain(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == json.loads(json.dumps(summary))


class TestStrips:
    def test_a_gross_value_is_beyond_a_break_and_the_others_keep_their_room(self, summary):
        strip = reason(summary, HUGE, "amount")["strip"]
        assert strip["stop"] < strip["break_at"] < strip["at"]
        assert sum(height > 0 for height in strip["heights"]) > 10

    def test_the_hour_of_a_night_is_where_no_usual_row_is(self, summary):
        told = reason(summary, NIGHT, "when")
        assert told["judgement"] == "at an unusual hour"
        strip = told["strip"]
        assert (strip["caption"], list(strip["ends"])) == ("hour of the day", ["0:00", "24:00"])
        filled = [hour for hour, height in enumerate(strip["heights"]) if height > 0]
        assert filled == list(range(9, 17))
        assert strip["at"] == pytest.approx(
            strip["start"] + (strip["stop"] - strip["start"]) * 3.2 / 24, abs=2e-3
        )

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
        st.floats(-1e9, 1e9),
        st.floats(-1e6, 1e6),
    )
    def test_places_are_inside_and_in_order(self, values, value, expected):
        column = np.array(values), np.ones(len(values))
        usual = tuple(np.quantile(values, [0.05, 0.95], method="inverted_cdf"))
        strip = number_strip(column, usual, value, expected)
        for key in ("at", "expected_at", "low_at", "high_at", "start", "stop"):
            assert 0.0 <= strip[key] <= 1.0
        assert strip["low_at"] <= strip["high_at"]
        assert max(strip["heights"]) == 1.0
        if value > usual[1]:
            assert strip["at"] >= strip["high_at"]
        if value < usual[0]:
            assert strip["at"] <= strip["low_at"]

    def test_bars_count_what_there_is(self):
        values = np.array([0.0] * 3 + [24.0])
        strip = number_strip((values, np.ones(4)), (0.0, 24.0), 12.0)
        assert strip["heights"] == [1.0, *[0.0] * 22, round(1 / 3, 3)]

    def test_weekdays_begin_with_monday(self):
        strip = date_strip("day of the week", np.array([0.0, 0.0, 4.0]), 6.0)
        assert strip["heights"] == [1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]
        assert strip["at"] > 0.9

    def test_of_nothing_there_is_no_strip(self):
        assert number_strip((np.array([np.nan]), np.ones(1)), (0.0, 1.0)) is None


class TestScatters:
    @pytest.fixture
    def drawn(self, found):
        """The picture of a variable of the odd pair beside another one."""
        e = found.explanation
        i = e.rows.tolist().index(PAIR)

        def picture(name, partner, part=None):
            told = next(each for each in e.reasons(i) if each.name == name)
            return Scatters(e, e.comparisons).of(i, replace(told, partner=Partner(partner, part)))

        return picture

    def test_the_row_is_off_the_line_of_the_others(self, drawn):
        picture = drawn("weight", "items")
        assert (picture["x"]["name"], picture["y"]["name"]) == ("items", "weight")
        points = np.array(picture["points"])
        assert 50 < len(points) <= 150
        assert ((points >= 0.0) & (points <= 1.0)).all()
        assert np.abs(points[:, 0] - points[:, 1]).max() < 0.3 < abs(picture["at"][0] - picture["at"][1])

    def test_categories_lie_side_by_side_the_own_one_first(self, drawn):
        picture = drawn("weight", "country")
        own = orders()["country"][PAIR]
        assert picture["x"]["ticks"][0][1] == repr(own)
        assert {text for _, text in picture["x"]["ticks"]} == {"'DE'", "'FR'", "'NL'"}
        places = np.array([place for place, _ in picture["x"]["ticks"]])
        assert picture["at"][0] == pytest.approx(places[0], abs=1e-3)
        gaps = np.abs(np.array(picture["points"])[:, :1] - places)
        assert gaps.min(axis=1).max() < 0.15

    def test_a_date_is_drawn_by_its_part(self, drawn):
        picture = drawn("weight", "when", "hour of the day")
        assert picture["x"]["name"] == "when, hour of the day"
        hour = orders()["when"][PAIR].hour
        assert picture["at"][0] == pytest.approx(0.04 + 0.92 * hour / 24, abs=2e-3)

    def test_what_does_not_go_together_has_its_picture(self):
        """Cars of eight cylinders are heavy: one is not."""
        rng = np.random.default_rng(0)
        kind = rng.choice([0, 1], 500)
        frame = pd.DataFrame({"level": np.where(kind, 4.0, -4.0) + rng.normal(0, 1, 500), "kind": kind})
        frame["kind"] = np.where(kind, "high", "low")
        frame["x"] = rng.normal(size=500)
        frame.loc[0, ["level", "kind"]] = [-4.0, "high"]
        found = whyodd.find(frame)
        told = next(each for each in found.to_dict(checks=False)["anomalies"] if each["row"] == 0)
        pairs = [each for each in told["reasons"] if each["scatter"]]
        assert pairs
        assert pairs[0]["judgement"] == f"at odds with {pairs[0]['scatter']['x']['name']}"

    def test_others_have_none(self, summary):
        assert reason(summary, HUGE, "amount")["scatter"] is None


class TestLinks:
    def test_similar_rows_are_those_of_the_group(self, summary):
        names = {row["rank"]: row["name"] for row in (*summary["anomalies"], *summary["rest"])}
        for row in summary["anomalies"]:
            group = summary["groups"][row["group"]]
            others = [rank for rank in group["ranks"] if rank != row["rank"]]
            if not others or not group["features"]:
                assert row["similar"] is None
                continue
            assert row["similar"]["count"] == group["count"] - 1
            assert [each["rank"] for each in row["similar"]["rows"]] == others[:6]
            assert all(names[each["rank"]] == each["name"] for each in row["similar"]["rows"])

    def test_known_rows_are_listed_once_with_the_rows_near_them(self, summary):
        rows = summary["compared"]["rows"]
        near = {}
        for row in summary["anomalies"]:
            for neighbor in row["neighbors"]:
                near.setdefault(neighbor["center"], []).append(row["rank"])
        assert {row["center"]: row["n_near"] for row in rows} == {c: len(ranks) for c, ranks in near.items()}
        for row in rows:
            assert [each["rank"] for each in row["near"]] == near[row["center"]][:6]

    def test_a_neighbour_that_is_odd_itself_is_called_by_its_row(self, summary):
        ranks = {row["row"]: row["rank"] for row in (*summary["anomalies"], *summary["rest"])}
        for row in summary["anomalies"]:
            for neighbor in row["neighbors"]:
                assert neighbor["name"].startswith("row ")  # of the same table
                assert neighbor["rank"] == ranks.get(int(neighbor["name"].removeprefix("row ")))

    def test_no_link_leads_to_what_was_left_out(self, summary):
        whole = render(summary)
        assert whole.count('<a class="to" href="#u') > 3
        small = render(summary, limit=len(whole.encode()) - 4_000)
        assert "nearest known rows are left out" in small
        assert 'href="#u' not in small
        assert len(small.encode()) <= len(whole.encode()) - 4_000


class TestSayings:
    """What people would not say."""

    def test_what_is_as_expected_is_not_told_as_expected(self, found, summary):
        for row in summary["anomalies"]:
            for told in row["reasons"]:
                assert told["value"] != told["expected"]
                if told["expected"] == "the same":
                    assert told["judgement"].startswith(("at odds", "in an unusual combination"))
                    assert told["direction"] == 0
        assert all("unusual ('DE')" not in found.why(i, 5) for i in range(len(found.explanation)))

    def test_reasons_of_no_weight_are_not_told(self, summary):
        for row in summary["anomalies"]:
            assert "under 1 %" not in row["why"]
            assert len(row["reasons"]) == 1 or all(abs(told["share"]) >= 0.005 for told in row["reasons"])

    def test_counts_are_expected_as_counts(self, summary):
        expected = [
            told["expected"]
            for row in summary["anomalies"]
            for told in row["reasons"]
            if told["name"] == "items"
        ]
        assert expected
        assert all("." not in text for text in expected)

    def test_a_date_has_its_hour_or_weekday_also_in_the_group(self, summary):
        label = summary["groups"][card(summary, NIGHT)["group"]]["label"]
        assert "when at an unusual hour" in label or not label.startswith("when")
        assert (
            "when is at an unusual hour (2024-05-05 03:12:00; no usual row lies within"
            in card(summary, NIGHT)["why"]
        )

    def test_a_date_to_change_to_is_told(self, summary):
        change = card(summary, NIGHT)["change"]
        step = next(step for step in change["steps"] if step["name"] == "when")
        assert step["to"].startswith("2024-")
        assert "as in training row" in step["to"]
