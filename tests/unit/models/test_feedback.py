"""What every detector does with rows that people judge."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import whyodd
from whyodd.models.registry import MODELS

X = np.random.default_rng(0).normal(size=(120, 3))
FINE = np.array([[9.0, 0.0, 0.0]])
NEAR = FINE + np.array([0.05, -0.05, 0.05])
OTHER = np.array([[0.0, -9.0, 0.0]])


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return MODELS[request.param]().fit(X)


@pytest.fixture
def model(fitted):
    """A model of its own: what is said to it is said to no other."""
    model = clone(fitted)
    model.__dict__.update(vars(fitted))
    return model


def test_an_accepted_row_and_what_is_like_it_are_normal_and_another_one_is_not(model):
    before = model.outlierness(np.vstack([X, OTHER]))
    assert (model.predict(np.vstack([FINE, NEAR, OTHER])) == -1).all()
    told = model.accept(FINE, note="calibration")
    assert model.predict(np.vstack([FINE, NEAR, OTHER])).tolist() == [1, 1, -1]
    assert model.outlierness(FINE)[0] == 0.0
    np.testing.assert_array_equal(model.outlierness(np.vstack([X, OTHER])), before)
    assert told.judgement.note == "calibration"
    assert (datetime.now(UTC) - datetime.fromisoformat(told.judgement.date)).total_seconds() < 3600.0


def test_a_rejected_row_is_odd(model):
    usual = X[[int(np.argmin(model.outlierness(X)))]]
    assert model.predict(usual)[0] == 1
    far = model.outlierness(FINE)[0]
    model.reject(usual)
    assert model.predict(usual)[0] == -1
    assert model.outlierness(FINE)[0] == far


def test_reasons_are_differences_from_the_accepted_row(model):
    model.accept(FINE)
    e = whyodd.explain(model, FINE + np.array([0.0, 0.0, 0.5]))
    assert e.relevance[0].argmax() == 2
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)


def test_what_was_said_is_listed_saved_and_taken_back(model, tmp_path):
    whyodd.save(model, tmp_path / "before")
    model.accept(FINE, note="one")
    model.reject(OTHER, note="two")
    assert [(one.id, one.verdict, one.note) for one in model.feedback_] == [
        (1, "accepted", "one"),
        (2, "rejected", "two"),
    ]
    whyodd.save(model, tmp_path / "told")
    loaded = whyodd.load(tmp_path / "told")
    rows = np.vstack([X[:5], FINE, NEAR, OTHER])
    np.testing.assert_array_equal(loaded.outlierness(rows), model.outlierness(rows))
    assert [one.date for one in loaded.feedback_] == [one.date for one in model.feedback_]
    assert loaded.forget(1).note == "one"
    assert loaded.predict(FINE)[0] == -1
    for number in (1, 2):
        model.forget(number)
    assert model.feedback_ == ()
    whyodd.save(model, tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()


def test_a_new_fit_starts_anew_and_a_further_part_does_not():
    model = whyodd.Gaussian().fit(X)
    model.accept(FINE)
    model.partial_fit(X[:20] + 0.1)
    assert len(model.feedback_) == 1
    assert model.predict(FINE)[0] == 1
    assert model.fit(X).feedback_ == ()


def test_a_density_stays_what_was_learned():
    model = whyodd.KernelDensity("student", sigma=1.0, q=4.0).fit(X)
    before = model.score_samples(FINE), model.log_density(FINE)
    model.accept(FINE)
    assert (model.score_samples(FINE), model.log_density(FINE)) == before
    assert model.decision_function(FINE)[0] > 0.0


def test_groups_of_rows_and_numbers_go_on():
    model = whyodd.Committee().fit(X)
    model.accept(np.vstack([FINE, NEAR]))
    model.accept(OTHER)
    model.forget(1)
    assert [one.id for one in model.feedback_] == [2]
    assert model.reject(FINE).judgement.id == 3


def test_sparse_rows():
    from scipy import sparse

    model = whyodd.KNearestNeighbors().fit(sparse.csr_array(np.abs(X)))
    odd = sparse.csr_array(FINE)
    model.accept(odd)
    assert model.outlierness(odd)[0] == 0.0


def test_rows_that_were_not_odd_are_told():
    model = whyodd.Committee().fit(X)
    usual = X[np.argsort(model.outlierness(X))[:2]]
    assert str(model.accept(usual[:1])).endswith("It was not odd before.")
    assert str(model.accept(np.vstack([usual[1:], FINE]))).endswith("1 of them was not odd before.")


@pytest.mark.parametrize(
    ("rows", "note", "message"),
    [
        (FINE[:, :2], "", r"X has 2 features, but Committee is expecting 3 features"),
        (np.empty((0, 3)), "", r"Found array with 0 sample\(s\)"),
        (np.full((1, 3), np.nan), "", "Input X contains NaN"),
        (FINE, "x" * 1001, r"Expected note as a text of at most 1,000 letters, got 1,001 letters\."),
        (FINE, 7, r"Expected note as a text of at most 1,000 letters, got int\."),
    ],
)
def test_wrong_input_is_refused_and_changes_nothing(rows, note, message):
    model = whyodd.Committee().fit(X)
    for say in (model.accept, model.reject):
        with pytest.raises(ValueError, match=message):
            say(rows, note=note)
    assert model.feedback_ == ()


def test_a_row_is_not_both():
    model = whyodd.Committee().fit(X)
    model.accept(FINE)
    with pytest.raises(
        ValueError, match=r"A row was already accepted on \d{4}-\d\d-\d\d \(id 1\), and it cannot be both"
    ):
        model.reject(FINE)
    with pytest.raises(ValueError, match=r"There is no judgement with the id 2\. There are: 1\."):
        model.forget(2)


def test_names_of_columns_are_those_of_fit():
    model = whyodd.Committee().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match="feature names"):
        model.accept(pd.DataFrame(FINE, columns=["a", "b", "d"]))


@pytest.fixture
def told_file(tmp_path):
    model = whyodd.Gaussian().fit(X)
    model.accept(FINE, note="fine")
    whyodd.save(model, tmp_path / "model.whyodd")
    return tmp_path / "model.whyodd"


def changed(node, find, change):
    """The same nodes of a file, those that are found changed."""
    if isinstance(node, list):
        return [changed(part, find, change) for part in node]
    if not isinstance(node, dict):
        return node
    node = {key: changed(part, find, change) for key, part in node.items()}
    return change(node) if find(node) else node


@pytest.mark.parametrize(
    ("field", "value"), [("note", "null"), ("date", '"yesterday"'), ("id", "0"), ("is_normal", "1")]
)
def test_a_file_that_was_tampered_with_is_refused(told_file, field, value):
    with zipfile.ZipFile(told_file) as parts:
        content = {name: parts.read(name) for name in parts.namelist()}

    def put(node):
        node["content"]["content"][field]["content"] = value
        return node

    schema = json.loads(content["schema.json"])
    content["schema.json"] = json.dumps(
        changed(schema, lambda node: node.get("__class__") == "Judgement", put)
    ).encode()
    with zipfile.ZipFile(told_file, "w") as parts:
        for name, part in content.items():
            parts.writestr(name, part)
    with pytest.raises(ValueError, match=r"is damaged and cannot be loaded"):
        whyodd.load(told_file)


def test_rows_of_other_columns_in_a_file_are_refused():
    model = whyodd.Gaussian().fit(X)
    model.accept(FINE)
    state = model.network_.__getstate__()
    state["score"] = whyodd.Gaussian().fit(X[:, :2]).network_
    with pytest.raises(ValueError, match=r"Judgement 1 has rows of 3 column\(s\), expected the model's 2\."):
        object.__new__(type(model.network_)).__setstate__(state)
