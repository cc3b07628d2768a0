"""What a committee promises of any table: gross values are found, and do not hide one another."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whyodd

KINDS = ("normal", "uniform", "skewed", "counts", "sparse", "correlated")


def column(kind, n, rng, common):
    """A column of usual numbers; correlated ones have something in ``common`` (n,)."""
    return {
        "normal": lambda: rng.standard_normal(n),
        "correlated": lambda: common + 0.3 * rng.standard_normal(n),
        "uniform": lambda: rng.random(n),
        "skewed": lambda: rng.gamma(2.0, size=n),
        "counts": lambda: rng.poisson(4.0, n).astype(float),
        "sparse": lambda: np.where(rng.random(n) < 0.15, rng.normal(3.0, 1.0, n), 0.0),
    }[kind]()


def table(n, d, seed):
    """A table (n, d) of columns of all kinds."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    kinds = [KINDS[rng.integers(len(KINDS))] for _ in range(d)]
    return np.column_stack([column(kind, n, rng, common) for kind in kinds]), rng


def robust_scale(x):
    """Of the middle of a column; of a column that is mostly 0, of what is not."""
    low, high = np.quantile(x, [0.1, 0.9])
    return (high - low) / 2.56 or float(np.std(x)) or 1.0


def ranks(X):
    """Rows by outlierness, the oddest first, each judged without itself."""
    e = whyodd.explain(whyodd.Committee().fit(X), X)
    return np.argsort(-e.outlierness, kind="stable"), e


tables = st.tuples(st.integers(50, 400), st.integers(1, 12), st.integers(0, 10**6))


