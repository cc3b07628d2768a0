"""Network connections, raw: learned from normal ones, attacks are found and explained in the raw columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import whyodd

# The model of real connections takes a while.
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def connections(data_dir):
    train = pd.read_csv(data_dir / "nsl_kdd" / "train_20percent.csv.gz")
    test = pd.read_csv(data_dir / "nsl_kdd" / "test.csv.gz")
    labels = ["attack", "difficulty"]
    normal = train[train["attack"] == "normal"].drop(columns=labels)
    return normal, test.drop(columns=labels), (test["attack"] != "normal").to_numpy()


@pytest.fixture(scope="module")
def pipeline(connections):
    return whyodd.auto(connections[0])


@pytest.mark.data
@pytest.mark.parametrize(("trusted", "at_least"), [(False, 0.94), (True, 0.96)])
def test_finds_attacks(pipeline, connections, trusted, at_least):
    """Rows that are all normal are best trusted; else a fifth of them is left out as suspects."""
    normal, rows, is_attack = connections
    model = whyodd.auto(normal, trusted=True) if trusted else pipeline
    assert roc_auc_score(is_attack, -model.score_samples(rows)) > at_least


@pytest.mark.data
def test_explains_attacks_in_raw_columns(pipeline, connections):
    _, rows, is_attack = connections
    attacks = rows[is_attack].head(1000)
    e = whyodd.explain(pipeline, attacks)
    assert e.feature_names == tuple(rows.columns)
    np.testing.assert_allclose(pipeline.score_samples(attacks), -e.outlierness, rtol=1e-9)
    np.testing.assert_allclose(e.relevance.sum(axis=1), e.outlierness, rtol=1e-9)
    assert not e.unexplained.any()  # nothing is left over
    services = e.expected[:, e.feature_names.index("service")]
    assert set(services) <= set(connections[0]["service"])


@pytest.mark.data
def test_columns_that_never_vary_are_set_aside(pipeline):
    aside = pipeline.auto_report_.set_aside
    assert sorted(aside) == ["is_host_login", "num_outbound_cmds", "urgent", "wrong_fragment"]


@pytest.mark.data
def test_a_fragment_that_never_was_wrong(pipeline, connections):
    _, rows, _ = connections
    wrong = rows[rows["wrong_fragment"] > 0].head(1)
    assert "wrong_fragment never varied in training (always 0" in whyodd.explain(pipeline, wrong).why(0)
