"""Laws of kernel PCA's reconstruction error, for random rows, bandwidths and numbers of components."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import whyodd


@st.composite
def fitted(draw):
    """A fitted model, and rows: some of its own, some near, some far away."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(3, 25)), draw(st.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3)
    if draw(st.booleans()):
        X[: n // 2] = np.round(X[: n // 2])  # some may be equal
    share = draw(st.sampled_from([1, 3, 0.5, 0.9, 0.999]))
    sigma = float(np.median(np.abs(X)) + 1e-3) * draw(st.sampled_from([0.1, 1.0, 10.0]))
    rows = np.vstack([X[:3], X[:3] + 0.5 * sigma * rng.normal(size=(3, d)), 100.0 * X[:2]])
    return whyodd.KernelPCA(share, sigma).fit(X), rows, rng


@settings(max_examples=60, deadline=None)
@given(fitted())
def test_parts_are_not_negative_and_add_up(case):
    model, rows, _ = case
    parts = model.network_.decompose(rows)
    assert np.all(parts.relevance >= 0.0)
    assert np.all(parts.unexplained >= 0.0)
    np.testing.assert_allclose(
        parts.relevance.sum(axis=1) + parts.unexplained, parts.outlierness, rtol=1e-12, atol=1e-300
    )
    np.testing.assert_array_equal(parts.outlierness, model.outlierness(rows))


@settings(max_examples=60, deadline=None)
@given(fitted())
def test_error_stays_below_that_of_the_mean_alone(case):
    """Each component takes some of the error away; what is left is at most the distance from the mean."""
    model, rows, _ = case
    member = model.network_
    k = np.exp(-0.5 * ((rows[:, None] - member.centers) ** 2).sum(axis=2) / member.sigma**2)
    from_mean = 1.0 - 2.0 * k @ member.weights + member.weights @ member.similarities
    assert np.all(member.outlierness(rows) <= from_mean + 1e-12)


@settings(max_examples=40, deadline=None)
@given(fitted())
def test_order_of_columns_and_rows_decides_nothing(case):
    model, rows, rng = case
    turned = rng.permutation(rows.shape[1])
    member = model.network_
    other = type(member)(
        member.centers[:, turned], member.components, member.weights, member.similarities, member.sigma
    )
    one, two = member.decompose(rows), other.decompose(rows[:, turned])
    np.testing.assert_allclose(two.outlierness, one.outlierness, rtol=1e-9, atol=1e-12)
    order = rng.permutation(len(rows))
    np.testing.assert_allclose(
        member.decompose(rows[order]).relevance, one.relevance[order], rtol=1e-7, atol=1e-10
    )


@settings(max_examples=40, deadline=None)
@given(fitted())
def test_a_column_that_never_varies_has_no_relevance(case):
    model, rows, _ = case
    member = model.network_
    wider = type(member)(
        np.column_stack([member.centers, np.full(member.n_centers, 3.0)]),
        member.components,
        member.weights,
        member.similarities,
        member.sigma,
    )
    parts = wider.decompose(np.column_stack([rows, np.full(len(rows), 3.0)]))
    # The expected value is a mean of equal ones, to rounding of the weights, which have both signs.
    assert np.all(parts.relevance[:, -1] <= 1e-12)
    np.testing.assert_allclose(parts.outlierness, member.outlierness(rows), rtol=1e-9, atol=1e-12)
