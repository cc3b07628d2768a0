"""Whoever sees a reason also sees how exact it is: in sentences, notes, notebooks, JSON and reports."""

import html
import json

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

import whyodd

X = np.random.default_rng(0).normal(size=(200, 3))
ROWS = np.array([[6.0, 0.0, 0.0], [0.0, 0.1, 0.0]])


def squares(rows):
    return (rows**2).sum(axis=1)


@pytest.fixture(scope="module")
def distilled():
    return whyodd.explain(squares, ROWS, normal=X, random_state=0)


def test_exact_relevance_needs_no_words():
    e = whyodd.explain(IsolationForest(random_state=0).fit(X), ROWS)
    assert (e.exactness, e.fidelity, e.label) == ("exact", None, "")
    assert "exact" not in e.why()


def test_distilled_relevance_says_so_with_its_fidelity(distilled):
    assert distilled.exactness == "distilled"
    assert distilled.fidelity["r2"] > 0.9
    rank = distilled.fidelity["rank_correlation"]
    words = f"distilled (rank correlation {rank:.2f} with the model's own scores"
    assert distilled.label.startswith(words)
    assert distilled.why(0).endswith(distilled.label)
    assert f"relevance is {distilled.label}" in repr(distilled)
    assert words in html.unescape(distilled._repr_html_())


def test_json_has_both(distilled):
    told = json.loads(json.dumps(distilled.to_dict()))
    assert told["exactness"] == "distilled"
    assert told["fidelity"]["r2"] == distilled.fidelity["r2"]


def test_some_of_the_rows_keep_it(distilled):
    assert (distilled[:1].exactness, distilled.top(1).fidelity) == ("distilled", distilled.fidelity)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_shapley_values_are_sampled_and_rankings_rank():
    network = whyodd.DistanceNetwork(X)
    sampled = whyodd.explain(network, ROWS, method="shap", options={"algorithm": "kernel"})
    assert (sampled.exactness, sampled.label) == ("sampled", "sampled")
    assert whyodd.explain(network, ROWS, method="sensitivity").exactness == "ranking"


def test_a_report_tells_it(distilled, tmp_path):
    whyodd.write_report(distilled, tmp_path / "page.html")
    page = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert f"Relevance is {distilled.label}." in page


def test_a_model_that_keeps_no_rows_says_that_none_is_left_out():
    e = whyodd.explain(IsolationForest(random_state=0).fit(X), X[:5], exclude_self=True)
    assert e.to_dict()["self_excluded"] is None
    assert "keeps no training rows" in repr(e)
    kept = whyodd.explain(whyodd.KNearestNeighbors().fit(X), X)
    assert kept.to_dict()["self_excluded"] == len(X)
