"""Every transformer that is registered is traced as it works: owners of columns, matrices, the way back."""

import importlib
import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import (
    PCA,
    FactorAnalysis,
    FastICA,
    IncrementalPCA,
    MiniBatchSparsePCA,
    SparsePCA,
    TruncatedSVD,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes IterativeImputer importable
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import RFE, SelectKBest, VarianceThreshold
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from reference.traced import column_squares, linear_squares, matrix_of
from whyodd.adapters.tracing import TRACERS, trace
from whyodd.automatic.dates import DateParts
from whyodd.automatic.given import GivenContext
from whyodd.automatic.rarity import Rarity
from whyodd.automatic.steps import Constants, PlainNumbers, PlainValues

RNG = np.random.default_rng(1)
NUMBERS = RNG.normal(size=(60, 4)) * [1.0, 5.0, 0.1, 2.0] + [0.0, 10.0, -3.0, 100.0]
NUMBERS[:, 3] += NUMBERS[:, 1]
WHITE = PCA(whiten=True).fit_transform(NUMBERS)
TARGET = NUMBERS[:, 1] + RNG.normal(size=60)
GAPS = NUMBERS.copy()
GAPS[3, 0] = GAPS[4, 2] = GAPS[5, 2] = np.nan
LABELS = np.column_stack([RNG.choice(["a", "b", "c"], 60), RNG.choice(["u", "v"], 60)]).astype(object)
TEXTS = ["the cat sat", "the dog sat down", "a cat and a dog", "down the road"] * 3
DICTS = [{"city": "Bonn", "age": 3.0}, {"city": "Ulm", "age": 4.0}, {"city": "Kiel", "age": 2.0}]
DAYS = np.array([["2024-01-01"], ["2024-02-29"], ["2024-01-09"], ["2024-01-08"], ["2024-03-01"]])
FOUR = ("p", "q", "r", "s")
TWO = ("left", "right")
ONE = ("text",)


class Doubled(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """People's own, with nothing to fit."""

    def fit(self, X, y=None):  # noqa: ARG002
        return self

    def transform(self, X):
        return 2.0 * np.asarray(X)

    def inverse_transform(self, X):
        return X / 2.0


@dataclass
class Case:
    """A transformer, what it is fitted on, and the column that each output must belong to (None: linear)."""

    step: Any
    X: Any
    names: tuple[str, ...]
    owners: list[str] | None
    is_invertible: bool = False
    fit: dict[str, Any] = field(default_factory=dict)

    def fitted(self):
        return self.step.fit(self.X, **self.fit)


def linear(step, X=NUMBERS):
    return Case(step, X, FOUR, None)


def per_column(step, *, X=NUMBERS, owners=FOUR, names=FOUR, is_invertible=True, **fit):
    return Case(step, X, names, list(owners), is_invertible, fit)


def vocabulary(texts):
    return sorted({word for text in texts for word in text.split() if len(word) > 1})


# At least one case for each entry: an entry without one fails the first test.
CASES = {
    "sklearn.base.OneToOneFeatureMixin": [per_column(Doubled())],
    "sklearn.cluster._agglomerative.FeatureAgglomeration": [linear(FeatureAgglomeration(n_clusters=2))],
    "sklearn.compose._column_transformer.ColumnTransformer": [
        per_column(
            ColumnTransformer([("a", StandardScaler(), [2, 0]), ("b", "passthrough", [1])]),
            owners=["r", "p", "q"],
            is_invertible=False,
        )
    ],
    "sklearn.decomposition._base._BasePCA": [
        linear(PCA(2)),
        linear(PCA(3, whiten=True)),
        linear(IncrementalPCA(2)),
    ],
    "sklearn.decomposition._factor_analysis.FactorAnalysis": [linear(FactorAnalysis(2))],
    "sklearn.decomposition._fastica.FastICA": [
        linear(FastICA(2, random_state=0, max_iter=2000, tol=1e-2)),
        linear(FastICA(whiten=False, random_state=0, max_iter=2000, tol=1e-2), X=WHITE),
    ],
    "sklearn.decomposition._sparse_pca._BaseSparsePCA": [
        linear(SparsePCA(2, alpha=0.1, random_state=0, max_iter=20)),
        linear(MiniBatchSparsePCA(2, alpha=0.1, random_state=0, max_iter=20)),
    ],
    "sklearn.decomposition._truncated_svd.TruncatedSVD": [linear(TruncatedSVD(2, random_state=0))],
    "sklearn.feature_extraction._dict_vectorizer.DictVectorizer": [
        Case(DictVectorizer(), DICTS, ONE, ["age", "city", "city", "city"])
    ],
    "sklearn.feature_extraction._hash.FeatureHasher": [
        Case(FeatureHasher(8, input_type="dict"), DICTS, ONE, [f"hash {i}" for i in range(8)])
    ],
    "sklearn.feature_extraction.text.CountVectorizer": [
        Case(CountVectorizer(), TEXTS, ONE, vocabulary(TEXTS))
    ],
    "sklearn.feature_extraction.text.HashingVectorizer": [
        Case(HashingVectorizer(n_features=16), TEXTS, ONE, [f"hash {i}" for i in range(16)])
    ],
    "sklearn.feature_extraction.text.TfidfTransformer": [
        per_column(TfidfTransformer(norm=None), X=np.abs(NUMBERS)),
        per_column(TfidfTransformer(norm=None, use_idf=False), X=np.abs(NUMBERS)),
        per_column(TfidfTransformer(), X=np.abs(NUMBERS), is_invertible=False),
    ],
    "sklearn.feature_extraction.text.TfidfVectorizer": [
        Case(TfidfVectorizer(), TEXTS, ONE, vocabulary(TEXTS)),
        Case(TfidfVectorizer(norm=None, sublinear_tf=True), TEXTS, ONE, vocabulary(TEXTS)),
    ],
    "sklearn.feature_selection._base.SelectorMixin": [
        per_column(SelectKBest(k=2), owners=["q", "s"], is_invertible=False, y=TARGET > 10),
        per_column(
            RFE(LinearRegression(), n_features_to_select=3), owners="pqr", is_invertible=False, y=TARGET
        ),
    ],
    "sklearn.feature_selection._variance_threshold.VarianceThreshold": [
        per_column(VarianceThreshold(0.5), owners=["p", "q", "s"], is_invertible=False)
    ],
    "sklearn.impute._base.MissingIndicator": [
        per_column(MissingIndicator(), X=GAPS, owners=["p", "r"], is_invertible=False),
        per_column(MissingIndicator(features="all"), X=GAPS, is_invertible=False),
    ],
    "sklearn.impute._base._BaseImputer": [
        per_column(SimpleImputer(), X=GAPS),
        per_column(SimpleImputer(add_indicator=True), X=GAPS, owners="pqrspr"),
        per_column(KNNImputer(add_indicator=True), X=GAPS, owners="pqrspr"),
        per_column(IterativeImputer(), X=GAPS),
    ],
    "sklearn.pipeline.FeatureUnion": [
        per_column(FeatureUnion([("a", StandardScaler()), ("b", MaxAbsScaler())]), owners="pqrspqrs")
    ],
    "sklearn.pipeline.Pipeline": [per_column(make_pipeline(StandardScaler(), MinMaxScaler()))],
    "sklearn.preprocessing._data.Binarizer": [per_column(Binarizer(), is_invertible=False)],
    "sklearn.preprocessing._data.MaxAbsScaler": [per_column(MaxAbsScaler())],
    "sklearn.preprocessing._data.MinMaxScaler": [
        per_column(MinMaxScaler((-2, 5))),
        per_column(MinMaxScaler(clip=True)),
    ],
    "sklearn.preprocessing._data.Normalizer": [
        Case(make_pipeline(CountVectorizer(), Normalizer()), TEXTS, ONE, vocabulary(TEXTS))
    ],
    "sklearn.preprocessing._data.PowerTransformer": [
        per_column(PowerTransformer()),
        per_column(PowerTransformer("box-cox", standardize=False), X=np.abs(NUMBERS) + 1.0),
    ],
    "sklearn.preprocessing._data.QuantileTransformer": [
        per_column(QuantileTransformer(n_quantiles=60)),
        per_column(QuantileTransformer(n_quantiles=60, output_distribution="normal")),
    ],
    "sklearn.preprocessing._data.RobustScaler": [
        per_column(RobustScaler()),
        per_column(RobustScaler(with_centering=False, with_scaling=False)),
    ],
    "sklearn.preprocessing._data.StandardScaler": [
        per_column(StandardScaler()),
        per_column(StandardScaler(with_mean=False)),
        per_column(StandardScaler(with_std=False)),
    ],
    "sklearn.preprocessing._discretization.KBinsDiscretizer": [
        per_column(KBinsDiscretizer(3, **keywords), owners=owners, is_invertible=False)
        for keywords, owners in (
            ({"quantile_method": "averaged_inverted_cdf"}, "pppqqqrrrsss"),
            ({"encode": "ordinal", "strategy": "uniform"}, "pqrs"),
        )
    ],
    "sklearn.preprocessing._encoders.OneHotEncoder": [
        per_column(OneHotEncoder(**keywords), X=LABELS, names=TWO, owners=owners)
        for keywords, owners in (
            ({}, ["left"] * 3 + ["right"] * 2),
            ({"drop": "first"}, ["left"] * 2 + ["right"]),
            ({"drop": "if_binary"}, ["left"] * 3 + ["right"]),
            ({"sparse_output": False, "handle_unknown": "ignore"}, ["left"] * 3 + ["right"] * 2),
        )
    ],
    "sklearn.preprocessing._encoders.OrdinalEncoder": [
        per_column(OrdinalEncoder(), X=LABELS, names=TWO, owners=TWO)
    ],
    "sklearn.preprocessing._function_transformer.FunctionTransformer": [
        per_column(FunctionTransformer()),
        per_column(FunctionTransformer(np.cbrt)),
        per_column(FunctionTransformer(np.abs), is_invertible=False),
        per_column(
            FunctionTransformer(
                lambda X: X * 3 + 1,
                lambda X: (X - 1) / 3,
                feature_names_out="one-to-one",
                check_inverse=False,
            )
        ),
    ],
    "sklearn.preprocessing._polynomial.SplineTransformer": [
        per_column(SplineTransformer(n_knots=3, degree=2), owners="ppppqqqqrrrrssss", is_invertible=False),
        per_column(
            SplineTransformer(n_knots=3, degree=2, include_bias=False),
            owners="pppqqqrrrsss",
            is_invertible=False,
        ),
    ],
    "sklearn.preprocessing._target_encoder.TargetEncoder": [
        per_column(TargetEncoder(random_state=0), X=LABELS, names=TWO, owners=TWO, y=TARGET),
        per_column(
            TargetEncoder(random_state=0),
            X=LABELS,
            names=TWO,
            owners=["left"] * 3 + ["right"] * 3,
            y=np.arange(60) % 3,
        ),
    ],
    "sklearn.random_projection.BaseRandomProjection": [
        linear(GaussianRandomProjection(3, random_state=0)),
        linear(SparseRandomProjection(3, density=0.6, random_state=0)),
    ],
    "whyodd.automatic.dates.DateParts": [
        Case(DateParts(("time elapsed", "day of the week")), DAYS, ONE, ["text"] * 5),
    ],
    "whyodd.automatic.given.GivenContext": [
        Case(GivenContext(("number",)), NUMBERS, FOUR, ["q", "r", "s"]),
        Case(GivenContext(("category",), (False,)), LABELS, TWO, ["right"] * 3),
    ],
    "whyodd.automatic.rarity.Rarity": [Case(Rarity(), LABELS, TWO, list(TWO))],
    "whyodd.automatic.steps.Constants": [
        per_column(
            FeatureUnion([("a", "passthrough"), ("b", Constants())]), X=np.ones((3, 4)), is_invertible=True
        )
    ],
    "whyodd.automatic.steps.PlainNumbers": [per_column(PlainNumbers())],
    "whyodd.automatic.steps.PlainValues": [
        Case(Pipeline([("a", PlainValues()), ("b", OrdinalEncoder())]), LABELS, TWO, list(TWO), True)
    ],
}
EACH = [
    pytest.param(case, id=f"{path.rpartition('.')[2]}-{i}")
    for path, cases in CASES.items()
    for i, case in enumerate(cases)
]


def dense(Z):
    return Z.toarray() if sparse.issparse(Z) else np.asarray(Z, dtype=float)


def test_every_entry_has_a_case():
    assert CASES.keys() == TRACERS.keys()


@pytest.mark.parametrize("path", TRACERS)
def test_key_is_the_path_of_a_class_and_its_tracer_documented(path):
    module, _, name = path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    assert f"{cls.__module__}.{cls.__qualname__}" == path
    assert inspect.getdoc(TRACERS[path])


@pytest.mark.parametrize("case", EACH)
def test_columns_belong_to_what_they_were_made_of(case, relevance):
    step = case.fitted()
    found = trace([("step", step)], case.names)
    Z = dense(step.transform(case.X))
    center = Z.mean(axis=0) + 0.1
    got = relevance(found, Z[:5], center)
    if case.owners is not None:
        assert found.linear is None
        assert [found.names[i] for i in found.origin] == case.owners
        expected = [column_squares(z, center, case.owners, found.names) for z in Z[:5]]
    else:
        assert found.names == case.names
        matrix = matrix_of(step.transform, case.X[0])
        np.testing.assert_allclose(found.linear.matrix.toarray(), matrix, rtol=1e-8, atol=1e-9)
        expected = [linear_squares(matrix, z, center, FOUR, FOUR) for z in Z[:5]]
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9 * np.max(np.abs(expected)))
    np.testing.assert_allclose(got.sum(axis=1), ((Z[:5] - center) ** 2).sum(axis=1), rtol=1e-8)


@pytest.mark.parametrize("case", [each for each in EACH if each.values[0].is_invertible])
def test_values_are_read_back(case):
    step = case.fitted()
    decoded = trace([("step", step)], case.names).decode(step.transform(case.X))
    for variable in range(len(case.names)):
        given = pd.Series(case.X[:, variable])
        if variable in decoded.categories:
            codes, values = decoded.categories[variable]
            assert [values[code] for code in codes] == given.tolist()
        else:
            there = given.notna().to_numpy()
            np.testing.assert_allclose(decoded.numbers[variable][there], given[there], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("step", [case.step for case in CASES["sklearn.decomposition._base._BasePCA"]])
def test_preimage_of_a_projection_is_that_of_scikit_learn(step):
    fitted = step.fit(NUMBERS)
    Z = fitted.transform(NUMBERS)
    decoded = trace([("pca", fitted)], FOUR).decode(Z)
    for variable in range(4):
        np.testing.assert_allclose(decoded.numbers[variable], fitted.inverse_transform(Z)[:, variable])


def test_subclass_is_traced_as_its_base():
    class Own(StandardScaler):
        pass

    assert trace([("own", Own().fit(NUMBERS))], FOUR).origin.tolist() == [0, 1, 2, 3]
