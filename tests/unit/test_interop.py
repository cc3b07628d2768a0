"""The package among others: shap's plots, data frames of every kind, and scikit-learn around its models."""

from __future__ import annotations

import re
import warnings

import matplotlib.pyplot as plt
import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import whyodd
from whyodd.evaluation import compare
from whyodd.models.registry import MODELS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of its own imports
    import shap

RANDOM = np.random.default_rng(0)
COLUMNS = ["speed", "heat", "load"]
NORMAL = pd.DataFrame(RANDOM.normal(size=(60, 3)) * [1.0, 10.0, 100.0], columns=COLUMNS)
ODD = NORMAL.iloc[:6] + np.array([9.0, 0.0, 0.0])
KINDS = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "arrow-backed": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def mixed(n=60):
    frame = pd.DataFrame(
        {
            "amount": RANDOM.lognormal(size=n),
            "height": RANDOM.normal(size=n),
            "color": RANDOM.choice(["red", "green"], n),
            "time": pd.date_range("2024-01-01", periods=n, freq="h"),
            "flag": RANDOM.random(n) > 0.5,
        }
    )
    frame.loc[2, "height"] = None
    frame.loc[1, "color"] = None
    frame.loc[0, "time"] = None
    return frame


MIXED = mixed()


# ---- shap -------------------------------------------------------------------------------------------------


def of_numbers():
    return whyodd.explain(whyodd.KernelDensity().fit(NORMAL), ODD)


def of_categories():
    return whyodd.explain(whyodd.auto(MIXED), MIXED[:6])


def of_groups():
    groups = {"both": ["amount", "height"], **{name: [name] for name in ("color", "time", "flag")}}
    return whyodd.explain(whyodd.auto(MIXED), MIXED[:6], groups=groups)


EXPLANATIONS = {
    "numbers": of_numbers,
    "categories": of_categories,
    "groups": of_groups,
    "one row": lambda: of_numbers()[0],
    "one row with categories": lambda: of_categories()[0],
}