@settings(max_examples=60, deadline=None)
@given(tables)
def test_relevance_is_conserved_and_never_negative(drawn):
    X, _ = table(*drawn)
    _, e = ranks(X)
    np.testing.assert_allclose(e.relevance.sum(axis=1), e.outlierness, rtol=1e-9)
    assert np.all(e.relevance >= 0.0)
    # A usual row has 1: those learned from, each without itself.
    np.testing.assert_allclose(e.outlierness[e.network.rows].mean(), 1.0, rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(tables, st.sampled_from([1e3, 1e6, 1e12]))
def test_a_value_that_moves_outwards_ends_as_the_oddest(drawn, far):
    X, rng = table(*drawn)
    i, j = int(rng.integers(len(X))), int(rng.integers(X.shape[1]))
    X[i, j] += far * robust_scale(X[:, j]) * (1 if rng.random() < 0.5 else -1)
    order, e = ranks(X)
    assert order[0] == i
    assert e.reasons(i, 1)[0].name == f"x{j}"


@settings(max_examples=40, deadline=None)
@given(st.integers(50, 400), st.integers(1, 10), st.integers(0, 10**6))
def test_every_step_beyond_the_range_makes_a_row_odder(n, d, seed):
    """Where columns are independent."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    model = whyodd.Committee().fit(X)
    row, j = np.median(X, axis=0), int(rng.integers(d))
    steps = np.repeat(row[None], 12, axis=0)
    steps[:, j] = X[:, j].max() * np.array([1.0, 1.1, 1.3, 1.6, 2, 3, 5, 9, 20, 1e2, 1e4, 1e8])
    assert np.all(np.diff(model.outlierness(steps)) > 0.0)


HOW_PLANTED = ("one", "many", "copies")
SIZES = [(n, d) for n in (50, 200, 1000, 5000) for d in (1, 5, 20, 60)]


def misses(n, d, how, seed):
    """Whether cells of 20 robust scales are not all among the oddest rows, and three more.

    One cell, or 5 % of the rows: each its own cell, or all the same row.
    """
    X, rng = table(n, d, seed)
    rows = rng.choice(n, 1 if how == "one" else max(1, n // 20), replace=False)
    cells = rng.integers(d, size=rows.size)
    if how == "copies":
        X[rows], cells[:] = X[rows[0]], cells[0]
    before = X.copy()
    for i, j in zip(rows, cells, strict=True):
        middle = np.median(before[:, j])
        X[i, j] = middle + 20.0 * robust_scale(before[:, j]) * (1 if how == "copies" or i % 2 else -1)
    order, _ = ranks(X)
    return not set(rows) <= set(order[: rows.size + 3])


@pytest.mark.parametrize("how", HOW_PLANTED)
@pytest.mark.parametrize(("n", "d"), [(n, d) for n, d in SIZES if 5 * d <= n <= 1000])
def test_planted_cells_are_among_the_oddest(n, d, how):
    assert not any(misses(n, d, how, seed) for seed in range(4))


@pytest.mark.full
def test_planted_cells_of_528_tables():
    """Six are known to miss one: of 50 rows with 20 columns, and of 60 columns of which many go together.

    There a usual row may be odder than one gross value: ten columns that have one cause count as ten.
    """
    cases = [(n, d, how, seed) for n, d in SIZES for how in HOW_PLANTED for seed in range(11)]
    missed = [case for case in cases if misses(*case)]
    assert len(missed) <= 6, missed
    assert all(n < 5 * d or d == 60 for n, d, _, _ in missed), missed


@settings(max_examples=30, deadline=None)
@given(st.integers(100, 400), st.integers(2, 8), st.integers(0, 10**6))
def test_a_gross_row_does_not_hide_another_outlier(n, d, seed):
    X, rng = table(n, d, seed)
    i, j = int(rng.integers(n)), int(rng.integers(d))
    X[i, j] += 12.0 * robust_scale(X[:, j])
    before = int(np.flatnonzero(ranks(X)[0] == i)[0])
    gross = np.median(X, axis=0) + 1e6 * np.array([robust_scale(x) for x in X.T])
    after = int(np.flatnonzero(ranks(np.vstack([X, gross]))[0] == i)[0])
    assert after <= before + 4


@settings(max_examples=30, deadline=None)
@given(tables)
def test_order_shift_and_scale_of_columns_do_not_matter(drawn):
    X, rng = table(*drawn)
    turn = rng.permutation(X.shape[1])
    scale, shift = 2.0 ** rng.integers(-8, 9, X.shape[1]), rng.integers(-5, 6, X.shape[1])
    _, e = ranks(X)
    _, other = ranks((X * scale + shift)[:, turn])
    np.testing.assert_allclose(other.outlierness, e.outlierness, rtol=1e-6)
    np.testing.assert_allclose(other.relevance, e.relevance[:, turn], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("d", [2, 10])
def test_p_values_of_clean_rows_are_uniform(trusted, d):
    rng = np.random.default_rng(0)
    p = []
    for _ in range(5):
        X = rng.standard_normal((3000, d)) @ rng.standard_normal((d, d))
        p.append(whyodd.Committee(trusted).fit(X[:1000]).p_values(X[1000:]))
    p = np.sort(np.concatenate(p))
    # 1,000 calibration rows put a quantile within 0.016, one standard deviation; there are five of them.
    assert np.abs(p - np.arange(1, p.size + 1) / p.size).max() < 0.03
    assert 0.004 < np.mean(p <= 0.01) < 0.02


class TestTablesThatHoldTheirOwnOutliers:
    def test_gross_rows_are_the_oddest(self):
        X = np.random.default_rng(0).standard_normal((1000, 5))
        X[3, 2], X[10, 0], X[77] = 30.0, -25.0, 40.0
        found = whyodd.find(pd.DataFrame(X, columns=list("abcde")))
        assert set(found.order[:3]) == {3, 10, 77}
        assert found.is_odd[[3, 10, 77]].all()
        assert found.explanation[1].reasons(0)[0].name in "ac"

    def test_a_gross_value_does_not_mask_an_impossible_weight(self):
        rng = np.random.default_rng(1)
        items = rng.poisson(4, 2000) + 1.0
        orders = pd.DataFrame({"items": items, "weight_kg": items * rng.gamma(40, 0.04, 2000)})
        orders.loc[20, "items"] = 500
        orders.loc[10, ["items", "weight_kg"]] = [9, 1.2]
        found = whyodd.find(orders)
        assert found.order[0] == 20
        place = list(found.order[:5]).index(10)
        assert "weight_kg is too low" in found.why(place)
        alone = whyodd.find(orders.drop(index=20).reset_index(drop=True))
        assert 10 in alone.order[:5]

    def test_copies_of_a_sentinel_do_not_pass_for_normal(self):
        X = np.random.default_rng(2).normal(50.0, 5.0, (300, 2))
        X[:5] = [999.0, -999.0]
        found = whyodd.find(pd.DataFrame(X, columns=["a", "b"]))
        assert set(found.order[:5]) == set(range(5))
        assert found.is_odd[:5].all()
