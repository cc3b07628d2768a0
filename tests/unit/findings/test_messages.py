"""What is found in messages."""

import json

import numpy as np
import pandas as pd
import pytest

import whyodd
from whyodd.findings.messages import find_in_messages

SUBJECTS = ("pump", "valve", "engine", "filter", "motor")
STATES = ("open", "shut", "warm", "cold", "quiet", "loud")
LOG = [
    f"the {a} is {b} and the {c} is {d}" for a in SUBJECTS for b in STATES for c in SUBJECTS for d in STATES
]
NEW = [
    "the pump is open and the valve is shut",
    "the pump is ablaze and the valve is shut",
    "the motor is ablaze and the engine is cold",
    "",
    "YOU ARE ALL MORONS",
]


@pytest.fixture(scope="module")
def found():
    return find_in_messages(NEW, LOG, names=["a", "b", "c", "d", "e"])


def test_what_is_odd_and_why(found):
    assert found.is_odd.tolist() == [False, True, True, False, True]
    np.testing.assert_array_equal(found.is_odd, found.outlierness > found.threshold)
    np.testing.assert_allclose(found.p_value, found.model.p_values(NEW))
    assert found.explanation.rows.tolist() == np.argsort(-found.outlierness, kind="stable").tolist()
    assert found.explanation.names[0] == "e"
    assert "ablaze" in found.why(1)
    assert "times as odd as a usual message of its length" in found.how_odd(0)
    assert "about 1 % of normal messages exceed it" in found.headline
    assert any("1 messages have no words" in note for note in found.notes)


def test_messages_that_share_their_oddest_word(found):
    (group,) = found.groups
    assert group.features == ("ablaz",)
    assert sorted(found.odd.rows[group.members].tolist()) == [1, 2]


def test_without_normal_messages_each_is_judged_by_all_others():
    texts = [*LOG[:300], "the pump is ablaze and the valve is shut"]
    found = find_in_messages(texts)
    np.testing.assert_array_equal(found.outlierness, found.model.explain(texts).outlierness)
    assert int(found.order[0]) == 300
    assert "in none of 301 messages" not in found.why(0)
    assert "in 1 of 301 messages" in found.why(0)
    assert any("each message is judged by all others" in note for note in found.notes)
    np.testing.assert_allclose(
        found.explanation.outlierness, np.sort(found.outlierness)[::-1][: len(found.explanation)]
    )


def test_thresholds():
    wide = find_in_messages(NEW, LOG, false_alarms=0.2)
    assert wide.threshold == wide.model.distribution_.threshold(0.2)
    assert "about 20 % of normal messages exceed it" in wide.headline
    shared = find_in_messages(LOG, share=0.1)
    assert shared.threshold == np.quantile(shared.outlierness, 0.9)
    assert "10 % of the training messages exceed it" in shared.headline
    with pytest.raises(ValueError, match="one threshold option, got share and false_alarms"):
        find_in_messages(NEW, LOG, share=0.1, false_alarms=0.1)


def test_a_fitted_model_is_used_and_settings_are_taken(found):
    again = find_in_messages(NEW, model=found.model)
    np.testing.assert_array_equal(again.outlierness, found.outlierness)
    parts = find_in_messages(NEW, LOG, model=whyodd.TextModel(subwords=True))
    assert parts.model.subwords
    with pytest.raises(ValueError, match="train cannot be used with model"):
        find_in_messages(NEW, LOG, model=found.model)


def test_the_paper():
    found = find_in_messages(NEW, LOG, model=whyodd.TextModel(paper=True))
    model = whyodd.TextModel(paper=True).fit(LOG)
    np.testing.assert_allclose(found.outlierness, model.outlierness(NEW), rtol=1e-12)
    assert (found.threshold, found.p_value) == (model.threshold_, None)
    own = find_in_messages(LOG, model=whyodd.TextModel(paper=True))
    np.testing.assert_allclose(own.outlierness, model.explain(LOG).outlierness, rtol=1e-9)
    np.testing.assert_allclose(own.top(3).outlierness, np.sort(own.outlierness)[::-1][:3], rtol=1e-9)
    with pytest.raises(ValueError, match="need a model that knows how odd normal rows are"):
        find_in_messages(NEW, LOG, model=whyodd.TextModel(paper=True), false_alarms=0.1)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one", "got one string"),
        ([], "There are no messages"),
        ([1.5], "Expected a text as message 0, got 1.5"),
    ],
)
def test_what_are_no_messages_is_told(texts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        find_in_messages(texts)


def test_everything_is_told_in_plain_values(found, tmp_path):
    told = found.to_dict()
    json.dumps(told, allow_nan=False)
    (card,) = [one for one in told["anomalies"] if one["id"] == "b"]
    assert [t["text"] for t in card["item"]["tokens"] if t["strength"]] == ["ablaze"]
    assert card["item"]["tokens"][1]["strength"] == 1.0
    for one in told["anomalies"]:
        parts = [*one["reasons"], one["others"], one["unexplained"]]
        assert sum(part["share"] for part in parts if part is not None) == pytest.approx(1.0, abs=0.02)
    hostile = find_in_messages(["<img src=x onerror=alert(1)> <script>alert(2)</script> \x1b[31m"], LOG)
    hostile.report(tmp_path / "odd.html")
    page = (tmp_path / "odd.html").read_text()
    assert "<img" not in page
    assert page.count("<script") == 1  # the page's own


def test_a_frame_of_all(found):
    frame = found.to_frame()
    assert list(frame.columns) == ["row", "id", "outlierness", "p_value", "is_odd"]
    column = pd.Series(NEW)
    np.testing.assert_array_equal(find_in_messages(column, pd.Series(LOG)).outlierness, found.outlierness)


def test_some_messages_of_the_paper_model_as_all_of_them():
    """Each without itself as a center, however many are explained at a time."""
    found = find_in_messages(LOG, model=whyodd.TextModel(paper=True, min_df=1))
    whole = found.model.explain(LOG)
    rows = np.array([700, 3, 4])
    some = found.explain(rows)
    np.testing.assert_allclose(some.outlierness, whole.outlierness[rows], rtol=1e-12)
    np.testing.assert_allclose(some.outlierness, found.outlierness[rows], rtol=1e-9)
    np.testing.assert_allclose(some.parts.absent, whole.parts.absent[rows], rtol=1e-9)
    assert some.rows.tolist() == rows.tolist()
    assert [some.why(i) for i in range(3)] == [whole.why(row) for row in rows]
