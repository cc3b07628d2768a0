"""Rows that people judge: findings, pipelines of ``auto``, reports, and all that reads a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd

HOSTILE = '<script>alert(1)</script> \x1b[31m "]] {{ 7*7 }} \u202e'


def orders():
    """Orders of which three are pallets, and one has many items."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "items": rng.poisson(3, 200) + 1.0,
            "weight": rng.normal(5.0, 1.0, 200).round(2),
            "country": rng.choice(["DE", "FR"], 200),
        }
    )
    frame.loc[[7, 9, 11]] = [[4.0, 40.1, "DE"], [4.0, 40.0, "DE"], [4.0, 39.9, "DE"]]
    frame.loc[20, "items"] = 60.0
    frame.loc[30, "weight"] = np.nan
    return frame


FRAME = orders()


@pytest.fixture(scope="module")
def found():
    return whyodd.find(FRAME)


@pytest.fixture
def model(found):
    """The pipeline of ``auto``, no feedback."""
    assert whyodd.feedback(found.model) == ()
    yield found.model
    for one in whyodd.feedback(found.model):
        whyodd.forget(found.model, one.id)


def test_findings_by_rank_say_what_changed(found):
    assert found.order[:3].tolist() == [7, 9, 11]
    fewer = found.accept(0, note="pallets")
    assert str(fewer.effects[0]) == (
        "Row 7 is accepted as normal (id 1): 2 other rows are no longer odd: rows 9, 11."
    )
    assert fewer.notes[0] == str(fewer.effects[0])
    assert fewer.outlierness[20] == found.outlierness[20]  # another gross value stays as odd
    assert not fewer.is_odd[[7, 9, 11]].any()
    assert fewer.threshold == found.threshold
    assert (fewer.p_value >= found.p_value).all()
    # The findings before, and their model, stay.
    assert found.is_odd[[7, 9, 11]].all()
    assert whyodd.feedback(found.model) == ()
    assert [one.note for one in whyodd.feedback(fewer.model)] == ["pallets"]


def test_findings_are_told_several_times(found):
    twice = found.accept([0, 1]).reject(0)
    assert [len(one.judged_rows) for one in twice.effects] == [2, 1]
    assert twice.effects[1].judged_rows == [20]
    np.testing.assert_allclose(twice.outlierness[20], found.outlierness[20] + found.threshold, rtol=1e-9)
    assert twice.notes[:2] == tuple(map(str, reversed(twice.effects)))


def test_rows_are_called_as_people_call_them():
    named = FRAME.assign(order=[f"A-{i}" for i in range(len(FRAME))])
    told = whyodd.find(named, id_column="order").accept(0).effects[0]
    assert str(told).startswith(
        "Row A-7 is accepted as normal (id 1): 2 other rows are no longer odd: rows A-9"
    )


def test_a_share_stays_where_it_was():
    """Else what is accepted would make other rows odd."""
    found = whyodd.find(FRAME, share=0.02)
    fewer = found.accept(0)
    assert not (fewer.is_odd & ~found.is_odd).any()


def test_a_report_escapes_what_people_wrote(found, tmp_path):
    told = found.accept(0, note=HOSTILE)
    told.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page
    assert whyodd.feedback(told.model)[0].note == HOSTILE


def test_a_pipeline_is_told_saved_loaded_and_undone(model, tmp_path):
    whyodd.save(model, tmp_path / "before")
    told = whyodd.accept(model, FRAME.loc[[7]], note=HOSTILE, among=FRAME)
    assert told.others.tolist() == [9, 11]
    assert model.predict(FRAME.loc[[7, 9, 20]]).tolist() == [1, 1, -1]
    whyodd.save(model, tmp_path / "told")
    loaded = whyodd.load(tmp_path / "told")
    assert whyodd.feedback(loaded)[0].note == HOSTILE
    assert loaded.predict(FRAME.loc[[7, 9, 20]]).tolist() == [1, 1, -1]
    assert "accepted on" in " ".join(whyodd.find(FRAME, model=loaded).notes)
    whyodd.forget(model, told.judgement.id)
    whyodd.save(model, tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()


def test_nothing_is_served_from_before(model):
    """What was computed of a model is kept, but not of one that was told something since."""
    before = whyodd.explain(model, FRAME.loc[[7]]).outlierness[0]
    batch = next(iter(whyodd.explain_batches(model, [FRAME.loc[[7]]])))
    whyodd.accept(model, FRAME.loc[[7]])
    assert before > 0.0
    assert whyodd.explain(model, FRAME.loc[[7]]).outlierness[0] == 0.0
    after = next(iter(whyodd.explain_batches(model, [FRAME.loc[[7]]])))
    assert (bool(batch["is_odd"][0]), bool(after["is_odd"][0])) == (True, False)


def test_a_row_near_an_accepted_one_is_explained_by_how_it_differs(model):
    whyodd.accept(model, FRAME.loc[[7]])
    e = whyodd.explain(model, FRAME.loc[[7]].assign(items=40.0))
    assert e.feature_names[int(e.relevance[0].argmax())] == "items"
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
    np.testing.assert_allclose(e.outlierness, model[-1].outlierness(e.inputs), rtol=1e-9)


def test_gaps_can_be_accepted(model):
    odd = FRAME.loc[[30]]
    assert model.predict(odd)[0] == -1
    whyodd.accept(model, odd, note="scale was broken")
    assert model.predict(odd)[0] == 1


def test_behind_a_map_that_mixes_columns():
    from sklearn.decomposition import PCA

    X = np.random.default_rng(0).normal(size=(100, 4))
    pipeline = make_pipeline(StandardScaler(), PCA(3, random_state=0), whyodd.KNearestNeighbors()).fit(X)
    odd = np.array([[9.0, 0.0, 0.0, 0.0]])
    whyodd.accept(pipeline, odd)
    e = whyodd.explain(pipeline, odd + np.array([0.0, 0.0, 0.5, 0.0]))
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)
    assert e.relevance[0].argmax() == 2


def test_onnx_says_that_it_cannot(tmp_path):
    model = whyodd.KNearestNeighbors().fit(np.random.default_rng(0).normal(size=(50, 2)))
    model.accept([[9.0, 0.0]])
    with pytest.raises(whyodd.UnsupportedModelError, match="with feedback cannot be exported to ONNX"):
        whyodd.onnx.export(model, tmp_path / "model.onnx")


def test_wrong_rows_are_refused(model, found):
    with pytest.raises(ValueError, match="weight"):
        whyodd.accept(model, FRAME.loc[[7]].drop(columns="weight"))
    with pytest.raises(ValueError, match="at least one row"):
        whyodd.accept(model, FRAME.iloc[:0])
    for rank in (-1, 200, 0.5, []):
        with pytest.raises(ValueError, match=r"expected the rank of a row, 0 to 199, or several\."):
            found.accept(rank)
    assert whyodd.feedback(model) == ()


def test_other_models_are_refused():
    X = FRAME[["items"]].to_numpy()
    with pytest.raises(whyodd.UnsupportedModelError, match="IsolationForest cannot learn from feedback"):
        whyodd.accept(make_pipeline(StandardScaler(), IsolationForest(n_estimators=5)).fit(X), X[:1])
    e = whyodd.explain(whyodd.Gaussian().fit(X), X)
    with pytest.raises(ValueError, match="Expected rows of a table judged by"):
        whyodd.Findings.of(e).accept(0)
