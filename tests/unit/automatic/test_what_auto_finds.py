"""What the default model finds odd, in tables that are hard on a model: curves, copies, tails, few rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import whyodd


def scores(X, rows=None, **options):
    """Outlierness of rows by a model of X; of X itself without each row's own center."""
    frame = pd.DataFrame(X).add_prefix("x")
    pipeline = whyodd.auto(frame, **options)
    new = frame if rows is None else pd.DataFrame(rows).add_prefix("x")
    return whyodd.explain(pipeline, new)


def test_a_cloud_that_leans_has_outliers_inside_its_ranges():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 15))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=600)
    row = np.zeros((2, 15))
    row[0, :2], row[1, :2] = [1.5, -1.5], [1.5, 1.5]
    e = scores(X, row)
    assert e.outlierness[0] > e.threshold > e.outlierness[1]
    assert {reason.name for reason in e.reasons(0, 2)} == {"x0", "x1"}


@pytest.mark.parametrize("trusted", [False, True])
def test_what_lies_beside_a_curve_is_odder_than_what_lies_on_it(trusted):
    angle = np.random.default_rng(0).uniform(0.0, 6.0 * np.pi, 1500)
    spiral = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]) / 8.0
    at = np.linspace(7.0, 15.0, 20)
    on, beside = (np.column_stack([r * np.cos(at), r * np.sin(at)]) / 8.0 for r in (at, at + np.pi))
    e = scores(spiral, np.vstack([on, beside]), trusted=trusted)
    larger = np.mean(e.outlierness[20:, np.newaxis] > e.outlierness[:20])
    assert larger > (0.95 if trusted else 0.5)


def test_copies_of_a_few_rows_are_normal_and_all_else_is_odd():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 600), rng.integers(0, 4, 600)]).astype(float)
    e = scores(X, [[1.0, 2.0], [0.0, 9.0], [40.0, 0.0]])
    assert np.all(np.isfinite(e.outlierness))
    assert e.outlierness[0] < e.threshold < e.outlierness[1] < e.outlierness[2]


def test_a_column_that_hardly_varies_does_not_hide_another():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 3))
    X[:, 2] = np.where(rng.random(1200) < 0.005, 3.0 + rng.random(1200), 0.0)
    X[5, 0] = 25.0
    e = scores(X)
    assert np.all(np.isfinite(e.outlierness))
    assert np.count_nonzero(e.outlierness > e.outlierness[5]) <= np.count_nonzero(X[:, 2])
    assert e.reasons(5)[0].name == "x0"


def test_a_few_far_rows_do_not_set_the_scale():
    X = np.random.default_rng(0).normal(size=(900, 2))
    plain = scores(X).outlierness
    is_far = np.arange(900) % 90 == 0
    X[is_far] += 1e4
    far = scores(X).outlierness
    assert far[is_far].min() > far[~is_far].max()
    assert spearmanr(far[~is_far], plain[~is_far]).statistic > 0.99


def test_a_heavy_tail_does_not_hide_what_another_column_has():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.exp(rng.normal(0.0, 1.0, 500)), rng.normal(size=500)])
    e = scores(X, [[1.0, 9.0], [float(np.quantile(X[:, 0], 0.9)), 0.0], [1e9, 0.0]])
    assert e.reasons(0)[0].name == "x1"
    assert np.all(e.outlierness[[0, 2]] > e.threshold)
    assert e.outlierness[1] < e.threshold


def test_a_unit_does_not_matter():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.exp(rng.normal(0.0, 4.0, 200)), rng.normal(size=200)])
    one = scores(X)
    for unit in (2.0**-300, 2.0**-10, 2.0**300):
        np.testing.assert_allclose(scores(unit * X).relevance, one.relevance, rtol=1e-9)


def test_a_column_that_is_constant_where_the_model_is_fitted():
    X = np.zeros((40, 2))
    X[7], X[8] = 1.0, 2.0
    outlierness = scores(X).outlierness
    assert np.all(np.isfinite(outlierness))
    assert outlierness[8] > outlierness[7] > outlierness[1]


@pytest.mark.parametrize("n", [2, 3, 9, 10])
def test_few_rows_have_an_order_too(n):
    X = np.random.default_rng(0).normal(size=(n, 1))
    e = scores(X, [[float(np.median(X))], [30.0]])
    assert e.outlierness[0] < e.outlierness[1]
    assert e.threshold > 0.0


@pytest.mark.parametrize("trusted", [False, True])
def test_a_hundredth_of_normal_rows_is_above_the_threshold(trusted):
    shares = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(4000, 4)) @ rng.normal(size=(4, 4))
        e = scores(X[:1000], X[1000:], trusted=trusted)
        shares.append(np.mean(e.outlierness > e.threshold))
    # 1,000 rows put such a share within 0.003, one standard deviation, and the fitted tail adds to it.
    assert 0.004 < np.mean(shares) < 0.02
