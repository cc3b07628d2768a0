"""A model is prepared once, and rows once: nothing is traced or transformed twice."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyodd
from whyodd.explainers import preparing
from whyodd.explainers.explaining import explain_prepared, own_centers_of
from whyodd.explainers.own_centers import own_centers
from whyodd.explainers.preparing import PreparedModel, PreparedRows

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(90, 3)), columns=list("abc")).assign(kind=RNG.choice(["x", "y"], 90))
STEPS = {
    "columns": lambda: make_column_transformer((StandardScaler(), list("abc")), (OneHotEncoder(), ["kind"])),
    "mixed": lambda: make_pipeline(make_column_transformer((StandardScaler(), list("abc"))), PCA(2)),
}


@pytest.fixture(params=[*STEPS, "plain", "sparse"])
def made(request):
    """A model, and rows for it in blocks and as a whole."""
    density = whyodd.KernelDensity(sigma=1.0)
    if request.param in STEPS:
        return make_pipeline(STEPS[request.param](), density).fit(FRAME), FRAME
    rows = FRAME[["a", "b", "c"]].to_numpy()
    rows = sparse.csr_matrix(np.where(rows > 0, rows, 0.0)) if request.param == "sparse" else rows
    return density.fit(rows), rows


def blocks(rows, size=40):
    taken = rows.iloc if hasattr(rows, "iloc") else rows
    return [taken[start : start + size] for start in range(0, rows.shape[0], size)]


def counted(monkeypatch, name):
    calls, plain = [], getattr(preparing, name)
    monkeypatch.setattr(preparing, name, lambda *parts: calls.append(name) or plain(*parts))
    return calls


def test_a_pipeline_is_traced_once_for_all_blocks(monkeypatch):
    model = make_pipeline(STEPS["columns"](), whyodd.KernelDensity(sigma=1.0)).fit(FRAME)
    traced, constants = counted(monkeypatch, "trace"), counted(monkeypatch, "constant_columns")
    prepared = PreparedModel.of(model)
    for block in blocks(FRAME):
        prepared.rows(block)
        prepared.inputs(block)
    assert (len(traced), len(constants)) == (1, 1)


def test_other_columns_are_traced_for_themselves(monkeypatch):
    rows = FRAME[["a", "b", "c"]]
    model = make_pipeline(StandardScaler(), whyodd.KernelDensity(sigma=1.0)).fit(rows.to_numpy())
    traced, prepared = counted(monkeypatch, "trace"), PreparedModel.of(model)
    assert prepared.rows(rows).variables.names == ("a", "b", "c")
    assert prepared.rows(rows.to_numpy()).variables.names == ("x0", "x1", "x2")
    assert len(traced) == 2


def test_odd_rows_of_blocks_are_explained_as_all_are(made):
    model, rows = made
    prepared, wanted = PreparedModel.of(model), np.array([3, 41, 44, 80])
    parts = [prepared.rows(block) for block in blocks(rows)]
    kept = [part.take(wanted[wanted // 40 == block] - 40 * block) for block, part in enumerate(parts)]
    joined = PreparedRows.joined(kept)
    e = explain_prepared(joined, rows=wanted)
    whole = whyodd.explain(model, rows, exclude_self=False)[wanted]
    np.testing.assert_allclose(e.relevance, whole.relevance, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(e.rows, whole.rows)
    assert e.feature_names == whole.feature_names
    assert e.to_dict()["rows"][1]["value"] == whole.to_dict()["rows"][1]["value"]


def test_own_centers_and_normal_rows_are_handed_on(made):
    model, rows = made
    prepared = PreparedModel.of(model)
    ready = prepared.rows(rows)
    own = own_centers_of(ready, "auto")
    options = {"normal": rows[:30]}
    e = explain_prepared(ready, own=own, method="nearest", options=options, normal_of=prepared)
    same = whyodd.explain(model, rows, method="nearest", options=options)
    np.testing.assert_array_equal(e.relevance, same.relevance)
    np.testing.assert_array_equal(e.excluded, same.excluded)


def test_rows_that_differ_from_the_training_rows_only_far_down_are_no_training_rows():
    X = np.random.default_rng(0).normal(size=(700, 3))
    model = whyodd.KernelDensity(sigma=1.0).fit(X)
    other = X.copy()
    other[-1, 2] += 1e-9
    network = model.network_
    np.testing.assert_array_equal(own_centers(network, X, "auto"), np.arange(700))
    assert own_centers(network, other, "auto") is None
    # Steps of a pipeline round: there that is no difference.
    np.testing.assert_array_equal(own_centers(network, other, "auto", transformed=True), np.arange(700))
