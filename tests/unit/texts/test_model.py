"""Models of messages against plain loops, and what they say of odd input."""

import math
import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import whyodd
from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.waist import center_of_rows
from whyodd.texts import model as texts_model

SUBJECTS = ("pump", "valve", "engine", "filter")
NORMAL = [
    f"the {a} is {b} and the {c} is quiet"
    for a in SUBJECTS
    for b in ("open", "shut", "warm")
    for c in SUBJECTS
]
ODD = [
    "the pump explodes, explodes and burns",
    "",
    "xyzzy plugh",
    "the valve is open and the filter is quiet",
]


@pytest.fixture(scope="module")
def model():
    return whyodd.TextModel(sigma=2.0).fit(NORMAL)


@pytest.fixture(scope="module")
def e(model):
    return model.explain(ODD)


def plain(model, terms, own=None):
    """Outlierness, relevance by term and the unexplained part, in loops over sets of terms.

    A message of center ``own`` is left out: other messages with the same terms keep their share.
    """
    network, vocabulary = model.network_, model.vocabulary_.terms
    centers = [{vocabulary[c] for c in np.flatnonzero(row)} for row in network.centers.toarray()]
    weights = network.weights.copy()
    if own is not None:
        others = np.count_nonzero(network.copies[:, 1] == own)
        weights[own] *= others / (1 + others)
    weights /= weights.sum()
    similar = [
        weight * math.exp(-len(terms ^ center) / (2 * model.sigma**2))
        for weight, center in zip(weights, centers, strict=True)
    ]
    o = -math.log(sum(similar))
    relevance, unexplained = dict.fromkeys(terms | set(vocabulary), 0.0), 0.0
    for center, similarity in zip(centers, similar, strict=True):
        p, d2 = similarity / sum(similar), len(terms ^ center)
        explained = p * min(o, d2 / (2 * model.sigma**2))
        unexplained += p * o - explained
        for term in terms ^ center:
            relevance[term] += explained / d2
    return o, relevance, unexplained


@pytest.mark.parametrize("i", range(len(ODD)))
def test_as_the_plain_loops(model, e, i):
    terms = {token.term for token in e.all_tokens[i]}
    o, relevance, unexplained = plain(model, terms)
    assert e.outlierness[i] == pytest.approx(o, rel=1e-9)
    assert e.unexplained[i] == pytest.approx(unexplained, rel=1e-9, abs=1e-12)
    for term in e.present(i):
        assert term.relevance == pytest.approx(relevance[term.term], rel=1e-9, abs=1e-12)
    missing = {term: part for term, part in relevance.items() if term not in terms}
    assert e.absent_relevance[i] == pytest.approx(sum(missing.values()), rel=1e-9, abs=1e-12)
    for term in e.absent(i, 100):
        assert term.relevance == pytest.approx(missing[term.term], rel=1e-9, abs=1e-12)


def test_training_messages_are_explained_without_themselves(model):
    e = model.explain(NORMAL)
    own = center_of_rows(model.network_)
    for i in (0, 5, int(model.network_.rows[0])):
        terms = {token.term for token in e.all_tokens[i]}
        o, _, unexplained = plain(model, terms, own[i] if own[i] >= 0 else None)
        assert (e.outlierness[i], e.unexplained[i]) == pytest.approx((o, unexplained), rel=1e-9, abs=1e-12)
    included = model.explain(NORMAL, exclude_self=False)
    assert (e.outlierness >= included.outlierness - 1e-12).all()
    assert (e.outlierness > included.outlierness).any()
    with pytest.raises(ValueError, match="these are not the training messages"):
        model.explain(ODD, exclude_self=True)