@pytest.fixture(params=EXPLANATIONS)
def e(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shap, about matplotlib
        yield EXPLANATIONS[request.param]()
    plt.close("all")


def plain_text(ax):
    """All texts of a figure, with a hyphen for minus and single spaces."""
    texts = [text.get_text() for every in ax.figure.axes for text in every.findobj(plt.Text)]
    return " ".join(" ".join(texts).replace("$", "").replace("−", "-").split())


def test_waterfalls_add_up_to_the_outlierness(e):
    shown = e.to_shap()
    np.testing.assert_allclose(shown.base_values + shown.values.sum(axis=1), e.outlierness, rtol=1e-12)
    for i in range(min(len(e), 2)):
        words = plain_text(shap.plots.waterfall(shown[i], show=False))
        plt.close("all")
        # Of the figure: where the bars begin and end, and each bar.
        ends = re.findall(r"(?<= = )-?\d+(?:\.\d+)?", words[words.index("E[f(X)]") :])
        assert {shown_as(e.outlierness[i]), shown_as(e.unexplained[i])} == set(ends)
        bars = re.findall(r"[+-]\d+(?:\.\d+)?", words)
        assert set(bars) >= {f"{value:+0.2f}".rstrip("0").rstrip(".") for value in e.relevance[i]}


def shown_as(value):
    """Number as shap writes it."""
    return f"{value:0.3f}".rstrip("0").rstrip(".")


def test_bars_of_many_rows_are_means(e):
    ax = shap.plots.bar(e.to_shap(), show=False)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    lengths = dict(zip(labels, sorted((bar.get_width() for bar in ax.patches), reverse=True), strict=False))
    for name, mean in zip(e.feature_names, np.abs(e.relevance).mean(axis=0), strict=True):
        np.testing.assert_allclose(lengths[name], mean, rtol=1e-12)


def test_bars_of_one_row_name_every_value(e):
    ax = shap.plots.bar(e.to_shap()[0], show=False)
    words = plain_text(ax)
    assert all(name in words for name in e.feature_names)
    widths = sorted(bar.get_width() for bar in ax.patches)
    np.testing.assert_allclose(widths, np.sort(e.relevance[0]), rtol=1e-12)


def test_beeswarms_have_a_point_for_each_row_and_variable(e):
    ax = shap.plots.beeswarm(e.to_shap(), show=False)
    found = np.concatenate([np.asarray(dots.get_offsets())[:, 0] for dots in ax.collections])
    np.testing.assert_allclose(np.sort(found), np.sort(e.relevance.ravel()), rtol=1e-12)


# ---- data frames ------------------------------------------------------------------------------------------


def is_same_kind(made, given):
    return type(made) is type(given)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_kind_of_frame_comes_out(kind):
    table, rows = KINDS[kind](MIXED), KINDS[kind](MIXED[:5])
    pipeline = whyodd.auto(table)
    e = whyodd.explain(pipeline, rows)
    assert e.feature_names == tuple(MIXED.columns)
    assert is_same_kind(e.to_frame(), table)
    assert is_same_kind(e[1:].top(1).to_frame(), table)
    judged = compare(pipeline, rows, ["dtd", "random"], metrics=["area"], random_state=0)
    assert is_same_kind(judged, table)

    # Whatever the kind, the numbers are those of pandas' own types.
    expected = whyodd.explain(whyodd.auto(MIXED), MIXED[:5])
    np.testing.assert_array_equal(e.relevance, expected.relevance)
    long = nw.from_native(e.to_frame(), eager_only=True)
    assert long.columns == expected.to_frame().columns.tolist()
    sums = long.group_by("row").agg(nw.col("relevance").sum(), nw.col("outlierness").mean()).sort("row")
    np.testing.assert_allclose(sums["relevance"].to_numpy(), e.outlierness, rtol=1e-12)
    np.testing.assert_allclose(sums["outlierness"].to_numpy(), e.outlierness, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_models_take_every_kind_of_frame(kind):
    normal, odd = NORMAL / [1.0, 10.0, 100.0], ODD / [1.0, 10.0, 100.0]
    model = whyodd.OneClassSVM().fit(KINDS[kind](normal))
    assert model.feature_names_in_.tolist() == COLUMNS
    e = whyodd.explain(model, KINDS[kind](odd))
    assert e.feature_names == tuple(COLUMNS)
    assert is_same_kind(e.to_frame(), KINDS[kind](normal))
    np.testing.assert_array_equal(e.outlierness, whyodd.OneClassSVM().fit(normal).outlierness(odd))


# ---- scikit-learn -----------------------------------------------------------------------------------------


def contexts(output):
    """Three ways to say what comes out of a scaler."""
    yield Pipeline([("scale", StandardScaler().set_output(transform=output)), ("model", None)]), {}
    steps = [("scale", StandardScaler()), ("model", None)]
    yield Pipeline(steps), {"transform_output": output}
    yield Pipeline(steps).set_output(transform=output), {}


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("name", MODELS)
def test_models_after_steps_that_give_frames(name, output):
    plain = make_pipeline(StandardScaler(), MODELS[name]()).fit(NORMAL)
    scores, kinds, expected = plain.score_samples(ODD), plain.predict(ODD), whyodd.explain(plain, ODD)
    for pipeline, settings in contexts(output):
        with sklearn.config_context(**settings):
            pipeline.set_params(model=MODELS[name]()).fit(NORMAL)
            assert pipeline[-1].feature_names_in_.tolist() == COLUMNS
            np.testing.assert_array_equal(pipeline.score_samples(ODD), scores)
            np.testing.assert_array_equal(pipeline.predict(ODD), kinds)
            e = whyodd.explain(pipeline, ODD)
        assert e.feature_names == tuple(COLUMNS)
        np.testing.assert_array_equal(e.relevance, expected.relevance)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_go_around(name):
    model = MODELS[name]().set_params(contamination=0.1)
    assert model.get_params()["contamination"] == 0.1
    copied = clone(model)
    assert copied is not model
    assert copied.get_params() == model.get_params()
    assert MODELS[name](**model.get_params()).get_params() == model.get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'wrong'"):
        model.set_params(wrong=1)


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_routed(name):
    weights = RANDOM.integers(1, 4, 60)  # some models count rows
    steps = StandardScaler(), MODELS[name]()
    by_name = {f"{type(steps[1]).__name__.lower()}__sample_weight": weights}
    expected = make_pipeline(*steps).fit(NORMAL, **by_name).score_samples(ODD)
    with sklearn.config_context(enable_metadata_routing=True):
        scale = StandardScaler().set_fit_request(sample_weight=False)
        model = MODELS[name]().set_fit_request(sample_weight=True)
        found = make_pipeline(scale, model).fit(NORMAL, sample_weight=weights).score_samples(ODD)
    np.testing.assert_array_equal(found, expected)


LABELED = pd.concat([NORMAL, ODD], ignore_index=True)
IS_NORMAL = np.r_[np.ones(len(NORMAL)), np.zeros(len(ODD))]
SEARCHES = {
    "committee": {"model__trusted": [False, True]},
    "exemplar_mixture": {"model__sigma": [0.5, 1.0]},
    "gaussian": {"model__covariance": ["full", "diagonal"]},
    "gaussian_mixture": {"model__n_components": [1, 2]},
    "k_nearest_neighbors": {"model__n_neighbors": [2, 5]},
    "kernel_density": {"model__sigma": [0.3, 1.0]},
    "kernel_pca": {"model__n_components": [2, 5]},
    "local_outlier_factor": {"model__n_neighbors": [5, 10]},
    "one_class_svm": {"model__nu": [0.1, 0.5]},
    "svdd": {"model__nu": [0.1, 0.5]},
}


def test_every_model_is_searched():
    assert SEARCHES.keys() == MODELS.keys()


def is_explained_in_raw_columns(search, rows):
    e = whyodd.explain(search, rows)
    np.testing.assert_array_equal(e.relevance, whyodd.explain(search.best_estimator_, rows).relevance)
    np.testing.assert_array_equal(e.data, rows.to_numpy())
    assert e.feature_names == tuple(rows.columns)
    return e


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_with_labels(name):
    """By the area under the ROC curve, which scikit-learn takes of decision_function."""
    pipeline = Pipeline([("scale", StandardScaler()), ("model", MODELS[name]())])
    search = GridSearchCV(pipeline, SEARCHES[name], scoring="roc_auc", cv=StratifiedKFold(3)).fit(
        LABELED, IS_NORMAL
    )
    assert search.best_score_ > 0.7  # some odd rows are among those that it is fitted to
    e = is_explained_in_raw_columns(search, ODD + np.array([100.0, 0.0, 0.0]))
    assert (e.relevance.argmax(axis=1) == 0).all()


@pytest.mark.full
def test_searches_by_likelihood_in_two_processes():
    pipeline = make_pipeline(StandardScaler(), whyodd.KernelDensity())
    grid = {"kerneldensity__sigma": [0.01, 0.5, 50.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of joblib, where it starts processes
        search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(NORMAL)
    assert search.best_params_ == {"kerneldensity__sigma": 0.5}
    is_explained_in_raw_columns(search, ODD)


def test_columns_and_unions_before_a_model():
    columns = make_column_transformer(
        (make_union(StandardScaler(), MinMaxScaler()), ["amount", "height"]),
        (OneHotEncoder(handle_unknown="ignore"), ["color"]),
    )
    rows = MIXED.dropna()[["amount", "height", "color"]]
    pipeline = make_pipeline(columns, VarianceThreshold(), whyodd.KernelDensity())
    search = GridSearchCV(pipeline, {"kerneldensity__sigma": [0.5, 1.0]}, cv=2).fit(rows)
    odd = rows[:3].assign(amount=1e3)
    e = is_explained_in_raw_columns(search, odd)
    assert (e.relevance.argmax(axis=1) == 0).all()
    log_density = search.best_estimator_[-1].network_.offset - e.outlierness
    np.testing.assert_allclose(search.score_samples(odd), log_density, rtol=1e-12)
