"""A row is above the threshold exactly where the model itself says outlier."""

import numpy as np
import pytest
from sklearn.base import is_outlier_detector
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from contracts.every import EVERY
from contracts.fitted import LINEAR, Case, said
from whyodd.models.registry import MODELS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4)) @ RNG.normal(size=(4, 4))
# Some almost on training rows, where even the narrowest bandwidth finds them normal.
ROWS = np.vstack([1.001 * X, RNG.normal(size=(20, 4)), 2.0 * X])
CASES = [
    *(case for cases in EVERY.values() for case in cases),
    *(Case(cls()) for cls in MODELS.values()),
    *LINEAR.values(),
]


def calls_odd(model, rows):
    """What the model says of the rows: 1 is PyOD's outlier, -1 scikit-learn's."""
    labels = said(model, "predict", rows)
    return labels == 1 if type(model).__module__.startswith("pyod.") else labels == -1


def cuts(model):
    return type(model).__module__.startswith("pyod.") or is_outlier_detector(model)


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.model).__name__)
def test_is_where_the_model_cuts(case):
    model = case.fit(X)
    rows = case.rows(ROWS)
    e = whyodd.explain(model, rows, exclude_self=False)
    if e.threshold is None:
        assert not cuts(model)
        return
    odd = calls_odd(model, rows)
    assert 0 < odd.sum() < len(ROWS)
    np.testing.assert_array_equal(e.outlierness > e.threshold, odd)


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.model).__name__)
def test_is_there_for_every_model_that_cuts_and_for_no_other(case):
    model = case.fit(X)
    assert (whyodd.explain(model, case.rows(ROWS)).threshold is not None) == cuts(model)


def test_a_network_itself_has_none():
    assert whyodd.explain(whyodd.DistanceNetwork(X), ROWS).threshold is None


def test_of_a_pipeline_is_that_of_its_last_step():
    pipeline = make_pipeline(StandardScaler(), OneClassSVM(nu=0.3)).fit(X)
    e = whyodd.explain(pipeline, ROWS)
    np.testing.assert_array_equal(e.outlierness > e.threshold, pipeline.predict(ROWS) == -1)


def test_svm_that_calls_no_row_an_outlier_has_none():
    model = OneClassSVM(nu=0.5).fit(X)
    model.offset_ = np.array([0.0])  # every similarity reaches it
    assert whyodd.explain(model, ROWS).threshold is None
