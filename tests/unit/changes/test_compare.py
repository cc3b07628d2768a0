"""What ``compare`` tells: the right cause first, whatever tables come, whichever way they come."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import whyodd
from whyodd.changes.evidence import MOST_RELATED

QUICK = {"permutations": 39, "false_alarms": 0.1}


def table(seed, n=120, *, shift=0.0, in_basic=0.0, shuffled=False):
    rng = np.random.default_rng(seed)
    load = rng.normal(50, 10, n)
    heat = 0.9 * load + rng.normal(0, 3, n)
    plan = rng.choice(["basic", "pro", "max"], n)
    amount = rng.normal(30, 4, n) + shift + in_basic * (plan == "basic")
    return {"load": load, "heat": rng.permutation(heat) if shuffled else heat, "plan": plan, "amount": amount}


@pytest.fixture(scope="module")
def shifted():
    return whyodd.compare(table(0), table(1, shift=6.0), **QUICK)


def test_a_column(shifted):
    first, *others = shifted.changes
    assert (first.kind, first.columns, others) == ("column", ("amount",), [])
    assert first.words.startswith("amount rose from ")
    assert first.after - first.before == pytest.approx(6.0, abs=1.5)
    assert first.share > 0.8
    assert shifted.headline.startswith("amount rose from ")


def test_parts_add_up_to_the_distance(shifted):
    assert sum(column.part for column in shifted.columns) == pytest.approx(shifted.distance, rel=1e-12)
    assert sum(column.own + column.rest for column in shifted.columns) == pytest.approx(shifted.distance)
    assert sum(column.chance for column in shifted.columns) == pytest.approx(shifted.chance)
    assert sum(column.share for column in shifted.columns) == pytest.approx(1.0)


def test_a_relation():
    found = whyodd.compare(table(0), table(1, shuffled=True), **QUICK)
    first = found.changes[0]
    assert (first.kind, set(first.columns)) == ("relation", {"load", "heat"})
    assert "no longer rise together" in first.words
    assert first.before > 0.8 > 0.3 > abs(first.after)


def test_a_group():
    found = whyodd.compare(table(0), table(1, in_basic=10.0), **QUICK)
    first = found.changes[0]
    assert (first.kind, first.columns, first.group) == ("group", ("amount", "plan"), "plan 'basic'")
    assert first.where == {"column": "plan", "part": "plan", "is": "'basic'"}
    assert first.words.startswith("In rows with plan 'basic', amount rose from ")


def test_a_group_by_a_number_is_told_by_the_side_that_changed():
    old, new = table(0), table(1)
    high = new["load"] > 55
    new["amount"] = new["amount"] + 12.0 * high
    first = whyodd.compare(old, new, **QUICK).changes[0]
    assert (first.kind, first.columns) == ("group", ("amount", "load"))
    assert set(first.where) == {"column", "above"}
    chosen = new["load"] > first.where["above"]
    assert np.sum(chosen & high) / np.sum(chosen | high) > 0.6


@pytest.mark.parametrize("is_new", [True, False])
def test_a_kind_of_rows_that_only_one_table_has(is_new):
    old, new = table(0, n=200), table(1, n=200)
    rng = np.random.default_rng(5)
    new["amount"][:16], new["load"][:16] = rng.normal(300, 4, 16), rng.normal(150, 4, 16)
    found = whyodd.compare(*((old, new) if is_new else (new, old)), **QUICK)
    first = found.changes[0]
    assert first.kind == ("new kind" if is_new else "vanished kind")
    assert set(first.rows) == set(range(16))
    assert set(first.columns) >= {"amount", "load"}


def test_nothing():
    found = whyodd.compare(table(0), table(1), **QUICK)
    assert (found.changes, found.has_changed) == ((), False)
    assert found.headline == "Nothing changed beyond chance between 120 old and 120 new rows."
    assert all(column.share is None for column in found.columns)


def test_the_same_table_twice_is_at_no_distance():
    found = whyodd.compare(table(0), table(0), **QUICK)
    assert found.distance == pytest.approx(0.0, abs=1e-12)
    assert not found.has_changed
    assert found.distance_words == "The tables hold the same rows."


def numbers(found):
    return [
        found.distance,
        found.chance,
        found.p_value,
        *(value for column in found.columns for value in (column.part, column.own, column.p_value)),
    ]


def test_the_same_both_ways(shifted):
    back = whyodd.compare(table(1, shift=6.0), table(0), **QUICK)
    assert numbers(back) == pytest.approx(numbers(shifted))
    assert back.changes[0].words.startswith("amount fell from ")


def test_the_same_in_any_order_of_the_rows(shifted):
    order = np.random.default_rng(9).permutation(120)
    new = {name: values[order] for name, values in table(1, shift=6.0).items()}
    assert numbers(whyodd.compare(table(0), new, **QUICK)) == pytest.approx(numbers(shifted))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_the_same_of_any_frame_and_again(kind, shifted):
    found = whyodd.compare(kind(table(0)), kind(table(1, shift=6.0)), **QUICK)
    assert found.to_dict() == shifted.to_dict()


def test_a_sample_is_told_and_its_seed_decides(monkeypatch):
    monkeypatch.setattr("whyodd.changes.compare._MOST_COMPARED", 50)
    first, again, other = (
        whyodd.compare(table(0), table(1), random_state=seed, **QUICK) for seed in (0, 0, 1)
    )
    assert first.to_dict() == again.to_dict()
    assert first.distance != other.distance
    told = (
        "The comparison uses 50 rows of each table, drawn at random: "
        "the old table has 120 rows, the new one 120."
    )
    assert told in first.notes
    assert (first.n_old, first.n_compared) == (120, 50)


def test_gaps_are_told_as_gaps():
    old, new = table(0), table(1)
    new["amount"] = np.where(np.arange(120) % 3 == 0, np.nan, new["amount"])
    found = whyodd.compare(old, new, **QUICK)
    assert [change.kind for change in found.changes] == ["gaps"]
    assert found.changes[0].words == "amount is missing in 33 % of the rows, before in 0 %"


def test_a_column_that_is_missing_altogether():
    new = table(1) | {"amount": np.full(120, np.nan)}
    found = whyodd.compare(table(0), new, **QUICK)
    assert [change.words for change in found.changes] == [
        "amount is missing in 100 % of the rows, before in 0 %"
    ]
    nothing = {"amount": np.full(120, np.nan)}
    both = whyodd.compare(table(0) | nothing, table(1) | nothing, **QUICK)
    assert "Not compared: amount (it has no values at all)." in both.notes


def test_constants():
    same, other = {"unit": ["m"] * 120}, {"unit": ["km"] * 120}
    found = whyodd.compare(table(0) | same, table(1) | same, **QUICK)
    assert "Not compared: unit (it is always m)." in found.notes
    changed = whyodd.compare(table(0) | same, table(1) | other, **QUICK).changes
    assert [(change.kind, change.columns) for change in changed] == [("column", ("unit",))]


def test_categories_that_come_and_go():
    new = table(1)
    new["plan"] = np.where(new["plan"] == "max", "free", new["plan"])
    words = whyodd.compare(table(0), new, **QUICK).changes[0].words
    assert words.startswith(("plan is never 'max' any more", "plan is 'free' in"))


def test_a_column_of_another_type_is_a_change_by_itself():
    found = whyodd.compare(table(0), table(1) | {"amount": ["many", "few", "none"] * 40}, **QUICK)
    assert found.changes[0].kind == "type"
    assert found.changes[0].words == "amount holds texts, before numbers"
    assert found.has_changed
    assert "amount" not in {column.name for column in found.columns}


def test_columns_of_one_table_alone_are_told():
    found = whyodd.compare(table(0) | {"a": [1.0] * 120}, table(1) | {"b": [1.0] * 120}, **QUICK)
    assert found.notes[:2] == (
        "Only the old table has 'a': not compared.",
        "Only the new table has 'b': not compared.",
    )


def test_dates_by_what_they_have_in_common():
    rng = np.random.default_rng(0)
    start = dt.datetime(2026, 3, 2)  # a Monday
    old = [start + dt.timedelta(hours=int(h)) for h in rng.integers(0, 24 * 28, 150)]
    new = [start + dt.timedelta(days=7 * int(w), hours=int(h)) for w, h in rng.integers(0, (4, 24), (150, 2))]
    found = whyodd.compare(table(0, 150) | {"when": old}, table(1, 150) | {"when": new}, **QUICK)
    assert found.changes[0].words.startswith("when (day of the week) is Monday in 100 % of the rows")


def test_texts_that_are_numbers():
    old, new = table(0), table(1, shift=9.0)
    for one in (old, new):
        one["amount"] = [f"{value:.2f} €" for value in one["amount"]]
    assert whyodd.compare(old, new, **QUICK).changes[0].words.endswith("€ (median)")


def test_very_many_columns():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(2, 30, MOST_RELATED + 20))
    new[:, 7] += 5.0
    found = whyodd.compare(old, new, **QUICK)
    assert found.changes[0].columns == ("x7",)
    assert any(f"the {MOST_RELATED} columns" in note for note in found.notes)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_few_rows_are_compared_and_told_to_be_few(n):
    found = whyodd.compare(table(0, n), table(1, n), **QUICK)
    assert np.isfinite(numbers(found)).all()
    assert (
        f"Each table has only {n} rows: only large changes can be distinguished from chance." in found.notes
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ({"a": [1.0]}, {"a": [1.0, 2.0]}, "old has one row, expected at least two"),
        ({"a": [1.0, 2.0]}, {"a": [1.0]}, "new has one row, expected at least two"),
        ({"a": []}, {"a": [1.0, 2.0]}, "old has 0 rows and 1 columns"),
        ({"a": [1.0, 2.0]}, {"b": [1.0, 2.0]}, "share no column: old has 'a', new has 'b'"),
        ({"a": [1.0, 1.0]}, {"a": [1.0, 1.0]}, r"No column can be compared \('a': it is always 1.0\)"),
        ({"a": [1.0, 2.0]}, {"a": [1.0, np.inf]}, "Column 'a' holds inf"),
    ],
)
def test_tables_that_cannot_be_compared(old, new, message):
    with pytest.raises(ValueError, match=message):
        whyodd.compare(old, new, **QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"false_alarms": 0.0}, "false_alarms=0.0: expected a share between 0 and 1"),
        ({"permutations": 3}, "permutations=3: expected a whole number, at least 19"),
        ({"permutations": 39, "false_alarms": 0.001}, "permutations=39: too few"),
        ({"random_state": -1}, "random_state=-1: expected a whole number, at least 0"),
        ({"types": {"amuont": "code"}}, "amuont"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        whyodd.compare(table(0), table(1), **options)


def test_the_frame_has_a_line_per_change(shifted):
    frame = pl.DataFrame(shifted.to_frame())
    assert frame["kind"].to_list() == ["column"]
    assert frame["columns"].to_list() == ["amount"]
    assert repr(shifted).startswith("<amount rose from ")
