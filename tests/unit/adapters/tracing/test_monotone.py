"""Functions of one column each, and how far their inverses reach."""

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.cluster import FeatureAgglomeration
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, PowerTransformer, StandardScaler

from whyodd.adapters.tracing import UntraceableStepError, trace
from whyodd.adapters.tracing.monotone import _INVERSES

X = np.random.default_rng(0).uniform(0.1, 0.9, size=(30, 2))


@pytest.mark.parametrize("function", _INVERSES, ids=lambda function: function.__name__)
def test_functions_with_a_known_inverse(function):
    step = FunctionTransformer(function).fit(X)
    decoded = trace([("f", step)], "ab").decode(step.transform(X))
    for variable in range(2):
        np.testing.assert_allclose(decoded.numbers[variable], X[:, variable], rtol=1e-12)


@pytest.mark.parametrize("function", [np.abs, np.square, np.sign, special.gamma])
def test_functions_without_one(function):
    step = FunctionTransformer(function).fit(X)
    found = trace([("f", step)], "ab")
    assert found.origin.tolist() == [0, 1]
    assert found.decode(step.transform(X)).numbers == {}


@pytest.mark.parametrize(
    "inverse", [lambda frame: frame.loc[:], lambda values: values["a"], lambda values: values[:, :1]]
)
def test_inverse_that_does_not_take_an_array_of_numbers_is_not_used(inverse):
    step = FunctionTransformer(
        np.log, inverse, feature_names_out="one-to-one", validate=False, check_inverse=False
    ).fit(pd.DataFrame(X, columns=["a", "b"]))
    assert trace([("f", step)], "ab").decode(np.log(X)).numbers == {}


def test_arguments_of_functions():
    step = FunctionTransformer(
        lambda values, unit: values / unit,
        lambda values, unit: values * unit,
        kw_args={"unit": 3.0},
        inv_kw_args={"unit": 3.0},
        feature_names_out="one-to-one",
    ).fit(X)
    np.testing.assert_allclose(trace([("f", step)], "ab").decode(step.transform(X)).numbers[1], X[:, 1])


def test_ufunc_with_arguments_has_no_known_inverse():
    step = FunctionTransformer(np.log, kw_args={"where": np.ones((30, 2), dtype=bool)}).fit(X)
    assert trace([("f", step)], "ab").decode(np.log(X)).numbers == {}


def test_values_beyond_the_range_of_an_inverse_are_not_known():
    step = PowerTransformer(method="box-cox").fit(np.exp(10 * X))
    decoded = trace([("f", step)], "ab").decode([[0.0, 1e6], [-1e9, 0.0]])
    assert np.isfinite(decoded.numbers[0][0])
    assert np.isfinite(decoded.numbers[1][1])
    assert np.isnan([decoded.numbers[1][0], decoded.numbers[0][1]]).any()
    assert not np.isinf(np.concatenate(list(decoded.numbers.values()))).any()


def test_infinite_values_are_not_known():
    decoded = trace([("f", FunctionTransformer(np.log).fit(X))], "ab").decode([[1.0, 1000.0]])
    np.testing.assert_allclose(decoded.numbers[0], [np.e])
    assert np.isnan(decoded.numbers[1][0])


def test_own_class_without_an_inverse():
    class Rounded(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):  # noqa: ARG002
            return self

        def transform(self, X):
            return np.round(X)

    found = trace([("round", Rounded())], "ab")
    assert found.origin.tolist() == [0, 1]
    assert found.decode(np.round(X)).numbers == {}


def test_constant_terms_and_terms_that_cannot_be_read_back():
    texts = ["up up and down", "up and away", "up and about"]
    steps = make_pipeline(CountVectorizer(), StandardScaler(with_mean=False)).fit(texts)
    found = trace(steps.steps, ("text",))
    assert found.constant == {found.names.index("and"): 1.0}
    after = make_pipeline(CountVectorizer(), Binarizer()).fit(texts)
    assert trace(after.steps, ("text",)).decode(after.transform(texts)).numbers == {}


def test_clusters_pooled_by_anything_but_the_mean_are_refused():
    step = FeatureAgglomeration(n_clusters=1, pooling_func=np.max).fit(X)
    with pytest.raises(UntraceableStepError, match="pools columns by a function other than the mean"):
        trace([("pool", step)], "ab")