@pytest.mark.parametrize("normalize", [False, True])
def test_sparse_and_dense_agree_and_conserve(normalize):
    model = whyodd.TextModel(sigma=0.7 if normalize else 2.0, normalize=normalize).fit(NORMAL)
    e = model.explain(ODD)
    rows = model._rows(ODD)[1]
    network = model.network_
    dense = DistanceNetwork(network.centers.toarray(), kernel=network.kernel, log_weights=network.log_weights)
    parts = dense.decompose(rows.toarray())
    scale = parts.relevance.max(axis=1, keepdims=True)
    has = rows.toarray() != 0
    present = np.where(has, parts.relevance, 0.0)
    assert np.abs(e.parts.present.toarray() - present).max() <= 1e-9 * scale.max()
    np.testing.assert_allclose(e.absent_relevance, np.where(has, 0.0, parts.relevance).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(e.outlierness, parts.outlierness, rtol=1e-9)
    np.testing.assert_array_equal(e.relevance.indices, rows.indices)
    words = np.array([sum(word.relevance for word in e.tokens(i)) for i in range(len(e))])
    np.testing.assert_allclose(words + e.absent_relevance + e.unexplained, e.outlierness, rtol=1e-9)


def test_the_paper_stays_as_it_was(monkeypatch):
    """Numbers of the release before there was another model, trained so far that any solver ends there."""
    monkeypatch.setattr(texts_model, "OneClassSVM", partial(whyodd.OneClassSVM, tol=1e-10))
    model = whyodd.TextModel(paper=True).fit(NORMAL)
    e = model.explain(ODD)
    before = ["0x1.1e9561cb3f200p-5", "0x1.1ea6d43a1ad00p-5", "0x1.70925958d3240p-5", "0x1.109c892022480p-6"]
    # Two solvers that end within 1e-10 of the optimum are 2e-11 apart in o, and 3e-9 in parts of it.
    np.testing.assert_allclose(e.outlierness, list(map(float.fromhex, before)), rtol=1e-10)
    assert model.threshold_ == pytest.approx(float.fromhex("0x1.10a0badea8be6p-6"), rel=1e-10)
    words = ["0x0.0p+0", "0x1.1d7e0eadc729cp-9", *["0x1.3344b6a709918p-9"] * 2, "0x0.0p+0"]
    words.append("0x1.3344b6a709918p-8")
    found = [word.relevance for word in e.tokens(0)]
    np.testing.assert_allclose(found, list(map(float.fromhex, words)), rtol=1e-8, atol=1e-15)
    same = whyodd.TextModel(0.3, 10.0, 5).fit(NORMAL)  # its settings choose it too
    np.testing.assert_array_equal(same.outlierness(ODD), e.outlierness)


def test_words_never_seen_count(model, e):
    assert model.outlierness(["xyzzy plugh quux"])[0] > model.outlierness(["xyzzy"])[0]
    words = e.tokens(2)
    assert [word.is_new for word in words] == [True, True]
    assert words[0].relevance == pytest.approx(words[1].relevance)
    assert words[0].relevance > 0.0


def test_a_word_that_comes_twice_shares(e):
    twice = [word for word in e.tokens(0) if word.text == "explodes"]
    assert len(twice) == 2
    assert twice[0].relevance == twice[1].relevance
    assert sum(word.relevance for word in twice) == pytest.approx(
        next(term.relevance for term in e.present(0) if term.term == "explod")
    )


def test_what_is_missing_is_told(model):
    e = model.explain(["the pump is open"])
    assert {term.term for term in e.absent(0, 3)} >= {"quiet"}
    assert "it lacks" in e.why(0)


def test_an_empty_message_lacks_everything(e):
    assert e.tokens(1) == []
    assert e.absent_relevance[1] + e.unexplained[1] == pytest.approx(e.outlierness[1])
    assert "it lacks" in e.why(1)


@pytest.mark.full
def test_a_message_of_a_megabyte(model):
    e = model.explain(["the pump is open " * 60_000])
    assert len(e.tokens(0)) == 240_000
    assert e.outlierness[0] == pytest.approx(model.outlierness(["the pump is open"])[0])


def test_columns_of_frames(model):
    for column in (pd.Series(ODD), pl.Series(ODD), np.array(ODD), tuple(ODD)):
        np.testing.assert_array_equal(model.outlierness(column), model.outlierness(ODD))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one message", r"Expected a list of messages, got one string"),
        ([], "There are no messages"),
        (["a", None], r"Expected a text as message 1, got None"),
        (["a", 3.5], r"Expected a text as message 1, got 3\.5"),
        (pd.DataFrame({"comment": ["a"]}), r"got a data frame. Pass frame\['comment'\]"),
    ],
)
def test_what_are_no_messages_is_told(model, texts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        model.explain(texts)


def test_nothing_to_learn_is_told():
    with pytest.raises(ValueError, match=r"No term is in at least min_df=5 of the 2 messages"):
        whyodd.TextModel(paper=True).fit(["a b", "c d"])
    with pytest.raises(ValueError, match=r"min_df=0: expected a whole number"):
        whyodd.TextModel(min_df=0).fit(NORMAL)
    with pytest.raises(NotFittedError):
        whyodd.TextModel().outlierness(["a"])


def test_as_an_estimator(model, e):
    fresh = clone(model)
    assert fresh.get_params()["sigma"] == 2.0
    assert not hasattr(fresh, "model_")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.outlierness(ODD), model.outlierness(ODD))
    np.testing.assert_array_equal(model.predict(ODD), np.where(model.decision_function(ODD) < 0, -1, 1))
    np.testing.assert_array_equal(model.predict(ODD) == -1, e.outlierness > e.threshold)
    assert e[1:].threshold == e.threshold
    np.testing.assert_array_equal(model.score_samples(ODD), -model.outlierness(ODD))
    assert sparse.issparse(model.network_.centers)


def test_views(e):
    assert [len(part) for part in e] == [1] * 4
    assert e.top(1).rows.tolist() == [int(np.argmax(e.outlierness))]
    assert e[[0, 2]].messages == (ODD[0], ODD[2])
    frame = e.to_frame()
    assert list(frame.columns[:4]) == ["row", "token", "start", "end"]
    assert len(frame) == sum(len(e.tokens(i)) for i in range(4))
    told = e.to_dict()["messages"][0]
    assert told["text"] == ODD[0]
    assert told["tokens"][0]["text"] == "the"
    assert repr(e).startswith("<Explanation of 4 messages; outlierness ")
    with pytest.raises(IndexError, match="expected one of the"):
        e.tokens(9)
    with pytest.raises(ValueError, match="expected a number of messages"):
        e.top(0)


def test_markup_in_a_message_shows_as_text(model):
    hostile = "<script>alert('pump')</script> </div> & \"the\" <img src=x onerror=alert(1)>"
    page = model.explain([hostile])._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;" in page
    assert page.count("<div") == page.count("</div>")


def test_words_from_right_to_left_keep_their_numbers(model):
    assert "<bdi>שלום</bdi> " in model.explain(["שלום pump"])._repr_html_()
