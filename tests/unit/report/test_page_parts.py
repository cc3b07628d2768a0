"""Texts, scales, bars and lines of the page."""

import math

import pytest

from made_up.reports import table
from whyodd.report.drawings import HEIGHT, against_largest, bar, bars, histogram, percent_of, ticks
from whyodd.report.series import CHANNELS, channels
from whyodd.report.text import LONGEST, clean, closed, cut, shown, told

LRI, PDI, RLO, PDF = "\u2066", "\u2069", "\u202e", "\u202c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain שלום", "plain שלום"),
        (f"a{RLO}b", f"a{RLO}b{PDF}"),
        (f"{LRI}a{RLO}b", f"{LRI}a{RLO}b{PDF}{PDI}"),
        (f"{RLO}a{PDF}", f"{RLO}a{PDF}"),
        (f"a{PDI}b{PDF}c", "abc"),  # would end what began before
        (f"{LRI}a{RLO}b{PDI}c", f"{LRI}a{RLO}b{PDI}c"),  # the end of an isolate ends all within it
        (f"{LRI}a{PDF}b", f"{LRI}ab{PDI}"),  # ends nothing outside
    ],
)
def test_turns_of_direction_are_closed(text, expected):
    assert closed(text) == expected


def test_signs_for_what_is_no_character():
    assert clean("a\x00\x1b\x7f\x9b\ud800\uffff\tb\n") == "a␀␛␡\ufffd\ufffd\ufffd\tb\n"


def test_long_texts_are_cut_once_for_the_eye_and_once_for_good():
    html = str(shown("é" * 10_000, 10))
    assert html == f'<bdi title="{"é" * (LONGEST - 1)}…">{"é" * 9}…</bdi>'
    assert len(told("word " * 10_000)) == 4 * LONGEST
    assert cut("abc", 3) == "abc"


def test_cutting_does_not_leave_a_turn_open():
    assert f"{'a' * 5}{RLO}bc…{PDF}</bdi>" in shown(f"{'a' * 5}{RLO}{'bc' * 50}{PDF}", 9)


def test_a_name_cannot_turn_the_sentence_it_is_in():
    assert told(f"{RLO}name is too high") == "name is too high"


@pytest.mark.parametrize(("part", "text"), [(-1.0, "0%"), (math.nan, "0%"), (1 / 3, "33.33%"), (7.0, "100%")])
def test_places_stay_in_the_picture(part, text):
    assert percent_of(part) == text


def test_heights_are_in_proportion():
    scores = {"edges": [0.0, 1.0, 2.0, 3.0], "is_log": False, "below": [40, 10, 0], "above": [0, 10, 0]}
    drawn = histogram(scores, 1.5, "rows")
    first, second = drawn["bars"]  # the empty one is not drawn
    assert [float(part) for part in first["below"]] == [0.0, HEIGHT]
    assert float(second["below"][1]) == float(second["above"][1]) == HEIGHT / 4
    assert float(second["above"][0]) + float(second["above"][1]) == float(second["below"][0])
    assert drawn["threshold"] == "50%"
    assert not drawn["is_log"]
    assert [text for _, text in drawn["up"]] == ["0", "10", "20", "30", "40"]


def test_few_are_seen_beside_many():
    scores = {"edges": [0.0, 1.0, 2.0], "is_log": False, "below": [100_000, 0], "above": [0, 1]}
    drawn = histogram(scores, 1.0, "rows")
    assert drawn["is_log"]
    assert float(drawn["bars"][1]["above"][1]) > 5
    assert [text for _, text in drawn["up"]] == ["1", "100", "10,000"]


def test_scores_far_out_are_drawn_as_logarithms():
    scores = {"edges": [1.0, 10.0, 100.0, 1e4], "is_log": True, "below": [5, 5, 0], "above": [0, 0, 5]}
    drawn = histogram(scores, 100.0, "rows")
    assert [bar["x"] for bar in drawn["bars"]] == ["0%", "25%", "50%"]
    assert drawn["threshold"] == "50%"
    assert [text for _, text in drawn["across"]] == ["1", "100", "10000"]


def test_a_threshold_beyond_all_scores_is_not_drawn():
    scores = {"edges": [0.0, 1.0], "is_log": False, "below": [3], "above": [0]}
    assert histogram(scores, 9.0, "rows")["threshold"] is None
    assert histogram(scores, None, "rows")["threshold"] is None


def test_no_scores_no_histogram():
    assert histogram({"edges": [], "is_log": False, "below": [], "above": []}, 1.0, "rows") is None


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-3.0, 1e9), (1e-12, 3e-12), (5.0, 5.0), (0.21, 665.0), (1e6, 1e6 + 1)]
)
def test_marks_are_few_round_and_inside(low, high):
    marks = ticks(low, high)
    assert len(marks) <= 6
    # A mark has 12 digits.
    assert all(low - 1e-11 * abs(low) <= mark <= high + 1e-11 * abs(high) for mark in marks)


def test_bars_of_one_card_have_one_scale():
    row = table(1, 0)["anomalies"][0]
    scale = bars(row)
    assert bar(0.41, scale) == ("0%", "100%")
    assert bar(0.205, scale) == ("0%", "50%")
    row["unexplained"]["share"] = 0.82
    assert bar(0.41, bars(row)) == ("0%", "50%")


def test_a_card_without_shares_has_a_scale():
    assert bars({"reasons": [], "others": None, "unexplained": None})["size"] == 1.0


def test_measures_are_drawn_beside_the_largest():
    assert against_largest([0.3, 0.6, math.nan]) == ["50%", "100%", "0%"]
    assert against_largest([]) == []


def _drawn(values, relevance):
    return channels({"channels": [{"name": "a", "values": values, "relevance": relevance}]})[0]


def test_a_line_is_interrupted_where_there_is_no_value():
    path = _drawn([0.0, 1.0, None, 2.0], [0.0] * 4)["path"]
    assert path.count("M") == 2
    assert path.startswith("M125.0 94.0h0L375.0 50.0M875.0 6.0h0")


def test_thinning_keeps_every_spike():
    values = [0.0] * 100_000
    values[77_777] = 9.0
    drawn = _drawn(values, [0.0] * 100_000)
    assert drawn["high"] == "9"
    assert " 6.0" in drawn["path"]
    assert len(drawn["path"]) < 30_000


def test_shades_are_where_the_relevance_is():
    relevance = [0.0] * 10
    relevance[4], relevance[5] = 1.0, 0.4
    assert _drawn([0.0] * 10, relevance)["shades"] == [("400.0", "100.0", 5), ("500.0", "100.0", 2)]


def test_shades_do_not_depend_on_how_many_steps_share_a_place():
    levels = {level for _, _, level in _drawn([0.0] * 500, [1.0] * 500)["shades"]}
    assert levels == {5}


def test_series_of_nothing_are_drawn_as_nothing():
    assert _drawn([], [])["path"] == ""
    assert _drawn([None, None], [0.0, 0.0]) == {"name": "a", "path": "", "low": "", "high": "", "shades": []}


def test_draws_the_first_channels():
    channel = {"name": "a", "values": [1.0], "relevance": [1.0]}
    assert len(channels({"channels": [channel] * 40})) == CHANNELS
