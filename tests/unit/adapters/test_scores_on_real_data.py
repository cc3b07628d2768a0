"""Every adapter keeps its word on real tables: the model's own scores, their order, their sum."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyodd
from contracts.every import EVERY
from contracts.fitted import LINEAR, own_scores
from whyodd.adapters.class_paths import find_entry
from whyodd.adapters.registry import ADAPTERS

CASES = [case for cases in EVERY.values() for case in cases]
# What scikit-learn says of columns that are differences of others is true.
pytestmark = [
    pytest.mark.data,
    pytest.mark.filterwarnings("ignore:The covariance matrix associated to your dataset is not full rank"),
    pytest.mark.filterwarnings("ignore:Determinant has increased:RuntimeWarning"),
    # Centroids of a column that is almost constant differ by rounding.
    pytest.mark.filterwarnings("ignore:The variance of"),
]


def halves(data_dir, table):
    """Up to 500 rows to fit and 500 others to score, in scales of the first.

    Each value is moved a little: where people have rounded, neighbours stand at equal distances, and any of
    them is right.
    """
    rng = np.random.default_rng(0)
    with np.load(data_dir / "adbench" / f"{table}.npz") as file:
        X = rng.permutation(file["X"].astype(np.float64))[:1000]
    middle = len(X) // 2
    X = StandardScaler().fit(X[:middle]).transform(X) + rng.normal(0.0, 1e-3, X.shape)
    return X[:middle], X[middle:]


def _name(case):
    return f"{type(case.model).__module__}.{type(case.model).__name__}"


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=_name)
@pytest.mark.parametrize("table", ["6_cardio", "14_glass", "38_thyroid", "47_yeast"])
def test_own_scores_follow_from_the_outlierness_in_the_same_order(case, table, data_dir):
    train, rows = map(case.rows, halves(data_dir, table))
    model = case.fit(train)
    own = find_entry(ADAPTERS, model).own(model, rows)
    e = whyodd.explain(model, rows)
    assert np.ptp(e.outlierness) > 0
    assert (e.outlierness >= 0).all()
    # Rounding alone must not tell rows apart that have equal scores.
    assert spearmanr(own.round(10), e.outlierness.round(10)).statistic > 1 - 1e-9
    np.testing.assert_allclose(
        own_scores(model, whyodd.neuralize(model), rows), own, rtol=1e-9, atol=1e-12 * np.abs(own).max()
    )
    np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9, atol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=_name)
def test_behind_a_scaler_reasons_come_in_the_columns_of_the_frame(case, data_dir):
    train, rows = map(case.rows, halves(data_dir, "14_glass"))
    names = [f"column {i}" for i in range(train.shape[1])]
    pipeline = make_pipeline(StandardScaler(), case.model)
    train, rows = (pd.DataFrame(100.0 * each + 7.0, columns=names) for each in (train, rows))
    e = whyodd.explain(pipeline.fit(train), rows)
    plain = whyodd.explain(pipeline[-1], pipeline[:-1].transform(rows), exclude_self=False)
    np.testing.assert_allclose(e.relevance, plain.relevance, rtol=1e-9, atol=1e-12)
    assert list(e.feature_names) == names
    told = e.to_frame()
    assert isinstance(told, pd.DataFrame)
    np.testing.assert_allclose(
        told.groupby("row")["relevance"].sum(), e.outlierness, rtol=1e-9, atol=1e-12 * e.outlierness.max()
    )


@pytest.mark.parametrize("case", LINEAR.values(), ids=_name)
def test_own_scores_follow_from_a_linear_score(case, data_dir):
    train, rows = halves(data_dir, "6_cardio")
    model = case.fit(train)
    own = find_entry(ADAPTERS, model).own(model, rows)
    # libsvm sums products with all support vectors, of which only 1e-3 remains: their rounding shows.
    products = np.abs(rows @ train.T).max()
    recovered = own_scores(model, whyodd.neuralize(model), rows)
    np.testing.assert_allclose(recovered, own, rtol=1e-9, atol=1e-13 * products)
