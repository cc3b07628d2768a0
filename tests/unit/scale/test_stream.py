"""A watcher says of each row what ``whyodd.explain`` says, one by one or together, and names bad rows."""

import datetime as dt
import json
import os
import re
import signal
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from whyodd.cli.watch_run import Settings, WatchRun
from whyodd.findings.thresholds import share_above
from whyodd.scale.adapting import learned_again, summary_path
from whyodd.scale.judge import Judge, _rounded
from whyodd.scale.lines import BadLineError
from whyodd.scale.stream import Watcher
from whyodd.scale.summary import TableSummary
from whyodd.scale.wanted import WantedColumns

# Six digits are told, so numbers are off by half of the last one.
DIGITS = 5.001e-6


def mixed(n, seed):
    """Numbers, categories, dates, texts that are numbers, constants and an identifier; gaps."""
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, 2_000, n).tolist()
    return pl.DataFrame(
        {
            "amount": rng.normal(50.0, 5.0, n),
            "gaps": [None if gap else 1.0 for gap in rng.random(n) < 0.3],
            "country": rng.choice(["DE", "FR", "NL"], n),
            "store": rng.integers(1, 5, n),
            "is_new": rng.random(n) < 0.3,
            "when": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=hour) for hour in hours],
            "discount": [f"{share:.1f}%" for share in 100 * rng.random(n)],
            "currency": ["EUR"] * n,
            "name": [f"user {i}" for i in range(n)],
        }
    )


def numbers(n, seed, columns=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)) @ np.tri(columns)
    X[::10, 1] += 15.0
    return pl.DataFrame(X, schema=[f"c{i}" for i in range(columns)])


def as_json_has_it(frame):
    """Dates as texts."""
    return frame.with_columns(pl.selectors.datetime().dt.to_string("%Y-%m-%dT%H:%M:%S"))


def records_of(frame):
    return json.loads(as_json_has_it(frame).write_json())


@pytest.fixture(scope="module")
def auto():
    return whyodd.auto(mixed(300, 0))


MODELS = {
    "neighbours": lambda: whyodd.KNearestNeighbors(contamination=0.1).fit(numbers(300, 0)),
    "svm": lambda: whyodd.OneClassSVM().fit(numbers(300, 0).to_numpy()),
    "scaled": lambda: make_pipeline(StandardScaler(), whyodd.KernelDensity()).fit(
        numbers(300, 0).to_pandas()
    ),
    "forest": lambda: IsolationForest(n_estimators=20, random_state=0).fit(numbers(300, 0).to_pandas()),
}


def check(told, e, i):
    """What is told of a row is what an explanation says."""
    assert told["outlierness"] == pytest.approx(e.outlierness[i], rel=DIGITS)
    assert told["is_odd"] == (None if e.is_odd is None else bool(e.is_odd[i]))
    expected = [r for r in e.odd_row(i, 3).reasons if r.share > 0.0 or r.never_varied]
    assert [reason["name"] for reason in told["reasons"]] == [reason.name for reason in expected]
    for reason, known in zip(told["reasons"], expected, strict=True):
        assert reason["share"] == pytest.approx(known.share, rel=DIGITS)
        assert reason["direction"] == known.direction
        if isinstance(known.expected, float) and np.isfinite(known.expected):
            assert reason["expected"] == pytest.approx(known.expected, rel=DIGITS, abs=1e-12)
        assert ("words" in reason) == (told["is_odd"] is not False)
        assert reason.get("words", known.words) == known.words


@pytest.mark.parametrize("name", MODELS)
def test_it_says_what_explain_says(name):
    model, rows = MODELS[name](), numbers(40, 1)
    rows.columns = list(WantedColumns.of(model).kinds)  # of a model of an array: x0, x1, ...
    watcher, records = Watcher(model), records_of(rows)
    given = rows.to_numpy() if name == "svm" else rows.to_pandas()
    e = whyodd.explain(model, given, exclude_self=False)
    together = watcher.watch(records)
    assert together.wrong == {}
    for i, told in enumerate(together.told):
        check(told, e, i)
    check(watcher.explain_one(records[10]), e, 10)
    assert watcher.score_one(records[10]) == pytest.approx(e.outlierness[10], rel=1e-9)


