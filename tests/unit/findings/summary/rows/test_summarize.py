"""Every number of a summary is one of the explanation."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import Pipeline

import whyodd
from whyodd.explanations.groups import group_by_reason
from whyodd.explanations.sentences import VISIBLE, number, percent
from whyodd.findings.findings import Findings
from whyodd.findings.scoring import ScoredRows
from whyodd.findings.summary.rows import summarize as module

RNG = np.random.default_rng(0)
N = 400


def summarize(e, top=50, **options):
    return Findings.of(e, **options).to_dict(top)


def table():
    frame = pd.DataFrame({"speed": RNG.normal(50, 5, N), "load": RNG.gamma(2.0, 3.0, N)})
    frame["gear"] = RNG.choice(["low", "high"], N, p=[0.3, 0.7])
    frame.loc[:3, "speed"] = [140.0, 130.0, 120.0, 110.0]
    frame.loc[4:5, "load"] = [90.0, 70.0]
    return frame


FRAME = table()


@pytest.fixture(scope="module")
def pipeline():
    return whyodd.auto(FRAME)


@pytest.fixture(scope="module")
def e(pipeline):
    return whyodd.explain(pipeline, FRAME)


@pytest.fixture(scope="module")
def density():
    """A model whose sentences have no ranges."""
    return Pipeline([*whyodd.auto(FRAME).steps[:-1], ("model", whyodd.KernelDensity())]).fit(FRAME)


@pytest.fixture(scope="module")
def summary(e):
    return summarize(e, top=5)


def test_is_plain(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_counts_rows_above_the_threshold(summary, e):
    odd = int((e.outlierness > e.threshold).sum())
    assert summary["counts"] == {"rows": N, "odd": odd, "explained": N, "shown": 5}
    assert odd > 5
    assert summary["threshold"]["value"] == e.threshold
    assert len(summary["anomalies"]) + len(summary["rest"]) + summary["n_unlisted"] == odd
    assert sum(summary["scores"]["above"]) == odd
    assert sum(summary["scores"]["below"]) == N - odd


def test_ranks_the_oddest_first(summary, e):
    lines = summary["anomalies"] + summary["rest"]
    order = np.argsort(-e.outlierness, kind="stable")
    assert [line["row"] for line in lines] == order[: len(lines)].tolist()
    assert [line["rank"] for line in lines] == list(range(1, len(lines) + 1))
    for line in lines:
        o = float(e.outlierness[line["row"]])
        assert (line["outlierness"], line["outlierness_text"]) == (o, number(o))
        assert line["times"] == o / e.threshold


def test_tells_the_reasons_of_the_explanation(summary, e):
    for card in summary["anomalies"]:
        i = card["row"]
        assert card["why"] == e.why(i)
        visible = [reason for reason in e.reasons(i) if abs(reason.share) >= VISIBLE]
        for told, reason in zip(card["reasons"], visible, strict=True):
            assert (told["name"], told["direction"]) == (reason.feature, reason.direction)
            assert (told["relevance"], told["share"]) == (reason.relevance, reason.share)
            assert told["share_text"] == percent(reason.share)
        n_hidden = len(e.feature_names) - len(visible)
        assert (card["others"] or {"count": 0})["count"] == n_hidden
        rest = card["others"]["share"] if n_hidden else 0.0
        whole = sum(told["share"] for told in card["reasons"]) + rest + card["unexplained"]["share"]
        assert whole == pytest.approx(1.0, abs=1e-9)


def test_groups_are_those_of_the_listed_rows(summary, e):
    lines = summary["anomalies"] + summary["rest"]
    listed = e[[line["row"] for line in lines]]
    found = group_by_reason(listed)
    assert [group["sentence"] for group in summary["groups"]] == [group.sentence for group in found]
    assert sum(group["count"] for group in summary["groups"]) == len(lines)
    for position, group in enumerate(summary["groups"]):
        assert all(lines[rank - 1]["group"] == position for rank in group["ranks"])
    assert any(group["features"] == ["speed"] for group in summary["groups"])


def test_groups_count_rows_that_are_not_listed(e, summary, monkeypatch):
    monkeypatch.setattr(module, "_LISTED", 7)
    few = summarize(e, top=3)
    assert (len(few["anomalies"]), len(few["rest"])) == (3, 4)
    assert few["n_unlisted"] == few["counts"]["odd"] - 7
    assert [group["sentence"] for group in few["groups"]] == [
        group["sentence"] for group in summary["groups"]
    ]
    assert sorted(rank for group in few["groups"] for rank in group["ranks"]) == list(range(1, 8))


def test_usual_ranges_are_those_of_rows_that_are_not_odd(density):
    e = whyodd.explain(density, FRAME)
    speed = FRAME["speed"].to_numpy()[e.outlierness <= e.threshold]
    cards = summarize(e)["anomalies"]
    card = next(card for card in cards if card["row"] == 0)
    speed_of_card = next(reason for reason in card["reasons"] if reason["name"] == "speed")
    told, strip = speed_of_card["usual"], speed_of_card["strip"]
    low, high = np.quantile(speed, [0.05, 0.95], method="inverted_cdf")
    assert (told["low"], told["high"]) == (number(low), number(high))
    # The value is right of its usual range: at the end of the strip, or beyond a break.
    assert told["side"] == "above"
    assert strip["low_at"] < strip["high_at"] < strip["at"]
    if strip["break_at"] is None:
        assert (strip["at"] - strip["high_at"]) / (strip["high_at"] - strip["low_at"]) == pytest.approx(
            (140.0 - high) / (high - low), rel=1e-3
        )
    else:
        assert strip["stop"] < strip["break_at"] < strip["at"]
    gear = next(reason for card in cards for reason in card["reasons"] if reason["name"] == "gear")
    counts = FRAME["gear"][e.outlierness <= e.threshold].value_counts(normalize=True)
    first = gear["common"][0]
    assert (first["value"], first["share_text"]) == ("'high'", percent(counts["high"]))
    assert first["is_here"] == (gear["value"] == "'high'")


def test_normal_rows_tell_what_is_usual(density):
    normal = pl.DataFrame({"speed": np.linspace(0, 100, 1001), "gear": ["low"] * 1001})
    cards = summarize(whyodd.explain(density, FRAME), normal=normal)["anomalies"]
    usual = {reason["name"]: reason for card in cards for reason in card["reasons"]}
    assert (usual["speed"]["usual"]["low"], usual["speed"]["usual"]["high"]) == ("5", "95")
    assert usual["load"]["usual"] is usual["load"]["strip"] is None
    shares = {each["value"]: each["share_text"] for each in usual["gear"]["common"]}
    assert shares["'low'"] == "100 %"
    assert set(shares.values()) <= {"100 %", "none"}  # the own one is listed, too


def test_few_rows_are_compared_with_the_points_of_the_model(density):
    few = summarize(whyodd.explain(density, FRAME[:3]))
    kept = whyodd.neuralize(density[-1]).rows
    assert few["usual_source"] == (
        f"Usual ranges are the middle 90 % of the {len(kept):,} normal points that the model keeps."
    )
    told = next(reason for reason in few["anomalies"][0]["reasons"] if reason["name"] == "speed")["usual"]
    alike = np.full(len(kept), 1.0 / len(kept))
    low, high = np.quantile(FRAME["speed"][kept], [0.05, 0.95], method="inverted_cdf", weights=alike)
    # Told with three digits.
    assert float(told["low"]) == pytest.approx(low, abs=0.1)
    assert float(told["high"]) == pytest.approx(high, abs=0.1)


@pytest.mark.parametrize("normal", [None, FRAME])
def test_a_card_has_the_usual_range_of_its_sentence(e, normal):
    """Whatever rows are at hand: two ranges of one variable would contradict each other."""
    ranges = 0
    for card in summarize(e, normal=normal)["anomalies"]:
        words = {reason.name: reason.words for reason in e.reasons(card["row"])}
        for reason in card["reasons"]:
            told = words[reason["name"]]
            if reason["judgement"] in ("too high", "too low"):
                usual = reason["usual"]
                assert told.endswith(f"usually {usual['low']} to {usual['high']})")
                ranges += 1
    assert ranges >= 6


def test_nearest_normal_rows_have_their_own_values(summary, e):
    card = summary["anomalies"][0]
    nearest = e.neighbors(3)[card["row"]]
    assert [told["name"] for told in card["neighbors"]] == [f"training row {known.row}" for known in nearest]
    for told, known in zip(card["neighbors"], nearest, strict=True):
        values = {value["name"]: value["value"] for value in told["values"]}
        assert float(values["speed"]) == pytest.approx(FRAME["speed"][known.row], rel=0.005)
        if "gear" in values:
            assert values["gear"] == repr(FRAME["gear"][known.row])
        assert told["assignment_text"] == percent(known.assignment)


def test_nearest_rows_of_the_table_are_shown_as_they_are():
    """Also the gaps, which a model remembers as what they were filled with."""
    frame = FRAME.assign(speed=FRAME["speed"].where(FRAME.index % 2 == 1))
    cards = summarize(whyodd.explain(whyodd.auto(frame), frame), normal=frame)["anomalies"]
    shown = [
        (known["name"], value) for card in cards for known in card["neighbors"] for value in known["values"]
    ]
    speeds = {name: value["value"] for name, value in shown if value["name"] == "speed"}
    assert "-" in speeds.values()
    for name, value in speeds.items():
        speed = frame["speed"][int(name.removeprefix("training row "))]
        assert value == ("-" if np.isnan(speed) else number(speed))


def test_values_inside_the_usual_range_are_odd_among_their_like():
    rng = np.random.default_rng(1)
    x = rng.normal(size=1000)
    X = np.column_stack([x, x + rng.normal(scale=0.05, size=1000)])
    e = whyodd.explain(
        whyodd.KernelDensity(sigma=0.1).fit(X), np.vstack([X[:100], [[-1.0, 1.0], [6.0, 6.0]]])
    )
    cards = {card["row"]: card for card in summarize(e, normal=X)["anomalies"]}
    words = {
        reason["name"]: (reason["judgement"], reason["usual"]["side"]) for reason in cards[100]["reasons"]
    }
    assert {side for _, side in words.values()} == {"inside"}
    assert {judgement for judgement, _ in words.values()} <= {"high for rows like it", "low for rows like it"}
    assert cards[101]["reasons"][0]["judgement"] == "too high"
    assert cards[101]["reasons"][0]["usual"]["side"] == "above"


def test_names_of_rows(e):
    names = [f"car {i}" for i in range(N)]
    told = summarize(e, ids=names, known_ids=names)["anomalies"][0]
    assert (told["id"], told["name"]) == (f"car {told['row']}", f"car {told['row']}")
    assert told["neighbors"][0]["name"].startswith("car ")


def test_of_some_rows_and_the_scores_of_all(pipeline, summary):
    survey = ScoredRows.of(pipeline, FRAME)
    rows = np.argsort(-survey.outlierness, kind="stable")[:60]
    part = summarize(survey.explain(rows), scores=survey.outlierness, normal=FRAME, top=5)
    assert part["counts"] == summary["counts"] | {"explained": 60}
    for one, other in zip(part["anomalies"], summary["anomalies"], strict=True):
        assert (one["row"], one["why"]) == (other["row"], other["why"])


def test_threshold_can_be_chosen(e):
    chosen = summarize(e, threshold=1e9, threshold_source="drawn by lot")
    assert chosen["threshold"]["source"] == "The threshold: drawn by lot."
    assert chosen["counts"]["odd"] == 0
    assert len(chosen["anomalies"]) == 10
    assert chosen["notes"] == ["No row is above the threshold. The 10 oddest are shown anyway."]


def test_model_without_a_threshold():
    X = RNG.normal(size=(100, 2))
    told = summarize(whyodd.explain(KernelDensity().fit(X), X))
    assert told["counts"]["odd"] == 5
    assert told["threshold"]["source"] == (
        "The threshold: the 5 % oddest exceed it, since the model has none."
    )


def test_linear_model_compares_with_no_rows():
    X = RNG.normal(size=(100, 2))
    told = summarize(whyodd.explain(SGDOneClassSVM(nu=0.2).fit(X), X))
    json.dumps(told, allow_nan=False)
    assert all(card["neighbors"] == [] and card["change"] is None for card in told["anomalies"])


def test_method_in_other_units(pipeline):
    told = summarize(whyodd.explain(pipeline, FRAME[:30], method="nearest"))
    json.dumps(told, allow_nan=False)
    # Also of a row that is a center itself, and has no relevance.
    assert all(card["unexplained"] is None for card in told["anomalies"])


def test_columns_are_those_of_auto(pipeline, e):
    told = summarize(e, model=pipeline)["columns"]
    assert [column["name"] for column in told["used"]] == list(FRAME)
    looked_at = ", ".join(view.name for view in pipeline[-1].network_.views)
    assert told["model"] == f"a committee that looks at {looked_at}."


def test_variable_that_never_varied_has_no_share():
    X = np.column_stack([RNG.normal(size=100), np.full(100, 3.0)])
    told = summarize(whyodd.explain(whyodd.KernelDensity().fit(X), [[0.5, 4.0]]))["anomalies"][0]["reasons"]
    new = next(reason for reason in told if reason["name"] == "x1")
    assert (new["judgement"], new["share"], new["share_text"]) == ("new value", None, "")


def test_nothing_to_tell(e):
    with pytest.raises(ValueError, match="The explanation has no rows"):
        summarize(e[:0])
    with pytest.raises(ValueError, match="top=0"):
        summarize(e, top=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ids": ["a"]}, "ids has 1 entries, expected one for each of 400 rows"),
        ({"known_ids": ["a"]}, "known_ids has 1 entries, expected one for each of 400 rows"),
        ({"scores": [1.0, 2.0]}, "scores has 2 entries"),
        ({"threshold": np.nan}, "threshold=nan: expected an outlierness"),
        ({"top": "many"}, "top='many': expected the number of rows"),
    ],
)
def test_wrong_arguments(e, options, words):
    with pytest.raises(ValueError, match=words):
        summarize(e, **options)
