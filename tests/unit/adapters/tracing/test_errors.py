"""Steps that cannot be traced, are not fitted, or were fitted on something else."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF, PCA, KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.adapters.tracing import UntraceableStepError, trace

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
NAMES = ("a", "b", "c")


def refusal(*steps, data=X):
    fitted = make_pipeline(*steps).fit(data)
    with pytest.raises(UntraceableStepError) as caught:
        trace(fitted.steps, NAMES)
    return str(caught.value)


def test_the_whole_sentence():
    assert refusal(StandardScaler(), KernelPCA(2), StandardScaler()) == (
        "Step 'kernelpca' (KernelPCA) cannot be traced back to columns: "
        "whyodd does not know whether it works column by column or linearly. "
        "For relevance at its output call whyodd.explain(pipeline[2:], pipeline[:2].transform(X))."
    )


def test_the_offer_works():
    pipeline = make_pipeline(StandardScaler(), KernelPCA(2), StandardScaler(), OneClassSVM()).fit(X)
    with pytest.raises(UntraceableStepError, match=r"pipeline\[2:\], pipeline\[:2\]"):
        whyodd.explain(pipeline, X)
    e = whyodd.explain(pipeline[2:], pipeline[:2].transform(X))
    assert e.relevance.shape == (40, 2)


def test_is_an_unsupported_model():
    assert issubclass(UntraceableStepError, whyodd.UnsupportedModelError)


@pytest.mark.parametrize("step", [Nystroem(n_components=3), PolynomialFeatures(2), NMF(2, max_iter=1000)])
def test_neither_column_wise_nor_linear(step):
    message = refusal(FunctionTransformer(np.abs), step)
    assert f"({type(step).__name__}) cannot be traced back" in message
    assert "pipeline[2:]" in message


@pytest.mark.parametrize("step", [PowerTransformer(), MinMaxScaler(clip=True), FunctionTransformer(np.tanh)])
def test_not_linear_after_columns_were_mixed(step):
    assert "is not linear, and an earlier step has already mixed its columns" in refusal(PCA(2), step)


def test_what_works_after_columns_were_mixed():
    fitted = make_pipeline(PCA(2), SimpleImputer(), FunctionTransformer(), MinMaxScaler()).fit(X)
    assert trace(fitted.steps, NAMES).linear.n_outputs == 2


def test_function_that_may_mix_is_told_what_to_declare():
    message = refusal(FunctionTransformer(lambda X: X - X.mean(axis=1, keepdims=True)))
    assert "set feature_names_out='one-to-one'" in message


def test_normalizer_of_a_table():
    assert "divides each row by its norm, which depends on all columns" in refusal(Normalizer())


def test_step_within_steps_is_named_by_its_path_and_offered_at_the_outermost():
    block = make_pipeline(StandardScaler(), KernelPCA(2))
    columns = ColumnTransformer([("numbers", block, [0, 1])], remainder="passthrough")
    message = refusal(StandardScaler(), columns, StandardScaler())
    assert message.startswith("Step 'columntransformer__numbers__kernelpca' (KernelPCA)")
    assert "pipeline[2:]" in message


def test_step_within_a_union():
    union = FeatureUnion([("plain", StandardScaler()), ("kernel", KernelPCA(2))])
    assert refusal(union).startswith("Step 'featureunion__kernel' (KernelPCA)")


class TestNotFitted:
    @pytest.mark.parametrize(
        "step",
        [StandardScaler(), PCA(), OneHotEncoder(), TfidfVectorizer(), ColumnTransformer([("a", PCA(), [0])])],
    )
    def test_is_named(self, step):
        with pytest.raises(
            NotFittedError, match=rf"Step 'first' \({type(step).__name__}\) is not fitted yet"
        ):
            trace([("first", step)], NAMES[:1])

    def test_is_named_within_steps(self):
        with pytest.raises(NotFittedError, match=r"Step 'pca' \(PCA\) is not fitted yet: fit the pipeline"):
            trace([("pre", make_pipeline(StandardScaler().fit(X), PCA(), "passthrough"))], NAMES)


class TestColumns:
    def test_another_number_of_columns(self):
        with pytest.raises(ValueError, match="X has 2 columns, the pipeline was fitted on 3"):
            trace([("scale", StandardScaler().fit(X))], NAMES[:2])

    def test_missing_columns_are_named(self, people):
        scaler = StandardScaler().fit(people[["age", "income"]])
        with pytest.raises(ValueError, match="fitted on columns that X lacks: 'income'"):
            trace([("scale", scaler)], ["age", "rooms"])

    def test_steps_that_do_not_fit_together(self):
        steps = [("scale", StandardScaler().fit(X)), ("pca", PCA().fit(X[:, :2]))]
        with pytest.raises(UntraceableStepError, match="fitted on 2 columns, but the steps before it give 3"):
            trace(steps, NAMES)