def test_it_says_what_explain_says_of_all_kinds_of_columns(auto):
    frame, watcher = mixed(60, 1), Watcher(auto)
    odd = mixed(60, 1).with_columns(amount=pl.lit(500.0), country=pl.lit("Atlantis"), currency=pl.lit("USD"))
    frame = pl.concat([frame[:20], odd[20:]])
    e = whyodd.explain(auto, as_json_has_it(frame))
    for i, told in enumerate(watcher.watch(records_of(frame)).told):
        check(told, e, i)
    assert told["reasons"][0]["name"] == "currency"
    assert told["reasons"][0]["words"] == "currency never varied in training (always 'EUR', here 'USD')"


def test_cells_of_csv_are_the_same_values(auto):
    watcher, frame = Watcher(auto), mixed(30, 2)
    texts = [
        {key: None if value is None else str(value) for key, value in record.items()}
        for record in records_of(frame)
    ]
    assert watcher.watch(texts, are_texts=True) == watcher.watch(records_of(frame))


def test_only_odd_rows_if_so_asked(auto):
    records = records_of(mixed(30, 3))
    records[4]["amount"] = records[21]["amount"] = 1e6
    all_rows, odd = (Watcher(auto, only_odd=only).watch(records).told for only in (False, True))
    assert [told if told["is_odd"] else None for told in all_rows] == odd
    assert odd[4]["reasons"][0]["name"] == "amount"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"amount": "a lot"}, "'amount': expected a number, got 'a lot'"),
        ({"amount": [1]}, "'amount': expected a number, got [1]"),
        ({"amount": float("inf")}, "'amount': expected a finite number, got inf"),
        ({"amount": 10**400}, "'amount': expected a finite number, got 1000"),
        ({"store": "A"}, "'store': expected a number, got 'A'"),
        ({"is_new": "perhaps"}, "'is_new': expected true or false, got 'perhaps'"),
        ({"country": {"code": "DE"}}, "'country': expected a text, got {'code': 'DE'}"),
        ({"when": "yesterday"}, "not a date"),
    ],
)
def test_a_value_that_does_not_fit_is_that_of_one_row(auto, change, told):
    watcher, records = Watcher(auto), records_of(mixed(9, 4))
    good = watcher.watch(records).told
    records[5] |= change
    answers = watcher.watch(records)
    assert list(answers.wrong) == [5]
    assert told in answers.wrong[5]
    assert [answers.told[i] for i in range(9) if i != 5] == [good[i] for i in range(9) if i != 5]
    with pytest.raises(BadLineError, match=re.escape(told)):
        watcher.explain_one(records[5])


def test_what_is_not_there_is_a_gap_and_other_keys_are_left_alone(auto):
    watcher, (record,) = Watcher(auto), records_of(mixed(1, 5))
    less = {key: value for key, value in record.items() if key != "amount"}
    assert watcher.explain_one(less) == watcher.explain_one({**record, "amount": None, "extra": [1, 2]})
    assert watcher.explain_one({**record, "amount": float("nan")}) == watcher.explain_one(less)
    with pytest.raises(BadLineError, match="none of the model's columns"):
        watcher.explain_one({"extra": 1})


def test_a_model_that_takes_no_gaps_says_so():
    watcher = Watcher(MODELS["neighbours"]())
    answers = watcher.watch([{"c0": 1.0, "c1": 2.0, "c2": 3.0}, {"c0": 1, "c1": 2, "c2": 3, "c3": 4}])
    assert answers.wrong == {0: "'c3': the value is missing, and this model accepts no missing values"}
    assert answers.told[1]["outlierness"] > 0.0


def test_values_beyond_numbers_are_bad_rows():
    """A row that the network cannot represent does not take those beside it along."""
    watcher, records = Watcher(MODELS["svm"]()), [{f"x{i}": 0.1 for i in range(4)} for _ in range(5)]
    records[3]["x0"] = 1e300
    answers = watcher.watch(records)
    assert list(answers.wrong) == [3]
    assert [told is None for told in answers.told] == [False, False, False, True, False]


def test_another_model_from_the_next_row_on():
    first, second = MODELS["neighbours"](), whyodd.Gaussian().fit(numbers(300, 1))
    watcher, record = Watcher(first), {f"c{i}": 1.0 for i in range(4)}
    watcher.use(second, words="another one")
    answers = watcher.watch([record], rows=[17])
    assert answers.events == [{"event": "model", "row": 17, "words": "another one"}]
    assert answers.told == Watcher(second).watch([record]).told


