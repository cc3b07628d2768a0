"""Compiled loops of hard pooling against NumPy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from whyodd.compute.hard.legs import add_relevance, select_nearest
from whyodd.compute.points import as_compiled


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.sampled_from([1, 2, 17, 255, 256, 700, 3_000]),
    share=st.floats(0.0, 1.0),
    is_coarse=st.booleans(),
    is_sorted=st.booleans(),
)
def test_the_nearest_are_the_first_of_a_stable_sort(seed, m, share, is_coarse, is_sorted):
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(5, 3)), rng.normal(size=(m, 3)) ** 3
    if is_coarse:  # many ties
        X, U = np.rint(X), np.rint(U)
    if is_sorted:  # a sample at even steps is no random one
        U = U[np.argsort((U**2).sum(axis=1))]
    k = max(1, round(share * m))
    products, half_norms = X @ U.T, 0.5 * (U**2).sum(axis=1)
    halves = half_norms - products
    order = np.argsort(halves, axis=1, kind="stable")[:, :k]
    d, nearest = np.empty((5, k)), np.empty((5, k), dtype=np.intp)
    row_half_norms = 0.5 * (X**2).sum(axis=1)
    select_nearest(products, as_compiled(half_norms), as_compiled(row_half_norms), k, d, nearest)
    np.testing.assert_array_equal(nearest, order)
    squares = 2.0 * (np.take_along_axis(halves, order, axis=1) + row_half_norms[:, None])
    np.testing.assert_array_equal(d, np.sqrt(np.maximum(squares, 0.0)))


def test_relevance_is_added_leg_by_leg():
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(6, 4)), rng.normal(size=(9, 4))
    U[0], U[1] = X[0], 1e200  # a leg of no length, and one whose square overflows
    nearest = np.stack([2 + rng.permutation(7)[:3] for _ in X])
    nearest[0, 0], nearest[1] = 0, [1, 2, 3]
    explained = rng.random((6, 3))
    explained[2, 1] = 0.0
    relevance = np.ones((6, 4))
    legs = map(as_compiled, (X, U, nearest, explained))
    left = add_relevance(*legs, (1e-280, 1e300), relevance)
    differences = X[:, None] - U[nearest]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (differences**2).sum(axis=2, keepdims=True)
        expected = 1.0 + (explained[..., None] * differences**2 / squares).sum(axis=1)
    is_left = ((squares <= 1e-280) | (squares >= 1e300)).any(axis=(1, 2))
    assert is_left[[0, 1]].all()
    np.testing.assert_array_equal(left, is_left)
    np.testing.assert_array_equal(relevance[is_left], 1.0)
    np.testing.assert_allclose(relevance[~is_left], expected[~is_left], rtol=1e-13)
