"""Scores of all rows and reasons of some: the same numbers as explaining all of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import SGDOneClassSVM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from whyodd.evaluation.flipping import flip, flip_explanation
from whyodd.evaluation.stability import stability, stability_of
from whyodd.explainers.explaining import explained_by
from whyodd.findings import scoring
from whyodd.findings.scoring import ScoredRows
from whyodd.inputs.frames import take_rows
from whyodd.network.waist import offers

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(300, 4))
FRAME = pd.DataFrame(NUMBERS, columns=list("abcd")).assign(kind=RNG.choice(["x", "y", "z"], 300))
# Blocks of other sizes are other matrix products, which round differently.
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks for a few rows."""
    monkeypatch.setattr(scoring, "_BLOCK", 70)


def as_dense(values):
    return values.toarray() if sparse.issparse(values) else values


def assert_same(part, whole):
    np.testing.assert_allclose(part.relevance, whole.relevance, **CLOSE)
    np.testing.assert_allclose(part.outlierness, whole.outlierness, **CLOSE)
    np.testing.assert_array_equal(part.excluded, whole.excluded)
    np.testing.assert_array_equal(part.rows, whole.rows)
    np.testing.assert_array_equal(as_dense(part.data), as_dense(whole.data))
    assert (part.threshold, part.feature_names) == (whole.threshold, whole.feature_names)