def test_it_learns_only_if_asked():
    with pytest.raises(ValueError, match="forget="):
        Watcher(MODELS["neighbours"]()).learn_one({"c0": 1.0})


def test_what_is_learned_is_usual_and_what_was_is_forgotten(tmp_path):
    """A stream that has moved by ten scales is usual after some half-lives, and where it was is not.

    One of its columns begins to count the rows, so that the new model sets it aside.
    """
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=400), "b": rng.normal(size=400), "c": rng.integers(0, 9, 400) * 1.0}
    model = whyodd.auto(pl.DataFrame(columns))
    kept = tmp_path / "kept.whyodd"
    watcher = Watcher(model, forget=150, save=kept, drift_every=100)
    old, new = {"a": 0.1, "b": -0.1, "c": 1.0}, {"a": 10.1, "b": -10.1, "c": 1.0}
    assert watcher.explain_one(new)["is_odd"]
    assert not watcher.explain_one(old)["is_odd"]
    try:
        told = []
        for start in (1_000, 2_000):
            moved = rng.normal(size=(200, 2)) + np.array([10.0, -10.0])
            for count, (a, b) in enumerate(moved.tolist(), start=start):
                watcher.learn_one({"a": a, "b": b, "c": float(count)})
            watcher.finish_learning()
            told += watcher.watch([new]).events
        assert watcher.columns == ["a", "b"]
        assert [event["words"] for event in told] == ["The model was updated from the latest rows."] * 2
        assert not watcher.explain_one(new)["is_odd"]
        assert watcher.explain_one(old)["is_odd"]
        assert whyodd.load(kept).predict(pl.DataFrame([new])).tolist() == [1]
        state = TableSummary.from_bytes(kept.with_name("kept.whyodd.summary").read_bytes())
        assert (state.n_rows, state.rows.column_names) == (400, ["a", "b", "c"])
        # Whatever happens to the process that learns, rows are judged.
        os.kill(watcher._adaptation._process.pid, signal.SIGKILL)
        watcher.watch([new] * 200)
        watcher.finish_learning()
        (event,) = watcher.watch([new]).events
        assert event["words"].startswith("The model could not be updated: ")
    finally:
        watcher.close()


def test_a_model_is_learned_again_as_it_was():
    rows = numbers(400, 8)
    summary = TableSummary.of(rows, forget=100)
    sample = summary.rows.to_pandas()
    model = learned_again(MODELS["neighbours"](), summary)
    np.testing.assert_array_equal(model.network_.centers, sample.to_numpy())
    assert (model.contamination, list(model.feature_names_in_)) == (0.1, list(sample.columns))
    of_array = learned_again(MODELS["svm"](), summary)
    assert not hasattr(of_array, "feature_names_in_")
    # The share of normal rows that is called odd stays, not the threshold.
    auto = whyodd.auto(rows)
    auto[-1].threshold_ = auto[-1].distribution_.threshold(0.1)
    again = learned_again(auto, summary)
    share = share_above(again[-1].threshold_, again[-1].distribution_)
    assert share == pytest.approx(0.1, abs=0.02)  # a whole number of about a hundred rows


def test_a_run_goes_on_with_what_it_has_learned(tmp_path, saved):
    first, kept = MODELS["neighbours"](), tmp_path / "live.whyodd"
    summary = TableSummary.of(numbers(300, 9).to_arrow(), forget=50)
    other = learned_again(first, summary)
    whyodd.save(other, kept)
    summary_path(kept).write_bytes(summary.to_bytes())
    out = tmp_path / "out.jsonl"
    run = WatchRun(Settings(saved, out=out, resume=True, forget=50, save=kept))
    (record,) = records_of(numbers(1, 10))
    run.feed(json.dumps(record).encode() + b"\n")
    assert json.loads(out.read_text()) == {"row": 0, **Watcher(other).explain_one(record)}


# ---- the loop of the command, without a process of its own ------------------------------------------------


LINES = [
    *(json.dumps(record).encode() for record in records_of(numbers(12, 6).head(12))),
    b"no row",
    b"",
    b'{"c0": "text", "c1": 1, "c2": 2, "c3": 3}',
    b'{"c0": 1, "c1": 1, "c2": 2, "c3": "\xff"}',
    *(json.dumps({"id": f"n{i}", **record}).encode() for i, record in enumerate(records_of(numbers(9, 7)))),
]
STREAM = b"\r\n".join(LINES)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.whyodd"
    whyodd.save(MODELS["neighbours"](), path)
    return path


