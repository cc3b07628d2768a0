"""Moments of parts are moments of the whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whyodd.maths.moments import Moments


@given(st.lists(st.integers(0, 7), min_size=1, max_size=5), st.booleans(), st.integers(0, 9))
def test_parts_merge_into_the_whole(sizes, weighted, seed):
    rng = np.random.default_rng(seed)
    n = sum(sizes) + 2
    # Far from 0, where sums of squares would lose all digits.
    X = 1e6 + rng.normal(size=(n, 3))
    w = rng.integers(0, 3, n) + (np.arange(n) < 2.0) if weighted else None
    moments, start = Moments.of(X[:2], None if w is None else w[:2]), 2
    for size in sizes:
        rows = slice(start, start + size)
        part = Moments.of(X[rows], None if w is None else w[rows])
        moments, start = (part.merge(moments) if size % 2 else moments.merge(part)), start + size
    repeated = X if w is None else np.repeat(X, w.astype(int), axis=0)
    assert moments.weight == len(repeated)
    # Rounding of a million, and of squares of deviations from means that are rounded so.
    np.testing.assert_allclose(moments.mean, repeated.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(moments.covariance, np.cov(repeated, rowvar=False, ddof=0), atol=1e-8, rtol=0)


def test_aged_rows_count_less():
    X = np.random.default_rng(0).normal(size=(10, 2))
    old, new = Moments.of(X[:5]).aged(0.25), Moments.of(X[5:])
    weights = np.repeat([0.25, 1.0], 5)
    np.testing.assert_allclose(
        old.merge(new).covariance, np.cov(X, rowvar=False, ddof=0, aweights=weights), atol=1e-15
    )
