"""Whatever is explained, rows, images, series or messages, can be asked the same."""

import json

import numpy as np
import pandas as pd
import pytest

import whyodd
from whyodd.explanations.base import BaseExplanation
from whyodd.explanations.sentences import Reason

RNG = np.random.default_rng(0)
MESSAGES = ["the pump runs well", "the valve is open", "the pump is open", "the valve runs"] * 3


def table():
    model = whyodd.KernelDensity(sigma=1.0).fit(RNG.normal(size=(40, 3)))
    return model, pd.DataFrame(RNG.normal(size=(6, 3)) + [[0, 0, 1.0 * i] for i in range(6)])


def images():
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3, 3), random_state=0)
    normal = RNG.normal(size=(4, 9, 9))
    odd = normal + 0.1
    odd[1, 3:6, 3:6] += 4.0
    return model.fit(normal), list(odd)


def series():
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(4,), random_state=0)
    normal = RNG.normal(size=(3, 30, 2))
    odd = normal + 0.1
    odd[2, 10:14, 1] += 5.0
    return model.fit(list(normal)), list(odd)


def messages():
    return whyodd.TextModel(min_df=1, nu=0.5).fit(MESSAGES), ["the pump explodes", "all is well", "the valve"]


KINDS = {"table": table, "images": images, "series": series, "texts": messages}


@pytest.fixture(params=KINDS)
def made(request):
    return KINDS[request.param]()


@pytest.fixture
def e(made):
    return whyodd.explain(*made)


def test_kind_says_what_is_explained(request, e):
    assert e.kind.name == request.node.callspec.params["made"]
    assert e.kind.count(1).startswith("1 ")
    assert isinstance(e, BaseExplanation)


def test_sizes_agree(made, e):
    n = len(made[1])
    assert len(e) == len(e.names) == n
    assert e.outlierness.shape == e.unexplained.shape == e.rows.shape == e.whole.shape == (n,)
    np.testing.assert_allclose(e.summed_relevance + e.unexplained, e.outlierness, rtol=1e-9)
    assert e.is_additive
    assert (e.exactness, e.method) == ("exact", "dtd")


def test_parts_are_as_in_the_whole(e):
    one = e[1]
    assert type(one) is type(e)
    assert one.names == (e.names[1],)
    assert one.why() == e.why(1)
    assert [part.rows[0] for part in e] == e.rows.tolist()
    assert len(e[:0]) == 0
    order = np.argsort(-e.outlierness, kind="stable")
    assert e.top(2).rows.tolist() == order[:2].tolist()


def test_names_are_those_given(made):
    model, items = made
    names = [f"no. {i}" for i in range(len(items) - 1)] + [None]
    e = whyodd.explain(model, items, names=names)
    assert e.names == (*names[:-1], f"{e.kind.noun} {len(items) - 1}")
    assert e[[0]].ids == ("no. 0",)
    assert "no. 0" in repr(e[0])
    assert "no. 0" in e[0]._repr_html_()
    with pytest.raises(ValueError, match=f"Expected one name for each of {len(items)} {e.kind.nouns}, got 1"):
        whyodd.explain(model, items, names=["one"])


def test_reasons_are_the_largest_first_and_within_the_whole(e):
    for i in range(len(e)):
        reasons = e.reasons(i)
        assert reasons
        assert all(isinstance(reason, Reason) for reason in reasons)
        parts = [reason.relevance for reason in reasons]
        assert parts == sorted(parts, reverse=True)
        assert sum(reason.share for reason in reasons) <= 1.0 + 1e-9
        for reason in reasons:
            assert reason.share == pytest.approx(reason.relevance / e.outlierness[i])
            assert reason.words
            assert reason.judgement
            assert reason.kind is None
            assert reason.feature == reason.name
        assert e.reasons(i, 1) == reasons[:1]


def test_sentences(e):
    i = int(np.argmax(e.outlierness))
    assert f"{e.names[i]}: {e.why(i)}" in repr(e)
    assert f"belongs to no single {e.kind.part}" in e.why(i)
    assert 0.0 <= e.unexplained_share(i) <= 1.0


@pytest.mark.parametrize("i", [99, -99, "one", None, 1.0])
def test_items_that_are_not_there(e, i):
    for ask in (e.why, e.reasons):
        with pytest.raises(IndexError, match=f"expected one of the .* {e.kind.nouns} explained"):
            ask(i)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_how_many_is_at_least_one(e, k):
    with pytest.raises(ValueError, match="at least 1"):
        e.top(k)
    with pytest.raises(ValueError, match="at least 1"):
        e.reasons(0, k)