def play(saved, folder, parts, **settings):
    """Bytes through the loop, in these parts; what is written."""
    out, rejects = folder / "out.jsonl", folder / "rejects.jsonl"
    run = WatchRun(Settings(saved, out=out, rejects=rejects, **settings))
    for part in parts:
        run.feed(part)
    run.finish()
    return out.read_bytes(), rejects.read_bytes()


@pytest.fixture(scope="module")
def whole(saved, tmp_path_factory):
    return play(saved, tmp_path_factory.mktemp("whole"), [STREAM])


def test_every_line_is_answered_or_refused(whole):
    answers, refused = ([json.loads(line) for line in part.splitlines()] for part in whole)
    assert [answer["row"] for answer in answers] == [*range(12), *range(15, 24)]
    assert [line["line"] for line in refused] == [13, 15, 16]
    assert refused[0]["text"] == "no row"


@settings(max_examples=25)
@given(places=st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_what_is_written_does_not_depend_on_how_bytes_come(saved, whole, tmp_path_factory, places):
    ends = sorted(places)
    parts = [STREAM[a:b] for a, b in zip([0, *ends], [*ends, len(STREAM)], strict=True)]
    assert play(saved, tmp_path_factory.mktemp("parts"), parts) == whole


@settings(max_examples=25)
@given(kept=st.integers(0, 10_000), bad=st.integers(0, 10_000))
def test_a_run_that_was_killed_goes_on(saved, whole, tmp_path_factory, kept, bad):
    """Whatever was written when it was killed: bad lines come before the answers of the same rows."""
    folder = tmp_path_factory.mktemp("killed")
    answers = whole[0][: kept % (len(whole[0]) + 1)]
    last = answers.count(b"\n")
    before = sum(line < 13 + (last > 12) * 99 for line in (13, 15, 16))  # refused before those answered
    least = sum(len(line) + 1 for line in whole[1].splitlines()[:before])
    refused = whole[1][: least + bad % (len(whole[1]) - least + 1)]
    (folder / "out.jsonl").write_bytes(answers)
    (folder / "rejects.jsonl").write_bytes(refused)
    assert play(saved, folder, [STREAM], resume=True) == whole


def test_ids_are_passed_on_and_skipped_rows_are_counted(saved, tmp_path, capsys):
    written, _ = play(saved, tmp_path, [STREAM], id_column="id")
    assert [json.loads(line).get("id") for line in written.splitlines()][12:14] == ["n0", "n1"]
    assert "ignored" not in capsys.readouterr().err


def test_keys_that_the_model_does_not_know_are_told_once(saved, tmp_path, capsys):
    play(saved, tmp_path, [b'{"c0": 1, "c1": 1, "c2": 1, "c3": 1, "z": 1}\n'] * 3)
    assert capsys.readouterr().err.count("Note: ignored, since the model was not fitted on them: 'z'.") == 1


def test_a_file_of_something_else_is_not_appended_to(saved, tmp_path):
    (tmp_path / "out.jsonl").write_text("Dear diary\n")
    with pytest.raises(ValueError, match="was not written by whyodd watch"):
        play(saved, tmp_path, [STREAM])
    assert (tmp_path / "out.jsonl").read_text() == "Dear diary\n"


# ---- digits -----------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.floats(1e-16, 1e16) | st.floats(-1e16, -1e-16))
def test_numbers_have_six_digits(value):
    (told,) = _rounded(np.array([value]))
    assert len(Decimal(repr(told)).normalize().as_tuple().digits) <= 6
    # One in the middle of two such numbers may become the other one.
    assert told == float(f"{value:.6g}") or abs(told - value) <= 5.0001e-6 * abs(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_that_powers_of_ten_do_not_reach_stay(value):
    (told,) = _rounded(np.array([value]))
    np.testing.assert_allclose(told, value, rtol=DIGITS)


def test_what_json_has_no_number_for():
    assert _rounded(np.array([np.nan, np.inf, 0.0, -0.25])) == [None, "inf", 0.0, -0.25]


def test_what_all_rows_of_a_model_share_is_looked_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    judge = Judge(whyodd.KNearestNeighbors().fit(frame))
    monkeypatch.setattr("whyodd.explanations.table.resolution_of", lambda _: pytest.fail("looked at again"))
    ((judged,), wrong) = judge.judge(frame.to_dict("records"))
    assert not wrong
    assert len(judged.told) == 80