CASES = {
    "array": (lambda X: whyodd.KernelDensity().fit(X), NUMBERS),
    "list": (lambda X: whyodd.KNearestNeighbors().fit(X), NUMBERS.tolist()),
    "sparse": (lambda X: whyodd.OneClassSVM().fit(X), sparse.csr_array(np.maximum(NUMBERS, 0.0))),
    "pandas": (whyodd.auto, FRAME),
    "polars": (whyodd.auto, pl.from_pandas(FRAME)),
    "arrow": (whyodd.auto, pl.from_pandas(FRAME).to_arrow()),
    "pca": (lambda X: make_pipeline(PCA(3), whyodd.KernelDensity()).fit(X), NUMBERS),
    "linear": (lambda X: make_pipeline(StandardScaler(), SGDOneClassSVM()).fit(X), NUMBERS),
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", CASES)
class TestScoredRows:
    def test_of_the_training_rows(self, name):
        fit, X = CASES[name]
        model = fit(X)
        found, whole = ScoredRows.of(model, X), whyodd.explain(model, X)
        np.testing.assert_allclose(found.outlierness, whole.outlierness, **CLOSE)
        rows = np.array([250, 3, 71])
        assert_same(found.explain(rows), whole[rows])

    def test_the_oddest_are_kept_as_they_reached_the_model(self, name, monkeypatch):
        fit, X = CASES[name]
        model = fit(X)
        found, whole = ScoredRows.of(model, X, keep=90), whyodd.explain(model, X)
        oddest = np.argsort(-found.outlierness, kind="stable")[:90]
        np.testing.assert_array_equal(found.oddest.rows, np.sort(oddest))
        if found.reader.steps:  # what is kept is not prepared again
            monkeypatch.setattr("whyodd.explainers.preparing.transform", None)
        rows = oddest[[80, 3, 41]]
        assert_same(found.explain(rows), whole[rows])

    def test_of_other_rows(self, name):
        fit, X = CASES[name]
        model, part = fit(X), take_rows(X, np.arange(120))
        found, whole = ScoredRows.of(model, part), whyodd.explain(model, part)
        assert found.own is None
        np.testing.assert_allclose(found.outlierness, whole.outlierness, **CLOSE)
        assert_same(found.explain([7, 100]), whole[[7, 100]])


def test_rows_can_be_kept_among_their_own_neighbours():
    model = whyodd.KernelDensity().fit(NUMBERS)
    found = ScoredRows.of(model, NUMBERS, exclude_self=False)
    np.testing.assert_allclose(found.outlierness, model.outlierness(NUMBERS), rtol=1e-12)


def test_counts_rows_that_the_model_has_learned():
    pipeline = whyodd.auto(FRAME)
    new = FRAME.assign(a=FRAME["a"] + 1e-6)
    assert (
        ScoredRows.of(pipeline, pd.concat([FRAME[:9], new[20:40]])).n_known
        == np.isin(np.arange(9), pipeline[-1].network_.rows).sum()
        > 0
    )
    assert ScoredRows.of(pipeline, FRAME).n_known == 0  # each is judged without itself
    assert ScoredRows.of(pipeline, FRAME, exclude_self=False).n_known == pipeline[-1].network_.n_centers
    assert ScoredRows.of(whyodd.DistanceNetwork(NUMBERS), NUMBERS[:5]).n_known == 0  # points, not rows


def test_takes_methods_groups_and_options():
    model = whyodd.KernelDensity().fit(FRAME[list("abcd")])
    X = FRAME[list("abcd")]
    keywords = {"method": "nearest", "groups": {"both": ["a", "b"]}, "options": {"normal": X[:50]}}
    assert_same(
        ScoredRows.of(model, X).explain([5, 2], **keywords), whyodd.explain(model, X, **keywords)[[5, 2]]
    )


def test_shows_progress(capsys):
    ScoredRows.of(whyodd.KernelDensity().fit(NUMBERS), NUMBERS, progress=True)
    assert "Scoring rows: all 300 done" in capsys.readouterr().err


MODELS = {
    "table": (whyodd.auto, FRAME),
    "pca": (lambda X: make_pipeline(PCA(3), whyodd.KernelDensity()).fit(X), NUMBERS),
    "plain": (lambda X: whyodd.OneClassSVM().fit(X), NUMBERS),
}


@pytest.mark.parametrize("name", MODELS)
class TestFromTheExplanationAlone:
    """What evaluation and other methods say of a model and rows, they say of an explanation of them."""

    def test_other_methods(self, name):
        fit, X = MODELS[name]
        model = fit(X)
        e = whyodd.explain(model, X)[:40]
        methods = ("nearest", "random", *(("sensitivity",) if offers(e.network, "distances") else ()))
        for method in methods:
            other = explained_by(e, method, random_state=0)
            own = whyodd.explain(model, X, method=method, random_state=0)[:40]
            if method != "random":  # drawn for as many rows as there are
                np.testing.assert_allclose(other.relevance, own.relevance, **CLOSE)
            assert (other.method, other.feature_names) == (method, e.feature_names)
            np.testing.assert_array_equal(other.data, e.data)

    def test_flipping(self, name):
        fit, X = MODELS[name]
        model = fit(X)
        e = whyodd.explain(model, X)
        curves = flip_explanation(e, {"dtd": e, "least first": -e.relevance})
        np.testing.assert_allclose(curves["dtd"], flip(model, X, e), **CLOSE)
        assert curves["least first"].shape == curves["dtd"].shape
        assert curves["least first"][:, 1:-1].sum() > curves["dtd"][:, 1:-1].sum()

    def test_stability(self, name):
        fit, X = MODELS[name]
        model = fit(X)
        e = whyodd.explain(model, X)
        found, own = stability_of(e, n=2, random_state=0), stability(model, X, n=2, random_state=0)
        np.testing.assert_allclose(found.mean, own.mean, rtol=1e-6)


def test_other_methods_keep_groups():
    X = FRAME[list("abcd")]
    model = whyodd.KernelDensity().fit(X)
    groups = {"both": ["a", "c"]}
    e = whyodd.explain(model, X, groups=groups)
    own = whyodd.explain(model, X, groups=groups, method="nearest")
    other = explained_by(e, "nearest")
    assert other.feature_names == own.feature_names == ("both", "b", "d")
    np.testing.assert_allclose(other.relevance, own.relevance, **CLOSE)
    np.testing.assert_allclose(flip_explanation(e, {"": other})[""], flip(model, X, own), **CLOSE)
