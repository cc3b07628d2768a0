"""The table of methods and metrics: every number is the mean of what its own function gives."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from whyodd.evaluation import METRICS, area, compare, flip, hit_rate, rank_correlation, roc_auc

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(80, 4))
MASK = np.eye(4, dtype=bool)[RNG.integers(4, size=12)]
ODD = RNG.normal(size=(12, 4)) + 6.0 * MASK
MODEL = whyodd.OneClassSVM(sigma="median").fit(NORMAL)
METHODS = ["dtd", "nearest", "sensitivity", "random"]
TABLE = compare(MODEL, ODD, METHODS, mask=MASK, random_state=0).set_index("method")


def test_every_metric_has_a_column():
    errors = [f"{name}_error" for name, metric in METRICS.items() if metric.has_error]
    assert set(TABLE.columns) == {*METRICS, *errors}
    assert TABLE.index.tolist() == METHODS


@pytest.mark.parametrize("name", METHODS)
def test_numbers_are_means_over_rows(name):
    e = whyodd.explain(MODEL, ODD, method=name, random_state=0)
    areas = area(flip(MODEL, ODD, e.relevance))
    assert TABLE.loc[name, "area"] == pytest.approx(areas.mean(), rel=1e-9)
    assert TABLE.loc[name, "area_error"] == pytest.approx(areas.std(ddof=1) / np.sqrt(12), rel=1e-9)
    assert TABLE.loc[name, "roc_auc"] == pytest.approx(roc_auc(e, MASK).mean())
    assert TABLE.loc[name, "hit_rate_100"] == pytest.approx(hit_rate(e, MASK).mean())
    reference = whyodd.explain(MODEL, ODD)
    assert TABLE.loc[name, "agreement"] == pytest.approx(rank_correlation(e, reference).mean())


def test_deep_taylor_is_best_where_it_should_be():
    assert TABLE["area"].idxmin() == "dtd"
    assert TABLE.loc["dtd", "agreement"] == pytest.approx(1.0)
    assert TABLE.loc["dtd", "largest_jump"] < TABLE.loc["nearest", "largest_jump"]
    assert TABLE.loc["dtd", "stability"] < 0.1 * TABLE.loc["random", "stability"]


@pytest.mark.parametrize("name", [name for name, m in METRICS.items() if m.higher_is_better is not None])
def test_random_relevance_is_worse(name):
    ours, random = TABLE.loc["dtd", name], TABLE.loc["random", name]
    if name in ("conservation_gap", "unexplained"):
        assert np.isnan(random)
    else:
        assert ours > random if METRICS[name].higher_is_better else ours < random


def test_sparse_rows_are_compared_like_dense_ones():
    metrics = ["area", "stability", "agreement"]
    dense, thin = (
        compare(MODEL, X, ["nearest"], metrics=metrics, random_state=0) for X in (ODD, sparse.csr_array(ODD))
    )
    pd.testing.assert_frame_equal(dense, thin, rtol=1e-9)


def test_texts_have_nothing_to_compare():
    with pytest.raises(TypeError, match="got TextModel"):
        compare(whyodd.TextModel(), ["a text"])


def test_conservation_is_for_methods_in_units_of_the_outlierness():
    assert TABLE.loc["dtd", "conservation_gap"] == pytest.approx(0.0, abs=1e-9)
    assert (
        TABLE.loc[["nearest", "sensitivity", "random"], ["conservation_gap", "unexplained"]]
        .isna()
        .all()
        .all()
    )


def test_the_frame_is_of_the_kind_that_came():
    frame = pl.DataFrame(ODD, schema=list("abcd"))
    model = make_pipeline(StandardScaler(), whyodd.KernelDensity(sigma=1.0)).fit(
        pd.DataFrame(NORMAL, columns=list("abcd"))
    )
    table = compare(model, frame, ["dtd", "nearest"], random_state=0)
    assert isinstance(table, pl.DataFrame)
    assert "roc_auc" not in table.columns
    assert table["conservation_gap"].to_list()[1] is None


def test_training_rows_are_judged_without_their_own_centers():
    table = compare(MODEL, NORMAL, ["nearest"], metrics=["stability", "area"], random_state=0)
    e = whyodd.explain(MODEL, NORMAL, method="nearest")
    assert (e.excluded >= 0).any()
    assert table["area"][0] == pytest.approx(area(flip(MODEL, NORMAL, e)).mean())
    # A row that is its own nearest center after a move of 0.01 would be explained anew: ½ / 0.01 = 50.
    assert table["stability"][0] < 10.0


def test_options_go_to_their_method():
    table = compare(
        MODEL, ODD, ["mvn"], metrics=["roc_auc"], mask=MASK, options={"mvn": {"regularization": 1e9}}
    )
    e = whyodd.explain(MODEL, ODD, method="mvn", options={"regularization": 1e9})
    assert table["roc_auc"][0] == pytest.approx(roc_auc(e, MASK).mean())


def test_images_are_compared_too():
    images = list(RNG.random((3, 10, 10)))
    model = whyodd.PatchModel(whyodd.OneClassSVM(), patch=(3, 3), random_state=0).fit(images)
    odd, mask = RNG.random((10, 10)), np.zeros((10, 10), dtype=bool)
    odd[4:6, 4:6] = 3.0
    mask[4:6, 4:6] = True
    table = compare(model, [odd], ["dtd", "random"], mask=[mask], random_state=0).set_index("method")
    assert not {"stability", "largest_jump"} & set(table.columns)
    assert table.loc["dtd", "roc_auc"] > 0.95
    assert table.loc["dtd", "area"] < table.loc["random", "area"]
    with pytest.raises(ValueError, match="only for table rows"):
        compare(model, [odd], ["dtd"], metrics=["stability"])


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"metrics": ["speed"]}, "'speed' is unknown. Choose among: 'area'"),
        ({"metrics": ["roc_auc"]}, "pass them as mask"),
        ({"options": {"mvn": {}}}, "'mvn', which is not among the methods"),
        ({"methods": "dtd"}, "expected a list of names"),
        ({"methods": []}, "expected a list of names"),
        ({"methods": ["magic"]}, "method='magic' is unknown"),
    ],
)
def test_what_cannot_be_compared_is_told(keywords, message):
    with pytest.raises(ValueError, match=message):
        compare(MODEL, ODD, **{"methods": ["dtd"], **keywords})