def test_views(e):
    told = json.loads(json.dumps(e.to_dict(), allow_nan=False))
    assert (told["kind"], told["method"], told["exactness"]) == (e.kind.name, "dtd", "exact")
    assert len(e.to_frame()) > 0
    html = e._repr_html_()
    assert f"Explanation of {e.kind.count(len(e))}" in html
    assert html.count("<div") == html.count("</div>")


@pytest.mark.parametrize("method", ["random", "nearest", "sensitivity", "integrated_gradients"])
def test_all_can_be_explained_by_other_methods(made, method):
    model, items = made
    e = whyodd.explain(model, items, method=method, random_state=0)
    assert e.method == method
    assert f"by {method}" in repr(e)
    if e.is_additive:
        np.testing.assert_allclose(e.summed_relevance + e.unexplained, e.outlierness, rtol=1e-9)
    else:
        assert e.exactness == "ranking"
        assert "does not add up" in repr(e)
        assert "no single" not in e.why(0)
        assert (e.whole > 0.0).all()
    assert all(reason.share <= 1.0 + 1e-9 for reason in e.reasons(0))
    json.dumps(e.to_dict(), allow_nan=False)
    assert e._repr_html_()


def test_models_predict_with_the_signs_of_scikit_learn(made):
    model, items = made
    labels, scores = model.predict(items), model.score_samples(items)
    assert set(labels) <= {-1, 1}
    np.testing.assert_allclose(model.decision_function(items), scores - model.offset_)
    np.testing.assert_array_equal(labels == -1, scores < model.offset_)
    e = whyodd.explain(model, items)
    np.testing.assert_array_equal(e.is_odd, labels == -1)


@pytest.mark.parametrize("name", ["groups", "dtype"])
@pytest.mark.parametrize("make", [images, series, messages])
def test_what_is_for_tables_is_told(make, name):
    with pytest.raises(ValueError, match=f"{name} does not work with a"):
        whyodd.explain(*make(), **{name: {"a": ["b"]}})


@pytest.mark.parametrize(
    ("make", "message"),
    [(table, "^time is only for series, got a table"), (messages, "^time does not work with a TextModel")],
)
def test_time_is_for_series(make, message):
    with pytest.raises(ValueError, match=message):
        whyodd.explain(*make(), time="when")


class TestPlaces:
    def test_of_an_image_are_windows_that_do_not_overlap(self):
        e = whyodd.explain(*images())
        windows = e.strangest_windows(1, 4)
        taken = np.zeros((9, 9), dtype=int)
        for window in windows:
            taken[tuple(slice(*ends) for ends in zip(window.start, window.stop, strict=True))] += 1
        assert taken.max() == 1
        sums = [window.relevance.sum() for window in windows]
        assert sums == sorted(sums, reverse=True)
        assert e.strangest(1).start == windows[0].start
        assert e.why(1, k=2).count("; then at ") == 1

    def test_of_a_series_name_the_channel(self):
        e = whyodd.explain(*series())
        assert e.reasons(2)[0].name.startswith(f"{e.channels[1]}, steps ")

    def test_of_a_message_are_words_there_and_missing(self):
        e = whyodd.explain(*messages())
        told = {reason.name: reason for reason in e.reasons(0)}
        assert told["explod"].words == "'explod' is there, a word that was never seen"
        assert told["valv"].words == "'valv' is missing"
        assert (told["valv"].value, told["valv"].expected) == ("not there", "there")


class TestThresholdOfPatches:
    def test_does_not_depend_on_size(self):
        model, _ = images()
        small, large = RNG.normal(size=(9, 9)), RNG.normal(size=(40, 40))
        o = model.outlierness([small, large])
        assert o[1] > 5.0 * o[0]
        scores = model.score_samples([small, large])
        assert scores[1] > 2.0 * scores[0]

    def test_is_what_the_oddest_of_a_few_training_items_has(self):
        model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(3,), random_state=0)
        items = [RNG.normal(size=20) for _ in range(5)]
        levels = -model.fit(items).score_samples(items)
        assert model.threshold_ == pytest.approx(levels.max())
        assert (model.predict(items) == 1).sum() >= 4
        assert model.predict([items[0] + 5.0]).tolist() == [-1]

    def test_of_items_with_nothing_but_gaps_none_is_odd(self):
        model, _ = series()
        assert model.predict([np.full((9, 2), np.nan)]).tolist() == [1]
