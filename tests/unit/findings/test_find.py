"""The one-line way in for tables, and what it gives."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.svm import OneClassSVM

import whyodd
from made_up.orders import orders
from whyodd.findings.findings import MOST_EXPLAINED
from whyodd.findings.rarity import how_odd, rarity

FRAMES = {
    "pandas": lambda frame: frame.to_pandas(),
    "polars": lambda frame: frame,
    "arrow": lambda frame: frame.to_arrow(),
}


@pytest.fixture(scope="module")
def found():
    """With so many false alarms that there is something to show."""
    return whyodd.find(orders(), id_column="order", false_alarms=0.05)


@pytest.mark.parametrize("kind", FRAMES)
def test_is_auto_and_explain_in_one(kind):
    frame = FRAMES[kind](orders().drop("order"))
    found, pipeline = whyodd.find(frame), whyodd.auto(frame)
    e = whyodd.explain(pipeline, frame)
    np.testing.assert_allclose(found.outlierness, e.outlierness, rtol=1e-12)
    assert found.threshold == pytest.approx(e.threshold, rel=1e-12)
    np.testing.assert_array_equal(found.is_odd, e.outlierness > found.threshold)
    part = e[found.explanation.rows]
    # Blocks of other sizes are other matrix products, which round differently.
    np.testing.assert_allclose(found.explanation.relevance, part.relevance, rtol=1e-9, atol=1e-12)
    assert type(found.to_frame()) is type(frame)


def test_of_an_array():
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[5, 1] = 30.0
    found = whyodd.find(X)
    assert found.explanation.rows[0] == 5
    assert found.explanation.reasons(0)[0].feature == "x1"


def test_the_odd_rows_are_explained_the_oddest_first(found):
    n = int(found.is_odd.sum())
    assert found.n_odd == len(found.odd) == n > 10
    assert len(found.explanation) == n
    assert (np.diff(found.explanation.outlierness) <= 0.0).all()
    np.testing.assert_array_equal(
        found.explanation.outlierness, found.outlierness[found.order[: len(found.explanation)]]
    )
    assert sorted(member for group in found.groups for member in group.members) == list(range(n))


def test_views(found):
    assert found.why(0) == found.explanation.why(0)
    assert len(found.top(3)) == 3
    assert found[0].rows == found.order[0]
    assert len(found) == 300
    assert found.headline in repr(found)
    assert found.why(0) in repr(found)
    assert "<table" in found._repr_html_()
    with pytest.raises(FrozenInstanceError):
        found.threshold = 1.0


def test_names_of_rows_are_kept_out_of_the_model(found):
    assert "order" not in found.explanation.feature_names
    frame = found.to_frame()
    assert frame.columns == ["row", "id", "outlierness", "p_value", "is_odd"]
    assert frame["id"].to_list() == orders()["order"].to_list()
    card = found.to_dict(top=1, checks=False)["anomalies"][0]
    assert card["id"] == str(orders()["order"][card["row"]])


def test_the_plain_dict_is_ready_for_json(found):
    quick, whole = found.to_dict(top=5, checks=False), found.to_dict(top=5)
    json.dumps(whole, allow_nan=False)
    assert len(quick["anomalies"]) == min(5, found.n_odd)
    assert quick["trust"]["panels"] == []
    assert len(whole["trust"]["panels"]) > 3
    assert {card["change"] for card in quick["anomalies"]} == {None}
    assert any(card["change"] for card in whole["anomalies"])


def test_lines_for_a_terminal_are_the_sentence(found):
    card = found.to_dict(top=1, checks=False)["anomalies"][0]
    reasons = [line for line in card["brief"] if not line["is_rest"]]
    assert reasons
    for line in reasons:
        assert f"{line['words']}: {line['share_text']}" in card["why"]


def test_writes_a_page(found, tmp_path):
    found.report(tmp_path / "a.html", top=3)
    whyodd.write_report(found, tmp_path / "b.html", top=3)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_draws(found):
    assert found.plot("bars") is not None
    with pytest.raises(ValueError, match=r"There is no plot 'pie'. Choose one of: 'bars'"):
        found.plot("pie")


def test_rows_go_by_their_ids_everywhere(found):
    ids = orders()["order"].to_numpy()
    e = found.explanation
    assert e.names == tuple(str(ids[row]) for row in e.rows)
    assert found.explain([19]).names == (str(ids[19]),)
    assert f"{e.names[0]}: " in repr(e)


def test_a_row_without_an_id_goes_by_its_number():
    is_third = pl.int_range(pl.len()) == 3
    frame = orders().with_columns(order=pl.when(is_third).then(None).otherwise("order"))
    assert whyodd.find(frame, id_column="order").explain([3, 4]).names[0] == "row 3"


def test_learns_from_other_rows():
    found = whyodd.find(orders(), orders(seed=1), id_column="order")
    pipeline = whyodd.auto(orders(seed=1).drop("order"), trusted=True)
    e = whyodd.explain(pipeline, orders().drop("order"))
    np.testing.assert_allclose(found.outlierness, e.outlierness, rtol=1e-12)


def test_uses_a_model():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
    model = OneClassSVM(gamma=0.5, nu=0.1).fit(X)
    new = X[:150] * 1.5
    found = whyodd.find(new.assign(c=1.0), model=model, top=20)
    assert found.model is model
    assert len(found.explanation) >= 20
    np.testing.assert_array_equal(found.is_odd, model.predict(new) == -1)
    assert found.notes[0] == "frame: ignored columns that the model was not fitted on: 'c'."


def test_a_share_of_the_rows_is_odd():
    found = whyodd.find(orders().drop("order"), share=0.02)
    assert found.n_odd == 6
    assert len(found.explanation) == 10
    assert len(found.odd) == 6


def test_nothing_is_odd():
    X = np.random.default_rng(0).normal(size=(50, 2))
    found = whyodd.find(np.zeros((5, 2)), model=whyodd.KernelDensity().fit(X))
    assert found.headline.startswith("None of 5 rows is above the threshold")
    assert found.n_odd == 0


def test_groups_of_columns_and_another_method():
    found = whyodd.find(orders().drop("order"), groups={"basket": ["amount", "items"]}, method="nearest")
    assert found.explanation.method == "nearest"
    assert "basket" in found.explanation.feature_names


def test_explains_the_rows_that_are_asked_for(found):
    e = found.explain([7, 3], method="mean")
    assert (e.rows.tolist(), e.method) == ([7, 3], "mean")


def test_many_odd_rows_are_not_all_explained(monkeypatch):
    monkeypatch.setattr("whyodd.findings.find.MOST_EXPLAINED", 12)
    found = whyodd.find(orders().drop("order"), share=0.2, top=2)
    assert MOST_EXPLAINED == 10_000
    assert (found.n_odd, len(found.explanation)) == (60, 12)
    assert "Only the 12 oddest of 60 odd rows are explained." in found.notes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"id_column": "nr"}, r"frame has no column 'nr'. It has: 'order', 'amount'"),
        ({"share": 0.9}, "share=0.9: expected a share of the rows, above 0 and at most 0.5"),
        ({"fdr": 0.0}, "fdr=0.0: expected a share of the rows, above 0 and at most 0.5"),
        ({"share": 0.1, "false_alarms": 0.1}, "Expected one threshold option, got share and false_alarms"),
        ({"method": "tarot"}, "method='tarot' is unknown"),
        ({"train": orders().drop("items")}, None),
        ({"train": orders(), "model": object()}, "train cannot be used with model"),
        ({"model": whyodd.Gaussian().fit(pd.DataFrame({"z": [1.0, 2.0, 4.0]}))}, "frame lacks columns .*'z'"),
    ],
)
def test_wrong_arguments(options, words):
    if words is None:  # columns that were not learned are told, not an error
        assert "ignored columns that the model was not fitted on: 'items'" in " ".join(
            whyodd.find(orders(), **options).notes
        )
        return
    with pytest.raises(ValueError, match=words):
        whyodd.find(orders(), **options)


def test_copies_are_told_whatever_the_frame():
    values = np.arange(100.0) % 97
    rows = pl.DataFrame({"a": values, "b": values**2})
    for change in FRAMES.values():
        notes = " ".join(whyodd.find(change(rows)).notes)
        assert "6 rows have an exact copy in frame." in notes


def test_the_default_model_allows_one_false_alarm_in_a_hundred():
    found = whyodd.find(orders().drop("order"))
    assert found.threshold_source == "about 1 % of normal rows exceed it"
    assert found.threshold == pytest.approx(found.model[-1].distribution_.threshold(0.01), rel=1e-12)
    assert set(found.order[: found.n_odd]) >= {7, 20}
    np.testing.assert_array_equal(found.is_odd, found.outlierness > found.threshold)


def test_false_alarms_say_where_oddness_begins():
    few, many = (whyodd.find(orders().drop("order"), false_alarms=share) for share in (0.001, 0.1))
    np.testing.assert_array_equal(few.outlierness, many.outlierness)
    assert few.threshold > many.threshold
    assert 0 < few.n_odd < many.n_odd
    assert many.n_odd == pytest.approx(30, abs=3)  # a tenth of 300 rows
    assert few.threshold_source == "about 0.1 % of normal rows exceed it"


def test_of_the_rows_found_a_share_may_be_normal():
    found = whyodd.find(orders().drop("order"), fdr=0.1)
    p = found.p_value
    # Benjamini and Hochberg, as a plain loop: the last rank whose p-value is at most its part of the level.
    ranked = sorted(p)
    last = max(rank for rank in range(1, 301) if ranked[rank - 1] <= 0.1 * rank / 300)
    assert found.n_odd == last
    assert p[found.is_odd].max() <= 0.1 * last / 300 < p[~found.is_odd].min() * 1.0000001
    assert "at most 10 % of the rows above it are expected to be normal" in found.threshold_source


def test_p_values_are_those_of_the_model(found):
    assert found.p_value.shape == (300,)
    assert ((found.p_value > 0.0) & (found.p_value <= 1.0)).all()
    assert (np.diff(found.p_value[found.order]) >= 0.0).all()  # the odder, the rarer
    known = found.model[-1].distribution_
    np.testing.assert_array_equal(found.p_value, known.p_values(found.outlierness))
    for card in found.to_dict(top=3, checks=False)["anomalies"]:
        o, p = found.outlierness[card["row"]], found.p_value[card["row"]]
        n = known.scores.size
        assert (card["how_odd"], card["rarity"]) == (how_odd(o, p, n), rarity(p, n))
    assert found.how_odd(0) == found.to_dict(top=1, checks=False)["anomalies"][0]["how_odd"]
    svm = OneClassSVM(nu=0.1).fit(np.random.default_rng(0).normal(size=(50, 2)))
    assert whyodd.find(np.zeros((5, 2)), model=svm).p_value is None
