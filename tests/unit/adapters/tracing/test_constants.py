"""Columns that never varied in training, as the steps have seen them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from whyodd.adapters.tracing import trace
from whyodd.automatic.steps import Constants

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
X[:, 1] = 0.1


def constants(*steps, data=X, y=None):
    fitted = make_pipeline(*steps).fit(data, y)
    return trace(fitted.steps, list("abc")[: np.shape(data)[1]]).constant


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        MinMaxScaler(),
        QuantileTransformer(n_quantiles=10),
        PowerTransformer(),
    ],
)
def test_scalers_know_the_value(step):
    assert constants(step) == {1: pytest.approx(0.1, rel=1e-9)}


def test_max_abs_scaler_knows_zeros():
    data = X.copy()
    data[:, 2] = 0.0
    assert constants(MaxAbsScaler(), data=data) == {2: 0.0}


@pytest.mark.parametrize("step", [StandardScaler(with_std=False, with_mean=False), RobustScaler()])
def test_scalers_that_do_not_know(step):
    assert constants(step) == {}


def test_value_in_raw_units():
    data = np.abs(X) + 1.0
    data[:, 1] = 20.0
    assert constants(FunctionTransformer(np.log1p), StandardScaler(), data=data) == {1: pytest.approx(20.0)}


def test_value_beside_gaps():
    data = X.copy()
    data[3:7, 1] = np.nan
    assert constants(StandardScaler(), SimpleImputer(), data=data) == {1: pytest.approx(0.1)}
    assert constants(SimpleImputer(add_indicator=True), StandardScaler(), data=data) == {
        1: pytest.approx(0.1)
    }


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("step", [SimpleImputer(), SimpleImputer(add_indicator=True), KNNImputer()])
def test_column_that_was_always_missing(step):
    data = X.copy()
    data[:, 2] = np.nan
    assert constants(step, data=data) == {2: None}


def test_variance_threshold_does_not_keep_the_value():
    found = constants(VarianceThreshold())
    assert list(found) == [1]
    assert np.isnan(found[1])
    assert constants(StandardScaler(), VarianceThreshold()) == {1: pytest.approx(0.1)}


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OneHotEncoder(drop="first"), OrdinalEncoder()])
def test_single_category(encoder):
    data = pd.DataFrame({"a": ["u", "v", "u"], "b": ["only", "only", "only"], "c": [7, 7, 7]})
    assert constants(encoder, data=data) == {1: "only", 2: 7}


def test_single_category_of_a_target_encoder():
    data = pd.DataFrame({"a": ["u", "v"] * 5, "b": ["only"] * 10})
    assert constants(TargetEncoder(), data=data, y=np.arange(10) + 0.5) == {1: "only"}


def test_category_that_was_always_missing():
    data = np.array([["u", np.nan], ["v", np.nan]], dtype=object)
    assert constants(OneHotEncoder(), data=data) == {1: None}


@pytest.mark.filterwarnings("ignore:Feature 1 is constant")
def test_bins_do_not_keep_the_value():
    found = constants(KBinsDiscretizer(3, strategy="uniform"))
    assert list(found) == [1]
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    "steps",
    [
        # Above the threshold everywhere, but varying.
        (Binarizer(threshold=-100.0), StandardScaler()),
        (FunctionTransformer(np.sign), StandardScaler()),
        (SimpleImputer(add_indicator=True), VarianceThreshold()),
    ],
)
def test_constant_functions_of_what_varies_say_nothing(steps):
    assert constants(*steps, data=np.abs(X[:, :1]) + 1.0) == {}


def test_one_hot_column_without_variance_says_nothing():
    data = pd.DataFrame({"a": ["u", "v", "u"]})
    encoder = OneHotEncoder(categories=[["u", "v", "w"]], sparse_output=False)
    assert constants(encoder, StandardScaler(), VarianceThreshold(), data=data) == {}


def test_constants_of_auto(people):
    data = people.assign(unit="cm", zero=0)
    columns = ColumnTransformer([("n", StandardScaler(), ["income"]), ("c", Constants(), ["unit", "zero"])])
    found = trace([("columns", columns.fit(data))], data.columns)
    assert found.constant == {6: "cm", 7: 0}
    assert found.origin.tolist() == [2]
