"""Cuts as reasons: sides and values in the units people know."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import whyodd

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def orders():
    """Amounts of some hundred, one of 12,000; a count between two clusters."""
    n = 400
    frame = pd.DataFrame(
        {
            "amount": RNG.normal(500.0, 100.0, n),
            "speed": np.where(RNG.uniform(size=n) < 0.5, -60.0, 60.0) + RNG.normal(0.0, 5.0, n),
            "load": RNG.normal(size=n),
        }
    )
    frame.loc[0] = [12000.0, -60.0, 0.0]
    frame.loc[1] = [500.0, 0.5, 0.0]
    frame.loc[2] = [500.0, 60.0, -9.0]
    return frame


@pytest.fixture(scope="module")
def explained(orders):
    return whyodd.explain(IsolationForest(random_state=0).fit(orders), orders)


def test_reasons_tell_the_side_the_cut_and_the_trees(explained):
    high, between, low = (explained.reasons(i, 1)[0] for i in range(3))
    assert high.words.startswith("amount is high (12000: cut off above ")
    assert high.words.endswith(" of 100 trees)")
    assert between.words.startswith("speed is unusual (0.5: cut off between -")
    assert low.words.startswith("load is low (-9: cut off below -")
    assert [reason.direction for reason in (high, between, low)] == [1, 0, -1]
    assert [reason.judgement for reason in (high, between, low)] == ["high", "unusual", "low"]
    assert np.isnan(high.expected)
    assert "cut off above" in explained.why(0)


def test_cuts_stand_between_a_value_and_most_others(explained, orders):
    cuts = explained.cut_off
    assert orders["amount"].quantile(0.8) < cuts.low[0, 0] < 12000.0
    assert cuts.high[2, 2] < orders["load"].quantile(0.2)
    assert -60.0 < cuts.low[1, 1] < 0.5 < cuts.high[1, 1] < 60.0


def test_direction_is_that_of_the_cuts(explained):
    np.testing.assert_array_equal(explained.direction, explained.network.cuts(explained.inputs).direction)
    assert explained.direction.dtype == np.int8
    np.testing.assert_array_equal(explained[[2, 0]].direction, explained.direction[[2, 0]])
    assert explained[2].why(k=1) == explained.why(2, k=1)
    assert json.loads(json.dumps(explained.to_dict(), allow_nan=False))["rows"][0]["direction"][0] == 1


def test_behind_a_scaler_cuts_are_in_raw_units(orders):
    pipeline = make_pipeline(StandardScaler(), IsolationForest(random_state=0)).fit(orders)
    e = whyodd.explain(pipeline, orders)
    scaled = e.network.cuts(e.inputs)
    raw = scaled.low * orders.std(ddof=0).to_numpy() + orders.mean().to_numpy()
    np.testing.assert_allclose(e.cut_off.low, raw, rtol=1e-9)
    np.testing.assert_array_equal(e.direction, scaled.direction)


def test_a_step_that_turns_values_around_turns_the_side(orders):
    turned = FunctionTransformer(np.negative, np.negative)
    e = whyodd.explain(make_pipeline(turned, IsolationForest(random_state=0)).fit(orders), orders)
    assert e.network.cuts(e.inputs).direction[0, 0] == -1
    assert e.direction[0, 0] == 1
    assert e.reasons(0, 1)[0].words.startswith("amount is high (12000: cut off above ")


def test_missing_values_and_categories_have_no_side(orders):
    frame = orders.assign(kind=np.where(RNG.uniform(size=len(orders)) < 0.5, "a", "b"))
    frame.loc[3, "amount"] = np.nan
    frame.loc[4, "kind"] = "rare"
    steps = make_column_transformer(
        (SimpleImputer(), ["amount", "speed", "load"]), (OneHotEncoder(sparse_output=False), ["kind"])
    )
    e = whyodd.explain(make_pipeline(steps, IsolationForest(random_state=0)).fit(frame), frame)
    reasons = {reason.name: reason for reason in e.reasons(3)}
    assert reasons["amount"].words == "amount is missing"
    assert reasons["amount"].direction == 0
    kind = next(reason for reason in e.reasons(4) if reason.name == "kind")
    assert kind.words == "kind is unusual ('rare')"
    assert not e.direction[:, 3].any()


def test_groups_have_no_side_but_single_variables_do(orders):
    model = IsolationForest(random_state=0).fit(orders)
    e = whyodd.explain(model, orders, groups={"both": ["speed", "load"]})
    words = {reason.name: reason.words for reason in e.reasons(0)}
    assert words["amount"].startswith("amount is high (12000: cut off above ")
    assert words["both"].startswith("both is unusual (speed -60, load 0)")


def test_over_what_is_usual_cuts_stay(explained, orders):
    e = whyodd.explain(explained.network, orders, normal=orders.iloc[100:])
    assert e.reasons(0, 1)[0].words == explained.reasons(0, 1)[0].words
    np.testing.assert_allclose(e.outlierness[100:].mean(), 1.0)
    with pytest.raises(whyodd.UnsupportedModelError, match="has no trees"):
        whyodd.explain(e.network, orders, method="splits")


def test_splits_tell_the_same_cuts(explained, orders):
    e = whyodd.explain(explained.network, orders, method="splits")
    assert e.is_additive
    np.testing.assert_allclose(e.summed_relevance + e.unexplained, e.outlierness, rtol=1e-12)
    np.testing.assert_allclose(e.unexplained, explained.unexplained, rtol=1e-9)
    assert e.reasons(0, 1)[0].words == explained.reasons(0, 1)[0].words


def test_the_page_and_the_saved_explanation_have_them(explained, tmp_path):
    whyodd.write_report(explained.top(5), tmp_path / "page.html")
    assert "cut off above" in (tmp_path / "page.html").read_text(encoding="utf-8")
    whyodd.save(explained, tmp_path / "e.whyodd")
    assert whyodd.load(tmp_path / "e.whyodd").why(0) == explained.why(0)
